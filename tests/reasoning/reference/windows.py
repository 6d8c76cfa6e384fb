"""Windows and ticks, enumerated as Definitions 4.2-4.4 and docs/casp.md say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from citywise.reasoning.model.request import CountWindow, TimeWindow
from citywise.reasoning.streams.items import Item


class Timed(Protocol):
    """An element of a stream: when it holds, from and until."""

    @property
    def time(self) -> int: ...

    @property
    def end(self) -> int: ...


E = TypeVar("E", bound=Timed)


def ticks(window: TimeWindow, first: int, until: int) -> list[int]:
    """T0 + width, then every slide, up to and including `until`; T0 = slide * floor(t1/slide)."""
    origin = window.slide * (first // window.slide)
    return list(range(origin + window.width, until + 1, window.slide))


def within(elements: Sequence[E], window: TimeWindow, t: int) -> list[E]:
    """Definition 4.3: the elements with time in [t - width, t] (intervals: that overlap it)."""
    return [e for e in elements if e.time <= t and e.end >= t - window.width]


def last(elements: Sequence[E], window: CountWindow) -> Iterator[tuple[int, list[E]]]:
    """Definition 4.4, ties broken by arrival: how many had arrived, and the last of them.

    First when `width` have arrived, then every `slide`.
    """
    for arrived in range(window.width, len(elements) + 1, window.slide):
        yield arrived, list(elements[arrived - window.width : arrived])


def in_order(elements: Sequence[E], lateness: int) -> list[E]:
    """The elements that count: not older than the newest before them by more than `lateness`."""
    newest: int | None = None
    kept = []
    for element in elements:
        if newest is None or element.time >= newest - lateness:
            kept.append(element)
        newest = element.time if newest is None else max(newest, element.time)
    return kept


def time_window(items: Sequence[Item], window: TimeWindow, t: int) -> set[str]:
    """The content of a time window as text."""
    return {str(item.content) for item in within(items, window, t)}


def count_window(items: Sequence[Item], width: int, slide: int) -> list[tuple[int, set[str]]]:
    """The ticks of a count window over items in order, and its contents as text."""
    return [
        (held[-1].time, {str(item.content) for item in held})
        for _, held in last(items, CountWindow(width, slide))
    ]
