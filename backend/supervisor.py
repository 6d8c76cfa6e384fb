"""Starts the processes of a system, keeps them running, and ends them all."""

from __future__ import annotations

import fcntl
import hashlib
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
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Engine, delete
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend import machine, mqtt, own_files, reloading, starting
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.errors import CitywiseError
from citywise.backend.kinds import Kinds
from citywise.backend.kinds import installed as installed_kinds
from citywise.backend.kinds.sources import of_files
from citywise.backend.layers.folder import take_all
from citywise.backend.network import broker_rights, certificates
from citywise.backend.network.secret_files import replace
from citywise.backend.operations import fitting, readiness
from citywise.backend.operations.readiness import Heartbeat, Heartbeats
from citywise.backend.packs import broken, duties
from citywise.backend.packs.check import checked
from citywise.backend.packs.installed import StaleVersionError, install
from citywise.backend.packs.library import (
    available,
    built_in,
    of_packages,
    said,
)
from citywise.backend.packs.manifest import Pack, PackError
from citywise.backend.packs.parts import brought_to, upgrade_tables
from citywise.backend.packs.waiting import Waiting
from citywise.backend.patience import Mark, Patience, Reason, Stuck
from citywise.backend.pipeline.requests import find, possible
from citywise.backend.reloading import Reloaded
from citywise.backend.settings import Settings
from citywise.backend.sources import made as made_sources
from citywise.backend.store import heartbeat, progress
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.store.models import HeartbeatRow
from citywise.backend.times import iso
from citywise.reasoning.budget import environment

LOG = logging.getLogger("citywise.supervisor")
ORDERS = "orders.json"
_LOCK = "lock"
_STOP_SECONDS = 10
_HEALTHY_SECONDS = 20
_LOOK_SECONDS = 1.0
_ANSWER_SECONDS = 10
"""How long the web may take to say whether all is ready; it is asked again."""
_TRIES = 3
_ROTATE_SECONDS = 10.0
_LOG_BYTES = 20_000_000
_LOGS_KEPT = 3
_BEATING = ("ingest", "pipeline", "notifier")
_KEPT = frozenset({"ingest", "pipeline", "source", "web"})
"""Processes that go on when a configuration is read anew."""
_OURS = frozenset({"ingest", "pipeline", "notifier", "web", "source"})
"""Processes without which nothing goes on; the others are apps' and the connectors'."""


class StartError(CitywiseError):
    """The system did not start; the message says which part and where its log is."""

    exit_code = 3


