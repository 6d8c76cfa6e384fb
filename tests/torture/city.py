"""A simulated city with somebody in it who is told of slow roads, and what has become of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select

from citywise.apps.travel_planner.roads import cityfiles
from citywise.backend.city.simulation import START, Simulation
from citywise.backend.city.source import SETTLE_MS
from citywise.backend.ingest.log import durable_end, segments
from citywise.backend.notices.announcing import NOTICE
from citywise.backend.packs.live import NoClockError, last_clock
from citywise.backend.pipeline.recorded import changes
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import CursorRow, InletRow, OutboxRow
from citywise.backend.supervisor import System
from citywise.backend.times import from_ms, iso, to_ms
from tests.street import running as street
from tests.street.soaking import EAST, WEST, Person, Wish
from tests.torture import timed

LEAD_IN = timedelta(hours=1)
_TRIES = 3
PATIENCE_S = 1_800.0
"""Longer than a test has: a machine that is tormented by others, too, shall not look wrong."""


class City:
    """What a seed makes happen until some time, and in a running system is sent.

    A step is sent when what was sent before is answered: so whatever is done to the system, every
    step is a clock of its own, and what templates conclude follows from the readings alone.
    """

    def __init__(self, seed: int, until: datetime) -> None:
        self.seed, self.until = seed, until
        self.lives: list[timed.Life] = []
        self.stops_ms: list[int] = []
        self._person: Person | None = None

    @property
    def source(self) -> Simulation:
        return Simulation(self.seed, START, self.until, LEAD_IN)

    def move_in(self, system: System) -> None:
        """Somebody asks to be told; nothing has been sent yet."""
        cityfiles.prepare(system.settings, {"data": None})
        engine = create_engine_for(system.settings.database_url)
        self._person = Person.sign_up(engine, "Anna", Wish(WEST, EAST, 1))
        engine.dispose()
        for name in timed.TEMPLATES:
            more = {"app": timed.APP, "template": name, "id": self._instance(name)}
            self._put(system, name, "POST", "instances", **more)
        self.lives = [timed.Life(1, 0, None)]

    def upgrade(self, system: System, version: int) -> None:
        """Who is told of something is so by a newer version, from the last clock on."""
        for name in timed.TEMPLATES:
            self._put(system, name, "PUT", f"instances/{self._instance(name)}", version=version)
        *before, last = self.lives
        at_ms = self.stops_ms[-1]
        ended = timed.Life(last.version, last.begin_ms, at_ms)
        self.lives = [*before, ended, timed.Life(version, at_ms, None)]

    def _instance(self, template: str) -> str:
        assert self._person is not None
        return f"{self._person.user}.{template}"

    def _put(self, system: System, name: str, method: str, path: str, **more: Any) -> None:
        assert self._person is not None
        self._person.ask(system, method, path, {"values": timed.values(name), **more})
        street.wait_until(system, lambda: not waits_in_inlet(system), PATIENCE_S)

    def send(self, system: System, until: datetime) -> None:
        """Have the system's source send what comes up to a time, from where its log ends."""
        stop_ms = to_ms(until) + SETTLE_MS
        if stop_ms not in self.stops_ms:
            self.stops_ms.append(stop_ms)
        system.play = {
            "data": None,
            "speed": None,
            "ahead_s": 0,
            "start": START.isoformat(),
            "until": until.isoformat(),
            "lead_in_s": LEAD_IN.total_seconds(),
            "seed": self.seed,
            "since": _sent(system),
        }
        system._write_orders()
        if (former := system.children.pop("source", None)) is not None:
            former.process.kill()
            former.process.wait()
        system.spawn("source")

    def is_over(self, system: System, until: datetime) -> bool:
        """Whether all that was sent up to a time is answered."""
        return street.answered(system) >= to_ms(until) + SETTLE_MS

    def wait_told(self, system: System) -> None:
        """Wait until the templates, too, have answered all."""
        last = from_ms(self.stops_ms[-1])
        street.wait_until(system, lambda: _slowest(system) >= to_ms(last), PATIENCE_S)

    def events(self) -> list[tuple[int, str, str, str]]:
        """What is to be announced of events.

        Without an evaluation that failed, as of a process that was killed, it would be something
        else: then all of it is computed again.
        """
        failures: list[str] = []
        for _try in range(_TRIES):
            before = len(failures)
            found = changes(
                self.source, "solver", lambda t, _name, why: failures.append(f"{t}: {why}")
            )
            events = [(t, kind, e["id"], e["confirmed"]) for t, kind, e in found]
            if len(failures) == before:
                return events
        raise AssertionError(f"what is right could not be computed: {'; '.join(failures)}")

    def notices(self) -> list[timed.Told]:
        """What is to be told to who asked."""
        return timed.due(self.source, self.stops_ms, self.lives)


