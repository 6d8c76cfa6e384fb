"""The city's own time: time of day, weekday, date, spans of the day, opening hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from opening_hours import OpeningHours, validate

from backend.errors import CitywiseError

_MINUTE_MS = 60_000
_COUNTRIES = {"Europe/Copenhagen": "DK"}
"""Whose public holidays (`PH` in opening hours) count in a time zone."""
_HORIZON_DAYS = 366


class BadHoursError(CitywiseError):
    """Opening hours that are not in OpenStreetMap's syntax."""


@dataclass(frozen=True, slots=True)
class TimeFacts:
    """One instant on the city's clock and calendar."""

    minute: int
    """Minute of the day, 0 to 1439."""
    weekday: int
    """1 is Monday."""
    date: tuple[int, int, int]
    """Year, month, day."""


class LocalTime:
    """The clock and calendar of a time zone, such as "Europe/Copenhagen"."""

    def __init__(self, zone: str) -> None:
        self._zone = ZoneInfo(zone)

    def facts(self, t_ms: int) -> TimeFacts:
        """What the clock and calendar say at Unix time `t_ms`, milliseconds.

        They are of the clock as people read it: on the day that summer time ends, the
        minutes from 02:00 to 02:59 come twice; when it begins, they do not come.
        """
        local = datetime.fromtimestamp(t_ms // 1000, self._zone)
        date = (local.year, local.month, local.day)
        return TimeFacts(local.hour * 60 + local.minute, local.isoweekday(), date)


def in_span(minute: int, span: tuple[int, int]) -> bool:
    """Whether the minute of the day is in [from, to); a span with from > to is over midnight.

    A span that ends where it begins is the whole day.
    """
    begin, end = span
    if begin < end:
        return begin <= minute < end
    return minute >= begin or minute < end


def check_hours(text: str) -> None:
    """Raise BadHoursError unless `text` is in OpenStreetMap's opening-hours syntax."""
    _hours(text, "UTC")


def is_open(text: str, t_ms: int, zone: str) -> bool:
    """Whether opening hours in OpenStreetMap's syntax say open at Unix time `t_ms`.

    Public holidays (`PH`) are Denmark's where the zone is Denmark's, else there are none.
    Hours that say neither open nor closed ("unknown") are not open; the sun rises at 7:00 and
    sets at 19:00, since the place is not known. Raises BadHoursError.
    """
    return _is_open(text, t_ms // _MINUTE_MS, zone)


@lru_cache(maxsize=16_384)
def _is_open(text: str, minute: int, zone: str) -> bool:
    """The same by Unix minute: opening hours change on full minutes only."""
    local = datetime.fromtimestamp(minute * 60, ZoneInfo(zone))
    return bool(_hours(text, zone).is_open(local))


@lru_cache(maxsize=4096)
def _hours(text: str, zone: str) -> OpeningHours:
    if not validate(text):
        shown = text if len(text) <= 80 else f"{text[:77]}…"
        raise BadHoursError(
            f"`{shown}` is not in OpenStreetMap's opening-hours syntax; expected something like "
            "`Mo-Fr 08:00-18:00; Sa 10:00-14:00; PH off`"
        )
    country = _COUNTRIES.get(zone)
    return OpeningHours(text, ZoneInfo(zone), country, max_interval_days=_HORIZON_DAYS)
