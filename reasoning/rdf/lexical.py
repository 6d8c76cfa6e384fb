"""Literals of numbers, moments and durations, as XML Schema writes them, and their values."""

from __future__ import annotations

import math
import re
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from reasoning.rdf.mapping import XSD, Literal
from reasoning.rdf.numbers import rounded

if TYPE_CHECKING:
    from elementpath.datatypes import AbstractDateTime, Duration


def decimal(number: int | Fraction) -> int | Literal:
    """A number of xs:decimal; raises `ValueError` for one that no decimal writes."""
    if number.denominator == 1:
        return int(number)
    places = _places(number.denominator)
    digits = str(abs(number.numerator) * 10**places // number.denominator).zfill(places + 1)
    sign = "-" if number < 0 else ""
    return Literal(f"{sign}{digits[:-places]}.{digits[-places:]}", XSD + "decimal")


def _places(denominator: int) -> int:
    """How many decimals a fraction in lowest terms has."""
    twos = (denominator & -denominator).bit_length() - 1
    fives, rest = 0, denominator >> twos
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest != 1:
        raise ValueError(denominator)
    return max(twos, fives)


def double(number: float) -> Literal:
    """A number of xs:double."""
    return Literal(_scientific(number, repr(number)), XSD + "double")


def single(number: float) -> Literal:
    """A number of xs:float: `number` is one of 32 bits."""
    digits = next(
        text
        for text in (f"{number:.{places}g}" for places in range(1, 18))
        if rounded(float(text)) == number or number != number
    )
    return Literal(_scientific(number, digits), XSD + "float")


def _scientific(number: float, text: str) -> str:
    """The canonical representation of a floating-point number that `text` writes shortest."""
    if not math.isfinite(number):
        return repr(number).replace("inf", "INF").replace("nan", "NaN")
    sign, digits, power = _parts(text)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _parts(text: str) -> tuple[str, str, int]:
    mantissa, _, exponent = text.lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, part = mantissa.lstrip("+-").partition(".")
    digits = (whole + part).lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(whole + part) - len(digits))
    return sign, digits.rstrip("0") or "0", power if digits else 0


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
