"""When people have no time, by their calendars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from citywise.apps.meeting_mgr.model import Attendee, Busy


def is_busy(attendee: Attendee, from_ms: int, until_ms: int) -> bool:
    """Whether somebody has no time for all of a span."""
    return any(
        one.from_ms < until_ms and max(from_ms, one.from_ms) < one.until_ms for one in attendee.busy
    )


def merged(busy: Iterable[Busy]) -> Iterator[Busy]:
    """Times without time, in order; those that overlap or touch are one."""
    last: Busy | None = None
    for each in sorted(busy, key=lambda busy: busy.from_ms):
        if each.until_ms <= each.from_ms:
            continue
        if last is not None and each.from_ms <= last.until_ms:
            until_ms = max(last.until_ms, each.until_ms)
            last = Busy(from_ms=last.from_ms, until_ms=until_ms)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last
