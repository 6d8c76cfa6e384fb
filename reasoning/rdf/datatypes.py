"""Values of literals: what the text of a known datatype denotes (W3C XML Schema 1.1, part 2)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Hashable
from datetime import datetime
from fractions import Fraction

from reasoning.rdf.mapping import RDF, XSD, Literal

Value = tuple[str, Hashable]
"""The space a value lives in (`number`, `double`, `string`, …), and the value in it."""

_INFINITE = math.inf
_RANGES: dict[str, tuple[float, float]] = {
    "integer": (-_INFINITE, _INFINITE),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "nonNegativeInteger": (0, _INFINITE),
    "positiveInteger": (1, _INFINITE),
    "nonPositiveInteger": (-_INFINITE, 0),
    "negativeInteger": (-_INFINITE, -1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
_INTEGERS = {XSD + name: limits for name, limits in _RANGES.items()}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(rf"(?:{_DECIMAL.pattern}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)")
_LONGEST = 1000


class IllTypedError(ValueError):
    """The text of a literal is not one that its datatype allows."""


def value(literal: Literal) -> Value | None:
    """What a literal denotes; None for a datatype we do not know, or absurdly many digits.

    Raises `IllTypedError` for a text that the datatype does not allow.
    """
    if literal.language is not None:
        return "langString", (literal.lexical, literal.language.lower())
    reader = _READERS.get(literal.datatype or XSD + "string")
    if reader is None or (len(literal.lexical) > _LONGEST and reader is not _string):
        return None
    return reader(literal)


def allows(datatype: str, value: Value) -> bool | None:
    """Whether a value belongs to a datatype; None for one we do not know."""
    space, content = value
    if datatype in _INTEGERS:
        low, high = _INTEGERS[datatype]
        is_integer = isinstance(content, Fraction) and content.denominator == 1
        return is_integer and low <= float(str(content)) <= high
    if datatype not in _SPACES:
        return None
    return space == _SPACES[datatype]


def _string(literal: Literal) -> Value:
    return "string", literal.lexical


def _number(literal: Literal) -> Value:
    text = literal.lexical
    datatype = literal.datatype or ""
    form = _INTEGER if datatype in _INTEGERS else _DECIMAL
    if not form.fullmatch(text):
        raise IllTypedError(literal.lexical)
    number = Fraction(text)
    low, high = _INTEGERS.get(datatype, (-_INFINITE, _INFINITE))
    if not low <= number <= high:
        raise IllTypedError(literal.lexical)
    return "number", number


def _floating(literal: Literal) -> Value:
    text = literal.lexical
    if not _DOUBLE.fullmatch(text):
        raise IllTypedError(literal.lexical)
    number = float(text)
    if literal.datatype == XSD + "double":
        return "double", repr(number)
    try:
        return "float", repr(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return "float", repr(math.copysign(_INFINITE, number))


def _boolean(literal: Literal) -> Value:
    text = literal.lexical
    if text not in ("true", "false", "1", "0"):
        raise IllTypedError(literal.lexical)
    return "boolean", text in ("true", "1")


def _moment(literal: Literal) -> Value:
    try:
        return "dateTime", datetime.fromisoformat(literal.lexical)
    except ValueError:
        raise IllTypedError(literal.lexical) from None


_READERS: dict[str, Callable[[Literal], Value]] = {
    **dict.fromkeys(_INTEGERS, _number),
    XSD + "decimal": _number,
    XSD + "double": _floating,
    XSD + "float": _floating,
    XSD + "boolean": _boolean,
    XSD + "string": _string,
    XSD + "dateTime": _moment,
}
_SPACES = {
    XSD + "decimal": "number",
    XSD + "double": "double",
    XSD + "float": "float",
    XSD + "boolean": "boolean",
    XSD + "string": "string",
    XSD + "dateTime": "dateTime",
    RDF + "langString": "langString",
}
DATATYPES = frozenset({*_READERS, *_SPACES})
"""IRIs of the datatypes that are known here."""
