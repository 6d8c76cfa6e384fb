"""Windows of the last tuples (Laser, Definition 4), and relations that follow them."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Sequence
from typing import Protocol

from reasoning.engines.incremental.terms import Row
from reasoning.lars.feeds import COLUMN, Arrival, Feed, Sink
from reasoning.lars.runs import Runs


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
