"""Runs the pipeline on a Spark cluster of this machine, kills a worker, compares the answers.

`.venv/bin/python scripts/cluster.py` starts an MQTT broker, a Spark standalone master and
two workers, and the system by `citywise run` with that master; a simulated stretch of the
city goes through, and half-way one worker and all it started are killed with SIGKILL. The
announcements and events in the store must then equal those of the same stretch evaluated in
one process without Spark (as `citywise replay` does).

Each worker sees only its own folder: in a mount namespace of its own, the system's folder,
the other worker's and our code are covered by empty file systems. Where the machine allows
no such namespace, the script says so and only checks that no worker was told the path.

Exit code 0: the same; 1: not. All it started is ended; everything listens on loopback only.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import psutil
from sqlalchemy import select

from citywise.backend import machine
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.city.simulation import START, Simulation
from citywise.backend.city.source import run_source
from citywise.backend.ingest.intake import IntakeStore
from citywise.backend.machine import REPOSITORY
from citywise.backend.pipeline.recorded import changes
from citywise.backend.settings import Broker
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import EventRow, HeartbeatRow, OutboxRow
from citywise.backend.times import iso_or_none, to_ms

Announcement = tuple[int, str, Mapping[str, Any]]
OURS = [REPOSITORY / name for name in ("citywise", "reasoning", "backend", "apps")]
LEAD_IN = timedelta(hours=1)
SEED = 7
FEWEST_TASKS = 4
"""That both workers must have done before, and one after, or the death shows nothing."""
# Covers folders (up to `--`) with nothing, sees that nothing is left of them, and goes on.
COVER = """
while [ "$1" != -- ]; do
    mount -t tmpfs -o size=4k,mode=755 none "$1"
    test -z "$(ls -A "$1")"
    shift
done
shift
exec "$@"
"""


class DifferenceError(Exception):
    """Something did not come out as it must."""


def say(text: str) -> None:
    """A line of what goes on, with the time since the start."""
    print(f"{time.monotonic() - BEGUN:6.1f} s  {text}", flush=True)


BEGUN = time.monotonic()


# --- Processes -----------------------------------------------------------------------------


@contextmanager
def process(command: Sequence[object], log: Path, **more: Any) -> Iterator[psutil.Popen]:
    """A process with its output in a file; it and all it started are killed at the end."""
    with log.open("ab") as output:
        started = psutil.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **more,
        )
    try:
        yield started
    finally:
        kill(started)


def kill(started: psutil.Popen) -> int:
    """SIGKILL for a process and all that it started; returns how many there were."""
    try:
        victims = [started, *started.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for victim in victims:
        try:
            victim.kill()
        except psutil.NoSuchProcess:
            continue
    started.wait()
    return len(victims)


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for a condition; raises `DifferenceError` that says what did not happen."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise DifferenceError(f"{what}: not within {seconds:g} s")
        time.sleep(0.1)


def can_cover() -> bool:
    """Whether this machine lets us hide folders from a process."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


# --- The cluster ---------------------------------------------------------------------------


