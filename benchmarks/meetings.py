"""Meetings under load: from a reading to the icon in the host's panel.

    citywise bench meetings          # 50 meetings of 20 people, a reading a second of each
    citywise bench meetings quick    # 10 meetings of 10 people, for a few seconds

Broker, the app's own process and the web are the real ones, the database is SQLite; there is no
city beside them. All phones are one client, which sends readings that make people unable to speak
and able again every 30 seconds each, and the agendas are thought about meanwhile. Every meeting has
the event streams of its host and of one participant open, and the host's page asks what happened
after each change, once a second at most. Latency is from publishing a reading to the host's stream
saying what changed. The baselines, of the same run: the bare broker from publisher to subscriber,
and the processes' work while no reading changes anything.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request

import orjson
from street import _Echo as Echo

from benchmarks.measured import agendas
from benchmarks.measured.event_streams import followed
from benchmarks.measured.processes import cpu_s
from citywise.apps.meeting_mgr import store, topics
from citywise.apps.meeting_mgr.model import Room, Sensor
from citywise.apps.meeting_mgr.steps import consent, running, taking_part
from citywise.apps.meeting_mgr.steps.drafts import AttendeeDraft, Changes, ItemDraft
from citywise.apps.meeting_mgr.steps.editing import create
from citywise.backend import mqtt
from citywise.backend.errors import CitywiseError
from citywise.backend.machine import REPOSITORY
from citywise.backend.people.ids import DEMO
from citywise.backend.settings import People, Settings
from citywise.backend.store.outbox import begin
from citywise.backend.times import wall_ms
from tests.meeting_mgr.system import Running
from tests.meeting_mgr.system import running as system

STEADY_S = 11.0
"""More than the dwell time, which would be measured else."""
OFTEN = 1 / 19
"""And then a change in 19 readings: one in 30 seconds of each."""
QUIET_DB, LOUD_DB = 50.0, 92.0
SHARED: tuple[Sensor, ...] = ("noise", "light", "motion", "speed", "visible", "battery")
SETTLE_S, PATIENCE_S = 5.0, 10.0
ASKING_S = 1.0
"""From one question of a page to its next."""
AGENDAS = 10
Name = tuple[str, str]
"""A meeting and a person in it."""


class Size(NamedTuple):
    """How much is measured, and for how long."""

    meetings: int
    people: int
    seconds: float


SIZES = {"full": Size(50, 20, 60), "quick": Size(10, 10, 10)}


def run(size: str = "full") -> list[dict[str, Any]]:
    """Measure `full` or `quick`; raises `CitywiseError` for anything else."""
    if size not in SIZES:
        raise CitywiseError(f"`{size}` is none of the sizes {', '.join(SIZES)}")
    base = REPOSITORY / ".citywise"
    base.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=base) as folder:
        people = People(demo_user=True, rate_limits=False)
        with system(Path(folder), Settings(data_dir=Path(folder), people=people)) as city:
            return [_measured(city, SIZES[size]) | {"agendas": agendas.measure(AGENDAS)}]


def _measured(city: Running, size: Size) -> dict[str, Any]:
    secrets = {name: secret for _ in range(size.meetings) for name, secret in _made(city, size)}
    phones, echo = Phones(city, list(secrets)), Echo(city.settings)
    with ExitStack() as stack:
        stack.callback(echo.close)
        stack.enter_context(phones.sending())
        for meeting in dict.fromkeys(meeting for meeting, _ in secrets):
            page = stack.enter_context(Page(city, meeting).asking())
            stack.enter_context(_listening(city, meeting, page, phones))
        for (meeting, person), secret in _one_of_each(secrets).items():
            stack.enter_context(_listening(city, meeting, cookie=f"{person}.{secret}"))
        time.sleep(SETTLE_S)
        calm = _work(city, size.seconds / 2, echo)
        phones.flips.set()
        time.sleep(SETTLE_S)
        phones.begin()
        busy = _work(city, size.seconds, echo)
        phones.flips.clear()
        phones.wait()
    delays = sorted(phones.delays)
    return {
        "meetings": size.meetings,
        "people": size.meetings * size.people,
        "readings_per_s": busy.pop("readings_per_s"),
        "changes": len(delays),
        "missing": len(phones.pending),
        "p50_ms": round(statistics.median(delays)),
        "p99_ms": round(delays[int(len(delays) * 0.99)]),
        "most_ms": round(delays[-1]),
        "broker_p50_ms": round(echo.p50, 1),
        "calm_cpu_pct": {name: calm[name] for name in busy},
        "cpu_pct": busy,
    }


# --- Meetings ------------------------------------------------------------------------------------


def _made(city: Running, size: Size) -> list[tuple[Name, str]]:
    """A meeting of the demo's user that runs, with everybody in it, and their secrets."""
    now_ms, boxes = wall_ms(), store.boxes_of(city.settings)
    invited = tuple(AttendeeDraft(name=f"Person {n}") for n in range(size.people))
    items = tuple(ItemDraft(title=f"Item {n}", minutes=10, speaker=f"a{n + 1}") for n in range(6))
    changes = Changes(
        title="Load", room=Room(name="Room B"), starts_ms=now_ms, ends_ms=now_ms + 3_600_000,
        attendees=invited, agenda=items,
    )  # fmt: skip
    with city.engine.begin() as connection:
        begin(connection)
        step = create(DEMO, changes, now_ms)
        store.write(connection, boxes, step)
        step = running.start(step.record, now_ms)
        store.write(connection, boxes, step)
        return [_joined(connection, boxes, step.record, n) for n in range(size.people)]


