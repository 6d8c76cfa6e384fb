"""How long it is from a time to now, as far as the comparisons of a rule say: what `check` finds in
durations, in every language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from citywise.reasoning.model.rules import Comparator

Place = TypeVar("Place")
Line: TypeAlias = tuple[dict[str, int], int]
"""A term as a sum: how often each variable counts, and what is added."""

_FLIPPED: dict[Comparator, Comparator] = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "=": "="}


def total(left: Line, right: Line, sign: int) -> Line:
    """The sum (`sign` 1) or difference (-1) of two terms."""
    factors = dict(left[0])
    for name, factor in right[0].items():
        factors[name] = factors.get(name, 0) + sign * factor
    return factors, left[1] + sign * right[1]


@dataclass(frozen=True)
class Bound(Generic[Place]):
    """How long it may be, and what says so."""

    units: int
    place: Place | None = None


@dataclass
class Elapsed(Generic[Place]):
    """How long it is from a time to now, as far as comparisons of a rule say."""

    least: Bound[Place] = field(default_factory=lambda: Bound(0))
    most: Bound[Place] | None = None

    def restrict(self, comparator: Comparator, units: int, place: Place) -> None:
        """The time passed is also so compared with `units`."""
        if comparator not in ("<=", "<"):
            bound = Bound(units + (comparator == ">"), place)
            self.least = max(self.least, bound, key=lambda b: b.units)
        if comparator in ("<=", "<", "="):
            bound = Bound(units - (comparator == "<"), place)
            self.most = min(self.most or bound, bound, key=lambda b: b.units)

    def contradiction(self, text: Callable[[int], str]) -> tuple[Place | None, str] | None:
        """What says that it can never be, and why; `text` writes a duration."""
        if self.most is None:
            return None
        if self.most.units < 0:
            return self.most.place, "this time is never after now: turn the difference round"
        if self.most.units < self.least.units:
            shortest, longest = text(self.least.units), text(self.most.units)
            message = f"no duration is both at least {shortest} and at most {longest}"
            return self.most.place, message
        return None


class Durations(Generic[Place]):
    """The durations of a rule: `clocks` are variables for now, `times` those for other times."""

    def __init__(self, clocks: Collection[str], times: Collection[str]) -> None:
        self._clocks, self._times = clocks, times
        self.found: dict[tuple[str, str], Elapsed[Place]] = defaultdict(Elapsed)
        """By time and clock."""

    def compare(
        self, left: Line | None, comparator: Comparator, right: Line | None, place: Place
    ) -> None:
        """A comparison of the rule at a place; None where a side is no sum."""
        if left is None or right is None or comparator not in _FLIPPED:
            return
        factors, added = total(left, right, -1)
        signs = {factor: name for name, factor in factors.items() if factor}
        if set(signs) != {1, -1} or sum(map(bool, factors.values())) != 2:
            return
        first, second = signs[1], signs[-1]
        # first - second + added is compared with 0.
        if first in self._clocks and second in self._times:
            self.found[second, first].restrict(comparator, -added, place)
        elif second in self._clocks and first in self._times:
            self.found[first, second].restrict(_FLIPPED[comparator], added, place)
