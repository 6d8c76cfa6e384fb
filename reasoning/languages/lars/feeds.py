"""Input relations of the incremental engine, and what follows arrivals to fill them.

`Runs` and `Boxes` follow points of time: which atoms have been arriving at each, and since when.
`Tuples` and the classes behind it follow the last tuples (Laser, Definition 4).

`Inflow` fills each relation with as little as can be. A ◇ holds up to a known point of time and
is never looked at again; a □ follows the atoms that begin or cease to arrive; the windows of the
last tuples follow the arrivals. `Lingering` does it for programs that ask for □ only, by the
texts of atoms: one that goes on arriving costs next to nothing, one that never lasts is never read.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from citywise.reasoning.languages.lars.program import LarsWindow, LastTuples, TimeSpan
from citywise.reasoning.model.values import Row, parsed_many

FeedKind = Literal["now", "diamond", "box", "at", "element", "newest", "lasting", "points"]
Batch = Mapping[str, Collection[Row]]
"""Rows by predicate (`p/2`)."""


@dataclass(frozen=True)
class Feed:
    """An input relation: what it says of the atoms of a predicate within a window.

    `now`, `diamond` and `box` have the atoms' rows; `at` adds the point of time as last
    column, `element` a tuple of it, `newest` the last of them alone. Without a window it has all
    points since t1. `lasting` adds since when the atom has held at every point, and is of those
    that hold now. `points` has the points of time of the window alone, of whatever predicate.
    """

    kind: FeedKind
    predicate: str
    window: LarsWindow | None
    relation: str


EVER = -(2**40)
"""Before any point of time: since when knowledge has held."""
COLUMN: Mapping[str, Callable[[int], Row]] = {
    "at": lambda time: (time,),
    "element": lambda time: (("", time),),
}
"""What kinds of feeds add to a row."""


class Sink(Protocol):
    """What takes the changes (`incremental.evaluation.Evaluation`)."""

    def insert(self, relation: str, rows: Iterable[Row], until: int | None = None) -> None:
        """Rows hold from the next step on, up to `until`."""

    def retract(self, relation: str, rows: Iterable[Row]) -> None:
        """Rows hold no more from the next step on."""


Arrival = tuple[str, Row]
"""Predicate and row of an input atom."""


class Runs:
    """Since when atoms of a predicate have arrived at every point.

    `came` and `broke` are what began to arrive, and ceased, at the last point.
    """

    def __init__(self, static: frozenset[Row]) -> None:
        self.since: dict[Row, int] = {}
        self.first: int | None = None
        self.came: Collection[Row] = ()
        self.broke: dict[Row, int] = {}
        self._static = static

    def resume(self, first: int, since: dict[Row, int]) -> None:
        """Go on from what another has seen."""
        self.first = first
        self.since = {row: start for row, start in since.items() if row not in self._static}

    def point(self, time: int, rows: Collection[Row]) -> None:
        """What arrives at the next point."""
        if self.first is None:
            self.first = time
        since = self.since
        if not rows and not since:
            self.came, self.broke = (), {}
            return
        found = set(rows).difference(self._static)
        self.came = found.difference(since)
        self.broke = {row: since.pop(row) for row in since.keys() - found}
        since.update(dict.fromkeys(self.came, time))

    def late(self, time: int, rows: Collection[Row]) -> None:
        """What joins the last point."""
        for row in rows:
            if row not in self.since and row not in self._static:
                self.since[row] = self.broke.pop(row, time)


class Boxes:
    """□ over the last points: a row is in once it has arrived at all of them."""

    def __init__(self, relation: str, size: int, runs: Runs, sink: Sink) -> None:
        self._relation, self._size, self._runs, self._sink = relation, size, runs, sink
        self._begun: dict[int, set[Row]] = {}

    def resume(self, time: int) -> None:
        """Go on, before a point of time, with runs that have been going on."""
        for row, start in self._runs.since.items():
            if start != self._runs.first and start + self._size >= time:
                self._begun.setdefault(start, set()).add(row)

    def point(self, time: int) -> None:
        runs = self._runs
        if runs.broke:
            self._sink.retract(self._relation, runs.broke)
            for row, start in runs.broke.items():
                if start in self._begun:
                    self._begun[start].discard(row)
        if runs.came:
            if time == runs.first:
                self._sink.insert(self._relation, runs.came)
            else:
                self._begun[time] = set(runs.came)
        due = self._begun.pop(time - self._size, None)
        if due:
            self._sink.insert(self._relation, due)


class LastingFeed:
    """Rows that have arrived at every point up to now, and since when."""

    def __init__(self, relation: str, runs: Runs, sink: Sink) -> None:
        self._relation, self._runs, self._sink = relation, runs, sink

    def point(self, time: int) -> None:
        runs = self._runs
        if runs.broke:
            self._sink.retract(self._relation, [(*row, t) for row, t in runs.broke.items()])
        if runs.came:
            self._sink.insert(self._relation, [(*row, time) for row in runs.came])


class LastFeed(Protocol):
    """An input relation over the last tuples."""

    predicate: str

    def change(self, entering: Sequence[_Entry], leaving: Sequence[_Entry]) -> None:
        """What entered the window and what left it, of the predicate."""

    def point(self, time: int, tuples: Tuples) -> None:
        """The point's tuples are in."""