def _joined(connection: Any, boxes: Any, record: Any, number: int) -> tuple[Name, str]:
    step = taking_part.join(record, None, f"a{number + 1}", None, wall_ms())
    secret = store.join(connection, boxes, step)
    store.write(connection, boxes, consent.share(record, step.people[0], SHARED, wall_ms()))
    return (record.id, step.people[0].id), secret


def _one_of_each(secrets: Mapping[Name, str]) -> dict[Name, str]:
    last = {meeting: (meeting, person) for meeting, person in secrets}
    return {name: secrets[name] for name in last.values()}


# --- Phones --------------------------------------------------------------------------------------


@dataclass
class Phones:
    """All phones at once; each sends once a second, spread over it."""

    city: Running
    names: Sequence[Name]
    flips: threading.Event = field(default_factory=threading.Event)
    delays: list[float] = field(default_factory=list)
    pending: dict[Name, tuple[str, float]] = field(default_factory=dict)
    """Whose ability is to be what since when."""
    sent: int = 0
    _flipped: dict[Name, float] = field(default_factory=dict)
    _loud: set[Name] = field(default_factory=set)
    _random: random.Random = field(default_factory=lambda: random.Random(1))
    _ends: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def sending(self) -> Iterator[None]:
        client = mqtt.connect(self.city.settings.broker, "phones", prepare=_prepare)
        thread = threading.Thread(target=self._send, args=(client,))
        thread.start()
        try:
            yield
        finally:
            self._ends.set()
            thread.join()
            client.disconnect()
            client.loop_stop()

    def begin(self) -> None:
        """Count from now on."""
        self.delays.clear()
        self.sent = 0

    def hear(self, meeting: str, told: Mapping[str, Any]) -> None:
        """What the host of a meeting is told."""
        now, name = time.monotonic(), (meeting, told.get("person"))
        if name not in self.pending:
            return
        state, since = self.pending[name]
        [person] = (one for one in told["meeting"]["people"] if one["id"] == name[1])
        if person["abilities"]["speak"]["state"] == state:
            del self.pending[name]
            self.delays.append((now - since) * 1000)

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self.pending and time.monotonic() < deadline:
            time.sleep(0.05)

    def _send(self, client: Any) -> None:
        broker, due = self.city.settings.broker, time.monotonic()
        while not self._ends.is_set():
            for name in self.names:
                payload = self._reading(name)
                client.publish(topics.of_person(broker, *name), payload, 1)
                self.sent += 1
                due += 1 / len(self.names)
                time.sleep(max(0.0, due - time.monotonic()))

    def _reading(self, name: Name) -> bytes:
        if self.flips.is_set() and self._is_due(name):
            self._loud ^= {name}
            self._flipped[name] = time.monotonic()
            self.pending[name] = "off" if name in self._loud else "on", time.monotonic()
        values = {
            "noise_db": (LOUD_DB if name in self._loud else QUIET_DB) + self._random.random(),
            "light_lux": 300 + self._random.random(),
            "motion_ms2": self._random.random(), "speed_kmh": 0, "visible": True,
            "battery_pct": 80,
        }  # fmt: skip
        return orjson.dumps({"at": datetime.now(UTC), "values": values})

    def _is_due(self, name: Name) -> bool:
        """Whether somebody's surroundings are to change; they have been so for the dwell time."""
        is_steady = time.monotonic() - self._flipped.get(name, 0) > STEADY_S
        return is_steady and name not in self.pending and self._random.random() < OFTEN


