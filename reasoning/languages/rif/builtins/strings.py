"""Built-ins on strings and on strings with a language (W3C RIF-DTB, 4.7 and 4.10; XPath
Functions 2.0, chapter 7). Characters compare by code point; `func:substring` counts from 0, as
the approved test cases do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote

from citywise.reasoning.languages.rif.builtins.datatypes import written_out
from citywise.reasoning.languages.rif.builtins.numbers import floating, number
from citywise.reasoning.languages.rif.values import literal, string, text, written
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.datatypes import is_language
from citywise.reasoning.rdf.mapping import Literal

_PRINTED = "".join(map(chr, range(32, 127)))
_NOT_IN_URI = '<>"{}|\\^` '
_FLAGS = {"s": re.DOTALL, "m": re.MULTILINE, "i": re.IGNORECASE}
_GROUP = re.compile(r"\\([\\$])|\$([0-9]+)|([\\$])", re.ASCII)
_WHITE = re.compile(r"[ \t\n\r]")


def _texts(*values: Value) -> list[str] | None:
    found = [known for known in map(text, values) if known is not None]
    return found if len(found) == len(values) else None


def _of(function: Callable[..., str | int | None]) -> Callable[..., Value | None]:
    """A function of strings as one of values, of as many arguments."""

    def one(string: Value) -> Value | None:
        return _applied(function, string)

    def two(string: Value, other: Value) -> Value | None:
        return _applied(function, string, other)

    return one if function.__code__.co_argcount == 1 else two


def _applied(function: Callable[..., str | int | None], *values: Value) -> Value | None:
    known = _texts(*values)
    result = None if known is None else function(*known)
    return string(result) if isinstance(result, str) else result


def _order(left: str, right: str) -> int:
    return (left > right) - (left < right)


def _concat(first: Value, second: Value, *more: Value) -> Value | None:
    known = [literal(value) for value in (first, second, *more)]
    return None if None in known else string("".join(written_out(part) for part in known if part))


def _join(first: Value, *more: Value) -> Value | None:
    """The strings with the last one between each two."""
    known = _texts(first, *more)
    return None if known is None else string(known[-1].join(known[:-1]))


def _substring(whole: Value, start: Value, length: Value | None = None) -> Value | None:
    known, begin = text(whole), number(start)
    span = None if length is None else number(length)
    if known is None or begin is None or (length is not None and span is None):
        return None
    first = _rounded(floating(begin))
    last = first + _rounded(floating(span)) if span else math.inf
    return string("".join(c for place, c in enumerate(known) if first <= place < last))


def _rounded(number: float) -> float:
    return math.floor(number + 0.5) if math.isfinite(number) else number


def _before(whole: str, part: str) -> str:
    return whole.partition(part)[0] if part and part in whole else ""


def _after(whole: str, part: str) -> str:
    return whole.partition(part)[2] if part else whole


def _uri(iri: str) -> str:
    """An IRI as a URI: what no URI may hold is written in UTF-8 and `%XX`."""
    return quote(iri, safe="".join(c for c in _PRINTED if c not in _NOT_IN_URI))


def _html(iri: str) -> str:
    return quote(iri, safe=_PRINTED)


def _encoded(text: str) -> str:
    return quote(text, safe="")


@lru_cache(maxsize=1 << 10)
def _pattern(pattern: str, flags: str) -> re.Pattern[str] | None:
    """A regular expression of XPath; None if it is none."""
    from elementpath.regex import RegexError, translate_pattern

    if not set(flags) <= {*_FLAGS, "x"}:
        return None
    if "x" in flags:
        pattern = _WHITE.sub("", pattern)
    options = sum({_FLAGS[flag] for flag in flags if flag in _FLAGS})
    try:
        return re.compile(translate_pattern(pattern, options), options)
    except (RegexError, re.error, OverflowError):
        return None


def _matches(whole: Value, pattern: Value, flags: Value = '""') -> bool:
    known = _texts(whole, pattern, flags)
    found = _pattern(known[1], known[2]) if known else None
    return known is not None and found is not None and found.search(known[0]) is not None


def _replace(whole: Value, pattern: Value, new: Value, flags: Value = '""') -> Value | None:
    known = _texts(whole, pattern, new, flags)
    found = _pattern(known[1], known[3]) if known else None
    if known is None or found is None or found.search(""):
        return None
    parts = _replacement(known[2], found.groups)
    if parts is None:
        return None
    return string(found.sub(lambda match: _filled(parts, match), known[0]))


def _filled(parts: list[str | int], match: re.Match[str]) -> str:
    return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)


def _replacement(text: str, groups: int) -> list[str | int] | None:
    """Texts and numbers of groups; None if `text` is no replacement."""
    parts: list[str | int] = []
    place = 0
    for match in _GROUP.finditer(text):
        escaped, digits, wrong = match.groups()
        if wrong:
            return None
        parts.append(text[place : match.start()])
        parts += [escaped] if escaped else _group(digits, groups)
        place = match.end()
    return [*parts, text[place:]]


def _group(digits: str, groups: int) -> list[str | int]:
    """The group with the longest of the numbers that there is, and the other digits."""
    length = next((n for n in range(len(digits), 1, -1) if int(digits[:n]) <= groups), 1)
    group = int(digits[:length])
    return [group if group <= groups else "", digits[length:]]


def _tagged(value: Value) -> tuple[str, str] | None:
    """String and language (empty: none) of a value of rdf:PlainLiteral."""
    known = literal(value) if isinstance(value, str) else None
    if known is None or known.datatype is not None:
        return None
    return known.lexical, known.language or ""


def _from_string(string: Value, language: Value) -> Value | None:
    known, tag = text(string), text(language)
    if known is None or tag is None or (tag and not is_language(tag)):
        return None
    return written(Literal(known, None, tag.lower() or None))


def _string_from(value: Value) -> Value | None:
    known = _tagged(value)
    return None if known is None else string(known[0])


def _language_from(value: Value) -> Value | None:
    known = _tagged(value)
    return None if known is None else string(known[1])


def _plain_compare(left: Value, right: Value) -> Value | None:
    one, two = _tagged(left), _tagged(right)
    if one is None or two is None or one[1] != two[1]:
        return None
    return _order(one[0], two[0])


def _plain_length(value: Value) -> Value | None:
    known = _tagged(value)
    return None if known is None else len(known[0])


def _matches_range(value: Value, languages: Value) -> bool:
    """Extended filtering (RFC 4647, 3.3.2)."""
    known, wanted = _tagged(value), text(languages)
    if known is None or not known[1] or wanted is None:
        return False
    tags, ranges = known[1].split("-"), wanted.lower().split("-")
    if ranges[0] not in ("*", tags[0]):
        return False
    return _filtered(tags[1:], [part for part in ranges[1:] if part != "*"])


def _filtered(tags: list[str], ranges: list[str]) -> bool:
    for wanted in ranges:
        while tags and tags[0] != wanted:
            if len(tags[0]) == 1:
                return False
            tags = tags[1:]
        if not tags:
            return False
        tags = tags[1:]
    return True


def _tested(test: Callable[[str, str], bool]) -> Callable[..., bool]:
    def holds(whole: Value, part: Value) -> bool:
        known = _texts(whole, part)
        return known is not None and test(known[0], known[1])

    return holds


FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    "compare": _of(_order),
    "concat": _concat,
    "string-join": _join,
    "substring": _substring,
    "string-length": _of(lambda text: len(text)),
    "upper-case": _of(lambda text: text.upper()),
    "lower-case": _of(lambda text: text.lower()),
    "encode-for-uri": _of(_encoded),
    "iri-to-uri": _of(_uri),
    "escape-html-uri": _of(_html),
    "substring-before": _of(_before),
    "substring-after": _of(_after),
    "replace": _replace,
    "PlainLiteral-from-string-lang": _from_string,
    "string-from-PlainLiteral": _string_from,
    "lang-from-PlainLiteral": _language_from,
    "PlainLiteral-compare": _plain_compare,
    "PlainLiteral-length": _plain_length,
}
PREDICATES: dict[str, Callable[..., bool]] = {
    "contains": _tested(lambda whole, part: part in whole),
    "starts-with": _tested(str.startswith),
    "ends-with": _tested(str.endswith),
    "matches": _matches,
    "matches-language-range": _matches_range,
}