@dataclass
class Cluster:
    """A Spark standalone master and its workers, each with a folder of its own."""

    folder: Path
    hides: bool
    port: int = field(default_factory=machine.free_port)
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    workers: list[psutil.Popen] = field(default_factory=list)

    @property
    def url(self) -> str:
        """What the pipeline's `master` is set to."""
        return f"spark://127.0.0.1:{self.port}"

    def worker_folder(self, number: int) -> Path:
        """The only folder of ours that a worker sees."""
        return self.folder / f"worker-{number}"

    @contextmanager
    def running(self, hidden: Sequence[Path], count: int = 2) -> Iterator[Cluster]:
        """Start it; the workers do not see `hidden`, nor each other's folders."""
        folders = [self.worker_folder(number) for number in range(count)]
        for folder in folders:
            folder.mkdir()
        with ExitStack() as stack:
            stack.enter_context(self._master())
            self._wait_for(self.folder / "master.log", "New state: ALIVE", "the master")
            for number, folder in enumerate(folders):
                others = [*hidden, *(other for other in folders if other != folder)]
                self.workers.append(stack.enter_context(self._worker(number, others)))
            for number in range(count):
                log = self.worker_log(number)
                self._wait_for(log, "Successfully registered with master", f"worker {number}")
            yield self

    def worker_log(self, number: int) -> Path:
        """Where a worker's messages go."""
        return self.folder / f"worker-{number}.log"

    def tasks(self, number: int) -> tuple[int, int]:
        """How many tasks a worker's executors have begun and finished, by their messages."""
        logs = self.worker_folder(number).glob("work/app-*/*/stderr")
        text = "".join(log.read_text(errors="replace") for log in logs)
        return text.count(": Running task "), text.count(": Finished task ")

    def _master(self) -> Any:
        ports = ["--port", self.port, "--webui-port", machine.free_port()]
        arguments = ["master", "--host", "127.0.0.1", *ports]
        return self._spark(arguments, self.folder / "master", self.folder / "master.log")

    def _worker(self, number: int, hidden: Sequence[Path]) -> Any:
        folder = self.worker_folder(number)
        size = ["--cores", 1, "--memory", "1g", "--work-dir", folder / "work"]
        ports = ["--webui-port", machine.free_port()]
        arguments = ["worker", self.url, "--host", "127.0.0.1", *size, *ports]
        cover = [*NAMESPACE, "sh", "-ec", COVER, "sh", *hidden, "--"] if self.hides else []
        return self._spark(arguments, folder, self.worker_log(number), cover)

    def _spark(
        self, arguments: Sequence[object], folder: Path, log: Path, cover: Sequence[object] = ()
    ) -> Any:
        """One of Spark's own processes, as a deployment starts it, with the Java that we use."""
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            **machine.spark_environment(folder),
            "PYTHON": sys.executable,
            "CITYWISE_SPARK_SECRET": self.secret,
            "SPARK_DAEMON_MEMORY": "512m",
        }
        command = [*cover, REPOSITORY / "deploy" / "spark.sh", *arguments]
        return process(command, log, cwd=folder, env=environment)

    def _wait_for(self, log: Path, words: str, who: str) -> None:
        def said() -> bool:
            return log.exists() and words in log.read_text(errors="replace")

        wait_until(said, 60, f"{who} did not say `{words}` in {log}")


# --- The system ----------------------------------------------------------------------------


def configuration(city: Path, broker: Broker, cluster: Cluster, database: str) -> str:
    """The file for `citywise run`: everything external, and a log that is served."""
    return f"""
data_dir = "{city}"
database = "{database}"

[broker]
embedded = false
host = "{broker.host}"
port = {broker.port}
username = "{broker.username}"
password = "{broker.password}"

[ingest]
clock = "topic"
serve_port = {machine.free_port()}
serve_token = "{secrets.token_urlsafe(24)}"

[pipeline]
master = "{cluster.url}"
checkpoint = "file://{city / "shared"}"

[pipeline.cluster]
cores = 2
secret = "{cluster.secret}"
spark = ["spark.executor.cores=1", "spark.executor.memory=768m"]
"""


@dataclass
class Store:
    """What the system has written down."""

    url: str

    def __post_init__(self) -> None:
        self._engine = create_engine_for(self.url)

    def is_up(self) -> bool:
        """Whether ingest and pipeline have given a sign of life."""
        try:
            with self._engine.connect() as connection:
                alive = set(connection.scalars(select(HeartbeatRow.process)))
        except Exception:  # noqa: BLE001 - the system has not made its tables yet
            return False
        return {"ingest", "pipeline"} <= alive

    def answered_ms(self) -> int:
        """Stream time up to which every request has answered."""
        return IntakeStore(self._engine).progress().answered_ms or 0

    def announcements(self) -> list[Announcement]:
        """What was announced, in order."""
        query = select(OutboxRow.t_ms, OutboxRow.kind, OutboxRow.body).order_by(OutboxRow.id)
        with self._engine.connect() as connection:
            return [(row.t_ms, row.kind, row.body) for row in connection.execute(query)]

    def events(self) -> dict[str, str | None]:
        """Every event's end, None while it lasts."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(EventRow.id, EventRow.end_ms)).all()
        return {row.id: iso_or_none(row.end_ms) for row in rows}


@contextmanager
def broker_running() -> Iterator[Broker]:
    """An MQTT broker that is not the system's own."""
    password = secrets.token_urlsafe(18)
    embedded = EmbeddedBroker(0, "citywise", password)
    port = embedded.start()
    settings = Broker(embedded=False, port=port, username="citywise", password=password)
    try:
        yield settings
    finally:
        embedded.stop()


@contextmanager
def publishing(source: Simulation, broker: Broker, speed: float) -> Iterator[None]:
    """The simulated city's messages, from a thread."""
    stop = threading.Event()
    thread = threading.Thread(
        target=run_source, args=(source, broker), kwargs={"speed": speed, "stop": stop}
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)


# --- The comparison ------------------------------------------------------------------------


