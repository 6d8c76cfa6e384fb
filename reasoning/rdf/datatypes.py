"""Datatypes of XML Schema and RDF: what literals denote, and which datatypes hold it (W3C XML
Schema 1.1, part 2; W3C RIF-DTB, section 2.3; OWL 2 Structural Specification, chapter 4).

`canonical` gives the text of what a literal denotes. Literals denote the same if and only if these
texts are the same, within one value space: xs:decimal and the types derived from it, xs:string and
the types derived from it, strings with a language, xs:double, xs:float, …. A moment keeps its time
zone, by which values of XML Schema that are equal in time are still told apart; seconds count to
the microsecond. The first part reads and writes the values of numbers, moments and durations.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from citywise.reasoning.errors import ItemError
from citywise.reasoning.rdf.mapping import (
    BOOLEANS,
    LONGEST,
    NOT_IN_IRI,
    RANGES,
    RDF,
    XSD,
    Literal,
    floating,
    fraction,
    integer,
    is_within,
    rounded,
)
from citywise.reasoning.rdf.ntriples import absolute

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


PLAIN = RDF + "PlainLiteral"
XML = RDF + "XMLLiteral"
LANGUAGE_STRING = RDF + "langString"
"""The datatype of strings with a language, which no literal names."""
INTEGERS = tuple(name for name in RANGES if name != "integer")
"""Names of the types derived from xs:integer."""
_DIGITS = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_HEXADECIMAL = re.compile(r"(?:[0-9A-Fa-f]{2})*", re.ASCII)
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_FACETS = {
    "normalizedString": r"[^\t\n\r]*",
    "token": r"([^ \t\n\r]+( [^ \t\n\r]+)*)?",
    "language": r"[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*",
    "Name": r"\i\c*",
    "NCName": r"[\i-[:]][\c-[:]]*",
    "NMTOKEN": r"\c+",
}
STRINGS = tuple(_FACETS)
"""Names of the types derived from xs:string."""


class IllTypedError(ItemError):
    """The text of a literal is not one that its datatype allows."""


def canonical(literal: Literal) -> int | Literal:
    """What a literal denotes; one of an unknown datatype, itself.

    Raises `IllTypedError` for a text that its datatype does not allow, and `ItemError` for a
    datatype that is no IRI.
    """
    text, datatype, language = literal
    if language is not None:
        return Literal(text, None, _tag(language))
    if datatype is None:
        return literal
    reader = _READERS.get(datatype)
    if reader is None:
        return Literal(text, _known_apart(datatype))
    try:
        return reader(text)
    except (ValueError, KeyError, ArithmeticError):
        raise IllTypedError(
            f'"{text[:80]}"^^<{datatype}> has no value: expected a text such as '
            f'"{EXAMPLES[datatype]}"'
        ) from None


def _tag(language: str) -> str:
    if not is_language(language):
        raise IllTypedError(
            f"`{language[:80]}` is no tag of a language; expected e.g. `en` or `en-GB`"
        )
    return language.lower()


def _known_apart(datatype: str) -> str:
    """The IRI of a datatype whose values are not known: its literals differ as their texts do."""
    if found := NOT_IN_IRI.search(datatype):
        raise ItemError(
            f"the datatype <{datatype[:120]}>: {found.group()!r} is no character of an IRI"
        )
    return absolute(datatype)


def _integer(text: str) -> int:
    return int(text) if _DIGITS.fullmatch(text) else integer(text, "integer")


def _number(name: str) -> Callable[[str], int]:
    return lambda text: integer(text, name)


def _boolean(text: str) -> Literal:
    return Literal(BOOLEANS[text], XSD + "boolean")


def _string(name: str) -> Callable[[str], Literal]:
    def read(text: str) -> Literal:
        if not fits(text, name):
            raise ValueError(text)
        return Literal(text)

    return read


def fits(text: str, name: str) -> bool:
    """Whether a string is one of a type derived from xs:string (its name without `xs:`)."""
    return _facet(name).fullmatch(text) is not None


@cache
def _facet(name: str) -> re.Pattern[str]:
    from elementpath.regex import translate_pattern

    return re.compile(translate_pattern(_FACETS[name]))


def is_language(text: str) -> bool:
    """Whether a text is a tag of a language."""
    return _LANGUAGE.fullmatch(text) is not None


def _plain(text: str) -> Literal:
    string, at, language = text.rpartition("@")
    if not at or (language and not is_language(language)):
        raise ValueError(text)
    return Literal(string, None, language.lower() or None)


def _hexadecimal(text: str) -> Literal:
    if not _HEXADECIMAL.fullmatch(text):
        raise ValueError(text)
    return Literal(text.upper(), XSD + "hexBinary")


def _base64(text: str) -> Literal:
    digits = text.replace(" ", "")
    try:
        if base64.b64encode(base64.b64decode(digits, validate=True)).decode() != digits:
            raise ValueError(text)
    except binascii.Error:
        raise ValueError(text) from None
    return Literal(digits, XSD + "base64Binary")


def _xml(text: str) -> Literal:
    """Canonical XML of the content of an element, which can declare no entities."""
    try:
        written = ElementTree.canonicalize(f"<x>{text}</x>", with_comments=True)
    except ElementTree.ParseError:
        raise ValueError(text) from None
    return Literal(written.removeprefix("<x>").removesuffix("</x>"), XML)


def _moment(text: str) -> Literal:
    if is_canonical(text):  # most are
        return Literal(text, XSD + "dateTime")
    return Literal(str(moment(text, "dateTime")), XSD + "dateTime")


def _stamp(text: str) -> Literal:
    read = _moment(text)
    if not zoned(text):
        raise ValueError(text)
    return read


def _timed(name: str) -> Callable[[str], Literal]:
    return lambda text: Literal(str(moment(text, name)), XSD + name)


def _lasting(name: str) -> Callable[[str], Literal]:
    def read(text: str) -> Literal:
        found = moment(text, name)
        return duration(found.months, found.seconds)  # type: ignore[union-attr]

    return read


_READERS: dict[str, Callable[[str], int | Literal]] = {
    XSD + "integer": _integer,
    **{XSD + name: _number(name) for name in INTEGERS},
    XSD + "decimal": lambda text: decimal(fraction(text)),
    XSD + "double": lambda text: double(floating(text)),
    XSD + "float": lambda text: single(rounded(floating(text))),
    XSD + "boolean": _boolean,
    XSD + "string": Literal,
    **{XSD + name: _string(name) for name in STRINGS},
    PLAIN: _plain,
    XSD + "anyURI": lambda text: Literal(text, XSD + "anyURI"),
    XSD + "hexBinary": _hexadecimal,
    XSD + "base64Binary": _base64,
    XML: _xml,
    XSD + "dateTime": _moment,
    XSD + "dateTimeStamp": _stamp,
    **{
        XSD + name: _timed(name)
        for name in ("date", "time", "gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay")
    },
    **{XSD + name: _lasting(name) for name in ("duration", "dayTimeDuration", "yearMonthDuration")},
}
EXAMPLES: dict[str, str] = {
    XSD + "integer": "7",
    **{XSD + name: "-7" if name.startswith(("neg", "nonPos")) else "7" for name in INTEGERS},
    XSD + "decimal": "7.5",
    XSD + "double": "7.5E0",
    XSD + "float": "7.5E0",
    XSD + "boolean": "true",
    XSD + "string": "text",
    **{XSD + name: "text" for name in STRINGS},
    XSD + "language": "en-GB",
    PLAIN: "text@en",
    XSD + "anyURI": "http://example.org/",
    XSD + "hexBinary": "07",
    XSD + "base64Binary": "Bw==",
    XML: "<b>text</b>",
    XSD + "dateTime": "2024-12-31T23:59:59Z",
    XSD + "dateTimeStamp": "2024-12-31T23:59:59Z",
    XSD + "date": "2024-12-31",
    XSD + "time": "23:59:59",
    XSD + "gYear": "2024",
    XSD + "gYearMonth": "2024-12",
    XSD + "gMonth": "--12",
    XSD + "gMonthDay": "--12-31",
    XSD + "gDay": "---31",
    XSD + "duration": "P1Y2M3DT4H",
    XSD + "dayTimeDuration": "P3DT4H",
    XSD + "yearMonthDuration": "P1Y2M",
}
"""A text of each datatype whose values are known, by its IRI; for messages."""


DataValue = int | Literal
"""What a literal denotes, as `canonical` has it: equal values are equal objects."""
DATATYPES = frozenset({*EXAMPLES, LANGUAGE_STRING})
"""IRIs of the datatypes that are known here."""
DURATIONS = frozenset(XSD + name for name in ("duration", "dayTimeDuration", "yearMonthDuration"))
"""IRIs of the datatypes of durations."""
_NUMBERS = frozenset(XSD + name for name in (*RANGES, "decimal", "double", "float"))
_STRINGS = {XSD + name: name for name in STRINGS}
_ZERO = Literal("PT0S", XSD + "dayTimeDuration")


def value(literal: Literal) -> DataValue | None:
    """What a literal denotes; None for a datatype we do not know, or absurdly many digits.

    Raises `IllTypedError` for a text that the datatype does not allow.
    """
    text, datatype, language = literal
    named = None if language is not None else datatype
    absurd = named in _NUMBERS and len(text) > LONGEST
    return None if absurd or (named and named not in EXAMPLES) else canonical(literal)


def allows(datatype: str, value: DataValue) -> bool | None:
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
