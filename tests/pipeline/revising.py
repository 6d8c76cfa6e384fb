"""A small city whose messages come late, are corrected and withdrawn; and what ingest, workers and
store make of them in this process, whatever is restarted in between."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, select

from citywise.backend.city.steps import Source
from citywise.backend.ingest import log, records
from citywise.backend.ingest.acceptance import Acceptor
from citywise.backend.ingest.payloads import Clock, Place
from citywise.backend.kinds import builtin
from citywise.backend.pipeline.merging import merged
from citywise.backend.pipeline.requests import find
from citywise.backend.pipeline.results import Results
from citywise.backend.pipeline.worker import READINGS, Task, Worker
from citywise.backend.settings import Ingest
from citywise.backend.store.models import CursorRow, DeadLetterRow, EventRow, OutboxRow, PlaceRow
from citywise.backend.times import from_ms, iso, parse_ms
from tests.databases import begun

START_MS = 1_407_196_800_000
LIMITS = {"seconds": 60, "megabytes": 1000, "atoms": 50_000, "models": 10}
Told = tuple[Any, ...]
Arrival = tuple[int, int, dict[str, Any]]
"""When a message comes, its number, and what it says."""


def message(kind: str, sensor: str, ms: int, values: dict[str, Any] | None) -> dict[str, Any]:
    """An observation as it travels; without values one that is withdrawn."""
    said = {"withdraw": True} if values is None else values
    return {"kind": kind, "sensor": sensor, "observed_at": iso(ms), **said}


@dataclass
class System:
    """Ingest, workers and a store over one folder; what is restarted goes on from there."""

    folder: Path
    sensors: Sequence[tuple[str, str]]
    """Kind and id."""
    requests: Sequence[str] = ("traffic_jam",)
    horizon_s: float = 3600
    workers: int = 1
    parts: int = 1
    position: int = 0
    dead: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.engine: Engine = begun(f"sqlite:///{self.folder / 'db' / 'city.db'}")
        self._writer = log.LogWriter(self.folder / "log")
        with self.engine.begin() as connection:
            for kind, sensor in self.sensors:
                place = place_of(kind, sensor)
                row = {**place.summary(), "body": place.model_dump(mode="json"), "updated_ms": 0}
                connection.execute(PlaceRow.__table__.insert(), [row])  # type: ignore[attr-defined]
        self.restart_ingest()
        self.restart_workers()
        self._results = Results(self.engine)

    # -- restarts -------------------------------------------------------------------

    def restart_ingest(self) -> None:
        """The ingest knows again what the log says."""
        limits = Ingest(clock="topic", horizon_s=self.horizon_s, future_tolerance_s=1e6)
        self._acceptor = Acceptor("citywise", limits, builtin())
        for kind, sensor in self.sensors:
            self._acceptor.know(place_of(kind, sensor))
        for entry in records.read(self.folder / "log", 0, self._writer.end):
            if isinstance(entry, records.Reading | records.Withdrawal):
                self._acceptor.remember(entry)
            elif isinstance(entry, records.ClockReading):
                self._acceptor.clock = entry.clock

    def restart_workers(self) -> None:
        """No worker knows anything any more."""
        self._pool = [Worker() for _ in range(self.workers)]

    # -- what comes -----------------------------------------------------------------

    def hear(self, messages: Iterable[dict[str, Any]]) -> None:
        """Observations arrive, each as a message of its own."""
        for one in messages:
            body = {name: value for name, value in one.items() if name != "kind"}
            topic = f"citywise/observations/{one['kind']}"
            now = self._acceptor.clock.now if self._acceptor.clock else datetime.now(UTC)
            verdict = self._acceptor.judge(topic, orjson.dumps(body), now)
            self.dead += [letter.reason for letter in verdict.dead]
            if verdict.observations:
                record = records.encode_readings(one["kind"], START_MS, verdict.observations)
                self._writer.append([record])

    def tick(self, ms: int) -> None:
        """The source's clock: all up to then has been sent."""
        now = from_ms(ms)
        clock = Clock(now=now, complete=now)
        verdict = self._acceptor.judge("citywise/clock", clock.model_dump_json().encode(), now)
        assert verdict.clock is not None
        self._writer.append([records.encode_clock(verdict.clock, START_MS)])

    def work(self, crash: bool = False) -> None:
        """A batch up to the log's end; with a crash its rows are made and not committed."""
        self._writer.sync()
        rows = []
        with self.engine.connect() as connection:
            cursors = {row.request: row for row in connection.execute(select(CursorRow.__table__))}
        tasks = [(READINGS, "", 1)] + [
            (find(r).stem, str(find(r)), self.parts) for r in self.requests
        ]
        for number, (name, source, parts) in enumerate(tasks):
            cursor = cursors.get(name)
            task = Task(
                request=name,
                source=source,
                location=str(self.folder / "log"),
                start=getattr(cursor, "position", 0),
                end=self._writer.end,
                resume_from=getattr(cursor, "resume_from", 0),
                state=getattr(cursor, "state", None) or {},
                limits=LIMITS,
                horizons={"*": self.horizon_s},
                engine="incremental",
                parts=parts,
            )
            if task.start == task.end:
                continue
            for part in range(parts):
                self.position += 1
                worker = self._pool[(self.position + number) % self.workers]
                text = orjson.dumps({**orjson.loads(task.to_json()), "part": part}).decode()
                rows += list(worker.run(Task.from_json(text)))
        if not crash and rows:
            self._results.commit(merged(rows))

    # -- what is known --------------------------------------------------------------

    def heard(self) -> list[Told]:
        """The events as a client has them that followed the announcements."""
        with self.engine.connect() as connection:
            return followed(connection)

    def announced(self) -> list[str]:
        """The kinds of the announcements, in order."""
        with self.engine.connect() as connection:
            return list(connection.scalars(select(OutboxRow.kind).order_by(OutboxRow.id)))

    def told(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """The announcements of a kind."""
        query = select(OutboxRow.kind, OutboxRow.body).where(OutboxRow.kind == kind)
        with self.engine.connect() as connection:
            return [(one, body) for one, body in connection.execute(query.order_by(OutboxRow.id))]

    def letters(self) -> list[tuple[str, str]]:
        """Reason and detail of the dead letters that the pipeline wrote."""
        query = select(DeadLetterRow.reason, DeadLetterRow.detail).order_by(DeadLetterRow.id)
        with self.engine.connect() as connection:
            return [(reason, detail) for reason, detail in connection.execute(query)]

    def stored(self) -> list[Told]:
        """What `heard` is to be."""
        with self.engine.connect() as connection:
            return standing_events(connection)

    @classmethod
    def of_order(
        cls,
        folder: Path,
        sensors: Sequence[tuple[str, str]],
        last: Iterable[dict[str, Any]],
        requests: Sequence[str] = ("traffic_jam",),
    ) -> list[Told]:
        """What `stored` gives of readings that come in order of their times, once each."""
        system = cls(folder, sensors, requests, horizon_s=0)
        ordered = sorted(last, key=lambda one: parse_ms(one["observed_at"]))
        for at, some in groupby(ordered, key=lambda one: one["observed_at"]):
            system.hear(some)
            system.tick(parse_ms(at))
        system.tick(parse_ms(ordered[-1]["observed_at"]) + 60_000)
        system.work()
        return system.stored()


def followed(connection: Connection) -> list[Told]:
    """The events as who followed the announcements has them."""
    known: dict[str, dict[str, Any]] = {}
    query = select(OutboxRow.kind, OutboxRow.body).where(OutboxRow.kind.startswith("event."))
    for kind, body in connection.execute(query.order_by(OutboxRow.id)):
        if kind == "event.withdrawn":
            del known[body["id"]]
        else:
            assert kind == "event.opened" or body["id"] in known, (kind, body)
            known[body["id"]] = body
    names = ("type", "level", "start", "end")
    return sorted((e["place"]["id"], *(str(e[n]) for n in names)) for e in known.values())


def standing_events(connection: Connection) -> list[Told]:
    """The events in the store."""
    rows = connection.execute(select(EventRow.__table__).where(EventRow.withdrawn_ms.is_(None)))
    return sorted(
        (r.place_id, r.type, str(r.level), iso(r.start_ms), str(r.end_ms and iso(r.end_ms)))
        for r in rows
    )


def place_of(kind: str, sensor: str) -> Place:
    point = {"type": "Point", "coordinates": [10.1, 56.1]}
    of_kind = {"traffic": "road", "parking": "garage"}[kind]
    body = {"id": sensor, "kind": of_kind, "name": sensor, "geometry": point, "sensors": [kind]}
    return Place.model_validate_json(orjson.dumps(body))


@dataclass
class Disorder:
    """A stream and how it arrives: some readings late, some corrected, some withdrawn."""

    chance: random.Random
    sensors: Sequence[tuple[str, str]]
    steps: int = 24
    step_ms: int = 300_000
    late: float = 0.1
    corrected: float = 0.05
    withdrawn: float = 0.03
    most_late_ms: int = 1_800_000
    start_ms: int = START_MS

    def __post_init__(self) -> None:
        self.arrivals: list[tuple[int, int, dict[str, Any]]] = []
        """When each message comes, its number, and what it says."""
        self.standing: dict[tuple[str, str, int], dict[str, Any]] = {}
        for step in range(self.steps):
            for kind, sensor in self.sensors:
                self._reading(kind, sensor, self.start_ms + step * self.step_ms)
        self.arrivals.sort(key=lambda one: one[:2])
        said: dict[tuple[str, str, int], dict[str, Any] | None] = {}
        for _at, _number, one in self.arrivals:
            key = one["kind"], one["sensor"], one["observed_at"]
            said[key] = None if "withdraw" in one else one
        self.last = [one for one in said.values() if one is not None]

    def _reading(self, kind: str, sensor: str, ms: int) -> None:
        chance, at = self.chance, ms
        if chance.random() < self.late:
            at += chance.randint(1, self.most_late_ms)
        self._comes(at, message(kind, sensor, ms, self._values(kind)))
        for _again in range(2):
            if chance.random() < self.corrected:
                at += chance.randint(0, self.most_late_ms // 2)
                self._comes(at, message(kind, sensor, ms, self._values(kind)))
        if chance.random() < self.withdrawn:
            at += chance.randint(0, self.most_late_ms // 4)
            self._comes(at, message(kind, sensor, ms, None))
            if chance.random() < 0.3:
                self._comes(at + 1000, message(kind, sensor, ms, self._values(kind)))

    def _comes(self, at: int, one: dict[str, Any]) -> None:
        self.arrivals.append((at, len(self.arrivals), one))

    def _values(self, kind: str) -> dict[str, Any]:
        if kind == "parking":
            return {"occupied": self.chance.choice([20, 80, 93, 96, 99]), "capacity": 100}
        speed, count = self.chance.choice([(20, 30), (30, 14), (60, 3), (60, 30), (10, 2)])
        return {"speed_kmh": speed, "vehicle_count": count}

    @property
    def end_ms(self) -> int:
        return max(self.arrivals[-1][0], self.start_ms + self.steps * self.step_ms) + self.step_ms


def disordered(source: Source, dice: random.Random) -> list[Arrival]:
    """How the readings of a source arrive: when, a number, and what is said."""
    found: list[Arrival] = []

    def say(at: int, kind: str, sensor: str, ms: int, values: dict[str, Any] | None) -> None:
        found.append((at, len(found), message(kind, sensor, ms, values)))

    for step in source.steps():
        for kind, values in ((b.kind, values) for b in step.batches for values in b.readings):
            said = {k: v for k, v in values.items() if k not in ("sensor", "observed_at")}
            name, at = (kind, str(values["sensor"]), step.ms), step.ms
            if dice.random() < 0.1:
                at += dice.randrange(1, 1_800_000)
            if dice.random() < 0.02:
                wrong = {"speed_kmh": 5, "vehicle_count": 30, "occupied": 0}
                say(at, *name, {k: wrong.get(k, v) for k, v in said.items()})
                at += dice.randrange(1, 900_000)
            say(at, *name, said)
            if dice.random() < 0.01:
                say(at + dice.randrange(1, 900_000), *name, None)
    return sorted(found, key=lambda one: one[:2])
