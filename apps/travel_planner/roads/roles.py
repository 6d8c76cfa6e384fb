"""What readings tell about roads, garages and the air: fields are found by their roles.

Roles: `road_speed`, `road_vehicles`; `occupied_places`, `total_places`, `free_places`;
`air_index`. Any kind of observation may fill them (docs/kinds.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from citywise.backend.kinds import Kind, Kinds

Body = Mapping[str, Any]
_KMH: Mapping[str | None, float] = {"m/s": 3.6, "[mi_i]/h": 1.609344, "[kn_i]": 1.852}
"""Kilometres per hour of units that speeds may have."""


class Count(NamedTuple):
    """How many places are taken, of how many."""

    occupied: int
    capacity: int


class Speedometer(NamedTuple):
    """The fields of a kind that say how fast a road is, and how many drive there."""

    speed: str
    vehicles: str | None
    kmh: float

    def read(self, body: Body) -> tuple[float, int] | None:
        """Speed in km/h and number of vehicles, 1 where nobody counts; None: unknown."""
        speed = body.get(self.speed)
        if speed is None:
            return None
        vehicles = body.get(self.vehicles) if self.vehicles else None
        return speed * self.kmh, 1 if vehicles is None else vehicles


class Counter(NamedTuple):
    """The fields of a kind that say how full a garage is; two of the three are enough."""

    occupied: str | None
    total: str | None
    free: str | None

    def read(self, body: Body) -> Count | None:
        """The count; None where too little is known."""
        occupied, total, free = (None if name is None else body.get(name) for name in self)
        if occupied is None and total is not None and free is not None:
            occupied = max(0, total - free)
        if total is None and occupied is not None and free is not None:
            total = occupied + free
        return Count(occupied, total) if occupied is not None and total else None


class Roles:
    """The kinds that tell something, by what they tell."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.roads: dict[str, Speedometer] = {}
        self.garages: dict[str, Counter] = {}
        self.air: dict[str, tuple[str, ...]] = {}
        for name, kind in kinds.items():
            if speed := _first(kind, "road_speed"):
                kmh = _KMH.get(kind.fields[speed].unit, 1.0)
                self.roads[name] = Speedometer(speed, _first(kind, "road_vehicles"), kmh)
            roles = ("occupied_places", "total_places", "free_places")
            fields = [_first(kind, role) for role in roles]
            if sum(field is not None for field in fields) > 1:
                self.garages[name] = Counter(*fields)
            if indices := tuple(kind.having("air_index")):
                self.air[name] = indices
        self.places = frozenset(p for name in self.garages for p in kinds[name].places)
        """Kinds of places that are garages."""

    @property
    def names(self) -> frozenset[str]:
        """The kinds that tell anything."""
        return frozenset((*self.roads, *self.garages, *self.air))


def _first(kind: Kind, role: str) -> str | None:
    return next(kind.having(role), None)