def undisturbed(source: Simulation) -> list[Announcement]:
    """What one process without Spark announces, as the store would give it back."""
    found = orjson.loads(orjson.dumps(list(changes(source))))
    return [(t_ms, kind, event) for t_ms, kind, event in found]


def compare(store: Store, expected: Sequence[Announcement]) -> None:
    """Raise `DifferenceError` unless announcements and events are those of the local run."""
    found = store.announcements()
    for number, (one, other) in enumerate(zip(found, expected, strict=False), start=1):
        if one != other:
            raise DifferenceError(f"announcement {number} is {one}, expected {other}")
    if len(found) != len(expected):
        raise DifferenceError(f"{len(found)} announcements, expected {len(expected)}")
    events = store.events()
    if events != {event["id"]: event["end"] for _, _, event in expected}:
        raise DifferenceError("the table of events differs from what was announced")
    say(f"the same: {len(found)} announcements in order, {len(events)} events")


def audit(cluster: Cluster, city: Path) -> None:
    """Without namespaces: no worker was told where the system's folder is."""
    for number in range(len(cluster.workers)):
        for path in cluster.worker_folder(number).rglob("*"):
            if path.is_file() and str(city).encode() in path.read_bytes():
                raise DifferenceError(f"{path} names the system's folder {city}")


# --- All together --------------------------------------------------------------------------


def main() -> int:
    """Do it; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=4, help="stretch of the simulated city")
    parser.add_argument("--speed", type=float, default=150, help="stream seconds per second")
    parser.add_argument("--database", help="SQLAlchemy URL of an empty database [SQLite]")
    parser.add_argument("--keep", action="store_true", help="leave the folder with all messages")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="citywise-cluster-")).resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        run(folder, timedelta(hours=options.hours), options.speed, options.database)
    except DifferenceError as failure:
        say(f"FAILED: {failure}")
        say(f"messages are in {folder}")
        return 1
    if options.keep:
        say(f"messages are in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def run(folder: Path, stretch: timedelta, speed: float, database: str | None) -> None:
    """Start everything, kill a worker half-way, compare, and end everything."""
    until = START + stretch
    expected = undisturbed(Simulation(SEED, START, until, LEAD_IN))
    say(f"without Spark, {stretch} of the city give {len(expected)} announcements")
    city = folder / "city"
    city.mkdir(mode=0o700)
    hides = can_cover()
    cluster = Cluster(folder, hides)
    with broker_running() as broker, cluster.running([city, *OURS]):
        seen = "with its own folder only (mount namespaces)" if hides else "sharing file systems"
        say(f"master at {cluster.url}, two workers, each {seen}")
        file = city / "citywise.toml"
        url = database or f"sqlite:///{city / 'citywise.db'}"
        file.write_text(configuration(city, broker, cluster, url))
        store = Store(url)
        command = [sys.executable, "-m", "citywise.backend.cli", "run", "--config", file]
        with process(command, folder / "system.log", cwd=REPOSITORY) as system:
            wait_until(
                store.is_up, 120, f"the system is not up, see {folder}/system.log and {city}/logs"
            )
            say("broker, ingest, pipeline and web are up")
            with publishing(Simulation(SEED, START, until, LEAD_IN), broker, speed):
                disturb(cluster)
                _, before = cluster.tasks(1)
                end = to_ms(until)
                wait_until(lambda: store.answered_ms() > end, 150, "not all was answered")
            say(f"all is answered; in the end {describe(cluster)}")
            if cluster.tasks(1)[1] < before + FEWEST_TASKS:
                raise DifferenceError("worker 1 had too little to do alone; give more --hours")
            compare(store, expected)
            system.terminate()
            system.wait(20)
    if not hides:
        audit(cluster, city)
        say("no mount namespaces on this machine: checked that no worker was told our paths")


def disturb(cluster: Cluster) -> None:
    """When both workers have worked, kill one amid a task, with all it started."""

    def is_amid_a_task() -> bool:
        begun, finished = cluster.tasks(0)
        return begun > finished >= FEWEST_TASKS <= cluster.tasks(1)[1]

    wait_until(is_amid_a_task, 120, f"both workers have not done {FEWEST_TASKS} tasks")
    killed = kill(cluster.workers[0])
    say(f"killed worker 0, {killed} processes, amid a task: {describe(cluster)}")


def describe(cluster: Cluster) -> str:
    """What each worker has done."""
    tasks = [cluster.tasks(number) for number in range(len(cluster.workers))]
    return ", ".join(
        f"worker {number} finished {finished} of {begun} tasks"
        for number, (begun, finished) in enumerate(tasks)
    )


if __name__ == "__main__":
    sys.exit(main())
