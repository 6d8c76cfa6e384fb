"""The city's own time: time of day, weekday, date, spans of the day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo


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
