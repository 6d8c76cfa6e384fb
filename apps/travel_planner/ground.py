"""The streets under the conditions of one departure: what weighs them, and what a way takes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.costs import KMH, Basis, EdgeCosts
from citywise.apps.travel_planner.roads.graph import Weighted
from citywise.apps.travel_planner.roads.network import F64
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.roads.snapping import MOST_SNAP_M, Snap
from citywise.backend.app import geometry

Objective = Literal["time", "distance", "pollution"]
"""What ways are sought for; the cost of driving is least where the distance is."""
DECIMALS = {"time": 1, "distance": 1, "pollution": 2, "cost": 2, "walk": 1, "air": 1}
"""Values are rounded before anything is decided, so that answers show what was compared."""
_KEPT = 48


@dataclass(frozen=True)
class Measured:
    """What a way takes, rounded to `DECIMALS`: metres, seconds, index · hours (the dose), the
    mean index of the air on the way (both None where nothing is known of the air), and money."""

    distance_m: float
    time_s: float
    pollution: float | None
    air: float | None
    cost: float
    free_flow_s: float
    basis: Mapping[str, float | None]
    """Shares of the time that rest on live readings, learned values and free flow, and the
    age in seconds of the oldest reading used (`oldest_s`)."""


class Corners:
    """The street corners of a mode, by where they are.

    The doors of a garage are not in the data: who parks there walks from the corner next to it.
    """

    def __init__(self, router: Router, mode: Mode) -> None:
        network, edges = router.network, router.graph(mode).edges
        _, first = np.unique(network.tail[edges], return_index=True)
        self._leaving, self._network = edges[first], network
        nodes = network.tail[self._leaving]
        self._at = geometry.project(network.lon[nodes], network.lat[nodes])
        self._found: dict[tuple[float, float], Snap | None] = {}

    def nearest(self, lon: float, lat: float) -> Snap | None:
        """The corner next to a point; None where none is within `MOST_SNAP_M`."""
        key = (lon, lat)
        if key not in self._found:
            self._found[key] = self._sought(lon, lat)
        return self._found[key]

    def _sought(self, lon: float, lat: float) -> Snap | None:
        here = geometry.project(np.array([lon]), np.array([lat]))
        metres = geometry.between(self._at, here.x, here.y)
        near = int(np.argmin(metres))
        edge = int(self._leaving[near])
        node, far = self._network.tail[edge], float(metres[near])
        if far > MOST_SNAP_M:
            return None
        return Snap(edge, 0.0, float(self._network.lon[node]), float(self._network.lat[node]), far)


class Weights:
    """Graphs with weights, kept for as long as the costs that they were made of hold."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self._kept: OrderedDict[tuple[Any, ...], Weighted] = OrderedDict()
        self._corners: dict[Mode, Corners] = {}

    def corner(self, lon: float, lat: float, mode: Mode) -> Snap | None:
        """The street corner of a mode next to a point."""
        if mode not in self._corners:
            self._corners[mode] = Corners(self.router, mode)
        return self._corners[mode].nearest(lon, lat)

    def by(self, objective: Objective, mode: Mode, costs: EdgeCosts) -> Weighted:
        """The mode's graph weighed by one quantity."""
        version = None if objective == "distance" else costs.version
        key = (objective, mode, version)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)  # What other costs pushed out was not used for long.
        else:
            found = self.router.prepared(per_edge(objective, mode, costs, self.router), mode)
            self._kept[key] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def per_edge(objective: Objective, mode: Mode, costs: EdgeCosts, router: Router) -> F64:
    """Seconds, metres or dose of each edge."""
    match objective:
        case "time":
            return costs.seconds(mode)
        case "distance":
            return router.network.length_m
        case "pollution":
            return costs.pollution(mode)


def walk_s(metres: float) -> float:
    """Seconds that so many metres take on foot."""
    return metres / KMH[Mode.WALK] * 3.6


def measure(
    path: Path, mode: Mode, costs: EdgeCosts, car_cost_per_km: float, access_m: float = 0.0
) -> Measured:
    """What a way takes under some costs, with so many metres on foot to the street and from it.

    These take time, and for who walks they are part of the distance; of the air there nothing
    is known.
    """
    edges, shares = path.edges, path.shares()
    metres = path.network.length_m[edges] * shares
    seconds = costs.seconds(mode)[edges] * shares
    distance, time = float(metres.sum()), float(seconds.sum())
    access_s, on_foot = walk_s(access_m), access_m if mode is Mode.WALK else 0.0
    dose = float((costs.pollution(mode)[edges] * shares).sum())
    rate = car_cost_per_km if mode is Mode.CAR else 0.0
    return Measured(
        distance_m=rounded("distance", distance + on_foot),
        time_s=rounded("time", time + access_s),
        pollution=rounded("pollution", dose) if costs.air_known else None,
        air=rounded("air", dose * 3600 / time) if costs.air_known and time else None,
        cost=rounded("cost", distance / 1000 * rate),
        free_flow_s=rounded("time", _free_flow_s(path, mode, metres, time) + access_s),
        basis=_basis(edges, seconds, costs, mode),
    )


def rounded(on: str, value: float) -> float:
    """A value as it is compared and shown."""
    return round(value, DECIMALS[on])


def _free_flow_s(path: Path, mode: Mode, metres: F64, time: float) -> float:
    """Seconds by car on empty streets; others are not held up by cars."""
    if mode is not Mode.CAR:
        return time
    return float((metres / path.network.speed_kmh[path.edges]).sum() * 3.6)


def _basis(edges: Any, seconds: F64, costs: EdgeCosts, mode: Mode) -> dict[str, float | None]:
    if mode is not Mode.CAR:
        return {"live": 0.0, "learned": 0.0, "free_flow": 1.0, "oldest_s": None}
    basis, total = costs.basis[edges], float(seconds.sum()) or 1.0
    ages = costs.age_s[edges][basis == Basis.LIVE]
    known = ages[~np.isnan(ages)]

    def share(of: Basis) -> float:
        return round(float(seconds[basis == of].sum()) / total, 3)

    return {
        "live": share(Basis.LIVE),
        "learned": share(Basis.LEARNED),
        "free_flow": share(Basis.FREE_FLOW),
        "oldest_s": round(float(known.max()), 1) if len(known) else None,
    }
