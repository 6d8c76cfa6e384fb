"""Items of streams, and those that wait in order of time."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from reasoning.rdf.mapping import Triple


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a stream, in the request's unit of time.

    `content` is a ground atom as text or a graph, all of whose triples hold at `time`
    (and until `until`, for an item with an interval; docs/reason.md). `position` orders items
    by arrival and names them in the log they come from. An item without a `stream` is of the
    only stream of its request.
    """

    time: int
    content: str | tuple[Triple, ...]
    position: int = 0
    until: int | None = None
    stream: str = ""

    @property
    def end(self) -> int:
        """The last time at which the item holds."""
        return self.time if self.until is None else self.until


def with_stream(items: Iterable[Item], streams: Collection[str]) -> list[Item]:
    """The items, those without a stream as items of the only one of `streams`, if it is that."""
    if len(streams) != 1:
        return list(items)
    (only,) = streams
    return [item if item.stream else replace(item, stream=only) for item in items]


class Arrivals:
    """Items in the order of their turn; those that come in order cost nothing to sort."""

    def __init__(self) -> None:
        self._ordered: deque[Item] = deque()
        self._stragglers: list[tuple[int, int, Item]] = []

    def add(self, item: Item) -> None:
        """Take an item in."""
        ordered = self._ordered
        last = ordered[-1] if ordered else item
        # Position decides between equal times: files that are merged, and a log that is read
        # again, keep the order of arrival.
        if last.time < item.time or (last.time == item.time and last.position <= item.position):
            ordered.append(item)
        else:
            heapq.heappush(self._stragglers, (item.time, item.position, item))

    def add_all(self, items: Sequence[Item]) -> None:
        """Take items in that are in order."""
        self.add(items[0])
        if self._ordered and self._ordered[-1] is items[0]:
            self._ordered += items[1:]
        else:
            for item in items[1:]:
                self.add(item)

    @property
    def first(self) -> Item | None:
        """The item whose turn is next."""
        if not self._stragglers:
            return self._ordered[0] if self._ordered else None
        time, position, straggler = self._stragglers[0]
        if self._ordered and (self._ordered[0].time, self._ordered[0].position) < (time, position):
            return self._ordered[0]
        return straggler

    def pop(self) -> None:
        """The first item has had its turn."""
        if self._stragglers and self.first is self._stragglers[0][2]:
            heapq.heappop(self._stragglers)
        else:
            self._ordered.popleft()

    def take(self, until: int) -> list[Item]:
        """The items up to a time have their turn, in order."""
        ordered, taken = self._ordered, []
        while self._stragglers and (item := self.first) is not None and item.time <= until:
            self.pop()
            taken.append(item)
        # Mostly everything that waits is due, and is taken as one.
        if ordered and ordered[-1].time <= until:
            taken += ordered
            ordered.clear()
        while ordered and ordered[0].time <= until:
            taken.append(ordered.popleft())
        return taken

    def positions(self) -> Iterator[int]:
        """Log positions of the items."""
        yield from (item.position for item in self._ordered)
        yield from (position for _time, position, _item in self._stragglers)
