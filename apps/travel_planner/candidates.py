"""The ways that are weighed against each other: several for each criterion, on other roads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from citywise.apps.travel_planner.choosing import UPPER, Wanted
from citywise.apps.travel_planner.decisions import Constraint
from citywise.apps.travel_planner.ground import (
    Measured,
    Objective,
    Weights,
    measure,
    per_edge,
    rounded,
)
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.costs import EdgeCosts
from citywise.apps.travel_planner.roads.graph import Weighted
from citywise.apps.travel_planner.roads.network import F64
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.roads.snapping import Snap
from citywise.apps.travel_planner.wording import Values

MANY = 6
"""Alternatives sought where the least are not what is wanted."""
_SQUEEZES = 6
_OBJECTIVE: Mapping[str, Objective] = {
    "time": "time",
    "distance": "distance",
    "cost": "distance",
    "walk": "distance",
    "pollution": "pollution",
    "air": "pollution",
}
"""What to make least so that a quantity is."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way that could be chosen."""

    mode: Mode
    path: Path
    measured: Measured
    walk_m: float
    """Metres on foot: all of them, or those to and from the street."""
    access: tuple[float, float]
    """Metres on foot to the street, and from it."""

    @property
    def values(self) -> Values:
        """What limits and wishes are about."""
        found = self.measured
        return {
            "time": found.time_s,
            "distance": found.distance_m,
            "pollution": found.pollution,
            "cost": found.cost,
            "walk": self.walk_m,
            "air": found.air,
        }