@dataclass
class Child:
    """A process of ours and how often it had to be started again."""

    role: str
    process: subprocess.Popen[bytes]
    started: float
    log_from: int = 0
    """Where in its log what it writes begins."""
    failures: int = 0
    restart_at: float | None = None

    def end(self, deadline: float) -> None:
        """Wait until a time (monotonic) for the process that was told to end, then end it and all
        that it started."""
        try:
            self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            LOG.warning("%s does not end; killing it", self.role)
        _kill_group(self.process)
        _close(self.process.stdin)
        self.process.wait()


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
    _configured: Settings | None = None
    """The configuration as it was read, of which `settings` are made (`configured_by`)."""
    _engine: Engine | None = None
    _known_kinds: installed_kinds.KnownKinds = field(default_factory=installed_kinds.KnownKinds)
    _waiting: Waiting = field(default_factory=Waiting)
    _metrics: Path | None = None
    """Where our processes count; gone when they have ended."""
    _held: IO[str] | None = None
    _fed_from: int | None = None
    _web_answers: bool = False
    _rotated: float = 0.0
    """When it last looked how large the logs are."""
    _looked_at: float = 0.0
    """When it last looked whether there are sources."""
    _tends_not: type[Exception] | None = None
    """Why it could not start again what had ended, when it last tried."""

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
        apps = brought_to(self.settings).usable(self._database)
        brought = [name for name, parts in apps.items() if parts.service]
        connectors = ("connectors",) if self._has_sources() else ()
        return ("ingest", "pipeline", "notifier", *connectors, *brought, "web")

    def _has_sources(self) -> bool:
        """Whether there is something for connectors to read, or to ask for a layer; an operator
        may make the first of it while the system runs."""
        if self.settings.sources:
            return True
        with self._database.connect() as connection:
            layers = self._known_kinds.read(connection).layers
            if any(kind.layer and kind.layer.address for kind in layers.values()):
                return True
            return made_sources.is_any_active(connection)

    def configured_by(self, settings: Settings) -> None:
        """Say what stands in the configuration: `reload` compares with that."""
        self._configured = settings

    # -- start ----------------------------------------------------------------------

    def start(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Start everything; the address is known when this returns, see `wait_ready`."""
        # What it holds of people is nobody else's business on this machine.
        own_files.keep_from_others()
        folder = self.settings.data_dir.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "logs").mkdir(exist_ok=True)
        self._lock(folder)
        for path in own_files.tighten(folder):
            LOG.warning("%s is another user's, and others may read it: chmod go= it", path)
        name = f"citywise-{hashlib.sha256(bytes(folder)).hexdigest()[:16]}"
        self._metrics = machine.folder_in_memory(name, folder / "metrics")
        self.settings = _with_ports(self.settings)
        self._engine = create_engine_for(self.settings.database_url)
        migrate(self._engine)
        upgrade_tables(self._engine, self.settings)
        # Before Spark starts: what does not belong together would only be found minutes later.
        with self._engine.connect() as connection:
            fitting.check(connection, self.settings)
        self._install_apps(self._engine)
        self._prepare_city()
        with self._database.begin() as connection:
            connection.execute(delete(HeartbeatRow))
        if self.settings.broker.embedded:
            self.start_broker()
        else:
            self._wait_for_broker(stop)
        self._write_orders()
        for role in self.roles:
            self.spawn(role)

    def _install_apps(self, engine: Engine) -> None:
        """Install what apps there are; the requests they bring run beside the city's."""
        folders = available([Path(folder) for folder in self.settings.apps.folders])
        packaged, ours = set(of_packages()), {folder.resolve() for folder in built_in()}
        files = of_files(self.settings)
        kinds = installed_kinds.with_made(engine, files)
        folders = self._waiting.sort(folders, kinds)
        for line in self._waiting.told(kinds):
            self.say(line)
        tried = [f for f in folders if f in packaged or (said(f, "python") and f not in ours)]
        packs = [checked(folder, kinds) for folder in folders if folder not in tried]
        install(engine, packs)
        packs += [pack for folder in tried if (pack := self._tried(engine, folder, kinds))]
        for pack in packs:
            files = files.with_kinds(*pack.own_kinds.values(), *pack.own_kinds.places.values())
        kinds = installed_kinds.install(engine, files)
        for line in take_all(engine, kinds, self.settings.city_dir):
            self.say(line)
        with engine.begin() as connection:
            duties.settle(connection)
        brought = [str(path.resolve()) for pack in packs for path in pack.requests]
        pipeline = self.settings.pipeline
        wanted = dict.fromkeys([*pipeline.requests, *brought])
        requests = tuple(name for name in wanted if list(possible([find(name)], kinds)))
        self.settings = self.settings.model_copy(
            update={"pipeline": pipeline.model_copy(update={"requests": requests})}
        )

    def _tried(self, engine: Engine, folder: Path, kinds: Kinds) -> Pack | None:
        """An app of others with code of theirs, installed here; None, and a word, if it is not
        sound: the city goes on without it."""
        try:
            pack = checked(folder, kinds)
            install(engine, [pack])
        except (PackError, StaleVersionError) as error:
            self.say(f"{error}\nThe system goes on without this app.")
            return None
        return pack

    def _prepare_city(self) -> None:
        """Let apps make what their processes look for; one that cannot is left as it is."""
        for name, parts in brought_to(self.settings).usable(self._database).items():
            if parts.prepare is None:
                continue
            try:
                parts.prepare(self.settings, self.play)
            except Exception as error:  # noqa: BLE001
                broken.note(name, "prepare", error)
                self.say(f"app `{name}`: {broken.reason_of(error)}\nIt goes on without that.")

    def _lock(self, folder: Path) -> None:
        """Two systems in one folder would spoil each other's work."""
        self._held = _take_lock(folder)
        if self._held is None:
            raise StartError(f"{folder}: another running system uses this folder")
        self._held.truncate(0)  # of who held it before (`supervisor_of`)
        self._held.write(str(os.getpid()))
        self._held.flush()

    def start_broker(self) -> None:
        """Start the embedded broker on the settings' port."""
        broker_rights.write(self._database, self.settings)
        self.broker = EmbeddedBroker.of(self.settings)
        self.broker.start()

    def _wait_for_broker(self, stop: Callable[[], bool]) -> None:
        """An external broker may start later than we do."""
        broker, deadline = self.settings.broker, time.monotonic() + self.settings.start.patience_s
        said = False
        while not stop():
            try:
                mqtt.look_for_broker(broker)
                return
            except mqtt.NoBrokerError:
                if time.monotonic() > deadline:
                    raise
                if not said:
                    self.say(f"  no broker answers at {broker.host}:{broker.port} …")
                said = True
                time.sleep(0.3)

    # -- another configuration ----------------------------------------------------------

    def reload(self, read: Callable[[], Settings]) -> Reloaded:
        """Take what of a configuration can be changed now, and a renewed certificate; says what
        it came to, also in `data_dir`. What cannot be read or used changes nothing."""
        try:
            wanted = read()
            before = self._configured or wanted
            found = reloading.compare(before, wanted)
            running = reloading.taken(self.settings, wanted, found)
            configured = reloading.taken(before, wanted, found)
            self._write_orders(running)
        except (CitywiseError, ValueError, OSError) as error:
            found = Reloaded(error=str(error))
        else:
            self.settings, self._configured = running, configured
            self._hand_on(bool(found.changed))
        try:
            found.write(self.settings.data_dir.resolve())
        except OSError as error:
            LOG.warning("cannot leave what the reload came to: %s", error)
        return found

    def _hand_on(self, is_changed: bool) -> None:
        """Have processes begin anew with the orders as they are now, but those that take in and
        evaluate; the web takes its own by itself, without being away."""
        if (web := self.children.get("web")) is not None and web.process.poll() is None:
            web.process.send_signal(signal.SIGHUP)
        for role in [*self.children] if is_changed else []:
            if role in _KEPT or self.children[role].process.poll() is not None:
                continue
            self.children[role].process.terminate()
            self.children[role].end(time.monotonic() + _STOP_SECONDS)
            try:
                self.spawn(role)
            except OSError as error:  # `tend` starts it when that is possible again
                LOG.warning("cannot start %s again yet: %s", role, error)

    def _write_orders(self, settings: Settings | None = None) -> None:
        settings = settings or self.settings
        orders = {"settings": settings.model_dump(mode="json"), "source": self.play}
        replace(self._orders, json.dumps(orders).encode())

    @property
    def _orders(self) -> Path:
        return self.settings.data_dir.resolve() / ORDERS

    def spawn(self, role: str) -> None:
        """Start (again) the process of a role; its output goes to `logs/ROLE.log`."""
        folder = self.settings.data_dir.resolve()
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        failures = self.children[role].failures if role in self.children else 0
        log = self.log_file(role)
        written = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            process = subprocess.Popen(
                self.command(role),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={
                    **environment(),
                    "PROMETHEUS_MULTIPROC_DIR": str(self._metrics),
                    "TMPDIR": str(temporary),
                },
                start_new_session=True,
            )
        self.children[role] = Child(role, process, time.monotonic(), written, failures)

    def command(self, role: str) -> Sequence[str]:
        """What is executed for a role."""
        return [sys.executable, "-m", "citywise.backend.process", role, str(self._orders)]

    def log_file(self, role: str) -> Path:
        """The file a process of ours writes its messages to."""
        return self.settings.data_dir.resolve() / "logs" / f"{role}.log"

    # -- until all is ready -----------------------------------------------------------

    def wait_ready(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Return when every part is up and the present is reached, or on `stop`.

        With a source, the present is its start: what it feeds before for state has been
        answered. Waits as long as what it waits for gets on; raises `StartError` when nothing
        does, when it takes too long in all (`settings.start`), or when a part does not stay up.
        """
        limits = self.settings.start
        patience, look_at = Patience(limits, time.monotonic()), 0.0
        failing: frozenset[str] = frozenset()
        while (reasons := self._waiting_for()) and not stop():
            for reason in patience.news(reasons):
                self.say(f"  {reason.text} …")
            failing = self._failing(failing)
            if (now := time.monotonic()) >= look_at:
                look_at = now + min(_LOOK_SECONDS, limits.patience_s / 4)
                patience.note(self._marks(), now)
                if stuck := patience.stuck(reasons, now):
                    raise StartError(self._is_stuck(stuck))
            time.sleep(0.3)
            self.tend()

    def _failing(self, said: frozenset[str]) -> frozenset[str]:
        """Which processes of apps do not stay up, and say so once: all else goes on without
        them. Raises `StartError` for a process of ours."""
        failing = [child for child in self.children.values() if child.failures >= _TRIES]
        for child in failing:
            if child.role in _OURS:
                raise StartError(self._does_not_stay_up(child))
            if child.role not in said:
                self.say(f"{self._does_not_stay_up(child)}\nThe system goes on without it.")
        return frozenset(child.role for child in failing)

    def _waiting_for(self) -> list[Reason]:
        """What is still to come before the system is ready, in the order in which it comes."""
        found = list(starting.reasons(readiness.check_all(self._database, self.settings)))
        if self.play is not None:
            if "source" not in self.children and self.answering():
                self.spawn("source")
            found = found or self._lead_in()
        if found and self._web_answers:
            return found
        said = _readyz(self.url, self.settings.web.certificate)
        self._web_answers = said is not None
        if said is None:
            return [*found, Reason("web", "web", "web has not started")]
        # Who asks the web has to be told the same as we are.
        if said and not found:
            return [Reason("web", "readyz", f"web says: {'; '.join(said)}")]
        return found

    def _lead_in(self) -> list[Reason]:
        """How much of what comes before the source's start has been answered."""
        others = ("ingest", "source")
        start = self._ingest_says("start_ms")
        if start is None:
            return [Reason("source", "source", "source has not started", others)]
        answered = self._answered()
        if answered is None:
            return [Reason("pipeline", "window", "no window has been evaluated yet", others)]
        if answered >= start - 1:
            return []
        self._fed_from = min(self._fed_from or answered, answered)
        done = (answered - self._fed_from) * 10 // (start - self._fed_from) * 10
        text = f"feeding the hours before the start: {done} %"
        return [Reason("pipeline", text, text, others)]

    def _answered(self) -> int | None:
        """Stream time (Unix ms) up to which every request has answered, where that is known."""
        try:
            with self._database.connect() as connection:
                return progress.read(connection).answered_ms
        except SQLAlchemyError:
            LOG.exception("cannot read what is answered")
            return None

    def answering(self) -> bool:
        """Whether ingest and pipeline are up, so that a source may start."""
        heartbeats = self._heartbeats()
        return all(_is_at_work(heartbeats.get(process)) for process in ("ingest", "pipeline"))

    def _ingest_says(self, key: str) -> int | None:
        """A time (Unix ms) from the ingest's last sign of life."""
        found = self._heartbeats().get("ingest")
        return None if found is None else found.detail.get(key)

    def _heartbeats(self) -> Heartbeats:
        """What the processes said last; nothing where the database does not answer."""
        try:
            return readiness.read_heartbeats(self._database)
        except SQLAlchemyError:
            LOG.exception("cannot read the heartbeats")
            return {}

    def _marks(self) -> dict[str, Mark]:
        """How far each part is."""
        heartbeats = self._heartbeats()
        return {
            role: starting.mark(child.process.pid, self.log_file(role), heartbeats.get(role))
            for role, child in self.children.items()
        }

    def _is_stuck(self, stuck: Stuck) -> str:
        part = stuck.reason.part
        since = self.children[part].log_from if part in self.children else 0
        return starting.told(stuck, self.settings.start, self.log_file(part), since)

    def _does_not_stay_up(self, child: Child) -> str:
        lines = starting.from_log(self.log_file(child.role), child.log_from)
        return "\n".join([f"{child.role} does not stay up; {lines[0]}", *lines[1:]])

    # -- care -----------------------------------------------------------------------

    def tend(self) -> None:
        """Start again what has died, a little later each time it fails soon.

        What cannot be started now, on a disk that is full, is tried again.
        """
        try:
            self._tend()
            self._tends_not = None
        except (OSError, SQLAlchemyError) as error:
            if type(error) is not self._tends_not:  # said once, or the log would grow for ever
                LOG.warning("cannot start again what has ended: %s; trying again", error)
            self._tends_not = type(error)

    def _tend(self) -> None:
        now = time.monotonic()
        if now >= self._rotated + _ROTATE_SECONDS:
            self._rotated = now
            for child in self.children.values():
                if own_files.rotate(self.log_file(child.role), _LOG_BYTES, _LOGS_KEPT):
                    child.log_from = 0
        if self.broker is not None and not self.broker.is_running:
            LOG.warning("the embedded broker died; starting it again")
            self.broker.stop()
            self.start_broker()
        for child in list(self.children.values()):
            if child.process.poll() is None:
                if child.failures and now - child.started > _HEALTHY_SECONDS:
                    child.failures = 0 if self._is_up(child.role) else child.failures
            elif child.restart_at is None:
                self._note_end(child.role)
                child.failures += 1
                child.restart_at = now + min(30.0, 0.2 * 2**child.failures)
                LOG.warning("%s ended (%s)", child.role, child.process.returncode)
            elif now >= child.restart_at:
                _close(child.process.stdin)
                if child.role == "source":
                    self._continue_source()
                self.spawn(child.role)
        if now >= self._looked_at + _LOOK_SECONDS:
            self._looked_at = now
            self._start_connectors()
            self._settle_apps()

    def _settle_apps(self) -> None:
        """An operator may have made a kind for which an app waits."""
        if self._engine is not None and self._waiting.folders:
            with self._engine.connect() as connection:
                kinds = self._known_kinds.read(connection)
            for line in self._waiting.settle(self._engine, kinds):
                self.say(line)

    def _start_connectors(self) -> None:
        """An operator may have made the first source while the system runs."""
        runs = self._engine is not None and "web" in self.children
        if runs and "connectors" not in self.children and self._has_sources():
            self.spawn("connectors")

    def _is_up(self, role: str) -> bool:
        """Whether a process has come as far as to do its work: on a slow machine that takes
        longer than many a death."""
        found = self._heartbeats().get(role)
        return _is_at_work(found) or (found is None and role not in _BEATING)

    def _note_end(self, role: str) -> None:
        try:
            with self._database.begin() as connection:
                heartbeat.end(connection, role)
        except SQLAlchemyError:
            LOG.exception("cannot note that %s has ended", role)

    def _continue_source(self) -> None:
        """A source that died goes on where its readings end; its start stays what it was."""
        complete = self._ingest_says("complete_ms")
        if self.play is not None and complete is not None:
            self.play = {**self.play, "since": iso(complete)}
            self._write_orders()

    def run(
        self,
        seconds: float | None,
        stop: Callable[[], bool],
        reload: Callable[[], None] = lambda: None,
    ) -> None:
        """Care for the processes until `stop` says so, or for `seconds`; `reload` is called now
        and then, and may be asked to (`reload`)."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not stop() and (deadline is None or time.monotonic() < deadline):
            self.tend()
            reload()
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
            child.end(deadline)
        if self.broker is not None:
            self.broker.stop()
        if self._engine is not None:
            self._engine.dispose()
        if self._metrics is not None:
            shutil.rmtree(self._metrics, ignore_errors=True)
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


def supervisor_of(folder: Path) -> int:
    """The process that looks after the system that runs in a data folder; raises `StartError`
    where none runs."""
    lock, found = folder / _LOCK, 0
    if lock.is_file() and is_used(folder):
        with suppress(ValueError):
            found = int(lock.read_text(encoding="ascii"))
    if not found:
        raise StartError(f"{folder}: no system runs in this folder that could be told")
    return found


def as_left(settings: Settings) -> Settings:
    """The settings of the system that ran last in a data folder, with what it was given beside
    a configuration; `settings` themselves where none ran, or they say more than the folder."""
    folder = settings.data_dir.resolve()
    if settings != Settings(data_dir=settings.data_dir):
        return settings
    try:
        orders = json.loads((folder / ORDERS).read_text(encoding="utf-8"))
        return Settings.model_validate({**orders["settings"], "data_dir": str(folder)})
    except (OSError, ValueError, KeyError):
        return settings


def last_played(folder: Path) -> dict[str, Any] | None:
    """What the last system in a data folder was given to play, if anything."""
    try:
        orders = json.loads((folder / ORDERS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    found: dict[str, Any] | None = orders["source"]
    return found


def _take_lock(folder: Path) -> IO[str] | None:
    """The folder's lock, or None if another process has it. A system's own has the number of its
    process in it."""
    own_files.create(folder / _LOCK)
    held = (folder / _LOCK).open("a", encoding="ascii")
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


def _is_at_work(found: Heartbeat | None) -> bool:
    """Whether a process lives and has come through its start."""
    return found is not None and not found.ended and not found.detail.get("stage")


def _readyz(url: str, certificate: Path | None) -> list[str] | None:
    """Why `/readyz` says no; nothing if it says yes, None if it does not answer."""
    context = None if certificate is None else certificates.pinned(certificate)
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=_ANSWER_SECONDS, context=context):
            return []
    except urllib.error.HTTPError as error:
        try:
            return list(json.loads(error.read())["reasons"]) or ["not ready"]
        except (ValueError, KeyError, OSError):
            return [f"HTTP {error.code}"]
    except (OSError, HTTPException):
        return None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and whatever it started in its session (Spark's JVM and workers)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        stream.close()
