"""Times of day, spans of them and durations, as users write them and as rules count them."""

from __future__ import annotations

import re

from pydantic import JsonValue

from citywise.backend.packs.values import BadValueError, show

TIME_PATTERN = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
DURATION_PATTERN = r"^(?:[0-9]{1,6}[dhms]){1,4}$|^P(?:[0-9]{1,6}D)?(?:T(?:[0-9]{1,6}[HMS]){1,3})?$"
_UNITS = {"D": 86_400, "H": 3600, "M": 60, "S": 1}
_PART = re.compile(r"([0-9]+)([DHMS])")
_ORDERED = re.compile(r"P?(?:[0-9]{1,6}D)?T?(?:[0-9]{1,6}H)?(?:[0-9]{1,6}M)?(?:[0-9]{1,6}S)?")
_LONGEST = 366 * 86_400


def duration(value: JsonValue, path: str) -> str:
    """A duration in ISO 8601, `PT15M`, from that or from `15m`; raises `BadValueError`."""
    expected = "a duration such as 15m, 1h30m or PT15M, of at most a year"
    text = value.upper() if isinstance(value, str) else ""
    is_short = "P" not in text
    if (is_short and "T" in text) or not _ORDERED.fullmatch(text) or not _PART.search(text):
        raise BadValueError(path, show(value), expected, "use d, h, m and s, in this order")
    if (not is_short and "T" not in text and re.search("[HMS]", text)) or text.endswith("T"):
        raise BadValueError(path, show(value), expected, "write T before hours, minutes, seconds")
    total = seconds(text)
    if total > _LONGEST:
        raise BadValueError(path, show(value), expected, "shorten it")
    return _iso(total)


def seconds(text: str) -> int:
    """The seconds of a duration that was checked."""
    return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _iso(total: int) -> str:
    days, rest = divmod(total, _UNITS["D"])
    hours, rest = divmod(rest, _UNITS["H"])
    parts = {"H": hours, "M": rest // 60, "S": rest % 60}
    time = "".join(f"{number}{unit}" for unit, number in parts.items() if number)
    text = f"P{f'{days}D' if days else ''}{f'T{time}' if time else ''}"
    return text if len(text) > 1 else "PT0S"


def time_of_day(value: JsonValue, path: str) -> str:
    """A time of day as `07:30`; raises `BadValueError`."""
    if not isinstance(value, str) or not re.fullmatch(TIME_PATTERN, value):
        expected = "a local time of day from 00:00 to 23:59"
        raise BadValueError(path, show(value), expected, 'write hours and minutes, as in "07:30"')
    return value


def minutes(text: str) -> int:
    """Minutes since midnight of a time of day that was checked."""
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)


def time_span(value: JsonValue, path: str) -> str:
    """A span of local time as `07:00-09:30`, also over midnight; raises `BadValueError`."""
    expected = "two local times of day, from and to"
    if not isinstance(value, str) or not re.fullmatch(f"{TIME_PATTERN}-{TIME_PATTERN}", value):
        raise BadValueError(path, show(value), expected, 'write them as in "07:00-09:30"')
    start, end = value.split("-")
    if start == end:
        raise BadValueError(path, show(value), expected, "let it end at another time")
    return value


def span_minutes(text: str) -> tuple[int, int]:
    """From and to, in minutes since midnight, of a span that was checked."""
    start, end = text.split("-")
    return minutes(start), minutes(end)
