"""Opening hours in OpenStreetMap's syntax: whether they can be read, and what they say."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from opening_hours import OpeningHours, validate

from citywise.backend.errors import CitywiseError

_MINUTE_MS = 60_000
_COUNTRIES = {"Europe/Copenhagen": "DK"}
"""Whose public holidays (`PH` in opening hours) count in a time zone."""
_HORIZON_DAYS = 366
_SHOWN = 80
"""Characters of a text that a message quotes."""


class BadHoursError(CitywiseError):
    """Opening hours that are not in OpenStreetMap's syntax."""


def check_hours(text: str) -> None:
    """Raise BadHoursError unless `text` is in OpenStreetMap's opening-hours syntax."""
    if not validate(text):
        raise BadHoursError(
            f"`{_shown(text)}` is not in OpenStreetMap's opening-hours syntax; expected something "
            "like `Mo-Fr 08:00-18:00; Sa 10:00-14:00; PH off`"
        )


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
    check_hours(text)
    country = _COUNTRIES.get(zone)
    return OpeningHours(text, ZoneInfo(zone), country, max_interval_days=_HORIZON_DAYS)


def _shown(text: str) -> str:
    """The beginning of a text as a message and a database can hold it."""
    cut = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return "".join(c if c.isprintable() else "\ufffd" for c in cut)