def _sent(system: System) -> str | None:
    """Up to when all has been sent, as its log says."""
    folder = system.settings.log_dir
    bases = segments(folder)
    if not bases:
        return None
    try:
        return iso(last_clock(folder, durable_end(folder), bases[0]).complete_ms)
    except NoClockError:
        return None


def waits_in_inlet(system: System) -> bool:
    """Whether something that users changed is not yet in the log."""
    engine = create_engine_for(system.settings.database_url)
    with engine.connect() as connection:
        number = connection.scalar(select(func.count()).select_from(InletRow))
    engine.dispose()
    return bool(number)


def _slowest(system: System) -> int:
    engine = create_engine_for(system.settings.database_url)
    with engine.connect() as connection:
        found = connection.scalars(select(CursorRow.answered_ms)).all()
    engine.dispose()
    return min((ms or 0 for ms in found), default=0)


def notices(system: System) -> list[tuple[int, dict[str, Any]]]:
    """When (Unix ms) and what the outbox tells of notices, in its order."""
    engine = create_engine_for(system.settings.database_url)
    query = select(OutboxRow.t_ms, OutboxRow.body).where(OutboxRow.kind == NOTICE)
    with engine.connect() as connection:
        rows = connection.execute(query.order_by(OutboxRow.id)).all()
    engine.dispose()
    return [(t_ms, body) for t_ms, body in map(tuple, rows)]


def told(system: System) -> list[timed.Told]:
    """The notices of slow roads in the outbox, in order."""
    return [
        (t, b["template"], b["version"], b["change"], b["about"]["id"])
        for t, b in notices(system)
        if b["app"] == timed.APP
    ]


@dataclass
class Found:
    """How what was told differs from what was to be."""

    announced: int = 0
    notices: int = 0
    by_timer: int = 0
    """Notices that opened between two readings, when a duration was over."""
    ahead: int = 0
    """What was told to who travels."""
    acts: int = 0
    """Decisions of the meeting, and changes of a guest's noise."""
    lost: int = 0
    doubled: int = 0
    early: int = 0
    is_in_order: bool = True
    differences: list[str] = field(default_factory=list)

    def events(self, got: Sequence[Any], wanted: Sequence[Any]) -> None:
        """Compare what was announced of events."""
        self.announced = len(got)
        self.count(got, wanted)
        self.is_in_order &= list(got) == list(wanted)

    def told(
        self, got: Sequence[timed.Told], wanted: Sequence[timed.Told], steps: Container[int]
    ) -> None:
        """Compare what people were told; of each road and template in order."""
        self.notices = len(got)
        self.by_timer = sum(one[3] == "opened" and one[0] not in steps for one in got)
        self.count(got, wanted)
        due = {(name, version, what, road): t for t, name, version, what, road in reversed(wanted)}
        self.early += sum(one[0] < due.get(one[1:], one[0]) for one in got)
        times: dict[tuple[str, str], int] = {}
        for t, name, _version, _what, road in got:
            self.is_in_order &= times.get((name, road), 0) <= t
            times[name, road] = t

    def count(self, got: Sequence[Any], wanted: Sequence[Any]) -> None:
        """Count what was lost and what was too much."""
        lost, doubled = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
        self.lost += lost.total()
        self.doubled += doubled.total()
        self.differences += [f"lost: {one}" for one in sorted(lost)[:5]]
        self.differences += [f"too much: {one}" for one in sorted(doubled)[:5]]

    def differ(self, difference: str) -> None:
        """Note something else that is wrong."""
        self.lost += 1
        self.differences.append(difference)

    def excess(self, got: Sequence[timed.Told], wanted: Sequence[timed.Told]) -> list[str]:
        """What was told, up to some time, that was not to be."""
        return [f"too much: {one}" for one in sorted(Counter(got) - Counter(wanted))[:5]]

    @property
    def is_right(self) -> bool:
        return self.is_in_order and not self.lost + self.doubled + self.early


def compared(system: System, city: City) -> Found:
    """What became of a city, when all is answered."""
    found = Found()
    found.events(street.announced(system), city.events())
    found.told(told(system), city.notices(), {step.ms for step in city.source.steps()})
    return found
