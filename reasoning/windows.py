"""Windows over a stream: what is in them, and when they tick (DESIGN A6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from reasoning.program import CountWindow, TimeWindow, Window
from reasoning.streams import Item


@dataclass(slots=True)
class Held:
    """An item in a window, and its facts once they are known."""

    item: Item
    facts: str | None = None
    """One `atom.` a line."""
    atoms: int = 0
    base: int = 0
    """What the times in `facts` are counted from."""


class WindowBuffer:
    """The items one window can still need, in order of time and arrival.

    `last_tick` is the time of the window's last evaluation; its content is that of then.
    """

    def __init__(self, window: Window) -> None:
        self.window = window
        self.last_tick: int | None = None
        self.arrived = 0
        self.items: deque[Held] = deque()
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
        self.items.append(Held(item))
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
            self.items = deque(held for held in self.items if held.item.end >= oldest)
            return
        while self.items and self.items[0].item.time < oldest:
            self.items.popleft()

    def content(self) -> Iterator[Held]:
        """The items of the window as of its last tick (nothing before the first)."""
        if self.last_tick is None:
            return
        if isinstance(self.window, CountWindow):
            yield from islice(self.items, self.window.width)
            return
        oldest = self.last_tick - self.window.width
        for held in self.items:
            if held.item.time <= self.last_tick and held.item.end >= oldest:
                yield held

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
        self._intervals = any(held.item.until is not None for held in self.items)
        if isinstance(self.window, CountWindow):
            while len(self.items) > held:
                self.items.popleft()
        elif last_tick is not None:
            self.tick(last_tick)

    def positions(self) -> Iterable[int]:
        """Log positions of the items it holds."""
        return (held.item.position for held in self.items)
