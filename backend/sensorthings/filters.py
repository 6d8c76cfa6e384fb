"""The expressions of `$filter` and `$orderby`, by recursive descent.

Source: OGC 18-088, clause 9.3.3.5. A path that leads nowhere is null; what cannot be compared is
not equal, and neither less nor more.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from shapely import from_wkt
from shapely.errors import ShapelyError
from shapely.geometry import shape
from shapely.geometry.base import BaseGeometry

from citywise.backend.space.sphere import distance_m

Look = Callable[[tuple[str, ...]], Any]
"""Gives the value at a path of the thing that is tested."""
_MOST = 4_000
_TOKEN = re.compile(
    r"""\s*(?:(?P<geography>geography'[^']*')|(?P<string>'(?:[^']|'')*')
    |(?P<time>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z_@][\w.@]*(?:/[A-Za-z_@][\w.@]*)*)
    |(?P<sign>[(),]))\s*""",
    re.VERBOSE,
)


class OptionError(Exception):
    """A query option cannot be read; says what was found."""


@dataclass(frozen=True)
class Expression:
    """What somebody has written: `value` of a thing, and its parts, for who can answer faster."""

    value: Callable[[Look], Any]
    name: str = ""
    """`path`, `literal`, an operator or a function."""
    parts: tuple[Any, ...] = ()


def parse(text: str) -> Expression:
    """Read an expression; raises `OptionError`."""
    if len(text) > _MOST:
        raise OptionError(f"it has {len(text)} characters; at most {_MOST} are read")
    reader = _Reader(text)
    try:
        found = reader.either()
    except RecursionError:
        raise OptionError("it nests too deep") from None
    if reader.rest:
        raise OptionError(f"`{reader.rest[0][1]}` is one too many")
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.rest: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or match.end() == position:
                raise OptionError(f"`{text[position : position + 20]}` at {position + 1}")
            self.rest.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        self.rest.reverse()

    def _is(self, form: str, *texts: str) -> str | None:
        if self.rest and self.rest[-1][0] == form and (not texts or self.rest[-1][1] in texts):
            return self.rest.pop()[1]
        return None

    def _chain(self, names: tuple[str, ...], inner: Callable[[], Expression]) -> Expression:
        found = inner()
        while (name := self._is("word", *names)) is not None:
            found = _operation(name, found, inner())
        return found

    def either(self) -> Expression:
        return self._chain(("or",), self._both)

    def _both(self) -> Expression:
        return self._chain(("and",), self._compared)

    def _compared(self) -> Expression:
        return self._chain(("eq", "ne", "gt", "ge", "lt", "le"), self._sum)

    def _sum(self) -> Expression:
        return self._chain(("add", "sub"), self._product)

    def _product(self) -> Expression:
        return self._chain(("mul", "div", "mod"), self._single)

    def _single(self) -> Expression:
        if self._is("word", "not"):
            inner = self._single()
            return Expression(lambda look: not inner.value(look), "not", (inner,))
        if self._is("sign", "("):
            found = self.either()
            self._close()
            return found
        if not self.rest:
            raise OptionError("something is missing at the end")
        form, text = self.rest.pop()
        if form == "word" and self._is("sign", "("):
            return self._call(text)
        return _leaf(form, text)

    def _call(self, name: str) -> Expression:
        arguments: list[Expression] = []
        while self._is("sign", ")") is None:
            if arguments and not self._is("sign", ","):
                raise OptionError(f"{name}: a `,` or `)` is missing")
            arguments.append(self.either())
        if not arguments and name in _MOMENTS:
            moment = _MOMENTS[name]()  # known now, so the database can find what it bounds
            return Expression(lambda _look: moment, "literal", (moment,))
        known = _FUNCTIONS.get(name)
        if known is None or len(arguments) not in known[0]:
            raise OptionError(f"there is no function `{name}` of {len(arguments)}")
        act = known[1]

        def value(look: Look) -> Any:
            given = [argument.value(look) for argument in arguments]
            if any(one is None for one in given):
                return None
            try:
                return act(*given)
            except (
                TypeError,
                ValueError,
                ArithmeticError,
                AttributeError,
                IndexError,
                ShapelyError,
            ):
                return None

        return Expression(value, name, tuple(arguments))

    def _close(self) -> None:
        if self._is("sign", ")") is None:
            raise OptionError("a `)` is missing")


def _leaf(form: str, text: str) -> Expression:
    literal: Any
    if form == "word" and text not in ("true", "false", "null"):
        path = tuple(text.split("/"))
        return Expression(lambda look: look(path), "path", path)
    match form:
        case "word":
            literal = {"true": True, "false": False, "null": None}[text]
        case "string":
            literal = text[1:-1].replace("''", "'")
        case "time":
            literal = _time(text)
        case "number":
            literal = float(text) if re.search(r"[.eE]", text) else int(text)
        case "geography":
            literal = _geography(text)
        case _:
            raise OptionError(f"`{text}` is not expected here")
    return Expression(lambda _look: literal, "literal", (literal,))


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(f"`{text}` is no time") from None


def _geography(text: str) -> BaseGeometry:
    wkt = text.removeprefix("geography'").removesuffix("'").partition(";")
    try:
        return from_wkt(wkt[2] or wkt[0])
    except ShapelyError as error:
        raise OptionError(f"`{text[:60]}`: {error}") from None


def _operation(name: str, one: Expression, other: Expression) -> Expression:
    act = _OPERATORS[name]
    return Expression(lambda look: act(one, other, look), name, (one, other))


def _comparison(act: Callable[[Any, Any], bool]) -> Callable[[Expression, Expression, Look], Any]:
    def compared(one: Expression, other: Expression, look: Look) -> bool:
        left, right = one.value(look), other.value(look)
        # A path through a collection leads to several values: one that fits is enough.
        lefts = left if isinstance(left, list) else [left]
        return any(_holds(act, each, right) for each in lefts)

    return compared


def _holds(act: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    left, right = _alike(left, right), _alike(right, left)
    try:
        return bool(act(left, right))
    except TypeError:
        return False


def _alike(value: Any, other: Any) -> Any:
    """A text as a time, where it is compared with one; of an interval its begin."""
    if isinstance(other, datetime) and isinstance(value, str):
        try:
            return datetime.fromisoformat(value.partition("/")[0])
        except ValueError:
            return value
    return value


def _arithmetic(act: Callable[[Any, Any], Any]) -> Callable[[Expression, Expression, Look], Any]:
    def computed(one: Expression, other: Expression, look: Look) -> Any:
        try:
            return act(one.value(look), other.value(look))
        except (TypeError, ArithmeticError):
            return None

    return computed


_OPERATORS: dict[str, Callable[[Expression, Expression, Look], Any]] = {
    "or": lambda one, other, look: bool(one.value(look)) or bool(other.value(look)),
    "and": lambda one, other, look: bool(one.value(look)) and bool(other.value(look)),
    "eq": _comparison(operator.eq), "ne": _comparison(operator.ne),
    "gt": _comparison(operator.gt), "ge": _comparison(operator.ge),
    "lt": _comparison(operator.lt), "le": _comparison(operator.le),
    "add": _arithmetic(operator.add), "sub": _arithmetic(operator.sub),
    "mul": _arithmetic(operator.mul), "div": _arithmetic(operator.truediv),
    "mod": _arithmetic(operator.mod),
}  # fmt: skip


def _moment(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def _offset_minutes(moment: datetime) -> float:
    return (moment.utcoffset() or timedelta()).total_seconds() / 60


def _shape(value: Any) -> BaseGeometry:
    return value if isinstance(value, BaseGeometry) else shape(value)


def _metres(one: Any, other: Any) -> float:
    """Metres between two points, or from middle to middle."""
    here, there = _shape(one).centroid, _shape(other).centroid
    return distance_m(here.y, here.x, there.y, there.x)


_MOMENTS: dict[str, Callable[[], datetime]] = {
    "now": lambda: datetime.now(UTC),
    "mindatetime": lambda: datetime.min.replace(tzinfo=UTC),
    "maxdatetime": lambda: datetime.max.replace(tzinfo=UTC),
}
_RELATIONS = (
    "equals", "disjoint", "touches", "within", "overlaps", "crosses", "intersects", "contains",
)  # fmt: skip
_FUNCTIONS: dict[str, tuple[tuple[int, ...], Callable[..., Any]]] = {
    "substringof": ((2,), lambda part, text: part in text),
    "contains": ((2,), lambda text, part: part in text),
    "startswith": ((2,), lambda text, part: text.startswith(part)),
    "endswith": ((2,), lambda text, part: text.endswith(part)),
    "length": ((1,), len),
    "indexof": ((2,), lambda text, part: text.find(part)),
    "substring": ((2, 3), lambda text, at, *count: text[at : at + count[0] if count else None]),
    "tolower": ((1,), lambda text: text.lower()),
    "toupper": ((1,), lambda text: text.upper()),
    "trim": ((1,), lambda text: text.strip()),
    "concat": ((2,), lambda one, other: f"{one}{other}"[:_MOST]),
    **{
        name: ((1,), lambda value, name=name: getattr(_moment(value), name))
        for name in ("year", "month", "day", "hour", "minute", "second")
    },
    "fractionalseconds": ((1,), lambda value: _moment(value).microsecond / 1_000_000),
    "date": ((1,), lambda value: _moment(value).date()),
    "time": ((1,), lambda value: _moment(value).time()),
    "totaloffsetminutes": ((1,), lambda value: _offset_minutes(_moment(value))),
    "round": ((1,), lambda value: math.floor(value + 0.5)),
    "floor": ((1,), math.floor),
    "ceiling": ((1,), math.ceil),
    "geo.distance": ((2,), _metres),
    "geo.length": ((1,), lambda value: _shape(value).length),
    "geo.intersects": ((2,), lambda one, other: _shape(one).intersects(_shape(other))),
    **{
        f"st_{name}": (
            (2,),
            lambda one, other, name=name: getattr(_shape(one), name)(_shape(other)),
        )
        for name in _RELATIONS
    },
    "st_relate": (
        (3,),
        lambda one, other, pattern: _shape(one).relate_pattern(_shape(other), pattern),
    ),
}
