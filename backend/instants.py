"""Times as they are sent: ISO 8601 with a zone there, Unix milliseconds here."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from citywise.backend.times import iso, parse_ms

_LATEST_MS = 4_102_444_800_000
"""2100: what is later is a slip."""


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


Instant = Annotated[int, Field(ge=0, lt=_LATEST_MS), BeforeValidator(instant_ms)]
"""A field of a body that holds a time."""
