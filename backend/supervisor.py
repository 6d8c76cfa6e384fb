"""Starts the processes of a system, keeps them running, and ends them all."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Engine, delete, func, select

from backend import machine, mqtt
from backend.broker import EmbeddedBroker
from backend.errors import CitywiseError
from backend.network import broker_rights, certificates
from backend.packs.check import checked
from backend.packs.installed import install
from backend.packs.library import available
from backend.packs.parts import of_settings
from backend.settings import Settings
from backend.store.database import create_engine_for, migrate
from backend.store.models import CursorRow, HeartbeatRow
from backend.times import iso

LOG = logging.getLogger("citywise.supervisor")
ORDERS = "orders.json"
_STOP_SECONDS = 10
_HEALTHY_SECONDS = 20
_START_SECONDS = 120
_TRIES = 3


class StartError(CitywiseError):
    """The system did not start; the message says which part and where its log is."""

    exit_code = 3


@dataclass
class Child:
    """A process of ours and how often it had to be started again."""

    role: str
    process: subprocess.Popen[bytes]
    started: float
    failures: int = 0
    restart_at: float | None = None


@dataclass
class System:
    """A running system: broker, ingest, pipeline, web and, in a demo, a source.

    `play` describes the source (see `backend.process`); without it none is started.
    """

    settings: Settings
    play: dict[str, Any] | None = None
    """What the source plays; it starts when the others are up."""
    say: Callable[[str], None] = print
    children: dict[str, Child] = field(default_factory=dict)
    broker: EmbeddedBroker | None = None
    _engine: Engine | None = None
    _held: IO[str] | None = None
    _fed_from: int | None = None

    @property
    def url(self) -> str:
        """Where the web pages are."""
        web = self.settings.web
        scheme = "https" if web.certificate else "http"
        host = f"[{web.host}]" if ":" in web.host else web.host
        return f"{scheme}://{host}:{web.port}"

    @property
    def _database(self) -> Engine:
        assert self._engine is not None, "the system has not been started"
        return self._engine

    @property
    def roles(self) -> Sequence[str]:
        """The processes that make up the system, without the source; those of apps are
        called as the app."""
        brought = [name for name, parts in of_settings(self.settings).items() if parts.service]
        return ("ingest", "pipeline", "notifier", *brought, "web")

    # -- start ----------------------------------------------------------------------

    def start(self) -> None:
        """Start everything; the address is known when this returns, see `wait_ready`."""
        folder = self.settings.data_dir.resolve()
        # What it holds of people is nobody else's business on this machine.
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "logs").mkdir(exist_ok=True)
        self._lock(folder)
        shutil.rmtree(folder / "metrics", ignore_errors=True)
        (folder / "metrics").mkdir()
        self.settings = _with_ports(self.settings)
        self._engine = create_engine_for(self.settings.database_url)
        migrate(self._engine)
        self._install_apps(self._engine)
        self._prepare_city()
        with self._database.begin() as connection:
            connection.execute(delete(HeartbeatRow))
        if self.settings.broker.embedded:
            self.start_broker()
        else:
            mqtt.wait_for_broker(self.settings.broker, 15)
        self._write_orders()
        for role in self.roles:
            self.spawn(role)

    def _install_apps(self, engine: Engine) -> None:
        """Install what apps there are; the requests they bring run beside the city's."""
        folders = available([Path(folder) for folder in self.settings.apps.folders])
        packs = [checked(folder) for folder in folders]
        install(engine, packs)
        brought = [str(path.resolve()) for pack in packs for path in pack.requests]
        pipeline = self.settings.pipeline
        requests = tuple(dict.fromkeys([*pipeline.requests, *brought]))
        self.settings = self.settings.model_copy(
            update={"pipeline": pipeline.model_copy(update={"requests": requests})}
        )

    def _prepare_city(self) -> None:
        """Have the road network and the named places where the processes look for them."""
        from backend.roads.cityfiles import prepare

        prepare(self.settings, self.play)

    def _lock(self, folder: Path) -> None:
        """Two systems in one folder would spoil each other's work."""
        self._held = _take_lock(folder)
        if self._held is None:
            raise StartError(f"{folder}: another running system uses this folder")

    def start_broker(self) -> None:
        """Start the embedded broker on the settings' port."""
        broker_rights.write(self._database, self.settings)
        self.broker = EmbeddedBroker.of(self.settings)
        self.broker.start()

    def _write_orders(self) -> None:
        path = self._orders
        path.touch(mode=0o600)
        orders = {"settings": self.settings.model_dump(mode="json"), "source": self.play}
        path.write_text(json.dumps(orders), encoding="utf-8")

    @property
    def _orders(self) -> Path:
        return self.settings.data_dir.resolve() / ORDERS

    def spawn(self, role: str) -> None:
        """Start (again) the process of a role; its output goes to `logs/ROLE.log`."""
        folder = self.settings.data_dir.resolve()
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        failures = self.children[role].failures if role in self.children else 0
        with self.log_file(role).open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "backend.process", role, str(self._orders)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
                    "TMPDIR": str(temporary),
                },
                start_new_session=True,
            )
        self.children[role] = Child(role, process, time.monotonic(), failures)

    def log_file(self, role: str) -> Path:
        """The file a process of ours writes its messages to."""
        return self.settings.data_dir.resolve() / "logs" / f"{role}.log"

    def wait_ready(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Return when every part is up and the present is reached, or on `stop`.

        With a source, the present is its start: what it feeds before for state has been
        answered. Raises `StartError` when nothing moves any more.
        """
        said: set[str] = set()
        deadline = time.monotonic() + _START_SECONDS
        while (waiting := self._waiting_for()) and not stop():
            if waiting - said:
                deadline = time.monotonic() + _START_SECONDS
            for reason in sorted(waiting - said):
                self.say(f"  {reason} …")
            said |= waiting
            failed = [c for c in self.children.values() if c.failures >= _TRIES]
            if failed:
                raise StartError(self._why(failed[0].role, "does not stay up"))
            if time.monotonic() > deadline:
                raise StartError(self._why("pipeline", f"has not moved for {_START_SECONDS} s"))
            time.sleep(0.3)
            self.tend()

    def _waiting_for(self) -> set[str]:
        """What is still to come before the system is ready."""
        ready, reasons = _ready(self.url, self.settings.web.certificate)
        if self.play and "source" not in self.children:
            if self.answering():
                self.spawn("source")
            return reasons or {"the source has not started"}
        if ready and self.play:
            return self._lead_in()
        return set() if ready else reasons or {"web has not started"}

    def _lead_in(self) -> set[str]:
        """How much of what comes before the source's start has been answered."""
        with self._database.connect() as connection:
            answered = connection.scalar(select(func.min(CursorRow.answered_ms)))
        start = self._ingest_says("start_ms")
        if answered is None or start is None:
            return {"no window has been evaluated yet"}
        if answered >= start - 1:
            return set()
        self._fed_from = min(self._fed_from or answered, answered)
        done = (answered - self._fed_from) * 10 // (start - self._fed_from) * 10
        return {f"feeding the hours before the start: {done} %"}

    def _ingest_says(self, key: str) -> int | None:
        """A time (Unix ms) from the ingest's last sign of life."""
        query = select(HeartbeatRow.detail).where(HeartbeatRow.process == "ingest")
        with self._database.connect() as connection:
            detail = connection.scalar(query)
        return (detail or {}).get(key)

    def answering(self) -> bool:
        """Whether ingest and pipeline both show signs of life."""
        with self._database.connect() as connection:
            alive = set(connection.scalars(select(HeartbeatRow.process)))
        return {"ingest", "pipeline"} <= alive

    def _why(self, role: str, what: str) -> str:
        path = self.log_file(role)
        lines = path.read_text(errors="replace").splitlines()[-8:] if path.exists() else []
        return "\n".join([f"{role} {what}; the end of {path}:", *lines])

    # -- care -----------------------------------------------------------------------

    def tend(self) -> None:
        """Start again what has died, a little later each time it fails soon."""
        now = time.monotonic()
        if self.broker and self.broker.process and self.broker.process.poll() is not None:
            LOG.warning("the embedded broker died; starting it again")
            self.broker.stop()
            self.start_broker()
        for child in list(self.children.values()):
            if child.process.poll() is None:
                if child.failures and now - child.started > _HEALTHY_SECONDS:
                    child.failures = 0
            elif child.restart_at is None:
                child.failures += 1
                child.restart_at = now + min(30.0, 0.2 * 2**child.failures)
                LOG.warning("%s ended (%s)", child.role, child.process.returncode)
            elif now >= child.restart_at:
                _close(child.process.stdin)
                if child.role == "source":
                    self._continue_source()
                self.spawn(child.role)

    def _continue_source(self) -> None:
        """A source that died goes on where its readings end."""
        complete = self._ingest_says("complete_ms")
        if self.play is not None and complete is not None:
            self.play = {**self.play, "start": iso(complete), "lead_in_s": 0}
            self._write_orders()

    def run(self, seconds: float | None, stop: Callable[[], bool]) -> None:
        """Care for the processes until `stop` says so, or for `seconds`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not stop() and (deadline is None or time.monotonic() < deadline):
            self.tend()
            time.sleep(0.2)

    # -- end ------------------------------------------------------------------------

    def stop(self) -> None:
        """End every process: sources first, the broker last; none stays behind."""
        first, last = ("source", "web"), ("notifier", "pipeline", "ingest")
        of_apps = [role for role in self.children if role not in (*first, *last)]
        for role in (*first, *of_apps, *last):
            if role in self.children:
                self.children[role].process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for child in self.children.values():
            try:
                child.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                LOG.warning("%s does not end; killing it", child.role)
            _kill_group(child.process)
            _close(child.process.stdin)
            child.process.wait()
        if self.broker is not None:
            self.broker.stop()
        if self._engine is not None:
            self._engine.dispose()
        if self._held is not None:
            self._held.close()


def is_used(folder: Path) -> bool:
    """Whether a running system uses a data folder."""
    held = _take_lock(folder)
    if held is not None:
        held.close()
    return held is None


def as_run(settings: Settings) -> Settings:
    """The settings of a system as it runs in its folder: with the ports and passwords that it
    chose itself. Raises `StartError` where none runs."""
    folder = settings.data_dir.resolve()
    if not (folder / ORDERS).is_file() or not is_used(folder):
        raise StartError(
            f"{folder}: no system runs in this folder; start one, or say with --config or "
            "--state which it is"
        )
    orders = json.loads((folder / ORDERS).read_text(encoding="utf-8"))
    return Settings.model_validate(orders["settings"])


def _take_lock(folder: Path) -> IO[str] | None:
    """The folder's lock, or None if another process has it."""
    held = (folder / "lock").open("a")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        return None
    return held


def _with_ports(settings: Settings) -> Settings:
    """Free ports where none is set, and credentials for an embedded broker."""
    broker, web = settings.broker, settings.web
    if broker.embedded:
        broker = broker.model_copy(
            update={
                "port": broker.port or machine.free_port(),
                "username": broker.username or "citywise",
                "password": broker.password or secrets.token_urlsafe(18),
                "websocket_port": broker.websocket_port or machine.free_port(),
            }
        )
    if web.port and not machine.is_free(web.host, web.port):
        raise StartError(f"port {web.port} of {web.host} is taken; choose another (web.port)")
    web = web.model_copy(update={"port": web.port or machine.free_port()})
    return settings.model_copy(update={"broker": broker, "web": web})


def _ready(url: str, certificate: Path | None) -> tuple[bool, set[str]]:
    """Whether `/readyz` says yes, and why not."""
    context = None if certificate is None else certificates.pinned(certificate)
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2, context=context):
            return True, set()
    except urllib.error.HTTPError as error:
        try:
            return False, set(json.loads(error.read()).get("reasons", []))
        except ValueError:
            return False, set()
    except OSError:
        return False, {"web has not started"}


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and whatever it started in its session (Spark's JVM and workers)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        stream.close()
