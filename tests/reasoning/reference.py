"""A slow reference: windows and ticks enumerated as Definitions 4.2-4.4 and DESIGN A6 say."""

from __future__ import annotations

from collections.abc import Sequence

from reasoning.program import TimeWindow
from reasoning.streams import Item


def ticks(window: TimeWindow, first: int, until: int) -> list[int]:
    """T0 + width, then every slide, up to and including `until`; T0 = slide * floor(t1/slide)."""
    origin = window.slide * (first // window.slide)
    found = []
    k = 0
    while (tick := origin + window.width + k * window.slide) <= until:
        found.append(tick)
        k += 1
    return found


def time_window(items: Sequence[Item], window: TimeWindow, t: int) -> set[str]:
    """Definition 4.3: the items with time in [t - width, t] (intervals: that overlap it)."""
    return {str(item.content) for item in items if item.time <= t and item.end >= t - window.width}


def in_order(items: Sequence[Item], lateness: int) -> list[Item]:
    """The items that count: not later than the newest before them by more than `lateness`."""
    newest: int | None = None
    kept = []
    for item in items:
        if newest is None or item.time >= newest - lateness:
            kept.append(item)
        newest = item.time if newest is None else max(newest, item.time)
    return kept


def count_window(items: Sequence[Item], width: int, slide: int) -> list[tuple[int, set[str]]]:
    """Definition 4.4 in order of arrival: first when `width` have arrived, then every `slide`."""
    found = []
    for arrived in range(width, len(items) + 1, slide):
        held = items[arrived - width : arrived]
        found.append((held[-1].time, {str(item.content) for item in held}))
    return found
