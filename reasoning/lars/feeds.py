"""Input relations of the incremental engine, and what fills them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from reasoning.engines.incremental.terms import Row
from reasoning.lars.program import Window

Kind = Literal["now", "diamond", "box", "at", "element"]
Rows = Mapping[str, Collection[Row]]
"""Rows by predicate (`p/2`)."""


@dataclass(frozen=True)
class Feed:
    """An input relation: what it says of the atoms of a predicate within a window.

    `now`, `diamond` and `box` have the atoms' rows; `at` adds the point of time as last
    column, `element` a tuple of it. Without a window it has all points since t1.
    """

    kind: Kind
    predicate: str
    window: Window | None
    relation: str


COLUMN: Mapping[str, Callable[[int], Row]] = {
    "at": lambda time: (time,),
    "element": lambda time: (("", time),),
}
"""What kinds of feeds add to a row."""


class Sink(Protocol):
    """What takes the changes (`incremental.evaluation.Evaluation`)."""

    def insert(self, relation: str, rows: Iterable[Row], until: int | None = None) -> None:
        """Rows hold from the next step on, up to `until`."""

    def retract(self, relation: str, rows: Iterable[Row]) -> None:
        """Rows hold no more from the next step on."""


Arrival = tuple[str, Row]
"""Predicate and row of an input atom."""
