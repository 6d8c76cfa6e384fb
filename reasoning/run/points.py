"""Evaluation at points of time: items wait at theirs until all that arrives there has arrived."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from reasoning.model.request import Request
from reasoning.run.language import Driver
from reasoning.streams.items import Item
from reasoning.streams.results import Evaluation

Found = TypeVar("Found", bound=Evaluation)


class PointDriver(Driver, Generic[Found]):
    """A driver without windows of its own: what a language does at each point of time is its
    business, and which points there are (every integer, or where something changes).

    Parameters
    ----------
    start:
        The first point of time (`--from`); default: the first item's. Items before it are
        dropped.
    """

    def __init__(self, request: Request, start: int | None) -> None:
        self.request = request
        self.late: list[Item] = []
        self.refused: dict[int, tuple[Item, str]] = {}
        self.unix = True
        self.stream_time = start
        self._start = start
        self._closed: int | None = None
        """Up to here everything was declared complete."""
        self._arrived: dict[int, list[Item]] = {}

    def push(self, items: Item | Iterable[Item]) -> Iterator[Found]:
        """Take an item, or several in order of arrival; iterate over the evaluations at the
        points of time before the newest.

        Items before `start` are dropped, those before the newest are late. What is not
        iterated over here comes with the next push.
        """
        for item in [items] if isinstance(items, Item) else items:
            self._take(item)
        newest = self.stream_time
        return self._run(newest) if newest is not None and self._is_due(newest) else iter(())

    def advance(self, time: int) -> Iterator[Found]:
        """Declare everything up to and including `time` complete; iterate over the evaluations
        up to it."""
        self.stream_time = time if self.stream_time is None else max(self.stream_time, time)
        self._closed = time if self._closed is None else max(self._closed, time)
        return self._run(time + 1)

    def finish(self, until: int | None = None) -> Iterator[Found]:
        """End of the recording: evaluate up to `until` (default: as far as items count)."""
        return self._run(self._finish_before() if until is None else until + 1)

    def once(self) -> Found:
        """See `Driver`."""
        return self._evaluate(0, [])

    def _take(self, item: Item) -> None:
        time = item.time
        if self._start is not None and time < self._start:
            return
        newest = self.stream_time
        if newest is None or time > newest:
            self.stream_time = time
        elif time < newest or self._is_over(time):
            self.late.append(item)
            return
        arrived = self._arrived.get(time)
        if arrived is not None:
            arrived.append(item)
            return
        self._arrived[time] = [item]
        self._begins(time)

    def _is_over(self, time: int) -> bool:
        """Whether nothing that arrives now can count at a point of time, though it is the
        newest."""
        return self._closed is not None and time <= self._closed

    @abstractmethod
    def _begins(self, time: int) -> None:
        """The first item of a point of time has arrived."""

    @abstractmethod
    def _is_due(self, before: int) -> bool:
        """Whether a point of time before another is to be evaluated."""

    @abstractmethod
    def _run(self, before: int) -> Iterator[Found]:
        """Evaluate the points of time before one; all that arrives at them has arrived."""

    @abstractmethod
    def _evaluate(self, time: int, items: list[Item]) -> Found:
        """The answer at a point of time, and what arrived there."""

    @abstractmethod
    def _finish_before(self) -> int:
        """The point of time before which all is to be evaluated once nothing more arrives."""
