"""Windows of plain LARS as they are written: `3`, `20 m`, `#5`, or a name of `#const`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reasoning.engines.incremental.terms import Value
from reasoning.errors import RequestError
from reasoning.languages.directives import LARGEST
from reasoning.languages.lars_elements import Span
from reasoning.languages.statements import Source
from reasoning.lars.program import LastTuples, TimeSpan, Window

_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_WINDOW = re.compile(
    r"\s*(#?)\s*(?:(-?\s*[0-9]+)|(_*[a-z][A-Za-z0-9_']*)(?=\s|\Z))\s*([A-Za-z_]\w*)?\s*\Z"
)


def window(source: Source, span: Span, constants: Mapping[str, Value]) -> Window:
    """The window in brackets; raises `RequestError` for what is none."""
    match = _WINDOW.match(span.text)
    if match is None:
        raise _error(source, span, f"`[{span.text.strip()}]` is no window")
    tuples, digits, name, unit = match.groups()
    size = int("".join(digits.split())) if digits else _constant(source, span, name, constants)
    if tuples:
        return _last(source, span, size, unit)
    if unit is not None and unit not in _SECONDS:
        raise _error(source, span, f"`{unit}` is no unit of time")
    size *= _SECONDS[unit or "s"]
    if not 0 <= size <= LARGEST:
        raise _error(source, span, f"a window of {size:,} points of time is too {_how(size)}")
    return TimeSpan(size)


def _last(source: Source, span: Span, size: int, unit: str | None) -> LastTuples:
    """A window of the last input atoms, at least one."""
    if unit is not None:
        raise _error(source, span, f"`#{size}` counts input atoms, which have no unit")
    if not 1 <= size <= LARGEST:
        raise _error(source, span, f"a window of {size:,} input atoms is too {_how(size)}")
    return LastTuples(size)


def _constant(source: Source, span: Span, name: str, constants: Mapping[str, Value]) -> int:
    value = constants.get(name)
    if isinstance(value, int):
        return value
    raise _error(source, span, f"`{name}` is no number; define it, e.g. `#const {name} = 10`")


def _how(size: int) -> str:
    return "large" if size > 0 else "small"


def _error(source: Source, span: Span, what: str) -> RequestError:
    hint = "write `[3]` (points of time), `[20 m]` (s, m, h, d) or `[#5]` (input atoms)"
    start = span.start + len(span.text) - len(span.text.lstrip())
    return source.error(start, "window", f"{what}; {hint}")
