"""Times in foreign messages, as Unix milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from decimal import Decimal

from citywise.backend.connectors.found import Fault
from citywise.backend.times import to_ms

LATEST_MS = 4_102_444_800_000
"""2100: later is a slip, or milliseconds taken for seconds."""
_MILLISECONDS = Decimal(10) ** 11
"""An epoch above this counts milliseconds (in seconds it would lie in the year 5138)."""
_DATE = re.compile(r"(\d{4})[-.](\d\d)[-.](\d\d)[T ](\d\d:?\d\d.*)")


def instant(told: object, at: str, zone: tzinfo | None = None) -> int | None:
    """The instant that a text or a number names; None if it is empty, or has no zone.

    A text is ISO 8601 (of an interval `start/end` the end counts), a number Unix seconds, or
    milliseconds. `zone` is that of texts without one.
    """
    if told is None or (isinstance(told, str) and not told.strip()):
        return None
    if isinstance(told, bool) or not isinstance(told, str | int | Decimal):
        raise _fault(told, at)
    if not isinstance(told, str):
        return _epoch(Decimal(told), told, at)
    text = told.rpartition("/")[2].strip()
    if text in ("", ".."):  # An interval that is open or has no end yet.
        return None
    if re.fullmatch(r"\d{9,14}(\.\d+)?", text):
        return _epoch(Decimal(text), told, at)
    return _moment(text, told, at, zone)


def _moment(text: str, told: str, at: str, zone: tzinfo | None) -> int | None:
    if found := _DATE.fullmatch(text):  # `2018.02.15 01:00:50`, as some devices write
        text = "{}-{}-{}T{}".format(*found.groups())
    try:
        moment = datetime.fromisoformat(text.upper())  # RFC 3339: `t` and `z`, too
    except ValueError:
        raise _fault(told, at) from None
    if moment.tzinfo is None:
        if zone is None:
            return None
        moment = moment.replace(tzinfo=zone)
    return _sound(_to_ms(moment, told, at), told, at)


def _to_ms(moment: datetime, told: object, at: str) -> int:
    try:
        return to_ms(moment)
    except (OverflowError, ValueError):
        raise _fault(told, at) from None


def _epoch(number: Decimal, told: object, at: str) -> int:
    if not number.is_finite() or abs(number) >= 10**15:
        raise _fault(told, at)
    return _sound(int(number if abs(number) > _MILLISECONDS else number * 1000), told, at)


def _sound(ms: int, told: object, at: str) -> int:
    if not 0 <= ms < LATEST_MS:
        raise _fault(told, at)
    return ms


def _fault(told: object, at: str) -> Fault:
    said = f"found {str(told)[:60]!r}, expected a time in ISO 8601, or in seconds since 1970"
    return Fault("time", at, said)


def named(text: str, form: str, at: str, zone: tzinfo | None) -> int:
    """The instant that a text names in a form of `strptime`; `zone` is UTC where None."""
    try:
        moment = datetime.strptime(text, form)  # noqa: DTZ007 - the zone comes next
    except ValueError:
        said = f"found {text[:60]!r}, expected a time as {form}"
        raise Fault("time", at, said) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone or UTC)
    return _sound(_to_ms(moment, text, at), text, at)
