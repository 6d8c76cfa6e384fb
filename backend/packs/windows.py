"""The windows over observation streams that a template has beside what stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from citywise.backend.city.observations import stream_iri, streamed, triples
from citywise.backend.ingest.records import Reading, Withdrawal
from citywise.backend.kinds import Kind, Kinds
from citywise.reasoning import AnswerSet, Item, Reasoner, Request, State, WindowFacts

_FEW = 1_000
_Key = tuple[str, str, int]


class Windows:
    """The windows over observation streams that a template has beside what stands.

    A reading that comes late, is corrected or withdrawn counts from the next clock on, as far as
    it is in a window still.
    """

    def __init__(self, request: Request, kinds: Kinds) -> None:
        self.facts: list[str] = []
        """The facts of all windows as of their last ticks."""
        self.refused: list[str] = []
        """Readings of the last ticks that have no value in ASP, and why."""
        self._request = request
        self.reasoner = Reasoner(request, clocked=True, engine=self)
        self._readings: dict[_Key, Reading] = {}
        """Those that a window may need."""
        self._most = _FEW
        self._kinds = streamed(request, kinds)
        self._scale = 1000 // request.ticks_per_second

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """As the engine of its reasoner it keeps the facts, and answers nothing."""
        del models
        self._keep(window.text)
        return (AnswerSet(()),)

    def close(self) -> None:
        """Nothing is held."""

    def known(self, entry: Reading | Withdrawal) -> Reading | None:
        """The reading that another one, or a withdrawal, takes the place of."""
        return self._readings.get((entry.kind, entry.sensor, entry.observed_ms))

    def take(self, entry: Reading | Withdrawal) -> bool:
        """A reading, which may be on one of the streams; whether it changes what the windows of
        the last ticks hold."""
        if entry.kind not in self._kinds:
            return False
        key = entry.kind, entry.sensor, entry.observed_ms
        known, closed = self._readings.pop(key, None), self.reasoner.closed
        is_past = closed is not None and entry.observed_ms // self._scale <= closed
        if isinstance(entry, Reading):
            self._readings[key] = entry
            if known is None and not is_past:
                list(self.reasoner.push(self._items([entry])))
                self._forget()
                return False
        if known is None and not isinstance(entry, Reading):
            return False
        held = set(self.facts)
        self._again(entry.position)
        return is_past and set(self.facts) != held

    def _again(self, position: int) -> None:
        """Fill the windows once more with the readings as they are now."""
        state = self.reasoner.snapshot(position)
        self.reasoner = Reasoner(self._request, clocked=True, engine=self)
        self._fill(state)

    def _fill(self, state: State) -> None:
        closed = state.closed
        items = self._items(sorted(self._readings.values(), key=lambda r: r.position))
        early = [item for item in items if closed is not None and item.time <= closed]
        self.reasoner.restore(state, early)
        list(self.reasoner.push([item for item in items if closed is None or item.time > closed]))
        self._keep(self.reasoner.window_facts())

    def _forget(self) -> None:
        """Drop the readings that no window needs any more, when there are many."""
        if len(self._readings) > self._most:
            needed = self.reasoner.resume_from(0)
            kept = {key: r for key, r in self._readings.items() if r.position >= needed}
            self._readings, self._most = kept, _FEW + 2 * len(kept)

    def resume_from(self, position: int) -> int:
        """The first entry still needed to continue at `position`."""
        return self.reasoner.resume_from(position)

    def ticks(self, complete_ms: int) -> Iterator[int]:
        """The times (Unix ms) of the evaluations that are due; `facts` are those then."""
        complete = (complete_ms + 1) // self._scale - 1
        for evaluation in self.reasoner.advance(complete):
            yield evaluation.time * self._scale
        self.reasoner.late.clear()
        self.refused = [f"{item.stream}: {why}" for item, why in self.reasoner.refused.values()]
        self.reasoner.refused.clear()

    def restore(self, state: Mapping[str, Any], entries: Iterable[Reading | Withdrawal]) -> None:
        """Continue from a snapshot of the reasoner."""
        for entry in entries:
            key = entry.kind, entry.sensor, entry.observed_ms
            self._readings.pop(key, None)
            if isinstance(entry, Reading) and entry.kind in self._kinds:
                self._readings[key] = entry
        self._fill(State.from_json(state))

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