_Entry = tuple[int, str, Row]
"""Point of time, predicate and row."""
OneTuple = Sequence[Arrival]
"""An atom, or a triple in both its readings, which counts once."""


class Tuples:
    """The last tuples (Laser, Definition 4)."""

    def __init__(self, size: int) -> None:
        self.entries: deque[list[_Entry]] = deque()
        self.first: int | None = None
        self._size = size
        self._feeds: dict[str, list[LastFeed]] = defaultdict(list)

    def add(self, feed: LastFeed) -> None:
        """Let a relation follow the window."""
        self._feeds[feed.predicate].append(feed)

    @property
    def start(self) -> int:
        """Where the window's timeline begins."""
        assert self.first is not None
        return self.entries[0][0][0] if len(self.entries) == self._size else self.first

    def point(self, time: int, arrivals: Sequence[OneTuple]) -> None:
        """What arrives at the next point."""
        if self.first is None:
            self.first = time
        self.arrive(time, arrivals)
        for feeds in self._feeds.values():
            for feed in feeds:
                feed.point(time, self)

    def arrive(self, time: int, arrivals: Sequence[OneTuple]) -> None:
        """What arrives, each atom once at a point of time."""
        entries = self.entries
        surplus = max(0, len(entries) + len(arrivals) - self._size)
        leaving = [entries.popleft() for _ in range(min(surplus, len(entries)))]
        entering = [[(time, *each) for each in one] for one in arrivals[surplus - len(leaving) :]]
        entries.extend(entering)
        for predicate, feeds in self._feeds.items():
            new = [entry for one in entering for entry in one if entry[1] == predicate]
            old = [entry for one in leaving for entry in one if entry[1] == predicate]
            for feed in feeds if new or old else ():
                feed.change(new, old)


class LastDiamond:
    """◇ over the last tuples: rows that are in the window at least once."""

    def __init__(self, feed: Feed, static: frozenset[Row], sink: Sink) -> None:
        self.predicate = feed.predicate
        self._relation, self._static, self._sink = feed.relation, static, sink
        self._counts: Counter[Row] = Counter()

    def change(self, entering: Sequence[_Entry], leaving: Sequence[_Entry]) -> None:
        counts = self._counts
        touched: dict[Row, int] = {}
        for steps, entries in ((1, entering), (-1, leaving)):
            for _time, _predicate, row in entries:
                touched.setdefault(row, counts[row])
                counts[row] += steps
        came = [row for row, before in touched.items() if not before and counts[row]]
        gone = [row for row in touched if not counts[row]]
        for row in gone:
            del counts[row]
        self._sink.retract(self._relation, [row for row in gone if row not in self._static])
        self._sink.insert(self._relation, came)

    def point(self, time: int, tuples: Tuples) -> None:
        """Nothing depends on the time."""


class LastTimed:
    """Rows of the last tuples with their points of time, and knowledge at each point."""

    def __init__(self, feed: Feed, static: Collection[Row], sink: Sink) -> None:
        self.predicate = feed.predicate
        self._relation, self._sink = feed.relation, sink
        self._column = COLUMN[feed.kind]
        self._static, self._held = frozenset(static), deque[int]()

    def change(self, entering: Sequence[_Entry], leaving: Sequence[_Entry]) -> None:
        self._sink.retract(self._relation, self._rows(leaving))
        self._sink.insert(self._relation, self._rows(entering))

    def _rows(self, entries: Sequence[_Entry]) -> list[Row]:
        return [
            row + self._column(time) for time, _predicate, row in entries if row not in self._static
        ]

    def point(self, time: int, tuples: Tuples) -> None:
        if not self._static:
            return
        self._held.append(time)
        self._sink.insert(self._relation, self._at(time))
        while self._held[0] < tuples.start:
            self._sink.retract(self._relation, self._at(self._held.popleft()))

    def _at(self, time: int) -> list[Row]:
        column = self._column(time)
        return [row + column for row in self._static]


