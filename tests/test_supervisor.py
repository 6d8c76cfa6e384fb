"""Starting and keeping processes: who gets on is waited for, who is stuck is named.

The processes are small programs that stand for the system's; what they would say in the database
the test says for them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest
from sqlalchemy import insert

from citywise.backend.broker import EmbeddedBroker
from citywise.backend.operations import readiness
from citywise.backend.settings import Broker, Mail, Settings, Start, Web
from citywise.backend.store.models import CursorRow
from citywise.backend.supervisor import StartError, System
from citywise.backend.times import parse_ms
from tests.api.town import NOON, Town, soon
from tests.databases import begun

SLEEPS = "import time; time.sleep(600)"
WORKS = """
import os
parent = os.getppid()
while os.getppid() == parent: pass
"""
"""Until whoever started it has ended: a test leaves nothing that works on."""
STARTS_OTHERS = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {WORKS!r}], preexec_fn=lambda: os.setpgid(0, 0))
time.sleep(600)
"""
"""As Spark's Python workers are: a child that works, in a process group of its own."""
FAILS = """
print("26/11/23 01:02:03 WARN Utils: a remark", flush=True)
raise OSError("no master answers")
"""
SAYS_WHY_AND_HANGS = """
import time
print("26/11/23 01:02:03 ERROR SparkContext: cannot reach the master")
print("26/11/23 01:02:04 WARN Utils: a remark", flush=True)
time.sleep(600)
"""


@dataclass
class Parts(System):
    """A system of given programs."""

    programs: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    at: dict[str, Callable[[], None]] = field(default_factory=dict)
    """What happens when the system says something."""

    def command(self, role: str) -> Sequence[str]:
        return [sys.executable, "-c", self.programs[role]]

    def begin(self, **programs: str) -> None:
        """Start programs in the place of parts."""
        self.programs |= programs
        for role in programs:
            if role != "source":
                self.spawn(role)

    def hear(self, text: str) -> None:
        self.told.append(text.strip(" …"))
        self.at.pop(self.told[-1], lambda: None)()

    @property
    def town(self) -> Town:
        return Town(self._database)


class Pages(BaseHTTPRequestHandler):
    """The web: says what is so, as `/readyz` does."""

    system: Parts

    def do_GET(self) -> None:
        checks = readiness.check_all(self.system._database, self.system.settings)
        report = readiness.as_json(checks)
        self.send_response(200 if report["ready"] else 503)
        self.end_headers()
        self.wfile.write(orjson.dumps(report))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called
        """Say nothing."""


@pytest.fixture
def system(tmp_path: Path) -> Iterator[Parts]:
    server = HTTPServer(("127.0.0.1", 0), Pages)
    settings = Settings(data_dir=tmp_path, web=Web(port=server.server_port))
    found = Pages.system = Parts(settings)
    found.say = found.hear
    found._engine = begun(settings.database_url)
    (tmp_path / "logs").mkdir()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        found.stop()
        server.shutdown()
        thread.join()
        server.server_close()


def hurried(system: Parts, **limits: float) -> None:
    """Have little patience."""
    start = Start(**{"patience_s": 600, "limit_s": 600, **limits})
    system.settings = system.settings.model_copy(update={"start": start})


# --- Who is waited for -----------------------------------------------------------------------


@pytest.mark.parametrize("program", [WORKS, STARTS_OTHERS])
def test_a_part_that_works_shows_it_by_the_cpu_time_of_all_it_started(
    system: Parts, program: str
) -> None:
    """What that is good for: `test_patience.py`."""
    system.begin(pipeline=program)
    soon(lambda: system._marks()["pipeline"].cpu_s > 0.5)


def test_a_part_that_is_stuck_is_named_with_the_cause_its_log_gives(system: Parts) -> None:
    system.town.running()
    system.town.heartbeat("pipeline", age_s=0, stage="starting Spark")
    hurried(system, patience_s=2)
    system.begin(pipeline=SAYS_WHY_AND_HANGS)
    with pytest.raises(StartError) as raised:
        system.wait_ready()
    text = str(raised.value)
    assert text.startswith("pipeline is stuck: pipeline is starting Spark; since ")
    assert "start.patience_s is 2" in text
    assert str(system.log_file("pipeline")) in text
    assert text.endswith("ERROR SparkContext: cannot reach the master")


def test_a_part_that_does_not_stay_up_is_named_with_its_error(system: Parts) -> None:
    system.begin(ingest=SLEEPS, pipeline=FAILS)
    with pytest.raises(StartError, match="pipeline does not stay up") as raised:
        system.wait_ready()
    assert str(raised.value).endswith("OSError: no master answers")
    assert "WARN" not in str(raised.value)


def test_a_start_ends_when_it_takes_too_long_whatever_works(system: Parts) -> None:
    system.settings = system.settings.model_copy(update={"start": Start(patience_s=600, limit_s=1)})
    system.begin(ingest=WORKS)
    with pytest.raises(StartError, match=r"not ready after \d+ s \(start.limit_s is 1\)"):
        system.wait_ready()


# --- What is said, and when it is ready --------------------------------------------------------


def test_what_is_waited_for_is_said_once_and_in_the_order_in_which_it_comes(system: Parts) -> None:
    """What follows from something else is not said before it."""
    town = system.town

    def spark_starts() -> None:
        town.running()
        town.heartbeat("pipeline", stage="starting Spark")

    system.at = {
        "pipeline has not started": spark_starts,
        "pipeline is starting Spark": lambda: town.heartbeat("pipeline", batches=0),
        "pipeline has not evaluated its first batch": lambda: town.heartbeat("pipeline", batches=1),
        "no window has been evaluated yet": town.running,
    }
    system.begin(ingest=SLEEPS, pipeline=SLEEPS)
    system.wait_ready()
    assert system.told == [
        "ingest has not started",
        "pipeline has not started",
        "pipeline is starting Spark",
        "pipeline has not evaluated its first batch",
        "no window has been evaluated yet",
    ]


