"""Built-ins on numbers and booleans (W3C RIF-DTB, 4.5 and 4.6; XPath Functions 2.0, chapter 6).

A number of xs:decimal meets one of xs:float as one of xs:float, and both meet one of xs:double
as one of xs:double. Quotients of decimals that no decimal writes, and those of more than 18
decimals, are rounded to 18.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Literal as OneOf
from typing import NamedTuple

from citywise.reasoning.errors import SolvingError
from citywise.reasoning.languages.rif.values import literal, written
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.datatypes import decimal, double, single
from citywise.reasoning.rdf.mapping import XSD, Literal, rounded

Exact = int | Fraction
TRUE = written(Literal("true", XSD + "boolean"))
FALSE = written(Literal("false", XSD + "boolean"))
_KINDS: dict[str | None, OneOf[0, 1, 2]] = {
    XSD + "decimal": 0,
    XSD + "float": 1,
    XSD + "double": 2,
}
_MOST_BITS = 3300
"""Of a number that built-ins compute: about 1000 decimal digits, as many as are read."""
_LARGE = 2**63
_PLACES = 18


class Number(NamedTuple):
    """A number: exact for xs:decimal (kind 0); of xs:float (1) and xs:double (2) a `float`."""

    kind: OneOf[0, 1, 2]
    content: Exact | float


def number(value: Value) -> Number | None:
    """The number that a value is, or None."""
    if isinstance(value, int):
        return Number(0, value)
    return _decoded(value) if isinstance(value, str) and value[0] == '"' else None


@lru_cache(maxsize=1 << 14)
def _decoded(value: str) -> Number | None:
    known = literal(value)
    kind = _KINDS.get(known.datatype) if known else None
    if known is None or kind is None:
        return None
    if kind == 0:
        return Number(kind, Fraction(known.lexical))
    return Number(kind, rounded(float(known.lexical)) if kind == 1 else float(known.lexical))


def encoded(kind: OneOf[0, 1, 2], content: Exact | float) -> Value:
    """The value of a number; raises `SolvingError` for a decimal of absurdly many digits."""
    if kind == 2:
        return written(double(float(content)))
    if kind == 1:
        return written(single(rounded(float(content))))
    assert not isinstance(content, float)
    if max(content.numerator.bit_length(), content.denominator.bit_length()) > _MOST_BITS:
        raise SolvingError(
            "a built-in function computed a number of more than 1000 digits; bound the numbers "
            "that the rule derives from each other, e.g. with pred:numeric-less-than"
        )
    return written(decimal(content))


def floating(number: Number) -> float:
    """A number as a `float`; infinite where it is too large for one."""
    try:
        return float(number.content)
    except OverflowError:
        return math.inf if number.content > 0 else -math.inf


def _arithmetic(
    exact: Callable[[Exact, Exact], Exact | None], inexact: Callable[[float, float], float]
) -> Callable[[Value, Value], Value | None]:
    def apply(left: Value, right: Value) -> Value | None:
        if isinstance(left, int) and isinstance(right, int):  # most are
            found = exact(left, right)
            if isinstance(found, int) and -_LARGE < found < _LARGE:
                return found
        one, two = number(left), number(right)
        if one is None or two is None:
            return None
        kind = max(one.kind, two.kind)
        if kind:
            return encoded(kind, inexact(_in(one, kind), _in(two, kind)))
        result = exact(one.content, two.content)  # type: ignore[arg-type]
        return None if result is None else encoded(0, result)

    return apply


def _in(number: Number, kind: int) -> float:
    """A number in xs:double, or in xs:float."""
    return rounded(floating(number)) if kind == 1 else floating(number)


def quotient(left: Exact, right: Exact) -> Exact | None:
    """The quotient of two decimals, to 18 decimals; None by zero."""
    if right == 0:
        return None
    result = Fraction(left) / right
    return result if (result * 10**_PLACES).denominator == 1 else round(result, _PLACES)


def _divide(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _remainder(left: Exact, right: Exact) -> Exact | None:
    return left - right * math.trunc(Fraction(left) / right) if right else None


def _rest(left: float, right: float) -> float:
    return math.nan if math.isinf(left) or not right else math.fmod(left, right)


def _integer_divide(left: Value, right: Value) -> Value | None:
    one, two = number(left), number(right)
    if one is None or two is None or not two.content or not math.isfinite(one.content):
        return None
    if math.isnan(two.content):
        return None
    if math.isinf(two.content):
        return 0
    return encoded(0, math.trunc(Fraction(one.content) / Fraction(two.content)))


def _compared(compare: Callable[[Exact | float, Exact | float], bool]) -> Callable[..., bool]:
    def holds(left: Value, right: Value) -> bool:
        if isinstance(left, int) and isinstance(right, int):
            return compare(left, right)
        one, two = number(left), number(right)
        if one is None or two is None:
            return False
        kind = max(one.kind, two.kind)
        return compare(_in(one, kind), _in(two, kind)) if kind else compare(one[1], two[1])

    return holds


def boolean(value: bool) -> Value:
    """The value of a truth value."""
    return TRUE if value else FALSE


def _not(value: Value) -> Value | None:
    return boolean(value == FALSE) if value in (TRUE, FALSE) else None


def _ordered(compare: Callable[[bool, bool], bool]) -> Callable[..., bool]:
    def holds(left: Value, right: Value) -> bool:
        known = left in (TRUE, FALSE) and right in (TRUE, FALSE)
        return known and compare(left == TRUE, right == TRUE)

    return holds


COMPARISONS: dict[str, Callable[..., bool]] = {
    "equal": operator.eq,
    "not-equal": operator.ne,
    "less-than": operator.lt,
    "less-than-or-equal": operator.le,
    "greater-than": operator.gt,
    "greater-than-or-equal": operator.ge,
}
FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    "numeric-add": _arithmetic(operator.add, operator.add),
    "numeric-subtract": _arithmetic(operator.sub, operator.sub),
    "numeric-multiply": _arithmetic(operator.mul, operator.mul),
    "numeric-divide": _arithmetic(quotient, _divide),
    "numeric-integer-divide": _integer_divide,
    "numeric-integer-mod": _arithmetic(_remainder, _rest),
    "numeric-mod": _arithmetic(_remainder, _rest),  # as other systems call it
    "not": _not,
}
PREDICATES: dict[str, Callable[..., bool]] = {
    **{f"numeric-{name}": _compared(compare) for name, compare in COMPARISONS.items()},
    "boolean-equal": _ordered(operator.eq),
    "boolean-less-than": _ordered(operator.lt),
    "boolean-greater-than": _ordered(operator.gt),
}
