"""One request over a stretch of readings: answers become changes of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from citywise.backend.city.events import Event, changes, open_events
from citywise.backend.city.observations import observation_key, observations_iri
from citywise.backend.ingest.blocks import Block, apart
from citywise.backend.ingest.records import ClockReading, LogEntry, Reading, Withdrawal
from citywise.backend.pipeline.past import (
    CHECKPOINTS,
    Checkpoint,
    Corrected,
    Course,
    Horizons,
    Past,
)
from citywise.backend.pipeline.prepared import Prepared
from citywise.backend.pipeline.sharing import Observed, Sight
from citywise.backend.times import iso
from citywise.reasoning import Evaluation, Item, Reasoner, State, budget
from citywise.reasoning.model.request import CountWindow


@dataclass(frozen=True)
class Row:
    """One result: `kind` says what `body` holds (see `backend.pipeline.worker.run`)."""

    request: str
    t_ms: int
    kind: str
    body: dict[str, Any]


_FIXED = Horizons()
_FEW = 20
"""Times whose observations are not looked through for those that nobody needs."""
_POSITION, _TURN = attrgetter("position"), attrgetter("time", "position")


class RequestRun:
    """A request's reasoner between a state and the next.

    `entries` are those of the log before it, from where the state says that windows begin. With
    horizons it keeps a `past` from which it can begin again.
    """

    def __init__(
        self,
        found: Prepared,
        state: State | None = None,
        entries: Iterable[LogEntry] = (),
        past: Past | None = None,
        horizons: Horizons = _FIXED,
    ) -> None:
        request = found.request
        self._found, self._horizons = found, horizons
        self.name = request.name
        self._part, self._division = found.part, found.division
        self._scale = 1000 // request.ticks_per_second
        self._kinds = frozenset(found.kinds)
        self._private = [name for name, kind in found.kinds.items() if not kind.public]
        self._sight = Sight(request, found.kinds)
        self._observed: dict[int, list[Observed]] = {}
        """The items that a window may need, by their times."""
        self._one_by_one = any(isinstance(s.window, CountWindow) for s in request.streams)
        self._most = _FEW
        engine = found.engine()
        self._catches_up = engine is not found.solver
        self._reasoner = Reasoner(
            request,
            background=found.knowledge,
            clocked=True,
            skip_unchanged=True,
            engine=engine,
            encoder=self._sight.encoder,
        )
        self._horizon = horizons.longest(self._kinds) // self._scale
        self.past = past or Past()
        self._course = Course(self._kinds, self._scale, request.lateness, horizons)
        self._beyond: list[Reading | Withdrawal] = []
        """What came beyond its horizon and has not been told of."""
        readings = Corrected(entries, self._kinds, self.past.left_out).readings
        self._reasoner.restore(state or State(), self._items(readings, alone=True))
        self._feedback = self._reasoner.feedback
        self._stand(readings)

    def _stand(self, readings: Iterable[Reading]) -> None:
        """Know what is in order from here on; `readings` are those of the windows and later."""
        self._course.begin(self._reasoner.closed, readings)
        kept = self.past.checkpoints
        self._course.floor = kept[0].state.closed if kept else None

    # -- the past -------------------------------------------------------------------

    def look(self, entries: Iterable[LogEntry]) -> int | None:
        """Look at entries before they are taken: gives the time (in the request's unit) from
        which on they change what is known already; None: they can be taken."""
        if not self._horizon:
            return None
        first, beyond = self._course.follow(entries)
        self.past.left_out += [entry.position for entry in beyond]
        self._beyond += beyond
        return first

    def checkpoint(self, time: int, position: int) -> Checkpoint | None:
        """The state to begin again from for what changes at a time; `position` is where the run
        stands. None: nothing has been kept from before."""
        closed = self._reasoner.closed
        if closed is None or time > closed:
            return self._state_at(position)
        return self.past.before(time)

    def again(self, begin: Checkpoint, entries: Iterable[LogEntry], told_from: int) -> Again:
        """Begin again in a state; `entries` are those of the log from its `since` on, as far as
        this run has looked, of which those from the position `told_from` on are new."""
        is_kept = any(begin is one for one in self.past.checkpoints)
        past = self.past.cut(begin) if is_kept else self.past
        found = Corrected(entries, self._kinds, past.left_out, told_from, self._private)
        closed = begin.state.closed
        times = [(reading, reading.observed_ms // self._scale) for reading in found.readings]
        before = [r for r, time in times if closed is not None and time <= closed]
        state = begin.state if (div := self._division) is None else div.own(begin.state, self._part)
        run = RequestRun(self._found, state, before, past, self._horizons)
        later = run._items([r for r, time in times if closed is None or time > closed])
        run._reasoner.push(later)
        run._beyond = self._beyond
        until = self._reasoner.closed if is_kept else closed
        return Again(run, begin, until, found, open_events(state.feedback))

    def upto(self, closed: int, position: int) -> Iterator[Row]:
        """Evaluate up to a time (in the request's unit) for which all has been answered before,
        and keep states on the way."""
        spacing = self._spacing
        begin = self.past.checkpoints[-1].state.closed if self.past.checkpoints else None
        recent = closed - self._horizon - spacing
        at = max(recent, recent if begin is None else begin) + spacing
        for time in (*range(at, closed, spacing), closed):
            for evaluation in self._reasoner.advance(time + self._found.request.lateness):
                yield from self._rows(evaluation)
                budget.progressed()
            self._keep_state(position)

    def settle(self, readings: Iterable[Reading]) -> None:
        """The readings up to here have been taken, in whatever order."""
        self._stand(readings)

    @property
    def _spacing(self) -> int:
        return max(1, self._horizon // CHECKPOINTS)

    def _state_at(self, position: int) -> Checkpoint:
        since = self._reasoner.resume_from(position)
        return Checkpoint(self._reasoner.snapshot(position), since)

    def _keep_state(self, position: int) -> None:
        """Keep the state if the last one that was kept is long ago."""
        closed = self._reasoner.closed
        if self._horizon and closed is not None and self.past.is_due(closed, self._spacing):
            settled = closed + self._found.request.lateness - self._horizon
            self.past.add(self._state_at(position), settled)
            self._course.floor = self.past.checkpoints[0].state.closed

    # -- going on -------------------------------------------------------------------

    @property
    def revises(self) -> bool:
        """Whether any of its readings may be revised."""
        return self._horizon > 0

    @property
    def catches_up(self) -> bool:
        """Whether taking what it missed costs less than beginning anew: its engine keeps the
        window."""
        return self._catches_up

    def take(self, *entries: LogEntry | Block) -> Iterator[Row]:
        """The next entries of the log; yields `change` and `trace` rows."""
        budget.progressed()
        for evaluation in self._evaluations(entries):
            yield from self._rows(evaluation)
            budget.progressed()

    def follow(self, entries: Sequence[LogEntry]) -> bool:
        """Take entries that another run has answered: nothing is said of them again. False: they
        change what this one has answered, and it is of no use any more."""
        if self.look(entries) is not None:
            return False
        for _evaluation in self._evaluations(entries):
            self._feedback = self._reasoner.feedback
        self._reasoner.late.clear()
        self._reasoner.refused.clear()
        self._beyond.clear()
        return True

    def _evaluations(self, entries: Iterable[LogEntry | Block]) -> Iterator[Evaluation]:
        """What is due when the entries have been taken; readings move no time."""
        readings: list[Reading | Block] = []
        for entry in entries:
            if isinstance(entry, Reading | Block):
                if entry.kind in self._kinds:
                    readings.append(entry)
            elif isinstance(entry, ClockReading):
                self._reasoner.push(self._items(readings))
                readings = []
                # Of the request's units of time, the last that is over: more of its own may come.
                yield from self._reasoner.advance((entry.complete_ms + 1) // self._scale - 1)
                self._keep_state(entry.position + 1)
        self._reasoner.push(self._items(readings))

    def _items(self, readings: Iterable[Reading | Block], *, alone: bool = False) -> list[Item]:
        """Readings as items, `alone` each by itself: without content those that another part
        sees."""
        sight, blank = self._sight, list[Item]()
        if self._division is not None:
            each = list(apart(readings))
            readings = [reading for reading in each if self._is_ours(reading)]
            blank = [sight.blank(reading) for reading in each if not self._is_ours(reading)]
        seen = sight.items(readings)
        for item in seen:
            self._observed.setdefault(item.time, []).append(item)
        closed = self._reasoner.closed
        # Of what comes too late each is told of, and count windows tick with each.
        alone |= self._one_by_one
        by_themselves: list[Item] = []
        together: list[Item] = []
        for one in (*blank, *seen):
            if alone or (closed is not None and one.time <= closed):
                by_themselves += one.apart()
            else:
                together.append(one)
        return sorted(by_themselves, key=_POSITION) + sorted(together, key=_TURN)

    def _is_ours(self, entry: Reading | Withdrawal) -> bool:
        part, division = self._part, self._division
        return division is None or division.of_sensor(entry.sensor, part.of) == part.number

    def dead_letters(self) -> Iterator[Row]:
        """Items that came too late (`late`) or have no value in ASP (`refused`), once."""
        reasoner = self._reasoner
        for item in () if self._horizon else reasoner.late:
            if item.content:
                yield self._dead("late", item, "later than the windows it belongs to")
        for entry in filter(self._is_ours, self._beyond):
            horizon = self._horizons.of_kind(entry.kind) / 1000
            what = "reading" if isinstance(entry, Reading) else "withdrawal"
            body = {
                "position": entry.position,
                "detail": f"request `{self.name}`: a {what} later than the windows it belongs to "
                f"and the horizon of {horizon:g} s",
                "payload": observations_iri(entry.kind, entry.sensor) + iso(entry.observed_ms),
            }
            yield Row(self.name, entry.observed_ms, "late", body)
        self._beyond.clear()
        for item, detail in reasoner.refused.values():
            yield self._dead("refused", item, detail)
        reasoner.late.clear()
        reasoner.refused.clear()

    @property
    def scale(self) -> int:
        """The milliseconds of the request's unit of time."""
        return self._scale

    def since(self, position: int) -> int:
        """The first entry of the log that may still be read to continue at `position`."""
        needed = self.resume_from(position)
        return min(needed, self.past.since) if self._horizon else needed

    def resume_from(self, position: int) -> int:
        """The first reading still needed to continue at `position`."""
        return self._reasoner.resume_from(position)

    def snapshot(self, position: int) -> tuple[dict[str, Any], int | None]:
        """The state at `position` as the cursor keeps it, and the time (Unix ms) up to which
        answers are final."""
        state = self._reasoner.snapshot(position)
        kept: dict[str, Any] = {}
        if self._horizon:
            self.past.needed = self._reasoner.resume_from(position)
            kept["past"] = self.past.to_json()
        answered = None if state.closed is None else state.closed * self._scale
        return {**state.to_json(), **kept}, answered

    def stands(self, position: int) -> dict[str, Any]:
        """What tells at `position` whether a run goes on from a committed state (`standing`)."""
        self.past.needed = self._reasoner.resume_from(position)
        return standing(self._reasoner.snapshot(position), self.past if self._horizon else None)

    def _rows(self, evaluation: Evaluation) -> Iterator[Row]:
        t_ms = evaluation.time * self._scale
        trace = {
            "items": len(evaluation.items),
            "atoms": evaluation.atoms,
            "seconds": evaluation.seconds,
            "error": evaluation.error,
            "part": self._part.number,
        }
        yield Row(self.name, t_ms, "trace", trace)
        if not evaluation.answer_sets:
            return
        found = changes(self._feedback, evaluation.answer_sets[0].atoms)
        self._feedback = self._reasoner.feedback
        atoms = self._atoms(evaluation, {change.by for change in found})
        for change in found:
            body = {**change.to_json(), "atoms": atoms.get(change.by, [])}
            yield Row(self.name, t_ms, "change", body)

    def _atoms(self, evaluation: Evaluation, wanted: set[str]) -> dict[str, Sequence[str]]:
        """The facts of the wanted observations of a window, by the observation's IRI."""
        self._forget()
        if not wanted:
            return {}
        windows = self._reasoner.windows()
        keys = {key: by for by in wanted if (key := observation_key(by))}
        # What was said last of an observation is the last of its items.
        found = {
            by: item.part(place)
            for (kind, sensor, ms), by in keys.items()
            for item in self._observed.get(ms // self._scale, ())
            if item.block.kind == kind and (place := item.block.place(sensor, ms)) is not None
        }
        return {
            by: self._reasoner.facts(item, evaluation.time)
            for by, item in found.items()
            if _is_in(item, windows, evaluation)
        }

    def _forget(self) -> None:
        """Drop the observations that no window needs any more, when they are of many times."""
        if len(self._observed) > self._most:
            needed = self._reasoner.resume_from(0)
            found = self._observed.items()
            self._observed = {ms: items for ms, items in found if items[-1].position >= needed}
            self._most = _FEW + 2 * len(self._observed)

    def _dead(self, reason: str, item: Item, detail: str) -> Row:
        assert not isinstance(item.content, str)
        body = {
            "position": item.position,
            "detail": f"request `{self.name}`: {detail}",
            "payload": str(item.content[0].subject[0]),
        }
        return Row(self.name, item.time * self._scale, reason, body)


def standing(state: State, past: Past | None) -> dict[str, Any]:
    """A state and a past, as far as runs in them can be told apart."""
    return {**state.to_json(), **({"past": past.outline()} if past is not None else {})}


@dataclass(frozen=True)
class Again:
    """A run that has begun again from a state."""

    run: RequestRun
    begin: Checkpoint
    closed: int | None
    """Up to when all had been answered before, in the request's unit."""
    found: Corrected
    open: Mapping[str, Event]
    """The events that are open in the state, by id."""

    @property
    def revises(self) -> bool:
        """Whether anything is to be answered that had been before."""
        return self.closed is not None and self.begin.is_before(self.closed)


def _is_in(item: Item, windows: Mapping[str, tuple[int, int]], evaluation: Evaluation) -> bool:
    """Whether an item is in its window; `windows` are those of time, the others are searched."""
    if item.stream not in windows:
        return any(item is other for other in evaluation.items)
    first, last = windows[item.stream]
    return first <= item.time <= last
