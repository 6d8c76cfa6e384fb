"""Calendars of attendees, as times when they are busy; nothing else of them is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import NamedTuple, TypeVar

from icalendar import Calendar, Component, Event

from citywise.apps.meeting_mgr.busy import merged
from citywise.apps.meeting_mgr.model import Attendee, Busy
from citywise.apps.meeting_mgr.papers.calendar_bounds import CalendarError, refuse_excess
from citywise.apps.meeting_mgr.papers.recurring import Span, Steps, naive, occurrences, zone_of
from citywise.backend.app import CitywiseError, times

MOST_BUSY = next(
    one.max_length for one in Attendee.model_fields["busy"].metadata if hasattr(one, "max_length")
)
DAY_MS = 24 * 3_600_000
BEFORE_MS, AFTER_MS = DAY_MS, 60 * DAY_MS
"""What counts around a meeting: where it might be moved to."""
_MARGIN = timedelta(days=2)
"""Days last by the wall's clock, and zones differ."""
_LONGEST = timedelta(days=365 * 1000)
"""What began earlier than that is not looked for."""
Found = TypeVar("Found")
Part = TypeVar("Part", bound=Component)
_UNREADABLE = (ValueError, OverflowError, TypeError, AttributeError, IndexError, KeyError)
"""What the libraries raise for nonsense."""


def busy(ics: bytes, since_ms: int, until_ms: int) -> tuple[Busy, ...]:
    """When the owner of a calendar is busy in a span of time, as few times as will say it.

    Events count unless they are cancelled or marked as free (`TRANSP:TRANSPARENT`), as do the
    busy times of a `VFREEBUSY`. Raises `CalendarError`.
    """
    refuse_excess(ics)
    spans = list(_spans(_parsed(ics), Span(times.from_ms(since_ms), times.from_ms(until_ms))))
    found = tuple(_merged(spans, since_ms, until_ms))
    if len(found) > MOST_BUSY:
        raise CalendarError(
            f"{len(found)} busy times in {(until_ms - since_ms) // DAY_MS} days; at most "
            f"{MOST_BUSY} are kept: leave out what does not keep the person from meeting"
        )
    return found


def _parsed(ics: bytes) -> list[Calendar]:
    try:
        found = Calendar.from_ical(ics, multiple=True)
    except _UNREADABLE as error:
        raise CalendarError(f"this is no calendar (iCalendar, RFC 5545): {error}") from error
    if not found or any(one.name != "VCALENDAR" for one in found):
        raise CalendarError("this is no calendar: expected a file that begins BEGIN:VCALENDAR")
    return found


def _spans(calendars: Iterable[Calendar], asked: Span) -> Iterator[Span]:
    steps = Steps()
    for calendar in calendars:
        moved: set[tuple[str, int]] = set()
        for event in calendar.events:
            moved.update(_read(event, _moved))
        for event in calendar.events:
            yield from _read(event, partial(_of_event, moved=moved, asked=asked, steps=steps))
        for free_busy in calendar.walk("VFREEBUSY"):
            yield from _read(free_busy, _busy_spans)


def _read(part: Part, what: Callable[[Part], Iterable[Found]]) -> list[Found]:
    """What is found in a part of a calendar; names it where it cannot be read."""
    try:
        return list(what(part))
    except (CitywiseError, *_UNREADABLE) as error:
        raise CalendarError(f"{_named(part)} cannot be read: {error}") from error


def _named(part: Component) -> str:
    """A part of a calendar in words, by when it begins."""
    begin = part.get("DTSTART")
    when = "without a begin" if begin is None else begin.to_ical().decode(errors="replace")
    return f"the {'event' if part.name == 'VEVENT' else 'busy time'} {when}"


def _of_event(
    event: Event, moved: set[tuple[str, int]], asked: Span, steps: Steps
) -> Iterator[Span]:
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    if str(event.get("TRANSP", "")).upper() == "TRANSPARENT":
        return
    if _is_elsewhere(event, asked):
        return
    is_change = "RECURRENCE-ID" in event
    lasting = _Lasting.of(event)
    since = asked.begin - min(max(lasting.length, timedelta()), _LONGEST) - _MARGIN
    for begin in occurrences(event, Span(since, asked.end), steps):
        if is_change or (str(event.get("UID")), times.to_ms(begin)) not in moved:
            yield Span(begin, max(begin, lasting.until(begin)))


def _is_elsewhere(event: Event, asked: Span) -> bool:
    """Whether an event that happens once is far from what is asked about, in every zone: in
    those that a calendar describes, it takes long to find out when it is exactly."""
    if "RRULE" in event or "RDATE" in event:
        return False
    begin, end = (_on_the_wall(one) for one in (event.start, event.end))
    since, until = (one.replace(tzinfo=None) for one in asked)
    return begin > until + _MARGIN or max(begin, end) < since - _MARGIN


def _on_the_wall(moment: date | datetime) -> datetime:
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=None)
    return datetime.combine(moment, time())


class _Lasting(NamedTuple):
    """How long an event lasts: days by the wall's clock; what has hours has as many each time."""

    length: timedelta
    by_the_wall: bool

    @classmethod
    def of(cls, event: Event) -> _Lasting:
        """That of an event."""
        first, last = event.start, event.end
        if not isinstance(first, datetime) or not isinstance(last, datetime):
            return cls(last - first, by_the_wall=True)
        if first.tzinfo is None or last.tzinfo is None:
            return cls(last.replace(tzinfo=None) - first.replace(tzinfo=None), by_the_wall=True)
        return cls(last.astimezone(UTC) - first.astimezone(UTC), by_the_wall=False)

    def until(self, begin: datetime) -> datetime:
        """When it ends that begins then."""
        return (begin if self.by_the_wall else begin.astimezone(UTC)) + self.length


def _moved(event: Event) -> Iterator[tuple[str, int]]:
    """Which occurrence an event stands for: the id, and when it would have been."""
    instead = event.get("RECURRENCE-ID")
    if instead is not None:
        zone = zone_of(instead.dt)
        yield str(event.get("UID")), times.to_ms(naive(instead.dt, zone).replace(tzinfo=zone))


def _busy_spans(free_busy: Component) -> Iterator[Span]:
    """The busy times that somebody's server tells."""
    told = free_busy.get("FREEBUSY", [])
    for period in told if isinstance(told, list) else [told]:
        if str(period.params.get("FBTYPE", "BUSY")).upper() != "FREE":
            yield Span(period.start, period.end)


def _merged(spans: Iterable[Span], since_ms: int, until_ms: int) -> Iterator[Busy]:
    """Spans that touch as one, cut to what is asked about."""
    clipped = (
        (max(times.to_ms(one), since_ms), min(times.to_ms(other), until_ms)) for one, other in spans
    )
    return merged(Busy(from_ms=one, until_ms=other) for one, other in clipped if one < other)
