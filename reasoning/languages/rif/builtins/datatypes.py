"""Guards of datatypes, casts, identity, and IRIs and their texts (W3C RIF-DTB, 4.1 to 4.4; XPath
Functions 2.0, chapter 17), and lists (4.11), whose places count from 0, negative ones from the
end."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.rif.builtins.numbers import (
    Number,
    boolean,
    encoded,
    floating,
    number,
)
from citywise.reasoning.languages.rif.values import literal, string, text, value, written
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf import datatypes
from citywise.reasoning.rdf.datatypes import (
    INTEGERS,
    PLAIN,
    STRINGS,
    XML,
    decimal,
    duration,
    moment,
)
from citywise.reasoning.rdf.mapping import NOT_IN_IRI, XSD, Literal


def _is_list(value: Value) -> bool:
    return isinstance(value, tuple)


def _contains(items: Value, item: Value) -> bool:
    return isinstance(items, tuple) and item in items[1:]


def _make_list(*items: Value) -> Value:
    return ("", *items)


def _count(items: Value) -> Value | None:
    return len(items) - 1 if isinstance(items, tuple) else None


def _place(items: tuple[Value, ...], place: Value) -> int | None:
    """Where in the tuple the item of a place is; None if there is none."""
    count = len(items) - 1
    if not isinstance(place, int) or not -count <= place < count:
        return None
    return place + 1 if place >= 0 else place + count + 1


def _get(items: Value, place: Value) -> Value | None:
    at = _place(items, place) if isinstance(items, tuple) else None
    return None if at is None else items[at]  # type: ignore[index]


def _sublist(items: Value, start: Value, stop: Value | None = None) -> Value | None:
    """The items from `start` to before `stop`, which may lie after the end."""
    if not isinstance(items, tuple) or not isinstance(start, int):
        return None
    count = len(items) - 1
    end = count if stop is None else stop
    if not isinstance(end, int) or not -count <= start <= count or end < -count:
        return None
    return ("", *items[1:][start:end])


def _append(items: Value, *more: Value) -> Value | None:
    return (*items, *more) if isinstance(items, tuple) else None


def _concatenate(*lists: Value) -> Value | None:
    if not all(isinstance(items, tuple) for items in lists):
        return None
    return ("", *(item for items in lists for item in items[1:]))  # type: ignore[index]


def _insert_before(items: Value, place: Value, item: Value) -> Value | None:
    at = _place(items, place) if isinstance(items, tuple) else None
    return None if at is None else (*items[:at], item, *items[at:])  # type: ignore[index]


def _remove(items: Value, place: Value) -> Value | None:
    at = _place(items, place) if isinstance(items, tuple) else None
    return None if at is None else (*items[:at], *items[at + 1 :])  # type: ignore[index]


def _reverse(items: Value) -> Value | None:
    return ("", *items[:0:-1]) if isinstance(items, tuple) else None


def _index_of(items: Value, item: Value) -> Value | None:
    if not isinstance(items, tuple):
        return None
    return ("", *(place for place, found in enumerate(items[1:]) if found == item))


def _distinct(items: Value) -> Value | None:
    return ("", *dict.fromkeys(items[1:])) if isinstance(items, tuple) else None


def _union(*lists: Value) -> Value | None:
    together = _concatenate(*lists)
    return None if together is None else _distinct(together)


def _intersect(first: Value, second: Value, *more: Value) -> Value | None:
    if not all(isinstance(items, tuple) for items in (first, second, *more)):
        return None
    others = [items[1:] for items in (second, *more)]  # type: ignore[index]
    return ("", *(item for item in first[1:] if all(item in items for items in others)))  # type: ignore[index]


def _except(left: Value, right: Value) -> Value | None:
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        return None
    return ("", *(item for item in left[1:] if item not in right[1:]))


FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    "make-list": _make_list,
    "count": _count,
    "get": _get,
    "sublist": _sublist,
    "append": _append,
    "concatenate": _concatenate,
    "insert-before": _insert_before,
    "remove": _remove,
    "reverse": _reverse,
    "index-of": _index_of,
    "union": _union,
    "distinct-values": _distinct,
    "intersect": _intersect,
    "except": _except,
}


_GUARDED = (
    *("anyURI", "base64Binary", "boolean", "date", "dateTime", "dateTimeStamp", "double"),
    *("float", "hexBinary", "decimal", "integer", *INTEGERS, "string", *STRINGS),
    *("time", "dayTimeDuration", "yearMonthDuration", "duration"),
    *("gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay"),
)
_TYPES = {**{name: XSD + name for name in _GUARDED}, "PlainLiteral": PLAIN, "XMLLiteral": XML}
_NUMBERS = frozenset({XSD + "double", XSD + "float", XSD + "decimal", XSD + "integer"})
_DATED = re.compile(
    r"(?P<gYear>-?[0-9]{4,})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:T(?P<time>[0-9:.]+))?(?P<zone>Z|[+-][0-9:]+)?"
)
_FROM_DATES: dict[str, str] = {
    "date": "{gYear}-{month}-{day}{zone}",
    "time": "{time}{zone}",
    "dateTime": "{gYear}-{month}-{day}T{time}{zone}",
    "dateTimeStamp": "{gYear}-{month}-{day}T{time}{zone}",
    "gYear": "{gYear}{zone}",
    "gYearMonth": "{gYear}-{month}{zone}",
    "gMonth": "--{month}{zone}",
    "gMonthDay": "--{month}-{day}{zone}",
    "gDay": "---{day}{zone}",
}
_WHITE = " \t\n\r"


def belongs(value: Value, name: str) -> bool | None:
    """Whether a value is one of the datatype with this short name, such as `integer`.

    None for what is no literal of a datatype that is known here.
    """
    known = value if isinstance(value, int) else literal(value)
    if known is None or (not isinstance(known, int) and not _is_known(known)):
        return None
    return datatypes.allows(_TYPES[name], known)


def _is_known(literal: Literal) -> bool:
    return literal.datatype is None or literal.datatype in datatypes.DATATYPES


def _guard(name: str) -> Callable[[Value], bool]:
    return lambda value: belongs(value, name) is True


def _not_guard(name: str) -> Callable[[Value], bool]:
    return lambda value: belongs(value, name) is False


def _differ(left: Value, right: Value) -> bool:
    return left != right and literal(left) is not None and literal(right) is not None


def _is_iri_string(iri: Value, other: Value) -> bool:
    return other == _string_of_iri(iri) is not None


def _string_of_iri(iri: Value) -> Value | None:
    return string(iri[1:-1]) if isinstance(iri, str) and iri[0] == "<" else None


def _iri_of_string(other: Value) -> Value | None:
    known = text(other)
    return None if known is None or NOT_IN_IRI.search(known) else f"<{known}>"


def written_out(literal: Literal) -> str:
    """A literal cast to xs:string."""
    if literal.datatype not in (XSD + "double", XSD + "float"):
        return literal.lexical
    number = float(literal.lexical)
    if number and not (math.isfinite(number) and 1e-6 <= abs(number) < 1e6):
        return literal.lexical
    if not number:
        return "-0" if math.copysign(1, number) < 0 else "0"
    exact = decimal(Fraction(literal.lexical))
    return exact.lexical if isinstance(exact, Literal) else str(exact)


def _cast(datatype: str) -> Callable[[Value], Value | None]:
    name = datatype.rpartition("#")[2]

    def cast(value: Value) -> Value | None:
        known = literal(value)
        if known is None or belongs(value, name):
            return None if known is None else value
        try:
            return _converted(known, name, datatype)
        except ItemError:
            return None

    return cast


def _converted(known: Literal, name: str, datatype: str) -> Value | None:
    if name in ("string", "PlainLiteral"):
        return string(written_out(known))
    if name in STRINGS or (known.datatype is None and known.language is None):
        return value(Literal(_trimmed(written_out(known), name), datatype))
    for convert in (_as_number, _as_boolean, _as_date, _as_duration, _as_binary):
        result = convert(known, name)
        if result is not None:
            return result
    return None


def _trimmed(text: str, name: str) -> str:
    """A text as the white space facet of a datatype has it."""
    if name == "XMLLiteral":
        return text
    if name == "normalizedString":
        return text.translate(dict.fromkeys(map(ord, _WHITE), " "))
    return " ".join(text.split()) if name in _WORDED else text.strip(_WHITE)


_WORDED = frozenset({"token", "anyURI", "base64Binary"})


def _as_number(known: Literal, name: str) -> Value | None:
    if XSD + name not in _NUMBERS and name not in INTEGERS:
        return None
    source = number(written(_integral(known)))
    if known.datatype == XSD + "boolean":
        source = Number(0, int(known.lexical == "true"))
    if source is None:
        return None
    if name in ("double", "float"):
        return encoded(2 if name == "double" else 1, floating(source))
    if not math.isfinite(source.content):
        return None
    exact = Fraction(source.content)
    if name == "decimal":
        return encoded(0, exact)
    return value(Literal(str(math.trunc(exact)), XSD + name))


def _integral(known: Literal) -> int | Literal:
    return int(known.lexical) if known.datatype == XSD + "integer" else known


def _as_boolean(known: Literal, name: str) -> Value | None:
    source = number(written(_integral(known))) if name == "boolean" else None
    return boolean(bool(source.content) and source.content == source.content) if source else None


def _as_date(known: Literal, name: str) -> Value | None:
    wanted = _FROM_DATES.get(name)
    match = _DATED.fullmatch(known.lexical)
    if wanted is None or match is None or known.datatype not in (XSD + "date", XSD + "dateTime"):
        return None
    parts = {key: part or "" for key, part in match.groupdict().items()}
    if not parts["time"] and name == "time":
        return None
    return value(
        Literal(wanted.format(**{**parts, "time": parts["time"] or "00:00:00"}), XSD + name)
    )


def _as_duration(known: Literal, name: str) -> Value | None:
    source = (known.datatype or "").removeprefix(XSD)
    if not {XSD + name, XSD + source} <= datatypes.DURATIONS:
        return None
    found = moment(known.lexical, source)
    if name == "dayTimeDuration":
        return written(duration(0, found.seconds))  # type: ignore[union-attr]
    return written(duration(found.months, 0))  # type: ignore[union-attr]


def _as_binary(known: Literal, name: str) -> Value | None:
    if known.datatype == XSD + "hexBinary" and name == "base64Binary":
        octets = bytes.fromhex(known.lexical)
        return value(Literal(base64.b64encode(octets).decode(), XSD + name))
    if known.datatype == XSD + "base64Binary" and name == "hexBinary":
        return value(Literal(base64.b64decode(known.lexical).hex(), XSD + name))
    return None


CASTS: dict[str, Callable[..., Value | None]] = {iri: _cast(iri) for iri in _TYPES.values()}
"""By the datatype's IRI."""
PREDICATES: dict[str, Callable[..., bool]] = {
    "literal-not-identical": _differ,
    "iri-string": _is_iri_string,
    "is-list": _is_list,
    "list-contains": _contains,
    **{f"is-literal-{name}": _guard(name) for name in _TYPES},
    **{f"is-literal-not-{name}": _not_guard(name) for name in _TYPES},
}
SOLVES: Mapping[str, Mapping[int, Callable[..., Value | None]]] = {
    "iri-string": {0: _iri_of_string, 1: _string_of_iri}
}
"""Of predicates that find an argument from the others."""
