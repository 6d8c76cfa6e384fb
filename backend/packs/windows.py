"""The windows over observation streams that a template has beside what stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from citywise.backend.city.observations import stream_iri, streamed, triples
from citywise.backend.ingest.records import Reading
from citywise.backend.kinds import Kind, Kinds
from citywise.reasoning import AnswerSet, Item, Reasoner, Request, State, WindowFacts


class Windows:
    """The windows over observation streams that a template has beside what stands."""

    def __init__(self, request: Request, kinds: Kinds) -> None:
        self.facts: list[str] = []
        """The facts of all windows as of their last ticks."""
        self.refused: list[str] = []
        """Readings of the last ticks that have no value in ASP, and why."""
        self.reasoner = Reasoner(request, clocked=True, engine=self)
        self._kinds = streamed(request, kinds)
        self._scale = 1000 // request.ticks_per_second

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """As the engine of its reasoner it keeps the facts, and answers nothing."""
        del models
        self._keep(window.text)
        return (AnswerSet(()),)

    def close(self) -> None:
        """Nothing is held."""

    def take(self, reading: Reading) -> None:
        """A reading, which may be on one of the streams."""
        for item in self._items([reading]):
            list(self.reasoner.push(item))

    def ticks(self, complete_ms: int) -> Iterator[int]:
        """The times (Unix ms) of the evaluations that are due; `facts` are those then."""
        complete = (complete_ms + 1) // self._scale - 1
        for evaluation in self.reasoner.advance(complete):
            yield evaluation.time * self._scale
        self.reasoner.late.clear()
        self.refused = [f"{item.stream}: {why}" for item, why in self.reasoner.refused.values()]
        self.reasoner.refused.clear()

    def restore(self, state: Mapping[str, Any], readings: Iterable[Reading]) -> None:
        """Continue from a snapshot of the reasoner."""
        self.reasoner.restore(State.from_json(state), self._items(readings))
        self._keep(self.reasoner.window_facts())

    def _keep(self, text: str) -> None:
        self.facts = [line[:-1] for line in text.splitlines()]

    def _items(self, readings: Iterable[Reading]) -> list[Item]:
        return [
            self._item(reading, kind)
            for reading in readings
            if (kind := self._kinds.get(reading.kind)) is not None
        ]

    def _item(self, reading: Reading, kind: Kind) -> Item:
        time, stream = reading.observed_ms // self._scale, stream_iri(reading.kind)
        return Item(time, triples(reading, kind), reading.position, stream=stream)
