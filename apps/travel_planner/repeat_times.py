"""When a repeating trip runs and when it is looked at. Pure: instants are Unix ms of stream time.

Times of day are those of the city's clocks. One that a day has twice counts the first time; one
that a day leaves out counts as much later as the clocks were put forward (RFC 5545, 3.3.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Literal

from citywise.backend.app import times

Stage = Literal["waiting", "evening", "before", "underway", "over"]
STAGES: tuple[Stage, ...] = ("waiting", "evening", "before", "underway", "over")
LOOK_MS, FAR_LOOK_MS = 60_000, 300_000
"""So often a trip is looked at that is near, and one that is told of but not near."""
NEAR_MS = 15 * 60_000
"""So long before it begins it is looked at, if nothing is told before."""
LASTS_MS = 2 * 3_600_000
"""Of a trip for which nothing was found, so long is taken for granted."""
_FARTHEST = timedelta(days=366)
"""No day of the week is looked for beyond that."""
Clock = str
"""A time of day, `HH:MM`."""


@dataclass(frozen=True)
class Pattern:
    """On which days a trip is made, at what time, and when its user wants to hear of it."""

    at: Clock
    by: Literal["depart", "arrive"] = "depart"
    weekdays: tuple[int, ...] = ()
    """1 is Monday."""
    dates: tuple[str, ...] = ()
    """Instead of weekdays."""
    skipped: tuple[str, ...] = ()
    until: str | None = None
    """Its last day."""
    paused: bool = False
    evening: Clock | None = "20:00"
    """When it is told on the day before; None: not then."""
    before_min: int | None = 60
    """Minutes before it begins; None: not then."""
    underway: bool = True


def instant(day: date, clock: Clock) -> int:
    """When the city's clocks show a time on a day."""
    local = datetime.combine(day, time.fromisoformat(clock), times.zone())
    return round(local.timestamp() * 1000)


def days(pattern: Pattern, since: date) -> Iterator[date]:
    """The days from one on at which a trip is made, those that are left out too."""
    until = date.max if pattern.until is None else date.fromisoformat(pattern.until)
    if pattern.dates:
        listed = sorted(map(date.fromisoformat, pattern.dates))
        yield from (day for day in listed if since <= day <= until)
        return
    last = min(since + _FARTHEST, until)
    for number in range((last - since).days + 1):
        day = since + timedelta(days=number)
        if day.isoweekday() in pattern.weekdays:
            yield day


@dataclass(frozen=True)
class Run:
    """A trip on one of its days."""

    day: date
    anchor_ms: int
    """When it is to depart, or to arrive."""
    evening_ms: int | None
    before_ms: int | None
    departs_ms: int
    arrives_ms: int

    def stage(self, now_ms: int) -> Stage:
        """What may be told now."""
        if now_ms >= self.arrives_ms:
            return "over"
        if now_ms >= self.departs_ms:
            return "underway"
        if self.before_ms is not None and now_ms >= self.before_ms:
            return "before"
        is_evening = self.evening_ms is not None and now_ms >= self.evening_ms
        return "evening" if is_evening else "waiting"


def run(
    pattern: Pattern, day: date, departs_ms: int | None = None, arrives_ms: int | None = None
) -> Run:
    """A trip on a day; `departs_ms` and `arrives_ms` as they were found last."""
    anchor = instant(day, pattern.at)
    by_arrival = pattern.by == "arrive"
    departs = departs_ms if departs_ms is not None else anchor - (LASTS_MS if by_arrival else 0)
    arrives = arrives_ms if arrives_ms is not None else anchor + (0 if by_arrival else LASTS_MS)
    begins = departs if by_arrival else anchor
    evening = None
    if pattern.evening is not None:
        evening = instant(day - timedelta(days=1), pattern.evening)
    before = begins - NEAR_MS if pattern.underway else None
    if pattern.before_min is not None:
        before = begins - pattern.before_min * 60_000
    return Run(day, anchor, evening, before, departs, max(arrives, departs + 1))


def next_day(pattern: Pattern, now_ms: int, after: date | None = None) -> date | None:
    """The day of the trip that comes next: later than `after`, and not before now by its time."""
    if pattern.paused:
        return None
    # One of last night may still be under way.
    yesterday = times.local(now_ms).date() - timedelta(days=1)
    since = yesterday if after is None else max(yesterday, after + timedelta(days=1))
    for day in days(pattern, since):
        if day.isoformat() not in pattern.skipped and run(pattern, day).arrives_ms > now_ms:
            return day
    return None


def next_look(pattern: Pattern, found: Run, looked: Stage, now_ms: int) -> int:
    """When a trip is looked at next that has been looked at in a stage."""
    moments = {"evening": found.evening_ms, "before": found.before_ms}
    later = [
        at
        for stage, at in moments.items()
        if at is not None and STAGES.index(stage) > STAGES.index(looked) and at < found.arrives_ms
    ]
    if looked in ("before", "underway") and pattern.underway:
        is_near = now_ms >= found.departs_ms - NEAR_MS
        later.append(now_ms + (LOOK_MS if is_near else FAR_LOOK_MS))
    later.append(found.arrives_ms)
    return max(min(later), now_ms + 1)
