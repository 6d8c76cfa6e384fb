"""Streams whose items come late, are corrected and withdrawn (docs/revision.md)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from citywise.reasoning.errors import ItemError
from citywise.reasoning.streams.items import Item


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
        """How many items of each stream were forgotten."""
        self._turns: list[tuple[int, int]] = []
        """Time and place of each item, in order."""
        self._items: dict[int, Item] = {}
        """By place, which is the position of the first line about the item."""
        self._known: dict[tuple[str, str], tuple[int, int | None]] = {}
        """Places of items with an id, and their time; None: they do not count."""
        self._lines: dict[int, int] = {}
        """Positions of the lines that said last what items are, by place, where they differ."""
        self._last: int | None = None
        """The time of the last item that was forgotten."""

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def last(self) -> int | None:
        """The time of the last item."""
        return self._latest(len(self._turns))

    @property
    def settled(self) -> int | None:
        """Before this time nothing changes any more; None: no line has shown a time."""
        return None if self.newest is None else self.newest - self.horizon

    def line_of(self, place: int) -> int:
        """The position of the line that says what an item is."""
        return self._lines.get(place, place)

    def last_before(self, time: int) -> int | None:
        """The time of the last item before one."""
        return self._latest(bisect_left(self._turns, (time,)))

    def between(self, first: int | None, end: int | None) -> list[Item]:
        """The items from a time on, and before another."""
        turns = self._turns
        low = 0 if first is None else bisect_left(turns, (first,))
        high = len(turns) if end is None else bisect_left(turns, (end,))
        items = self._items
        return [items[place] for _time, place in turns[low:high]]

    def append(self, line: Line, only: str) -> bool:
        """Take a new item without an id that comes in order; False: it is none, or does not.
        `only` is the stream of items that name none."""
        item, newest = line.item, self.newest
        if item is None or item.until is not None or (only and not item.stream):
            return False
        time, turns = item.time, self._turns
        if newest is None or time < newest or item.position != line.position:
            return False
        if time < self.start or (turns and turns[-1] > (time, item.position)):
            return False
        self.newest = time
        turns.append((time, item.position))
        self._items[item.position] = item
        return True

    def take(self, line: Line) -> Change | None:
        """Take a line in; None if it changes nothing.

        Raises `BeyondError` for one beyond the horizon, `UnknownIdError` for the withdrawal of
        what is not known; either leaves everything as it was.
        """
        key = None if line.id is None else (line.stream, line.id)
        place, before = (line.position, None) if key is None else self._place(key, line)
        item, old = line.item, None if before is None else self._items.get(place)
        self._check(before)
        if item is not None:
            self._check(item.time)
            self.lasting = self.lasting or item.until is not None
            if self.newest is None or item.time > self.newest:
                self.newest = item.time
        new = None if item is None or item.time < self.start else _placed(item, place)
        if key is not None:
            self._known[key] = place, None if new is None else new.time
        if new == old:
            return None
        if old is not None:
            del self._turns[bisect_left(self._turns, (old.time, place))]
            del self._items[place]
        if new is not None:
            self._add(new)
            if line.position != place:
                self._lines[place] = line.position
        return Change(old, new)

    def forget(self, before: int, needed: Callable[[Item], bool]) -> None:
        """Forget the items before a time that are not needed."""
        turns, items = self._turns, self._items
        high = bisect_left(turns, (before,))
        kept = []
        for turn in turns[:high]:
            if needed(item := items[turn[1]]):
                kept.append(turn)
            else:
                self.forgotten[item.stream] += 1
                del items[turn[1]]
                self._lines.pop(turn[1], None)
        if high:
            self._last = turns[high - 1][0]
        turns[:high] = kept

    def backwards(self, before: int) -> Iterator[Item]:
        """The items before a time, the last first."""
        for place in range(bisect_left(self._turns, (before,)) - 1, -1, -1):
            yield self._items[self._turns[place][1]]

    def _latest(self, end: int) -> int | None:
        """The time of the last item among the first ones that are kept."""
        if not end:
            return self._last
        # An item that was forgotten may be later than one that is kept for its interval.
        last = self._turns[end - 1][0]
        return last if self._last is None else max(last, self._last)

    def _place(self, key: tuple[str, str], line: Line) -> tuple[int, int | None]:
        known = self._known.get(key)
        if known is None and line.item is None:
            raise UnknownIdError(f"withdraws {line.id!r}, which has not come")
        return known or (line.position, None)

    def _check(self, time: int | None) -> None:
        if time is not None and self.newest is not None and time < self.newest - self.horizon:
            raise BeyondError(self.newest - time)

    def _add(self, item: Item) -> None:
        turn = item.time, item.position
        self._items[item.position] = item
        if not self._turns or self._turns[-1] < turn:
            self._turns.append(turn)  # mostly streams are in order
        else:
            insort(self._turns, turn)


def _placed(item: Item, place: int) -> Item:
    return item if item.position == place else replace(item, position=place)
