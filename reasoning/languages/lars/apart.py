"""Items that windows do not show at a point of time, and why they do not."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reasoning.explain.origins import Reason, Time
from reasoning.languages.lars.encoding import Encoding
from reasoning.languages.lars.history import GroundAtom, History, Tuple
from reasoning.languages.lars.program import LastTuples, TimeSpan, Window
from reasoning.languages.lars.relations import call
from reasoning.run.recorded import Recorded
from reasoning.streams.items import Item

_NOW = TimeSpan(0)
Span = tuple[Time, Time]


class Apart:
    """Says of items why windows do not show them.

    Parameters
    ----------
    encoding, history:
        The program, and the data stream at the point of time.
    run:
        What the items are recorded for.
    refused:
        Positions of items that have no value in ASP.
    """

    def __init__(
        self, encoding: Encoding, history: History, run: Recorded, refused: Collection[int]
    ) -> None:
        self._encoding, self._history, self._run = encoding, history, run
        self._refused = refused
        self._start = run.first

    def of(self, item: Item, atom: GroundAtom) -> Iterator[tuple[str, Reason, Span | None]]:
        """Facts of the encoding that an atom of an item does not make true, each with why, and
        the first and last time of the window if it is one of time."""
        for fact, window in self._facts(item, atom):
            reason = self._reason(item, atom, window)
            if reason is not None:
                yield fact, reason, self._span(window)

    def _facts(self, item: Item, atom: GroundAtom) -> Iterator[tuple[str, Window | None]]:
        """What it would make true where windows showed it."""
        arguments = [atom.arguments] if atom.arguments else []
        if atom.signature in self._encoding.now:
            yield atom.text, _NOW
        for seen, relation in self._encoding.seen.items():
            if seen.signature == atom.signature and seen.view != "every":
                timed = [str(item.time)] if seen.view == "timed" else []
                yield call(relation, [*arguments, *timed]), seen.window

    def _reason(self, item: Item, atom: GroundAtom, window: Window | None) -> Reason | None:
        if self._start is not None and item.time < self._start:
            return "before the start"
        if item.time > self._history.now:
            return "not yet"
        if item.position in self._refused:
            return "refused"
        if item.position in self._run.late:
            return "too late"
        inputs = self._run.request.inputs
        if inputs and atom.signature not in inputs:
            return "filtered"
        return self._gone(item, atom, window)

    def _gone(self, item: Item, atom: GroundAtom, window: Window | None) -> Reason | None:
        if isinstance(window, LastTuples):
            points = range(item.time, item.end + 1)
            tuples = set(self._history.within(window))
            there = any(Tuple(point, atom) in tuples for point in points)
            return None if there else "pushed out"
        return "too old" if item.end < self._history.timeline(window).start else None

    def _span(self, window: Window | None) -> Span | None:
        """The first and last point of time of a window, to be read."""
        if isinstance(window, LastTuples):
            return None
        points = self._history.timeline(window)
        return self._run.format_time(points[0]), self._run.format_time(points[-1])
