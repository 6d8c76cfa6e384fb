"""Streams whose items come late, are corrected and withdrawn (docs/revision.md)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, filterfalse
from operator import attrgetter
from typing import Any

from citywise.reasoning.errors import ItemError
from citywise.reasoning.streams.items import Item, item_from_json, item_to_json


@dataclass(frozen=True, slots=True)
class Line:
    """An item that arrives, or what becomes of one that did.

    A line with the `id` of one before, on the same stream, corrects its item; one without an
    `item` withdraws it.
    """

    item: Item | None
    id: str | None = None
    stream: str = ""
    position: int = 0
    """Orders lines by arrival, and names them in messages."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a line changes: an item that counts no more, and one that does from now on."""

    old: Item | None
    new: Item | None

    @property
    def items(self) -> tuple[Item, ...]:
        """Those of the two that there are."""
        return tuple(item for item in (self.old, self.new) if item is not None)


class BeyondError(ItemError):
    """A line is about a time that lies further back than the horizon."""

    def __init__(self, behind: int) -> None:
        super().__init__(f"is {behind} behind the newest time")
        self.behind = behind


class UnknownIdError(ItemError):
    """A line withdraws an item that never came."""


class Ordered:
    """The items that count, by time and arrival, as the lines so far have it.

    Parameters
    ----------
    horizon:
        How far behind the newest time a line may be, in the unit of the items' times.
    start:
        Items before it do not count.
    """

    def __init__(self, horizon: int, start: int) -> None:
        self.horizon, self.start = horizon, start
        self.lasting = False
        """Whether any item has had an interval."""
        self.newest: int | None = None
        """The newest time that any line has shown."""
        self.forgotten: Counter[str] = Counter()
        """How many items of each stream were forgotten that were to be counted."""
        self._times: list[int] = []
        self._blocks: dict[int, list[Item]] = {}
        """The items of a time, in order of their places. An item's position is its place, which
        is the position of the first line about it."""
        self._size = 0
        self._known: dict[tuple[str, str], tuple[int, int | None]] = {}
        """Places of items with an id, and their time; None: they do not count. None is ever
        forgotten: whether a line with the id of one before counts is for that one's time to say,
        and an id that never came is an error."""
        self._lines: dict[int, int] = {}
        """Positions of the lines that said last what items are, by place, where they differ."""
        self._last: int | None = None
        """The time of the last item that was forgotten."""

    def __len__(self) -> int:
        return self._size

    def snapshot(self) -> dict[str, Any]:
        """All of it, as values JSON can hold: what `restore` goes on with."""
        return {
            "lasting": self.lasting,
            "newest": self.newest,
            "forgotten": dict(self.forgotten),
            "items": list(map(item_to_json, self.between(None, None))),
            "known": [[*key, *known] for key, known in self._known.items()],
            "lines": list(map(list, self._lines.items())),
            "last": self._last,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on as the one that gave the snapshot would have."""
        self.lasting, self.newest, self._last = state["lasting"], state["newest"], state["last"]
        self.forgotten = Counter(state["forgotten"])
        for item in map(item_from_json, state["items"]):
            self._blocks.setdefault(item.time, []).append(item)
        self._times, self._size = list(self._blocks), len(state["items"])
        self._known = {(stream, name): (p, time) for stream, name, p, time in state["known"]}
        self._lines = dict(state["lines"])

    @property
    def last(self) -> int | None:
        """The time of the last item."""
        return self._latest(len(self._times))

    @property
    def first(self) -> Item | None:
        """The earliest item that is kept."""
        return self._blocks[self._times[0]][0] if self._times else None

    @property
    def settled(self) -> int | None:
        """Before this time nothing changes any more; None: no line has shown a time."""
        return None if self.newest is None else self.newest - self.horizon

    def line_of(self, place: int) -> int:
        """The position of the line that says what an item is."""
        return self._lines.get(place, place)

    def last_before(self, time: int) -> int | None:
        """The time of the last item before one."""
        return self._latest(bisect_left(self._times, time))

    def between(self, first: int | None, end: int | None) -> list[Item]:
        """The items from a time on, and before another."""
        times = self._times
        low = 0 if first is None else bisect_left(times, first)
        high = len(times) if end is None else bisect_left(times, end, low)
        return list(chain.from_iterable(map(self._blocks.__getitem__, times[low:high])))

    def extend(self, lines: Iterator[Line | Item], streams: Collection[str]) -> Line | Item | None:
        """Take new items of some streams that come in order, and have neither id nor interval, up
        to the first line that is none; that line."""
        newest = self.newest
        if newest is None:
            return next(lines, None)
        time = max(newest, self.start)
        block = self._blocks.get(time)
        place = block[-1].position if block else -1
        before = 0 if block is None else len(block)
        # Nearly all lines of nearly all streams pass here: what this loop costs is what it costs
        # them that they may be revised.
        for line in lines:
            item = line if type(line) is Item else _plain(line)
            if item is None or (now := item.time) < time or item.until is not None:
                break
            if item.stream not in streams or (now == time and item.position < place):
                break
            if now > time or block is None:
                self._size += 0 if block is None else len(block) - before
                self._times.append(now)
                block = self._blocks[now] = []
                before, self.newest, time = 0, now, now
            place = item.position
            block.append(item)
        else:
            line = None
        self._size += 0 if block is None else len(block) - before
        return line

    def take(self, given: Line | Item) -> Change | None:
        """Take a line in; None if it changes nothing.

        Raises `BeyondError` for one beyond the horizon, `UnknownIdError` for the withdrawal of
        what is not known; either leaves everything as it was.
        """
        if isinstance(given, Item):
            self._check(given.time)
            self._see(given)
            return Change(None, given) if self._insert(given) else None
        line = given
        key = None if line.id is None else (line.stream, line.id)
        place, before = (line.position, None) if key is None else self._place(key, line)
        item, old = line.item, None if before is None else self._at(before, place)
        self._check(before)
        if item is not None:
            self._check(item.time)
            self._see(item)
        new = None if item is None or item.time < self.start else _placed(item, place)
        if key is not None:
            self._known[key] = place, None if new is None else new.time
        if new == old:
            return None
        if old is not None:
            self._remove(old)
        if new is not None:
            self._insert(new)
            if line.position != place:
                self._lines[place] = line.position
        return Change(old, new)

    def forget(
        self,
        before: int,
        since: int,
        needed: Callable[[Item], bool] | None = None,
        counted: Callable[[Item], bool] | None = None,
    ) -> None:
        """Forget the items before a time that end before another, or those that are not
        `needed`; those that are `counted` are counted by stream."""
        needed = needed or ((lambda item: item.end >= since) if self.lasting else None)
        times, blocks = self._times, self._blocks
        high = bisect_left(times, min(before, since) if needed is None else before)
        self._last = self._latest(high)
        kept: dict[int, list[Item]] = {}
        for time in times[:high]:
            gone = blocks.pop(time)
            if needed is not None and (some := list(filter(needed, gone))):
                kept[time], gone = some, list(filterfalse(needed, gone))
            self._size -= len(gone)
            if needed is not None and counted is not None:
                self.forgotten.update(item.stream for item in gone if counted(item))
            for item in gone if self._lines else ():
                self._lines.pop(item.position, None)
        blocks.update(kept)
        times[:high] = kept

    def backwards(self, before: int) -> Iterator[Item]:
        """The items before a time, the last first."""
        for number in range(bisect_left(self._times, before) - 1, -1, -1):
            yield from reversed(self._blocks[self._times[number]])

    def _latest(self, end: int) -> int | None:
        """The time of the last item among the first ones that are kept."""
        if not end:
            return self._last
        # An item that was forgotten may be later than one that is kept for its interval.
        last = self._times[end - 1]
        return last if self._last is None else max(last, self._last)

    def _see(self, item: Item) -> None:
        """Note what a line shows by its item."""
        self.lasting = self.lasting or item.until is not None
        if self.newest is None or item.time > self.newest:
            self.newest = item.time

    def _insert(self, item: Item) -> bool:
        """Enter an item, if it counts."""
        if item.time < self.start:
            return False
        block = self._blocks.get(item.time)
        if block is None:
            block = self._blocks[item.time] = []
            insort(self._times, item.time)
        insort(block, item, key=_position)
        self._size += 1
        return True

    def _remove(self, item: Item) -> None:
        block = self._blocks[item.time]
        block.remove(item)
        self._size -= 1
        if not block:
            del self._blocks[item.time]
            self._times.remove(item.time)

    def _at(self, time: int, place: int) -> Item | None:
        """The item at a place that has a time, if it has not been forgotten."""
        block = self._blocks.get(time, [])
        number = bisect_left(block, place, key=_position)
        return block[number] if number < len(block) and block[number].position == place else None

    def _place(self, key: tuple[str, str], line: Line) -> tuple[int, int | None]:
        known = self._known.get(key)
        if known is None and line.item is None:
            raise UnknownIdError(f"withdraws {line.id!r}, which has not come")
        return known or (line.position, None)

    def _check(self, time: int | None) -> None:
        if time is not None and self.newest is not None and time < self.newest - self.horizon:
            raise BeyondError(self.newest - time)


def _plain(line: Line | Item) -> Item | None:
    """The item of a line that says no more."""
    if isinstance(line, Item):
        return line
    item = line.item
    return item if line.id is None and item and item.position == line.position else None


def _placed(item: Item, place: int) -> Item:
    return item if item.position == place else replace(item, position=place)


_position = attrgetter("position")
