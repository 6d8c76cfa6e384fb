"""Windows over a stream: what is in them, and when they tick (DESIGN A6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from reasoning.program import CountWindow, TimeWindow, Window
from reasoning.streams import Item


class WindowBuffer:
    """The items one window can still need, in order of time and arrival.

    `last_tick` is the time of the window's last evaluation; its content is that of then.
    """

    def __init__(self, window: Window) -> None:
        self.window = window
        self.last_tick: int | None = None
        self.arrived = 0
        self.items: deque[Item] = deque()
        self._intervals = False

    def next_tick(self, first: int) -> int | None:
        """Time of the next tick of a time window; `first` is the request's first time."""
        if isinstance(self.window, CountWindow):
            return None
        if self.last_tick is not None:
            return self.last_tick + self.window.slide
        slide = self.window.slide
        return slide * (first // slide) + self.window.width

    def add(self, item: Item) -> bool:
        """Take an item in; True if a count window ticks with it."""
        self.items.append(item)
        self._intervals |= item.until is not None
        if isinstance(self.window, TimeWindow):
            return False
        self.arrived += 1
        over = self.arrived - self.window.width
        return over >= 0 and over % self.window.slide == 0

    def tick(self, time: int) -> None:
        """Evaluate at `time`: items that no later window can hold are forgotten."""
        self.last_tick = time
        if isinstance(self.window, CountWindow):
            while len(self.items) > self.window.width:
                self.items.popleft()
            return
        oldest = time - self.window.width
        if self._intervals:
            self.items = deque(item for item in self.items if item.end >= oldest)
            return
        while self.items and self.items[0].time < oldest:
            self.items.popleft()

    def content(self) -> Iterator[Item]:
        """The items of the window as of its last tick (nothing before the first)."""
        if self.last_tick is None:
            return
        if isinstance(self.window, CountWindow):
            yield from islice(self.items, self.window.width)
            return
        oldest = self.last_tick - self.window.width
        for item in self.items:
            if item.time <= self.last_tick and item.end >= oldest:
                yield item

    def skip_to(self, time: int, first: int) -> None:
        """Leave out the ticks before `time` (their windows are known to be empty)."""
        due = self.next_tick(first)
        if due is None or due >= time:
            return
        assert isinstance(self.window, TimeWindow)
        slides = -(-(time - due) // self.window.slide)
        self.last_tick = due + (slides - 1) * self.window.slide

    def resume(self, last_tick: int | None, arrived: int, held: int) -> None:
        """Continue with the items given so far, of which the newest `held` were held."""
        self.last_tick, self.arrived = last_tick, arrived
        self._intervals = any(item.until is not None for item in self.items)
        if isinstance(self.window, CountWindow):
            while len(self.items) > held:
                self.items.popleft()
        elif last_tick is not None:
            self.tick(last_tick)

    def positions(self) -> Iterable[int]:
        """Log positions of the items it holds."""
        return (item.position for item in self.items)
