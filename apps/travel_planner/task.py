"""A request and all that it is planned with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from citywise.apps.travel_planner.ground import Weights
from citywise.apps.travel_planner.roads import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.costs import EdgeCosts
from citywise.apps.travel_planner.wording import Words

Request = TypeVar("Request")


@dataclass(frozen=True, eq=False)
class Task(Generic[Request]):
    """One request under the conditions it is planned for."""

    request: Request
    conditions: Conditions
    costs: EdgeCosts
    weights: Weights
    car_cost_per_km: float
    words: Words
    moving: bool = False
    """Whether the start is where somebody is on their way: next to a street, they are on it."""

    car_co2_g_per_km: float = 0.0

    def co2_g(self, mode: Mode, metres: float) -> float:
        """Grams of carbon dioxide of a way; who goes or cycles emits none that counts."""
        return round(self.car_co2_g_per_km * metres / 1000, 1) if mode is Mode.CAR else 0.0

    @property
    def network(self) -> RoadNetwork:
        """The streets."""
        return self.conditions.network
