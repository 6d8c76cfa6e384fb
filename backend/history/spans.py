"""The spans of time that readings are rolled up by."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from citywise.backend.times import to_ms, zone_name

RAW = 0
"""No span: values as they were measured."""
FIVE_MINUTES_S = 300
HOUR_S = 3600
DAY_S = 86_400
SPANS = {"5min": FIVE_MINUTES_S, "hour": HOUR_S, "day": DAY_S}
"""Spans by what the API calls them, in seconds."""
_MOST_POINTS = 400
"""Of a chart, about."""


def start_of(span_s: int, ms: int) -> int:
    """When the span begins that an instant lies in (Unix ms); days are those of the city's zone,
    so that one in spring has 23 hours."""
    if span_s != DAY_S:
        return ms - ms % (span_s * 1000)
    # No zone changes its offset within a quarter of an hour.
    return _day(ms // 900_000, zone_name())


def end_of(span_s: int, start_ms: int) -> int:
    """When the span ends that begins at an instant (Unix ms)."""
    if span_s != DAY_S:
        return start_ms + span_s * 1000
    return start_of(DAY_S, start_ms + 30 * 3_600_000)  # within the next day, however long this is


@lru_cache(maxsize=4_000)
def _day(quarter: int, zone: str) -> int:
    moment = datetime.fromtimestamp(quarter * 900, UTC).astimezone(ZoneInfo(zone))
    return to_ms(moment.replace(hour=0, minute=0, second=0, microsecond=0))


def fitting(begin_ms: int, end_ms: int, period_s: float | None) -> int:
    """The finest span in which a stretch of time has not too many points for a chart, where a
    sensor speaks every `period_s` seconds (None: about once a minute)."""
    seconds = (end_ms - begin_ms) / 1000
    for span_s in (RAW, FIVE_MINUTES_S, HOUR_S):
        if seconds / (span_s or period_s or 60) <= _MOST_POINTS:
            return span_s
    return DAY_S
