"""One request over a stretch of readings: answers become changes of events."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.city.events import changes
from backend.city.observations import kind_of, stream_iri, triples
from backend.ingest.records import ClockReading, Reading
from reasoning.engines.guard import GuardedEngine
from reasoning.engines.limits import Limits
from reasoning.engines.solver import Engine
from reasoning.languages.casp import parse_file
from reasoning.program import Request
from reasoning.rdf.knowledge import background
from reasoning.reasoner import Evaluation, Reasoner, State
from reasoning.streams import Item


@dataclass(frozen=True)
class Row:
    """One result: `kind` says what `body` holds (see `backend.pipeline.worker.run`)."""

    request: str
    t_ms: int
    kind: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Prepared:
    """A request and the engine that evaluates it, kept from one stretch to the next."""

    request: Request
    engine: Engine


@functools.lru_cache(maxsize=64)
def _parsed(path: Path, _modified: float) -> Request:
    return parse_file(path)


@functools.lru_cache(maxsize=64)
def _prepared(request: Path, _modified: tuple[float, ...], limits: Limits) -> Prepared:
    parsed = _parsed(request, _modified[0])
    return Prepared(parsed, GuardedEngine(parsed, background(parsed), limits))


def prepared(path: Path, limits: Limits) -> Prepared:
    """The request in a file; it is read again when the file or its knowledge changes."""
    modified = path.stat().st_mtime
    bases = (Path(source.path) for source in _parsed(path, modified).knowledge)
    return _prepared(path, (modified, *(base.stat().st_mtime for base in bases)), limits)


class RequestRun:
    """A request's reasoner between a state and the next.

    `past` are the readings before it, from where the state says that windows begin.
    """

    def __init__(
        self,
        path: Path,
        limits: Limits,
        state: State | None = None,
        past: Iterable[Reading | ClockReading] = (),
    ) -> None:
        found = prepared(path, limits)
        request = found.request
        self.name = request.name
        self._scale = 1000 // request.ticks_per_second
        self._kinds = {kind_of(stream.iri) for stream in request.streams}
        self._reasoner = Reasoner(request, clocked=True, skip_unchanged=True, engine=found.engine)
        readings = (e for e in past if isinstance(e, Reading) and e.kind in self._kinds)
        self._reasoner.restore(state or State(), [self._item(r) for r in readings])
        self._feedback = self._reasoner.feedback

    def take(self, entry: Reading | ClockReading) -> Iterator[Row]:
        """The next entry of the log; yields `change` and `trace` rows."""
        if isinstance(entry, ClockReading):
            for evaluation in self._reasoner.advance(entry.complete_ms // self._scale):
                yield from self._rows(evaluation)
        elif entry.kind in self._kinds:
            for evaluation in self._reasoner.push(self._item(entry)):
                yield from self._rows(evaluation)

    def dead_letters(self) -> Iterator[Row]:
        """Items that came too late (`late`) or have no value in ASP (`refused`)."""
        for item in self._reasoner.late:
            yield self._dead("late", item, "later than the windows it belongs to")
        for item, detail in self._reasoner.refused.values():
            yield self._dead("refused", item, detail)

    def resume_from(self, position: int) -> int:
        """The first reading still needed to continue at `position`."""
        return self._reasoner.resume_from(position)

    def snapshot(self, position: int) -> tuple[State, int | None]:
        """The state at `position`, and the time (Unix ms) up to which answers are final."""
        state = self._reasoner.snapshot(position)
        return state, None if state.closed is None else state.closed * self._scale

    def _item(self, reading: Reading) -> Item:
        return Item(
            reading.observed_ms // self._scale,
            triples(reading),
            reading.position,
            stream=stream_iri(reading.kind),
        )

    def _rows(self, evaluation: Evaluation) -> Iterator[Row]:
        t_ms = evaluation.time * self._scale
        trace = {
            "items": len(evaluation.items),
            "atoms": evaluation.atoms,
            "seconds": evaluation.seconds,
            "error": evaluation.error,
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
            subject = item.content[0].subject[0]
            if subject in wanted:
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
