"""Window atoms over the input as relations: what arrives makes true what, and how long.

`Inflow` fills each relation with as little as can be. A ◇ holds up to a known point of time and
is never looked at again; a □ follows the atoms that begin or cease to arrive; the windows of the
last tuples follow the arrivals. `Lingering` does it for programs that ask for □ only, by the
texts of atoms: one that goes on arriving costs next to nothing, one that never lasts is never read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from reasoning.languages.lars.program import LastTuples, TimeSpan
from reasoning.languages.lars.tuples import (
    COLUMN,
    Batch,
    Boxes,
    Feed,
    LastBox,
    LastDiamond,
    LastTimed,
    OneTuple,
    Runs,
    Sink,
    Tuples,
)
from reasoning.model.values import Row, parsed_many


def lingers(feeds: Collection[Feed]) -> bool:
    """Whether a program asks only for the □ of points of time, and what holds now beside it,
    which is its □ at one point."""
    kinds = {feed.kind for feed in feeds}
    spans = all(not isinstance(feed.window, LastTuples) for feed in feeds)
    return spans and "box" in kinds and kinds <= {"box", "now"}


class Lingering:
    """Fills the relations of □ from point to point; see `Inflow`.

    `since` has the atoms that arrived at the last point, as text, and since when they have
    at every one.
    """

    def __init__(self, feeds: Iterable[Feed], knowledge: Batch, sink: Sink) -> None:
        self.since: dict[str, int] = {}
        self._sink = sink
        self._static = {predicate: frozenset(rows) for predicate, rows in knowledge.items()}
        self._first: int | None = None
        self._texts: set[str] = set()
        self._begun: dict[int, set[str]] = {}
        self._relations: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        """By size of the window and predicate."""
        for feed in feeds:
            size = feed.window.size if isinstance(feed.window, TimeSpan) else 0
            self._relations[size][feed.predicate].append(feed.relation)
            if rows := knowledge.get(feed.predicate):
                sink.insert(feed.relation, rows)

    def look(self, arrivals: Iterable[str]) -> set[str]:
        """What arrives at the next point and did not at the last."""
        self._texts = set(arrivals)
        return self._texts.difference(self.since)

    def point(self, time: int, came: set[str]) -> None:
        """Go on to the point that `look` has seen; `came` is what it found."""
        if self._first is None:
            self._first = time
        broke = self._break()
        self.since.update(dict.fromkeys(came, time))
        self._begun[time] = came
        for size, relations in self._relations.items():
            held = [t for t, start in broke.items() if start == self._first or start + size < time]
            self._change(self._sink.retract, relations, held)
            if time == self._first or time - size != self._first:
                due = came if time == self._first else self._begun.get(time - size, ())
                self._change(self._sink.insert, relations, due)
        self._begun.pop(time - max(self._relations), None)

    def runs(self) -> dict[str, dict[Row, int]]:
        """The same as `since`, as rows by predicate."""
        found: dict[str, dict[Row, int]] = defaultdict(dict)
        begun: dict[int, list[str]] = defaultdict(list)
        for text, start in self.since.items():
            begun[start].append(text)
        for start, texts in begun.items():
            for predicate, rows in parsed_many(texts).items():
                found[predicate].update(dict.fromkeys(rows, start))
        return found

    def _break(self) -> dict[str, int]:
        """What arrives no more, and since when it had."""
        since, begun = self.since, self._begun
        broke = {text: since.pop(text) for text in since.keys() - self._texts}
        for text, start in broke.items():
            if start in begun:
                begun[start].discard(text)
        return broke

    def _change(
        self,
        change: Callable[[str, Iterable[Row]], None],
        relations: dict[str, list[str]],
        texts: Collection[str],
    ) -> None:
        for predicate, rows in parsed_many(texts).items() if texts else ():
            static = self._static.get(predicate)
            found = [row for row in rows if row not in static] if static else rows
            for relation in relations.get(predicate, ()):
                change(relation, found)


class Inflow:
    """Fills the input relations, point by point.

    `knowledge` holds at every point; its rows are in no window of tuples, but hold at each
    point of its timeline.
    """

    def __init__(self, feeds: Sequence[Feed], knowledge: Batch, sink: Sink) -> None:
        self._knowledge, self._sink = knowledge, sink
        self._feeds: dict[Feed, None] = {}
        self._spans: dict[str, list[_Span]] = defaultdict(list)
        self._runs: dict[str, Runs] = {}
        self._boxes: list[Boxes] = []
        self._static: list[_Timed] = []
        self._tuples: dict[int, Tuples] = {}
        self.follow(feeds)

    def follow(self, feeds: Sequence[Feed]) -> None:
        """Fill these relations too, for whose predicates nothing has arrived so far."""
        new = [feed for feed in feeds if feed not in self._feeds]
        self._feeds |= dict.fromkeys(new)
        for feed in new:
            rows = self._knowledge.get(feed.predicate, ())
            if isinstance(feed.window, LastTuples):
                self._last(feed, feed.window.size, rows, self._sink)
            elif feed.kind == "box":
                self._box(feed, rows, self._sink)
            else:
                self._span(feed, rows, self._sink)

    def resume(self, first: int, time: int, runs: Mapping[str, dict[Row, int]]) -> None:
        """Go on before a point of time; `runs` has since when rows have been arriving."""
        for predicate, found in self._runs.items():
            found.resume(first, runs.get(predicate, {}))
        for boxes in self._boxes:
            boxes.resume(time)

    @property
    def ordered(self) -> bool:
        """Whether the order of arrival matters, of all atoms: there are windows of tuples."""
        return bool(self._tuples)

    def point(self, time: int, rows: Batch, order: Sequence[OneTuple] = ()) -> None:
        """What arrives at the next point; `order` has all of it, each once, if `ordered`."""
        for predicate, found in rows.items():
            for span in self._spans.get(predicate, ()):
                span.arrive(time, found)
        for timed in self._static:
            timed.hold(time)
        for predicate, runs in self._runs.items():
            runs.point(time, rows.get(predicate, ()))
        for boxes in self._boxes:
            boxes.point(time)
        for tuples in self._tuples.values():
            tuples.point(time, order)

    def late(self, time: int, rows: Batch, order: Sequence[OneTuple]) -> None:
        """What joins the point that was last; `order` has what was not there before."""
        for predicate, found in rows.items():
            for span in self._spans.get(predicate, ()):
                if span.lasts:
                    span.arrive(time, found)
            if predicate in self._runs:
                self._runs[predicate].late(time, found)
        for tuples in self._tuples.values():
            tuples.arrive(time, order)

    def _span(self, feed: Feed, rows: Collection[Row], sink: Sink) -> None:
        size = feed.window.size if isinstance(feed.window, TimeSpan) else None
        span = _Span(feed, 0 if feed.kind == "now" else size, sink)
        self._spans[feed.predicate].append(span)
        if rows and feed.kind in COLUMN:
            self._static.append(_Timed(span, rows))
        elif rows:
            sink.insert(feed.relation, rows)

    def _box(self, feed: Feed, rows: Collection[Row], sink: Sink) -> None:
        assert isinstance(feed.window, TimeSpan)
        runs = self._runs_of(feed.predicate, rows)
        self._boxes.append(Boxes(feed.relation, feed.window.size, runs, sink))
        if rows:
            sink.insert(feed.relation, rows)

    def _last(self, feed: Feed, size: int, rows: Collection[Row], sink: Sink) -> None:
        tuples = self._tuples.setdefault(size, Tuples(size))
        if feed.kind == "box":
            runs = self._runs_of(feed.predicate, rows)
            tuples.add(LastBox(feed, runs, sink))
        elif feed.kind == "diamond":
            tuples.add(LastDiamond(feed, frozenset(rows), sink))
        else:
            tuples.add(LastTimed(feed, rows, sink))
        if rows and feed.kind not in COLUMN:
            sink.insert(feed.relation, rows)

    def _runs_of(self, predicate: str, static: Collection[Row]) -> Runs:
        if predicate not in self._runs:
            self._runs[predicate] = Runs(frozenset(static))
        return self._runs[predicate]


class _Span:
    """Rows that hold at a point of time and so long after it."""

    def __init__(self, feed: Feed, size: int | None, sink: Sink) -> None:
        self._relation = feed.relation
        self._size = size
        self._column = COLUMN.get(feed.kind)
        self._insert = sink.insert
        self.lasts = size != 0

    def arrive(self, time: int, rows: Collection[Row]) -> None:
        if self._column is not None:
            column = self._column(time)
            rows = [row + column for row in rows]
        self._insert(self._relation, rows, None if self._size is None else time + self._size)


class _Timed:
    """Knowledge as if it arrived at each point."""

    def __init__(self, span: _Span, rows: Collection[Row]) -> None:
        self._span, self._rows = span, rows

    def hold(self, time: int) -> None:
        self._span.arrive(time, self._rows)
