"""How XML Schema writes numbers: the canonical representations of xs:decimal, xs:double and
xs:float (XML Schema 1.1, part 2, appendix E.1)."""

from __future__ import annotations

import math
from fractions import Fraction

from reasoning.rdf.mapping import XSD, Literal
from reasoning.rdf.numbers import rounded


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
