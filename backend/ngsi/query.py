"""The query language `q` of NGSI-LD: `level>=3;isOpen==true|name~=^Vib`.

Source: ETSI GS CIM 009 V1.8.1, clause 4.9. `;` is *and* and binds closer than `|`, *or*. Patterns
are those of RE2, which answers in linear time whatever somebody writes.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from citywise.backend.ngsi.entities import Entity

Test = Callable[[Entity], bool]
_MOST = 2_000
"""Characters of a query; it also bounds how deep one nests."""
_TOKEN = re.compile(
    r"""(?P<open>\()|(?P<close>\))|(?P<and>;)|(?P<or>\|)
    |(?P<op>==|!=|>=|<=|!~=|~=|>|<)
    |(?P<range>\.\.)|(?P<comma>,)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<word>(?:[^\s"();|=!<>~,.]|\.(?!\.))+)""",
    re.VERBOSE,
)
_PATH = re.compile(r"([A-Za-z@][\w:@-]*(?:\.[A-Za-z@][\w:@-]*)*)(?:\[([\w.@-]+)\])?")
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip


class QueryError(Exception):
    """A query cannot be read; says what was found."""


class Query(NamedTuple):
    """What a query tests, and the attributes that it looks at for that."""

    test: Test
    names: frozenset[str]


def parse(text: str) -> Query:
    """The query of a text; raises `QueryError`."""
    if len(text) > _MOST:
        raise QueryError(f"it has {len(text)} characters; at most {_MOST} are read")
    reader = _Reader(text)
    test = reader.any_of()
    reader.end()
    return Query(test, frozenset(reader.names))


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text has what a pattern says; raises `QueryError`."""
    import pyarrow  # large, and few ask
    from pyarrow import compute

    if len(pattern) > 200:
        raise QueryError("the pattern has more than 200 characters")

    def matches(text: str) -> bool:
        found = compute.match_substring_regex(pyarrow.array([text]), pattern)
        return bool(found[0].as_py())

    try:
        matches("")
    except pyarrow.ArrowInvalid as error:
        raise QueryError(f"`{pattern}` is no pattern: {error}") from None
    return matches


class _Reader:
    """Recursive descent over the tokens of a query."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise QueryError(f"`{text[position : position + 20]}` at {position + 1}")
            self._tokens.append((str(match.lastgroup), match[0]))
            position = match.end()
        self._at = 0
        self.names: set[str] = set()

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise QueryError(f"`{self._tokens[self._at][1]}` is one too many")

    def _next(self, *forms: str) -> str | None:
        if self._at < len(self._tokens) and self._tokens[self._at][0] in forms:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def any_of(self) -> Test:
        tests = [self._all_of()]
        while self._next("or"):
            tests.append(self._all_of())
        return tests[0] if len(tests) == 1 else lambda entity: any(t(entity) for t in tests)

    def _all_of(self) -> Test:
        tests = [self._one()]
        while self._next("and"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda entity: all(t(entity) for t in tests)

    def _one(self) -> Test:
        if self._next("open"):
            try:
                inner = self.any_of()
            except RecursionError:
                raise QueryError("it nests too deep") from None
            if not self._next("close"):
                raise QueryError("a `)` is missing")
            return inner
        path = _path(self._next("word"))
        self.names.add(path[0])
        sign = self._next("op")
        if sign is None:
            return lambda entity: _value_at(entity, path) is not None
        return _test(path, sign, self._target(sign))

    def _target(self, sign: str) -> list[Any]:
        """One value, several (any of them), or a range (a pair)."""
        if sign in ("~=", "!~="):
            rest = []
            while (text := self._next("word", "string", "op", "range", "comma")) is not None:
                rest.append(text)
            pattern = "".join(rest)
            return [matcher(pattern[1:-1] if pattern.startswith('"') else pattern)]
        first = self._value()
        if self._next("range"):
            return [(first, self._value())]
        values = [first]
        while self._next("comma"):
            values.append(self._value())
        return values

    def _value(self) -> Any:
        if (text := self._next("string")) is not None:
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        text = self._next("word")
        if text is None:
            raise QueryError("a value is missing")
        if text in ("true", "false"):
            return text == "true"
        for read in (int, float, _moment):
            try:
                return read(text)
            except ValueError:
                continue
        return text


def _path(text: str | None) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """An attribute, its sub-attributes, and the way within its value."""
    match = _PATH.fullmatch(text or "")
    if match is None:
        raise QueryError(f"`{text or ''}` is no attribute")
    name, *inner = match[1].split(".")
    return name, tuple(inner), tuple(match[2].split(".")) if match[2] else ()


def _value_at(entity: Entity, path: tuple[str, tuple[str, ...], tuple[str, ...]]) -> Any:
    """The value at a path; None where there is none."""
    name, inner, within = path
    value: Any = entity.get(name)
    for part in inner:
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, dict) and "type" in value and not isinstance(value["type"], list):
        value = value.get("object", value.get("value"))
    for part in within:
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, dict) and "@value" in value:
        value = value["@value"]
    return value


def _test(path: Any, sign: str, targets: list[Any]) -> Test:
    def holds(entity: Entity) -> bool:
        value = _value_at(entity, path)
        if value is None:
            return False
        if sign in ("~=", "!~="):
            return isinstance(value, str) and bool(targets[0](value)) is (sign == "~=")
        if sign in ("==", "!="):
            values = value if isinstance(value, list) else [value]
            equal = any(_is(each, target) for each in values for target in targets)
            return equal is (sign == "==")
        return len(targets) == 1 and _ordered(sign, value, targets[0])

    return holds


def _is(value: Any, target: Any) -> bool:
    if isinstance(target, tuple):
        return _ordered(">=", value, target[0]) and _ordered("<=", value, target[1])
    return _alike(value, target) == target and isinstance(value, bool) == isinstance(target, bool)


def _ordered(sign: str, value: Any, target: Any) -> bool:
    """Numbers compare with numbers, times with times, texts with texts; others do not."""
    value = _alike(value, target)
    numbers = (int, float)
    both = isinstance(value, numbers) and isinstance(target, numbers)
    if isinstance(value, bool) or isinstance(target, bool | tuple):
        return False
    return (both or type(value) is type(target)) and _ORDERS[sign](value, target)


def _alike(value: Any, target: Any) -> Any:
    """A text as a time, where it is compared with one."""
    if isinstance(target, datetime) and isinstance(value, str):
        try:
            return _moment(value)
        except ValueError:
            return value
    return value


def _moment(text: str) -> datetime:
    if not re.match(r"\d{4}-\d\d-\d\dT", text):
        raise ValueError(text)
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found