def _prepare(client: Any) -> None:
    client.max_inflight_messages_set(2_000)


@dataclass
class Page:
    """A host's page, which asks what happened as `meeting-notices.js` does."""

    city: Running
    meeting: str
    _news: threading.Event = field(default_factory=threading.Event)
    _ends: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def asking(self) -> Iterator[Page]:
        thread = threading.Thread(target=self._ask)
        thread.start()
        try:
            yield self
        finally:
            self._ends.set()
            self._news.set()
            thread.join()

    def hear(self) -> None:
        """Ask what happened, soon."""
        self._news.set()

    def _ask(self) -> None:
        while self._news.wait() and not self._ends.is_set():
            self._news.clear()
            status, told, _ = self.city.ask("GET", f"/meetings/{self.meeting}/entries?limit=30")
            assert status == 200, told
            self._ends.wait(ASKING_S)


def _listening(
    city: Running,
    meeting: str,
    page: Page | None = None,
    phones: Phones | None = None,
    *,
    cookie: str | None = None,
) -> AbstractContextManager[None]:
    """An event stream that is open: the host's, who tells their `page` and `phones`, or of who has
    the cookie."""
    path = "people/me/events" if cookie else "events"
    request = Request(f"{city.url}/api/v1/meetings/{meeting}/{path}")
    if cookie is not None:
        request.add_header("Cookie", f"citywise-meeting={cookie}")
    if page is None or phones is None:
        return followed(request, None, seconds=600)

    def hear(told: Mapping[str, Any]) -> None:
        phones.hear(meeting, told)
        page.hear()

    return followed(request, hear, seconds=600)


# --- What it costs -------------------------------------------------------------------------------


def _work(city: Running, seconds: float, echo: Echo) -> dict[str, Any]:
    """How busy each process is meanwhile, in per cent of one core; `phones` is the load's own."""
    processes = _pids(city)
    began, before = time.monotonic(), {name: cpu_s(pid) for name, pid in processes.items()}
    heard, own = _heard(city), time.process_time()
    while time.monotonic() - began < seconds:
        echo.ping()
        time.sleep(0.25)
    took = time.monotonic() - began
    busy = {n: round((cpu_s(pid) - before[n]) / took * 100) for n, pid in processes.items()}
    busy["phones"] = round((time.process_time() - own) / took * 100)
    return {"readings_per_s": round((_heard(city) - heard) / took), **busy}


def _heard(city: Running) -> int:
    return int((city.beat() or {}).get("heard", 0))


def _pids(city: Running) -> dict[str, int]:
    assert city.system.broker is not None
    assert city.system.broker.process is not None
    found = {role: child.process.pid for role, child in city.system.children.items()}
    return {"broker": city.system.broker.process.pid, **found}


def report(results: list[dict[str, Any]]) -> str:
    """The results as lines."""
    lines = []
    for r in results:
        calm, busy = (
            ", ".join(f"{name} {pct} %" for name, pct in r[key].items())
            for key in ("calm_cpu_pct", "cpu_pct")
        )
        lines += [
            f"{r['meetings']} meetings, {r['people']} people, {r['readings_per_s']} readings/s",
            f"reading to icon: p50 {r['p50_ms']} ms, p99 {r['p99_ms']} ms, most {r['most_ms']} ms",
            f"{r['changes']} changes, {r['missing']} missing",
            f"bare broker: p50 {r['broker_p50_ms']} ms",
            f"of one core: {busy}",
            f"while nothing changes: {calm}",
        ]
        lines += [
            f"{a['measured']}, {a['items']} items, {a['people']} people: p50 {a['median_s']} s, "
            f"most {a['most_s']} s, {a['cheaper']} cheaper than the solver's in 1 s, "
            f"{a['dearer']} dearer"
            for a in r["agendas"]
        ]
    return "\n".join(lines)
