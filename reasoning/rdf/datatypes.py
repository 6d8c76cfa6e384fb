"""Datatypes of XML Schema and RDF: what literals denote, and which datatypes hold it (W3C XML
Schema 1.1, part 2; OWL 2 Structural Specification, chapter 4).

What equals in time and has another time zone is another value: OWL 2 and RIF identify
literals by what XML Schema calls identity.
"""

from __future__ import annotations

from reasoning.rdf.canonical import (
    EXAMPLES,
    LANGUAGE_STRING,
    PLAIN,
    STRINGS,
    canonical,
    fits,
)
from reasoning.rdf.mapping import XSD, Literal
from reasoning.rdf.moments import zoned
from reasoning.rdf.numbers import LONGEST, RANGES, is_within

Value = int | Literal
"""What a literal denotes, as `canonical` has it: equal values are equal objects."""
DATATYPES = frozenset({*EXAMPLES, LANGUAGE_STRING})
"""IRIs of the datatypes that are known here."""
DURATIONS = frozenset(XSD + name for name in ("duration", "dayTimeDuration", "yearMonthDuration"))
"""IRIs of the datatypes of durations."""
_NUMBERS = frozenset(XSD + name for name in (*RANGES, "decimal", "double", "float"))
_STRINGS = {XSD + name: name for name in STRINGS}
_ZERO = Literal("PT0S", XSD + "dayTimeDuration")


def value(literal: Literal) -> Value | None:
    """What a literal denotes; None for a datatype we do not know, or absurdly many digits.

    Raises `IllTypedError` for a text that the datatype does not allow.
    """
    text, datatype, language = literal
    named = None if language is not None else datatype
    absurd = named in _NUMBERS and len(text) > LONGEST
    return None if absurd or (named and named not in EXAMPLES) else canonical(literal)


def allows(datatype: str, value: Value) -> bool | None:
    """Whether a value belongs to a datatype, given by its IRI; None for one we do not know."""
    if datatype not in DATATYPES:
        return None
    name = datatype.removeprefix(XSD)
    if isinstance(value, int):
        return name == "decimal" or (name in RANGES and is_within(value, name))
    own = value.datatype
    if own is None:
        return _is_text(value, datatype)
    if datatype in DURATIONS:
        return own == datatype or (name == "duration" and own in DURATIONS) or value == _ZERO
    if name == "dateTimeStamp":
        return own == XSD + "dateTime" and zoned(value.lexical)
    return own == datatype


def limits(datatype: str) -> tuple[float, float] | None:
    """The least and the greatest of a datatype's integers, both inclusive; None for one whose
    values are no integers."""
    return RANGES.get(datatype.removeprefix(XSD))


def _is_text(literal: Literal, datatype: str) -> bool:
    """Whether a string, with or without a language, is one of a datatype."""
    if datatype == PLAIN:
        return True
    if literal.language is not None:
        return datatype == LANGUAGE_STRING
    if datatype in _STRINGS:
        return fits(literal.lexical, _STRINGS[datatype])
    return datatype == XSD + "string"
