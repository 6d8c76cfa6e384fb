"""Built-ins on dates, times and durations (W3C RIF-DTB, 4.8; XPath Functions 2.0, chapter 10).

What has no time zone counts as UTC where it meets what has one. Where a result would lie
before the year 1 or after 9999, some functions have none.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from citywise.reasoning.languages.rif.builtins.numbers import COMPARISONS, encoded, number, quotient
from citywise.reasoning.languages.rif.values import literal, written
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.datatypes import decimal, duration, moment
from citywise.reasoning.rdf.mapping import XSD, Literal

_DURATIONS = ("duration", "dayTimeDuration", "yearMonthDuration")
_TIMED = ("dateTime", "date", "time")
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60


@lru_cache(maxsize=1 << 14)
def _decoded(value: str) -> tuple[str, Any] | None:
    """Type and object of elementpath for a value."""
    known = literal(value)
    name = (known.datatype or "").removeprefix(XSD) if known else ""
    if known is None or name not in (*_TIMED, *_DURATIONS):
        return None
    return name, moment(known.lexical, name)


def _timed(value: Value, name: str) -> Any:
    """The date, time or moment that a value is; None if it is none."""
    known = _decoded(value) if isinstance(value, str) and value[0] == '"' else None
    return known[1] if known and known[0] == name else None


def _lasting(value: Value, name: str = "duration") -> tuple[int, Fraction] | None:
    """Months and seconds of a duration; None if the value is none of the type."""
    known = _decoded(value) if isinstance(value, str) and value[0] == '"' else None
    if known is None or known[0] not in _DURATIONS:
        return None
    months, seconds = known[1].months, Fraction(known[1].seconds)
    is_one = {"dayTimeDuration": not months, "yearMonthDuration": not seconds}
    return (months, seconds) if is_one.get(name, True) else None


def _days(seconds: Fraction) -> Value:
    """The duration of so many seconds, to the microsecond."""
    micro = round(seconds * 1_000_000)
    return written(duration(0, _exactly(Fraction(micro, 1_000_000))))


def _exactly(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _months(months: int) -> Value:
    return written(duration(months, 0))


def _literal(found: Any, name: str) -> Value:
    return written(Literal(str(found), XSD + name))


def _part(name: str, part: Callable[[Any], int | Fraction | None]) -> Callable[..., Value | None]:
    def from_time(value: Value) -> Value | None:
        known = _timed(value, name)
        result = None if known is None else part(known)
        return None if result is None else written(decimal(result))

    return from_time


def _seconds(known: Any) -> Fraction:
    return Fraction(known.second * 1_000_000 + known.microsecond, 1_000_000)


def _zone(name: str) -> Callable[..., Value | None]:
    def zone(value: Value) -> Value | None:
        known = _timed(value, name)
        offset = known.tzinfo.utcoffset(None) if known is not None and known.tzinfo else None
        return None if offset is None else _days(Fraction(offset // timedelta(seconds=1)))

    return zone


def _of_duration(part: Callable[[int, Fraction], int | Fraction]) -> Callable[..., Value | None]:
    def from_duration(value: Value) -> Value | None:
        known = _lasting(value)
        return None if known is None else written(decimal(part(*known)))

    return from_duration


def _whole(number: int | Fraction, unit: int) -> int:
    return math.trunc(Fraction(number) / unit)


def _rest(number: int | Fraction, unit: int) -> int | Fraction:
    """What is left of a number without its whole units, with its sign."""
    return number - _whole(number, unit) * unit


def _between(name: str) -> Callable[..., Value | None]:
    def subtract(left: Value, right: Value) -> Value | None:
        one, two = _timed(left, name), _timed(right, name)
        return None if one is None or two is None else _days(Fraction((one - two).seconds))

    return subtract


def _moved(name: str, kind: str, move: Callable[[Any, Any], Any]) -> Callable[..., Value | None]:
    def moved(value: Value, span: Value) -> Value | None:
        known, by = _timed(value, name), _span(span, kind)
        if known is None or by is None:
            return None
        try:
            return _literal(move(known, by), name)
        except (ValueError, OverflowError):
            return None

    return moved


def _span(value: Value, kind: str) -> Any:
    """The duration of elementpath that a value of a kind is."""
    from elementpath.datatypes import DayTimeDuration, YearMonthDuration

    known = _lasting(value, kind)
    if known is None:
        return None
    if kind == "yearMonthDuration":
        return YearMonthDuration(known[0])
    return DayTimeDuration(_exactly(known[1]))


def _summed(kind: str, add: Callable[[Any, Any], Any]) -> Callable[..., Value | None]:
    def summed(left: Value, right: Value) -> Value | None:
        one, two = _lasting(left, kind), _lasting(right, kind)
        if one is None or two is None:
            return None
        if kind == "yearMonthDuration":
            return _months(add(one[0], two[0]))
        return _days(add(one[1], two[1]))

    return summed


def _scaled(kind: str, divide: bool) -> Callable[..., Value | None]:
    def scaled(value: Value, by: Value) -> Value | None:
        known, times = _lasting(value, kind), number(by)
        factor = None if times is None else _factor(times.content, divide)
        if known is None or factor is None:
            return None
        if kind == "yearMonthDuration":
            return _months(math.floor(known[0] * factor + Fraction(1, 2)))
        return _days(known[1] * factor)

    return scaled


def _factor(number: int | Fraction | float, divide: bool) -> Fraction | None:
    """What to multiply a duration with; None for what no duration results from."""
    if divide and math.isinf(number):
        return Fraction(0)
    if not math.isfinite(number) or (divide and not number):
        return None
    return 1 / Fraction(number) if divide else Fraction(number)


def _ratio(kind: str) -> Callable[..., Value | None]:
    def ratio(left: Value, right: Value) -> Value | None:
        one, two = _lasting(left, kind), _lasting(right, kind)
        if one is None or two is None:
            return None
        result = quotient(sum(one), sum(two))
        return None if result is None else encoded(0, result)

    return ratio


def _compared(name: str, compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    read = _lasting if name in _DURATIONS else _timed

    def holds(left: Value, right: Value) -> bool:
        one, two = read(left, name), read(right, name)
        return one is not None and two is not None and bool(compare(one, two))

    return holds


FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    **{
        f"{part}-from-{name}": _part(name, operator.attrgetter(part))
        for name in ("dateTime", "date")
        for part in ("year", "month", "day")
    },
    **{
        f"{part}s-from-{name}": _part(name, operator.attrgetter(part))
        for name in ("dateTime", "time")
        for part in ("hour", "minute")
    },
    "seconds-from-dateTime": _part("dateTime", _seconds),
    "seconds-from-time": _part("time", _seconds),
    "years-from-duration": _of_duration(lambda months, _: _whole(months, 12)),
    "months-from-duration": _of_duration(lambda months, _: _rest(months, 12)),
    "days-from-duration": _of_duration(lambda _, seconds: _whole(seconds, _DAY)),
    "hours-from-duration": _of_duration(lambda _, seconds: _whole(_rest(seconds, _DAY), _HOUR)),
    "minutes-from-duration": _of_duration(
        lambda _, seconds: _whole(_rest(seconds, _HOUR), _MINUTE)
    ),
    "seconds-from-duration": _of_duration(lambda _, seconds: _rest(seconds, _MINUTE)),
    **{f"timezone-from-{name}": _zone(name) for name in _TIMED},
    **{f"subtract-{name}s": _between(name) for name in _TIMED},
    **{
        name: made
        for kind in _DURATIONS[1:]
        for name, made in {
            f"add-{kind}s": _summed(kind, operator.add),
            f"subtract-{kind}s": _summed(kind, operator.sub),
            f"multiply-{kind}": _scaled(kind, divide=False),
            f"divide-{kind}": _scaled(kind, divide=True),
            f"divide-{kind}-by-{kind}": _ratio(kind),
        }.items()
    },
    **{
        name: made
        for kind, timed in (("dayTimeDuration", _TIMED), ("yearMonthDuration", _TIMED[:2]))
        for of in timed
        for name, made in {
            f"add-{kind}-to-{of}": _moved(of, kind, operator.add),
            f"subtract-{kind}-from-{of}": _moved(of, kind, operator.sub),
        }.items()
    },
}
PREDICATES: dict[str, Callable[..., bool]] = {
    **{
        f"{name}-{comparison}": _compared(name, compare)
        for name in (*_TIMED, *_DURATIONS[1:])
        for comparison, compare in COMPARISONS.items()
        if name in _TIMED or not comparison.endswith("equal") or "or" in comparison
    },
    "duration-equal": _compared("duration", operator.eq),
    "duration-not-equal": _compared("duration", operator.ne),
}