@dataclass(frozen=True, eq=False)
class Search:
    """The candidates of one mode between two points of its streets."""

    weights: Weights
    costs: EdgeCosts
    mode: Mode
    start: Snap
    end: Snap
    car_cost_per_km: float
    hindered: bool = True
    """Whether an event slows the mode down somewhere."""
    from_m: float | None = None
    """Metres to the street; None: as far as the start is from it."""
    _least: dict[Objective, Path | None] = field(default_factory=dict)

    def find(self, wanted: Wanted, count: int) -> list[Candidate]:
        """Different ways: `count` alternatives for the first wish, the best for each other
        criterion, one in between, and what keeps to several limits at once. Where not the least
        is wanted, also `MANY` alternatives for each criterion, whatever is wished first.

        The least value of each criterion that roads have is among them, so a single upper
        limit is kept whenever it can be. Several at once are sought by weighing them against
        each other (Lagrange's multipliers, a few steps), which may miss a way.
        """
        first = _OBJECTIVE.get(wanted.wishes[0].on, "time")
        first = first if first in self._objectives() else "time"
        found = _Distinct(self)
        most = max(count, MANY) if wanted.is_unusual else 1
        for objective, many in {first: max(count, most), **self._others(first, most)}.items():
            for path in self._alternatives(objective, many):
                found.add(path)
        found.add(self._between(found))
        for path in self._squeezed(first, wanted.constraints, found):
            found.add(path)
        return found.candidates

    def _others(self, first: Objective, count: int) -> dict[Objective, int]:
        return {each: count for each in self._objectives() if each != first}

    def fastest(self) -> Path | None:
        """The way that takes least time."""
        return self._shortest("time")

    def measured(self, path: Path) -> Candidate:
        """A way as a candidate."""
        to_street = self.start.metres if self.from_m is None else self.from_m
        access = to_street + self.end.metres
        found = measure(path, self.mode, self.costs, self.car_cost_per_km, access)
        walk = found.distance_m if self.mode is Mode.WALK else rounded("walk", access)
        return Candidate(self.mode, path, found, walk, (to_street, self.end.metres))

    def _objectives(self) -> tuple[Objective, ...]:
        """What ways are sought for: distance is time where nothing holds a mode up."""
        known: tuple[Objective, ...] = ("time",) if self._is_steady() else ("time", "distance")
        return (*known, "pollution") if self.costs.air_known else known

    def _is_steady(self) -> bool:
        """Whether every metre takes the same time."""
        return self.mode is not Mode.CAR and not self.hindered

    def _alternatives(self, objective: Objective, count: int) -> list[Path]:
        if count <= 1:
            found = self._shortest(objective)
            return [found] if found else []
        weighted = self.weights.by(objective, self.mode, self.costs)
        paths = self.weights.router.alternatives(self.start, self.end, weighted, count)
        self._least[objective] = paths[0] if paths else None
        return paths

    def _per_edge(self, objective: Objective) -> F64:
        return per_edge(objective, self.mode, self.costs, self.weights.router)

    def _shortest(self, objective: Objective) -> Path | None:
        """The least way by one quantity, sought once."""
        if objective not in self._least:
            weighted = self.weights.by(objective, self.mode, self.costs)
            self._least[objective] = self._way(weighted)
        return self._least[objective]

    def _by(self, weights: F64) -> Path | None:
        """The least way by weights of one use."""
        return self._way(self.weights.router.prepared(weights, self.mode))

    def _way(self, weighted: Weighted) -> Path | None:
        return self.weights.router.shortest(self.start, self.end, weighted)

    def _between(self, found: _Distinct) -> Path | None:
        """A way between the two extremes of time and pollution, where they differ."""
        if not self.costs.air_known or self.mode is not Mode.CAR:
            return None
        fast, clean = self._shortest("time"), self._shortest("pollution")
        if fast is None or clean is None or np.array_equal(fast.edges, clean.edges):
            return None
        best = [min(found.totals(each)) or 1.0 for each in ("time", "pollution")]
        return self._by(self._per_edge("time") / best[0] + self._per_edge("pollution") / best[1])

    def _squeezed(
        self, first: Objective, constraints: Sequence[Constraint], found: _Distinct
    ) -> Iterator[Path]:
        """Ways that give up some of the first wish to keep to upper limits."""
        limits = [each for each in constraints if each.op in UPPER and self._counts(each)]
        if not limits or not found.candidates:
            return
        current = found.candidates[0]
        prices = dict.fromkeys(limits, 0.0)
        for _ in range(_SQUEEZES):
            broken = [each for each in limits if not _holds(each, current.values)]
            if not broken and not any(prices.values()):
                return
            for limit in limits:
                prices[limit] = _price(prices[limit], limit, current.values)
            path = self._by(self._priced(first, prices, found))
            if path is None:
                return
            yield path
            current = self.measured(path)

    def _counts(self, limit: Constraint) -> bool:
        """Whether other roads can help to keep a limit."""
        if limit.on in ("pollution", "air"):
            return self.costs.air_known
        of_mode = {"cost": Mode.CAR, "walk": Mode.WALK}
        return limit.value > 0 and of_mode.get(limit.on, self.mode) is self.mode

    def _priced(
        self, first: Objective, prices: Mapping[Constraint, float], found: _Distinct
    ) -> F64:
        """The first wish and the limits as one weight, each as a part of what it may be."""
        weights = self._per_edge(first) / (min(found.totals(first)) or 1.0)
        for limit, price in prices.items():
            if price:
                weights = weights + price * self._of_limit(limit)
        return weights

    def _of_limit(self, limit: Constraint) -> F64:
        """What each edge takes of a limit: the whole of it is 1."""
        bound = limit.value or 1.0
        if limit.on == "air":  # A mean: time in worse air than the limit is what costs.
            excess = np.maximum(self.costs.air - limit.value, 0.0) / bound
            seconds = self.costs.seconds(self.mode)
            return np.asarray(seconds * excess / 60.0)
        rate = self.car_cost_per_km / 1000 if limit.on == "cost" else 1.0
        return self._per_edge(_OBJECTIVE[limit.on]) * (rate / bound)


class _Distinct:
    """Candidates, each way once."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._seen: set[bytes] = set()
        self.candidates: list[Candidate] = []

    def add(self, path: Path | None) -> None:
        """Keep a way that is new."""
        if path is None or (key := path.edges.tobytes()) in self._seen:
            return
        self._seen.add(key)
        self.candidates.append(self._search.measured(path))

    def totals(self, on: str) -> list[float]:
        """A quantity of all candidates."""
        return [value for each in self.candidates if (value := each.values[on]) is not None]


def _holds(limit: Constraint, values: Values) -> bool:
    value = values[limit.on]
    if value is None:
        return False
    return value < limit.value if limit.op == "<" else value <= limit.value


def _price(price: float, limit: Constraint, values: Values) -> float:
    """What a limit weighs next: more while it is broken, less where there is room."""
    if not _holds(limit, values):
        over = min((values[limit.on] or 0.0) / (limit.value or 1.0), 3.0)
        return max(price * 2.0, 0.5) * over
    return price * 0.6