def test_the_age_of_the_last_window_is_said_once(system: Parts) -> None:
    """Its number is another each time; that is no progress."""
    town = system.town
    ages = iter(range(700, 10_000))

    def older() -> bool:
        town.alter("ingest", complete_ms=parse_ms(NOON) + 1000 * next(ages))
        town.beat()
        return False

    system.begin(ingest=SLEEPS, pipeline=SLEEPS)
    town.running()
    older()
    hurried(system, patience_s=2)
    with pytest.raises(StartError, match="pipeline is stuck: the last window"):
        system.wait_ready(older)
    assert len(system.told) == 1


def test_answers_of_an_earlier_run_do_not_make_it_ready(system: Parts) -> None:
    """They may be fresh enough: what counts is that this run's pipeline has evaluated."""
    system.town.running()
    system.town.alter("pipeline", batches=0)
    system.at = {"pipeline has not evaluated its first batch": system.town.running}
    system.begin(ingest=SLEEPS, pipeline=SLEEPS)
    system.wait_ready()
    assert system.told == ["pipeline has not evaluated its first batch"]


# --- What is kept up --------------------------------------------------------------------------


def test_a_system_whose_pipeline_died_is_not_ready_before_its_next_batch(system: Parts) -> None:
    """At once, not when its last sign of life is ten seconds old."""
    town = system.town
    town.running()
    system.begin(ingest=SLEEPS, pipeline=SLEEPS)
    system.wait_ready()
    killed = system.children["pipeline"].process
    killed.kill()
    killed.wait()
    system.tend()
    assert reasons(system) == ["pipeline has ended"]
    while system.children["pipeline"].process is killed:
        system.tend()
    assert reasons(system) == ["pipeline has ended"]
    town.heartbeat("pipeline", last_t_ms={"traffic_jam": 0}, stage="starting Spark")
    assert reasons(system)[0] == "pipeline is starting Spark"
    town.running()
    assert reasons(system) == []


def reasons(system: Parts) -> list[str]:
    """What `/readyz` says."""
    checks = readiness.check_all(system._database, system.settings)
    found: list[str] = readiness.as_json(checks)["reasons"]
    return found


def test_a_part_that_is_alive_but_not_at_work_has_not_recovered(system: Parts) -> None:
    """On a slow machine a part may die a minute after it was started, each time."""
    system.town.heartbeat("pipeline", stage="starting Spark")
    system.begin(pipeline=SLEEPS)
    child = system.children["pipeline"]
    child.failures, child.started = 2, child.started - 60
    system.tend()
    assert child.failures == 2
    system.town.heartbeat("pipeline")
    system.tend()
    assert child.failures == 0


def test_a_source_starts_when_there_is_somebody_to_read_it(system: Parts) -> None:
    """A start is reached when everything before it is answered."""
    town = system.town
    system.play = {"until": None}
    system.programs["source"] = SLEEPS
    started: list[str] = []

    def spark_is_up() -> None:
        started.extend(set(system.children) & {"source"})
        town.heartbeat("pipeline", batches=0)

    def fed(hours: int) -> Callable[[], None]:
        def feed() -> None:
            start = readiness.read_heartbeats(town.engine)["ingest"].detail["start_ms"]
            answered = start - (6 - hours) * 3_600_000
            values = {"position": 1, "resume_from": 1, "answered_ms": answered, "state": {}}
            with town.engine.begin() as connection:
                connection.exec_driver_sql("DELETE FROM cursors")
                row = {"request": "traffic_jam", "updated_ms": 0, **values}
                connection.execute(insert(CursorRow), [row])

        return feed

    def runs() -> None:
        town.running(NOON)
        fed(0)()

    town.heartbeat("ingest", connected=True)
    town.heartbeat("pipeline", stage="starting Spark")
    system.at = {
        "pipeline is starting Spark": spark_is_up,
        "pipeline has not evaluated its first batch": runs,
        "feeding the hours before the start: 0 %": fed(3),
        "feeding the hours before the start: 50 %": fed(6),
    }
    system.begin(ingest=SLEEPS, pipeline=SLEEPS)
    system.wait_ready()
    assert started == []
    assert "source" in system.children
    assert system.told[-2:] == [
        "feeding the hours before the start: 0 %",
        "feeding the hours before the start: 50 %",
    ]


def test_no_process_is_given_a_secret_among_its_arguments(tmp_path: Path) -> None:
    """Which everybody on the machine may read."""
    mail = Mail(host="127.0.0.1", sender="a@b.c", username="city", password="of-the-mail")
    broker = Broker(username="city", password="of-the-broker")
    system = System(Settings(data_dir=tmp_path, mail=mail, broker=broker))
    roles = ("ingest", "pipeline", "notifier", "web", "source")
    given = [str(part) for role in roles for part in system.command(role)]
    embedded = EmbeddedBroker(0, "city", "of-the-broker", rights=tmp_path / "rights.json")
    embedded.start()
    try:
        assert embedded.process is not None
        given += psutil.Process(embedded.process.pid).cmdline()
    finally:
        embedded.stop()
    assert "citywise.backend.process" in given
    assert not [part for part in given if "of-the-" in part]
