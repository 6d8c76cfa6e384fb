"""Dates, times and durations of XML Schema as values of elementpath, which is loaded only where
a document or an item has one."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from reasoning.rdf.mapping import XSD, Literal

if TYPE_CHECKING:
    from elementpath.datatypes import AbstractDateTime, Duration

_MOMENT = re.compile(
    r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}T(?!24)[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,5}[1-9])?"
    r"(?:Z|[+-](?!00:00)(?:0[0-9]|1[0-3]):[0-5][0-9])?",
    re.ASCII,
)
_ELEMENTPATH = {
    "date": "Date",
    "dateTime": "DateTime",
    "dateTimeStamp": "DateTime",
    "time": "Time",
    "gYear": "GregorianYear",
    "gYearMonth": "GregorianYearMonth",
    "gMonth": "GregorianMonth",
    "gMonthDay": "GregorianMonthDay",
    "gDay": "GregorianDay",
    "duration": "Duration",
    "dayTimeDuration": "DayTimeDuration",
    "yearMonthDuration": "YearMonthDuration",
}


def moment(text: str, name: str) -> AbstractDateTime | Duration:
    """A date, time, moment or duration; `name` is its type's. Raises `ValueError`."""
    from elementpath import datatypes as types

    if text != text.strip():
        raise ValueError(text)
    kind = getattr(types, _ELEMENTPATH[name])
    read: AbstractDateTime | Duration = kind.fromstring(text)
    return read


def is_canonical(text: str) -> bool:
    """Whether a text is that of a dateTime in canonical form, of the years 1 to 9999.

    Raises `ValueError` for what only looks like one.
    """
    return _MOMENT.fullmatch(text) is not None and bool(datetime.fromisoformat(text))


def zoned(text: str) -> bool:
    """Whether the text of a moment ends with a time zone."""
    return text.endswith("Z") or text[-6:-5] in ("+", "-")


def duration(months: int, seconds: object) -> Literal:
    """A duration: of days and time, of years and months, or of both."""
    from elementpath import datatypes as types

    if not months:
        return Literal(str(types.DayTimeDuration(seconds)), XSD + "dayTimeDuration")  # type: ignore[arg-type]
    if not seconds:
        return Literal(str(types.YearMonthDuration(months)), XSD + "yearMonthDuration")
    return Literal(str(types.Duration(months, seconds)), XSD + "duration")  # type: ignore[arg-type]
