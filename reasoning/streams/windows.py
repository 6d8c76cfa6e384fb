"""Windows over a stream: what is in them, and when they tick (docs/casp.md)."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

from reasoning.model.request import CountWindow, TimeWindow, Window
from reasoning.streams.items import Item


class Told(NamedTuple):
    """The facts of an item."""

    atoms: tuple[str, ...]
    base: int
    """What the times in the atoms are counted from."""
    text: str | None = None
    """The atoms as facts, one `atom.` a line."""


@dataclass(slots=True, eq=False)
class Held:
    """An item a window can still need."""

    item: Item
    inside: bool = False
    """Whether it is in the window, as of its last tick."""
    over: bool = False
    """Whether no later window can hold it."""
    told: Told | None = None
    """Its facts, once they have been text."""
    size: int = 0
    """The number of its facts, once they are known."""


class Moved(NamedTuple):
    """What a tick changed in a window."""

    entered: list[Held]
    left: list[Held]


class WindowBuffer:
    """The items one window can still need, in order of time and arrival.

    `last_tick` is the time of the window's last evaluation; its content is that of then.
    A tick costs what it changes.
    """

    def __init__(self, window: Window) -> None:
        self.window = window
        self.last_tick: int | None = None
        self.arrived = 0
        self._items: deque[Held] = deque()
        """Those up to the last tick."""
        self._waiting: list[Held] = []
        """Those that came since."""
        self._over = 0
        """How many of the items are over."""
        self._ends: list[tuple[int, int, Held]] | None = None
        """Items inside by when they end, once some end later than they begin."""
        self._numbers = count()

    def __len__(self) -> int:
        """How many items it can still need."""
        return len(self._items) - self._over + len(self._waiting)

    def next_tick(self, first: int) -> int | None:
        """Time of the next tick of a time window; `first` is the request's first time."""
        if isinstance(self.window, CountWindow):
            return None
        if self.last_tick is not None:
            return self.last_tick + self.window.slide
        # T0 + ω, with T0 the multiple of the slide at or before the first item (Definition 4.3).
        slide = self.window.slide
        return slide * (first // slide) + self.window.width

    def add(self, item: Item) -> bool:
        """Take an item in; True if a count window ticks with it."""
        self.keep(item)
        if isinstance(self.window, TimeWindow):
            return False
        self.arrived += 1
        over = self.arrived - self.window.width
        return over >= 0 and over % self.window.slide == 0

    def keep(self, item: Item) -> None:
        """Take an item in that came before (`resume`)."""
        self.keep_all((item,))

    def keep_all(self, items: Iterable[Item]) -> None:
        """Take items in that came before."""
        held = list(map(Held, items))
        self._waiting += held
        # Only once an item with an interval has come: until then order of time is order of
        # leaving, and a queue is enough.
        if self._ends is None and any(h.item.until is not None for h in held):
            self._begin_ends()

    def tick(self, time: int) -> Moved:
        """Evaluate at `time`: items that no later window can hold are forgotten."""
        self.last_tick = time
        arrived = self._arrived(time)
        self._items.extend(arrived)
        if isinstance(self.window, CountWindow):
            out = [self._items.popleft() for _ in range(len(self._items) - self.window.width)]
        elif self._ends is not None:
            out = self._ended(self._ends, time - self.window.width)
        else:
            out = self._oldest(time - self.window.width)
        # An item may be over without ever having been inside: where the slide is longer than the
        # width, it fell between two windows. Then it neither enters nor leaves.
        left = []
        for held in out:
            held.over = True
            if held.inside:
                held.inside = False
                left.append(held)
        entered = arrived if len(left) == len(out) else [h for h in arrived if not h.over]
        for held in entered:
            held.inside = True
        return Moved(entered, left)

    def _begin_ends(self) -> None:
        if isinstance(self.window, TimeWindow):
            self._ends = [(h.item.end, next(self._numbers), h) for h in self.content()]
            heapq.heapify(self._ends)

    def content(self) -> Iterator[Held]:
        """The items of the window as of its last tick (nothing before the first)."""
        return (held for held in self._items if held.inside)

    def out_at(self, end: int) -> int:
        """The time of the first tick of a time window at which an item that holds until `end`,
        and is in the window, is out of it."""
        assert isinstance(self.window, TimeWindow)
        assert self.last_tick is not None
        slide = self.window.slide
        return self.last_tick + ((end + self.window.width - self.last_tick) // slide + 1) * slide

    def skip_to(self, time: int, first: int) -> None:
        """Leave out the ticks before `time` (their windows are known to be empty)."""
        due = self.next_tick(first)
        if due is None or due >= time:
            return
        assert isinstance(self.window, TimeWindow)
        # Rounded up: the tick at or after `time` is the next one.
        slides = -(-(time - due) // self.window.slide)
        self.last_tick = due + (slides - 1) * self.window.slide

    def resume(self, last_tick: int | None, arrived: int, held: int) -> None:
        """Continue with the items given so far, of which the newest `held` were held."""
        self.arrived = arrived
        # A time window follows from the items and the time. What a count window held at its last
        # tick does not: of the newest items some may have come after it.
        if isinstance(self.window, TimeWindow):
            if last_tick is not None:
                self.tick(last_tick)
            return
        self.last_tick = last_tick
        del self._waiting[: max(0, len(self._waiting) - held)]
        if last_tick is not None:
            self._items.extend(self._waiting[: self.window.width])
            del self._waiting[: self.window.width]
            for inside in self._items:
                inside.inside = True

    def positions(self) -> Iterator[int]:
        """Log positions of the items it can still need."""
        held = chain((h for h in self._items if not h.over), self._waiting)
        return (h.item.position for h in held)

    def _arrived(self, time: int) -> list[Held]:
        """What came since the last tick, up to `time`."""
        waiting, self._waiting = self._waiting, []
        if waiting and isinstance(self.window, TimeWindow) and waiting[-1].item.time > time:
            self._waiting = [held for held in waiting if held.item.time > time]
            waiting = [held for held in waiting if held.item.time <= time]
        if self._ends is not None:
            for held in waiting:
                heapq.heappush(self._ends, (held.item.end, next(self._numbers), held))
        return waiting

    def _oldest(self, begin: int) -> list[Held]:
        """Take the items out that are before `begin`; none has an interval."""
        left = []
        while self._items and self._items[0].item.time < begin:
            left.append(self._items.popleft())
        return left

    def _ended(self, ends: list[tuple[int, int, Held]], begin: int) -> list[Held]:
        """The items that end before `begin`; they are taken out when they are many."""
        left = []
        while ends and ends[0][0] < begin:
            left.append(heapq.heappop(ends)[2])
        self._over += len(left)
        # Items with intervals end in any order; taking each out of the queue at once would cost
        # its length. So once half of it is over.
        if 2 * self._over > len(self._items):
            gone = {id(held) for held in left}
            kept = (h for h in self._items if not h.over and id(h) not in gone)
            self._items, self._over = deque(kept), 0
        return left