class LastBox:
    """□ over the last tuples: rows that arrived at every point since the first of them,
    where those that the window cuts off do not count."""

    def __init__(self, feed: Feed, runs: Runs, sink: Sink) -> None:
        self.predicate = feed.predicate
        self._relation, self._runs, self._sink = feed.relation, runs, sink
        self._rows: set[Row] = set()

    def change(self, entering: Sequence[_Entry], leaving: Sequence[_Entry]) -> None:
        """What holds is looked up at each point."""

    def point(self, time: int, tuples: Tuples) -> None:
        rows = self._holding(time, tuples)
        self._sink.retract(self._relation, self._rows - rows)
        self._sink.insert(self._relation, rows - self._rows)
        self._rows = rows

    def _holding(self, time: int, tuples: Tuples) -> set[Row]:
        start, since = tuples.start, self._runs.since
        head: set[Row] = set()
        for one in tuples.entries:
            if one[0][0] != start:
                break
            head.update(row for _time, predicate, row in one if predicate == self.predicate)
        return {row for row in head if since.get(row, time + 1) <= start}


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
        self._spans: dict[str, list[_Span | _Newest]] = defaultdict(list)
        self._runs: dict[str, Runs] = {}
        self._boxes: list[Boxes] = []
        self._lasting: list[LastingFeed] = []
        self._static: list[_Timed] = []
        self._points: list[_Points | _Newest] = []
        self._tuples: dict[int, Tuples] = {}
        self.follow(feeds)

    def follow(self, feeds: Sequence[Feed]) -> None:
        """Fill these relations too, for whose predicates nothing has arrived so far."""
        new = [feed for feed in feeds if feed not in self._feeds]
        self._feeds |= dict.fromkeys(new)
        for feed in new:
            rows = self._knowledge.get(feed.predicate, ())
            if feed.kind == "points":
                self._points.append(_Points(feed, self._sink))
            elif isinstance(feed.window, LastTuples):
                self._last(feed, feed.window.size, rows, self._sink)
            elif feed.kind == "box":
                self._box(feed, rows, self._sink)
            elif feed.kind == "lasting":
                runs = self._runs_of(feed.predicate, rows)
                self._lasting.append(LastingFeed(feed.relation, runs, self._sink))
                self._sink.insert(feed.relation, [(*row, EVER) for row in rows])
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
        for points in self._points:
            points.point(time)
        for predicate, runs in self._runs.items():
            runs.point(time, rows.get(predicate, ()))
        for boxes in self._boxes:
            boxes.point(time)
        for lasting in self._lasting:
            lasting.point(time)
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
        span: _Span | _Newest = _Span(feed, 0 if feed.kind == "now" else size, sink)
        if feed.kind == "newest":
            span = _Newest(feed, sink)
            self._points.append(span)
        self._spans[feed.predicate].append(span)
        if rows and (feed.kind in COLUMN or feed.kind == "newest"):
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


class _Newest:
    """Rows with the newest point of time at which they arrived, of those in a window."""

    lasts = True

    def __init__(self, feed: Feed, sink: Sink) -> None:
        assert isinstance(feed.window, TimeSpan)
        self._relation, self._window, self._sink = feed.relation, feed.window, sink
        self._times: dict[Row, int] = {}
        self._ahead: deque[tuple[int, Collection[Row]]] = deque()
        """What the window has not reached yet."""
        self._inside: deque[tuple[int, Collection[Row]]] = deque()

    def arrive(self, time: int, rows: Collection[Row]) -> None:
        self._ahead.append((time, rows))

    def point(self, time: int) -> None:
        while self._inside and self._inside[0][0] + self._window.size < time:
            ended, old = self._inside.popleft()
            for row in old:
                if self._times.get(row) == ended:
                    del self._times[row]
        while self._ahead and self._ahead[0][0] + self._window.gap <= time:
            self._enter(*self._ahead.popleft())

    def _enter(self, time: int, rows: Collection[Row]) -> None:
        times = self._times
        new = [row for row in rows if times.get(row) != time]
        self._sink.retract(self._relation, [(*row, times[row]) for row in new if row in times])
        self._sink.insert(self._relation, [(*row, time) for row in new], time + self._window.size)
        times.update(dict.fromkeys(new, time))
        self._inside.append((time, new))


class _Timed:
    """Knowledge as if it arrived at each point."""

    def __init__(self, span: _Span | _Newest, rows: Collection[Row]) -> None:
        self._span, self._rows = span, rows

    def hold(self, time: int) -> None:
        self._span.arrive(time, self._rows)


class _Points:
    """The points of time of a window, each from when it enters to when it leaves."""

    def __init__(self, feed: Feed, sink: Sink) -> None:
        assert isinstance(feed.window, TimeSpan)
        self._relation, self._window, self._sink = feed.relation, feed.window, sink
        self._first: int | None = None

    def point(self, time: int) -> None:
        if self._first is None:
            self._first = time
        entering = time - self._window.gap
        if entering >= self._first:
            until = entering + self._window.size
            self._sink.insert(self._relation, [(entering,)], until)
