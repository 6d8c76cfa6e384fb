"""Times: Unix milliseconds inside, ISO 8601 with a zone outside."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from functools import lru_cache
from time import time_ns
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field

ZONE = "Europe/Copenhagen"
"""The time zone of a city that names none."""
ZONE_VARIABLE = "CITYWISE_ZONE"
"""Of the environment: Spark's processes and the planner's have it from whoever starts them."""
_LATEST_MS = 4_102_444_800_000
"""2100: what is later is a slip."""
_LOST_PLUS = re.compile(r" (\d\d:?\d\d)$")


def use_zone(name: str) -> None:
    """Have this process, and those that it starts, go by a time zone."""
    os.environ[ZONE_VARIABLE] = name


def zone_name() -> str:
    """The city's time zone: what its people call ten o'clock."""
    return os.environ.get(ZONE_VARIABLE, ZONE)


def zone() -> ZoneInfo:
    """The city's time zone, to compute with."""
    return ZoneInfo(zone_name())


def local(ms: int) -> datetime:
    """The city's time of Unix milliseconds."""
    return from_ms(ms).astimezone(zone())


def clock(ms: int) -> str:
    """Hours and minutes by the city's clocks, `07:30`."""
    return local(ms).strftime("%H:%M")


def wall_ms() -> int:
    """The wall clock in Unix milliseconds."""
    return time_ns() // 1_000_000


def to_ms(time: datetime) -> int:
    """Unix milliseconds of a time with a zone."""
    return round(time.timestamp() * 1000)


def from_ms(ms: int) -> datetime:
    """UTC time of Unix milliseconds."""
    seconds, rest = divmod(ms, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)


def iso(ms: int) -> str:
    """`1407196800000` as `2014-08-05T00:00:00Z`; milliseconds only where there are any."""
    moment, rest = _second(ms // 1000), ms % 1000
    return f"{moment}.{rest:03d}Z" if rest else f"{moment}Z"


@lru_cache(maxsize=2_000)  # many sensors speak in the same second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def iso_or_none(ms: int | None) -> str | None:
    """`iso`, keeping null."""
    return None if ms is None else iso(ms)


def parse_ms(text: str) -> int:
    """Unix milliseconds of an ISO 8601 time with a zone; raises `ValueError` otherwise.

    A `+` that a query string turned into a blank is read as the `+` it was.
    """
    moment = datetime.fromisoformat(_LOST_PLUS.sub(r"+\1", text.strip()))
    if moment.tzinfo is None:
        raise ValueError("has no time zone")
    return to_ms(moment)


def instant_ms(told: object) -> int:
    """Unix milliseconds of a text that says a time; raises `ValueError` that says what it is
    instead."""
    try:
        ms = parse_ms(told) if isinstance(told, str) else None
        if ms is not None:
            iso(ms)  # In UTC it may lie in the year 10000.
            return ms
    except (ValueError, OverflowError, OSError):
        pass
    found = told[:40] if isinstance(told, str) else told
    raise ValueError(f"found {found!r:.60}, expected a time in ISO 8601 with a zone")


Milliseconds = Annotated[int, Field(ge=0, lt=_LATEST_MS)]
"""A field that holds a time as we keep it."""
Instant = Annotated[Milliseconds, BeforeValidator(instant_ms)]
"""A field of a body that holds a time as it is sent: ISO 8601 with a zone."""
