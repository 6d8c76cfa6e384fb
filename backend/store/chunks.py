"""Values in portions small enough for one `IN (…)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

_AT_ONCE = 500
Value = TypeVar("Value", int, str)


def chunks(values: Iterable[Value]) -> Iterator[list[Value]]:
    """The distinct values, sorted, a few hundred at a time."""
    ordered = sorted(set(values))
    return (ordered[start : start + _AT_ONCE] for start in range(0, len(ordered), _AT_ONCE))
