"""When the event of a calendar happens: once, or again and again (RFC 5545, section 3.8.5).

Repetitions are counted by the clock on the wall of the event's own zone: what is at nine stays
at nine when summer time ends. Left out are what nobody's calendar has: rules by the hour and
finer, and changes to "this and all that follow" (`RANGE`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from dateutil.rrule import rrulestr
from icalendar import Event

from citywise.backend.app import CitywiseError, times

MOST, MOST_IN_ALL = 20_000, 200_000
"""Occurrences of one event, and of all, that are counted at most: some 50 years of every day."""
_STEPS = {"DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
"""Rules that may begin any number of their steps later, and are the same from there on."""
_ALWAYS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYMONTH")
_MONTHLY = (*_ALWAYS, "BYMONTHDAY", "BYSETPOS")
_PARTS: Mapping[str, Sequence[str]] = {
    "DAILY": _ALWAYS,
    "WEEKLY": _ALWAYS,
    "MONTHLY": _MONTHLY,
    "YEARLY": (*_MONTHLY, "BYYEARDAY", "BYWEEKNO"),
}
_LARGEST = {"BYMONTH": 12, "BYMONTHDAY": 31, "BYYEARDAY": 366, "BYWEEKNO": 53, "BYSETPOS": 366}


class RecurrenceError(CitywiseError):
    """An event repeats in a way that is not understood; the message says which."""


class Span(NamedTuple):
    """From when until when."""

    begin: datetime
    end: datetime


class Steps:
    """How many occurrences have been looked at, of all events of somebody's calendars."""

    def __init__(self) -> None:
        self._taken = 0

    def take(self) -> None:
        """Count one more; raises `RecurrenceError` where they are too many."""
        self._taken += 1
        if self._taken > MOST_IN_ALL:
            raise RecurrenceError(
                f"with it, events repeat more than {MOST_IN_ALL} times; export fewer years"
            )


def occurrences(event: Event, asked: Span, steps: Steps) -> list[datetime]:
    """When an event begins, in order: all times that it does in the span asked about, and
    perhaps some before it. Raises `RecurrenceError`, `ValueError`."""
    zone = zone_of(event.start)
    first = naive(event.start, zone)
    since, last = (one.astimezone(zone).replace(tzinfo=None) for one in asked)
    begins = {first} if first <= last else set()
    for rule in event.rrules:
        for begin in _ruled(rule, first, Span(since, last), zone):
            steps.take()
            begins.add(begin)
    begins.update(naive(_begin(one), zone) for one in event.rdates)
    begins.difference_update(naive(one, zone) for one in event.exdates)
    return [one.replace(tzinfo=zone) for one in sorted(begins) if one <= last]


def zone_of(moment: date | datetime) -> tzinfo:
    """That of a moment; whole days and times without one are the city's."""
    zone = moment.tzinfo if isinstance(moment, datetime) else None
    return zone or times.zone()


def naive(moment: date | datetime, zone: tzinfo) -> datetime:
    """A moment by the wall's clock of a zone; a day is its first moment there."""
    if not isinstance(moment, datetime):
        return datetime.combine(moment, time())
    return moment if moment.tzinfo is None else moment.astimezone(zone).replace(tzinfo=None)


def _begin(one: Any) -> date | datetime:
    """The begin of an extra date, which may be a period."""
    begin: date | datetime = one[0] if isinstance(one, tuple) else one
    return begin


def _ruled(rule: Any, first: datetime, asked: Span, zone: tzinfo) -> Iterator[datetime]:
    text = _understood(rule, zone)
    skipped, begin = _later(rule, first, asked.begin)
    for number, found in enumerate(_generated(text, begin), skipped):
        if found > asked.end:
            return
        if number >= MOST:
            raise RecurrenceError(f"it repeats more than {MOST} times; give it a later begin")
        yield found


def _later(rule: Any, first: datetime, since: datetime) -> tuple[int, datetime]:
    """How many steps of a rule lie before what is asked about, and where it begins without
    them: what was every day for years need not be gone through."""
    (frequency,) = rule["FREQ"]
    if frequency not in _STEPS or "COUNT" in rule:
        return 0, first
    step = _STEPS[frequency] * int(rule.get("INTERVAL", [1])[0])
    skipped = max(0, (since - first) // step)
    return skipped, first + skipped * step


def _generated(text: str, first: datetime) -> Iterable[datetime]:
    found: Iterable[datetime] = rrulestr(text, dtstart=first)
    return found


def _understood(rule: Any, zone: tzinfo) -> str:
    """A rule as text whose `UNTIL` is by the event's own clock."""
    parts = {name.upper(): values for name, values in rule.items()}
    frequency = ",".join(map(str, parts.get("FREQ", ())))
    if frequency not in _PARTS:
        raise RecurrenceError(f"its rule has FREQ={frequency}; understood are {', '.join(_PARTS)}")
    for name in parts:
        if name not in _PARTS[frequency]:
            expected = ", ".join(_PARTS[frequency])
            raise RecurrenceError(
                f"its rule has {name}; understood with FREQ={frequency} are {expected}"
            )
    for name, most in _LARGEST.items():
        if any(not 1 <= abs(int(value)) <= most for value in parts.get(name, ())):
            raise RecurrenceError(f"its rule has a {name} that is not from 1 to {most}")
    if any(int(value) < 1 for value in parts.get("INTERVAL", ())):
        raise RecurrenceError("its rule has an INTERVAL that is less than 1")
    texts = {name: ",".join(map(str, values)) for name, values in parts.items()}
    if ends := parts.get("UNTIL"):
        texts["UNTIL"] = _until(ends[0], zone)
    return ";".join(f"{name}={text}" for name, text in texts.items())


def _until(end: date | datetime, zone: tzinfo) -> str:
    """An end that is a day includes the whole of it."""
    day_ends = None if isinstance(end, datetime) else datetime.combine(end, time(23, 59, 59))
    return (day_ends or naive(end, zone)).strftime("%Y%m%dT%H%M%S")
