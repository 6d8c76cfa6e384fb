"""One request over a stretch of readings: answers become changes of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citywise.backend.city.events import changes
from citywise.backend.city.observations import ObservationKey, observation_key
from citywise.backend.ingest.records import ClockReading, LogEntry, Reading
from citywise.backend.pipeline.prepared import Prepared
from citywise.backend.pipeline.sharing import Sight
from citywise.reasoning import Evaluation, Item, Reasoner, State, budget


@dataclass(frozen=True)
class Row:
    """One result: `kind` says what `body` holds (see `backend.pipeline.worker.run`)."""

    request: str
    t_ms: int
    kind: str
    body: dict[str, Any]


_FEW = 10_000
"""Observations that are not looked through for those that nobody needs."""


class RequestRun:
    """A request's reasoner between a state and the next.

    `past` are the readings before it, from where the state says that windows begin.
    """

    def __init__(
        self,
        found: Prepared,
        state: State | None = None,
        past: Iterable[LogEntry] = (),
    ) -> None:
        request = found.request
        self.name = request.name
        self._part, self._division = found.part, found.division
        self._scale = 1000 // request.ticks_per_second
        self._kinds = frozenset(found.kinds)
        self._sight = Sight(request, found.kinds)
        self._observed: dict[ObservationKey, Item] = {}
        """The items that a window may need, by their observations."""
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
        readings = (e for e in past if isinstance(e, Reading) and e.kind in self._kinds)
        self._reasoner.restore(state or State(), [self._item(r) for r in readings])
        self._feedback = self._reasoner.feedback

    @property
    def catches_up(self) -> bool:
        """Whether taking what it missed costs less than beginning anew: its engine keeps the
        window."""
        return self._catches_up

    def take(self, *entries: LogEntry) -> Iterator[Row]:
        """The next entries of the log; yields `change` and `trace` rows."""
        budget.progressed()
        for evaluation in self._evaluations(entries):
            yield from self._rows(evaluation)
            budget.progressed()

    def follow(self, entries: Iterable[LogEntry]) -> None:
        """Take entries that another run has answered: nothing is said of them again."""
        for _evaluation in self._evaluations(entries):
            self._feedback = self._reasoner.feedback
        self._reasoner.late.clear()
        self._reasoner.refused.clear()

    def _evaluations(self, entries: Iterable[LogEntry]) -> Iterator[Evaluation]:
        """What is due when the entries have been taken; readings move no time."""
        items: list[Item] = []
        for entry in entries:
            if isinstance(entry, Reading):
                if entry.kind in self._kinds:
                    items.append(self._item(entry))
            elif isinstance(entry, ClockReading):
                self._reasoner.push(items)
                items = []
                # Of the request's units of time, the last that is over: more of its own may come.
                yield from self._reasoner.advance((entry.complete_ms + 1) // self._scale - 1)
        self._reasoner.push(items)

    def _item(self, reading: Reading) -> Item:
        """A reading as an item: without content if another part sees it."""
        part, division = self._part, self._division
        if division is not None and division.of_sensor(reading.sensor, part.of) != part.number:
            return self._sight.blank(reading)
        item = self._sight.item(reading)
        self._observed[reading.kind, reading.sensor, reading.observed_ms] = item
        return item

    def dead_letters(self) -> Iterator[Row]:
        """Items that came too late (`late`) or have no value in ASP (`refused`), once."""
        reasoner = self._reasoner
        for item in reasoner.late:
            if item.content:
                yield self._dead("late", item, "later than the windows it belongs to")
        for item, detail in reasoner.refused.values():
            yield self._dead("refused", item, detail)
        reasoner.late.clear()
        reasoner.refused.clear()

    def resume_from(self, position: int) -> int:
        """The first reading still needed to continue at `position`."""
        return self._reasoner.resume_from(position)

    def snapshot(self, position: int) -> tuple[State, int | None]:
        """The state at `position`, and the time (Unix ms) up to which answers are final."""
        state = self._reasoner.snapshot(position)
        return state, None if state.closed is None else state.closed * self._scale

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
        windows = self._reasoner.windows()
        keys = ((by, observation_key(by)) for by in wanted)
        found = (
            (by, item) for by, key in keys if key and (item := self._observed.get(key)) is not None
        )
        return {
            by: self._reasoner.facts(item, evaluation.time)
            for by, item in found
            if _is_in(item, windows, evaluation)
        }

    def _forget(self) -> None:
        """Drop the observations that no window needs any more, when there are many."""
        if len(self._observed) > self._most:
            needed = self._reasoner.resume_from(0)
            kept = {by: item for by, item in self._observed.items() if item.position >= needed}
            self._observed, self._most = kept, _FEW + 2 * len(kept)

    def _dead(self, reason: str, item: Item, detail: str) -> Row:
        assert not isinstance(item.content, str)
        body = {
            "position": item.position,
            "detail": f"request `{self.name}`: {detail}",
            "payload": str(item.content[0].subject[0]),
        }
        return Row(self.name, item.time * self._scale, reason, body)


def _is_in(item: Item, windows: Mapping[str, tuple[int, int]], evaluation: Evaluation) -> bool:
    """Whether an item is in its window; `windows` are those of time, the others are searched."""
    if item.stream not in windows:
        return any(item is other for other in evaluation.items)
    first, last = windows[item.stream]
    return first <= item.time <= last
