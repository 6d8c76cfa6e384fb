"""Input relations of the incremental engine, and what follows arrivals to fill them.

`Runs` and `Boxes` follow points of time: which atoms have been arriving at each, and since when.
`Tuples` and the classes behind it follow the last tuples (Laser, Definition 4).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from reasoning.languages.lars.program import Window
from reasoning.model.values import Row

Kind = Literal["now", "diamond", "box", "at", "element"]
Batch = Mapping[str, Collection[Row]]
"""Rows by predicate (`p/2`)."""


@dataclass(frozen=True)
class Feed:
    """An input relation: what it says of the atoms of a predicate within a window.

    `now`, `diamond` and `box` have the atoms' rows; `at` adds the point of time as last
    column, `element` a tuple of it. Without a window it has all points since t1.
    """

    kind: Kind
    predicate: str
    window: Window | None
    relation: str


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
