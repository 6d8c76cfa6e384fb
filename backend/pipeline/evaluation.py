"""One request over a stretch of readings: answers become changes of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from backend.city.events import changes
from backend.city.observations import kind_of
from backend.ingest.records import ClockReading, LogEntry, Reading
from backend.pipeline.prepared import Prepared
from backend.pipeline.sharing import Sight
from reasoning.reasoner import Evaluation, Reasoner, State
from reasoning.streams import Item


@dataclass(frozen=True)
class Row:
    """One result: `kind` says what `body` holds (see `backend.pipeline.worker.run`)."""

    request: str
    t_ms: int
    kind: str
    body: dict[str, Any]


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
        self._kinds = frozenset(kind_of(stream.iri) for stream in request.streams)
        self._sight = Sight(request, self._kinds)
        self._reasoner = Reasoner(
            request,
            clocked=True,
            skip_unchanged=True,
            engine=found.engine,
            encoder=self._sight.encoder,
        )
        readings = (e for e in past if isinstance(e, Reading) and e.kind in self._kinds)
        self._reasoner.restore(state or State(), [self._item(r) for r in readings])
        self._feedback = self._reasoner.feedback

    def take(self, entry: LogEntry) -> Iterator[Row]:
        """The next entry of the log; yields `change` and `trace` rows."""
        if isinstance(entry, ClockReading):
            # Of the request's units of time, the last that is over: more of its own may come.
            complete = (entry.complete_ms + 1) // self._scale - 1
            for evaluation in self._reasoner.advance(complete):
                yield from self._rows(evaluation)
        elif isinstance(entry, Reading) and entry.kind in self._kinds:
            for evaluation in self._reasoner.push(self._item(entry)):
                yield from self._rows(evaluation)

    def _item(self, reading: Reading) -> Item:
        """A reading as an item: without content if another part sees it."""
        part, division = self._part, self._division
        if division is None or division.of_sensor(reading.sensor, part.of) == part.number:
            return self._sight.item(reading)
        return self._sight.blank(reading)

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
        facts: dict[str, Sequence[str]] = {}
        for item in evaluation.items if wanted else ():
            assert not isinstance(item.content, str)
            if item.content and (subject := item.content[0].subject[0]) in wanted:
                facts[subject] = self._reasoner.facts(item, evaluation.time)
        return facts

    def _dead(self, reason: str, item: Item, detail: str) -> Row:
        assert not isinstance(item.content, str)
        body = {
            "position": item.position,
            "detail": f"request `{self.name}`: {detail}",
            "payload": str(item.content[0].subject[0]),
        }
        return Row(self.name, item.time * self._scale, reason, body)
