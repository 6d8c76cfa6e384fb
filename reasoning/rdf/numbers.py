"""Numbers of XML Schema: what their texts denote (XML Schema 1.1, part 2)."""

from __future__ import annotations

import math
import re
import struct
from fractions import Fraction

RANGES: dict[str, tuple[float, float]] = {
    "integer": (-math.inf, math.inf),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "nonNegativeInteger": (0, math.inf),
    "positiveInteger": (1, math.inf),
    "nonPositiveInteger": (-math.inf, 0),
    "negativeInteger": (-math.inf, -1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
"""The least and the greatest number of xs:integer and of the types derived from it, by their
names; both inclusive."""
INTEGER = re.compile(r"[+-]?[0-9]+")
"""Texts of whole numbers; of decimals and of finite doubles the next two."""
DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
DOUBLE = re.compile(rf"{DECIMAL.pattern}(?:[eE][+-]?[0-9]+)?")
_UNUSUAL = frozenset({"INF", "+INF", "-INF", "NaN"})
LONGEST = 1000
"""Of the text of a number: longer ones are not read."""


def integer(text: str, name: str) -> int:
    """The number of xs:integer, or of the type derived from it with this name.

    Raises `ValueError`, as the others do, for a text that the type does not allow.
    """
    if len(text) > LONGEST or not INTEGER.fullmatch(text):
        raise ValueError(text[:LONGEST])
    number = int(text)
    if not is_within(number, name):
        raise ValueError(text)
    return number


def is_within(number: int, name: str) -> bool:
    """Whether a number is one of xs:integer or of the type derived from it with this name."""
    low, high = RANGES[name]
    return low <= number <= high


def fraction(text: str) -> Fraction:
    """The number of xs:decimal."""
    if len(text) > LONGEST or not DECIMAL.fullmatch(text):
        raise ValueError(text[:LONGEST])
    return Fraction(text)


def floating(text: str) -> float:
    """The number of xs:double."""
    if len(text) > LONGEST or not (DOUBLE.fullmatch(text) or text in _UNUSUAL):
        raise ValueError(text[:LONGEST])
    return float(text)


def rounded(number: float) -> float:
    """The number of 32 bits next to a number."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
