"""Garages as somebody might park in them: the walk, the drive, and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from citywise.apps.travel_planner.answers import Json
from citywise.apps.travel_planner.ground import Measured, measure, rounded
from citywise.apps.travel_planner.requests import MOST_RADIUS_M, ParkingRequest, Spot
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.roads.snapping import Snap
from citywise.apps.travel_planner.task import Task
from citywise.apps.travel_planner.travel import access_m, off_street
from citywise.apps.travel_planner.wording import Values
from citywise.backend.app import geometry, times

_HOLDS_MS = 2 * 3_600_000
"""So far ahead a garage that is full now is not offered; later it is as it usually is."""


class Errand(Task[ParkingRequest]):
    """A request for a garage."""

    def snapped(self, spot: Spot, path: str, mode: Mode) -> Snap:
        """Where a point of the request is on the streets; raises `RequestError`."""
        found = self.weights.router.snap(spot.lon, spot.lat, mode)
        if found is None:
            raise off_street(path, spot, self.network)
        return found

    @cached_property
    def goal(self) -> Snap:
        """Where the walk ends."""
        return self.snapped(self.request.destination, "destination", Mode.WALK)

    @property
    def access_m(self) -> float:
        """Metres on foot to the car."""
        return 0.0 if self.start is None else access_m(self.start, moving=self.moving)

    @cached_property
    def start(self) -> Snap | None:
        """Where the drive begins."""
        start = self.request.start
        return None if start is None else self.snapped(start, "from", Mode.CAR)


@dataclass(frozen=True, eq=False)
class Spotted:
    """A garage near the destination: how far it is, and how one gets there and on."""

    garage: Garage
    crow_m: float
    walk_m: float | None
    cost: float
    arrive_ms: int
    walk: Path | None = None
    drive: Path | None = None
    driven: Measured | None = None

    @property
    def values(self) -> Values:
        """What limits and wishes are about."""
        driven = self.driven
        return {
            "walk": self.walk_m,
            "cost": self.cost,
            "free": self.garage.free,
            "time": driven.time_s if driven else None,
            "distance": driven.distance_m if driven else None,
            "pollution": driven.pollution if driven else None,
        }


def garages_near(errand: Errand) -> list[Spotted]:
    """The garages within the radius, the nearest first."""
    radius = errand.request.radius_m
    return _reached(errand, [each for each in _by_distance(errand) if each[1] <= radius])


def nearest_beyond(errand: Errand) -> Spotted | None:
    """The nearest garage outside of the radius that could be offered."""
    radius = errand.request.radius_m
    for garage in _by_distance(errand):
        if radius < garage[1] <= MOST_RADIUS_M:
            (found,) = _reached(errand, [garage])
            if refusal(errand, found) is None:
                return found
    return None


def _by_distance(errand: Errand) -> list[tuple[Garage, float]]:
    """All garages, and the metres to each as the crow flies; the nearest first."""
    garages = errand.conditions.garages
    if not garages:
        return []
    goal = errand.request.destination
    at = geometry.project(np.array([g.lon for g in garages]), np.array([g.lat for g in garages]))
    here = geometry.project(np.array([goal.lon]), np.array([goal.lat]))
    crow = geometry.between(at, here.x, here.y)
    return [(garages[i], float(crow[i])) for i in np.argsort(crow, kind="stable")]


def _reached(errand: Errand, chosen: Sequence[tuple[Garage, float]]) -> list[Spotted]:
    """Garages with the walk from each, and the drive to each, as far as numbers go."""
    weights = errand.weights
    on_foot = [weights.corner(garage.lon, garage.lat, Mode.WALK) for garage, _ in chosen]
    walks = _lengths(errand, errand.goal, on_foot, Mode.WALK)
    found = []
    for (garage, crow), snap, metres in zip(chosen, on_foot, walks, strict=True):
        drive, driven = _drive(errand, garage)
        arrive = errand.request.arrive_ms or errand.conditions.now_ms + (
            round(driven.time_s * 1000) if driven else 0
        )
        walk = None if snap is None or math.isinf(metres) else rounded("walk", metres)
        price = rounded("cost", garage.tariff.cost(errand.request.stay_minutes))
        found.append(Spotted(garage, crow, walk, price, arrive, None, drive, driven))
    return found


def _lengths(errand: Errand, goal: Snap, snaps: Sequence[Snap | None], mode: Mode) -> list[float]:
    """Metres from each point to the goal."""
    weighted = errand.weights.by("distance", mode, errand.costs)
    known = [snap for snap in snaps if snap is not None]
    lengths = iter(
        errand.weights.router.distances_to(goal, known, weighted, reverse=True).tolist()
        if known
        else []
    )
    return [math.inf if snap is None else next(lengths) for snap in snaps]


def _drive(errand: Errand, garage: Garage) -> tuple[Path | None, Measured | None]:
    """The fastest drive to a garage, if one drives."""
    if errand.start is None:
        return None, None
    router = errand.weights.router
    end = errand.weights.corner(garage.lon, garage.lat, Mode.CAR)
    weighted = errand.weights.by("time", Mode.CAR, errand.costs)
    path = router.shortest(errand.start, end, weighted) if end else None
    if path is None:
        return None, None
    rate = errand.car_cost_per_km
    return path, measure(path, Mode.CAR, errand.costs, rate, errand.access_m)


def refusal(errand: Errand, spotted: Spotted) -> Json | None:
    """Why a garage is never offered, as a reason with its sentence; None if it may be."""
    garage, say = spotted.garage, errand.words.say
    if garage.free is None:
        return {"code": "unknown-free", "text": say("reasons", "unknown-free")}
    if garage.free == 0 and spotted.arrive_ms - errand.conditions.now_ms <= _HOLDS_MS:
        counts = {"occupied": garage.occupied, "capacity": garage.capacity}
        sentence = "overfull" if garage.overfull else "full"
        return {"code": "full", **counts, "text": say("reasons", sentence, **counts)}
    if garage.open_at(spotted.arrive_ms) is False:
        opens = garage.opens_after(spotted.arrive_ms)
        text = (
            say("reasons", "closed")
            if opens is None
            else say("reasons", "closed_until", opens=times.clock(opens))
        )
        return {"code": "closed", "opens": times.iso_or_none(opens), "text": text}
    if spotted.walk_m is None:
        return {"code": "no-way", "text": say("reasons", "no-way")}
    if errand.start is not None and spotted.driven is None:
        return {"code": "no-drive", "text": say("reasons", "no-drive")}
    return None


def walked(errand: Errand, spotted: Spotted) -> Spotted:
    """With the walk itself, for who is shown it."""
    router, garage = errand.weights.router, spotted.garage
    start = errand.weights.corner(garage.lon, garage.lat, Mode.WALK)
    if start is None:
        return spotted
    weighted = errand.weights.by("distance", Mode.WALK, errand.costs)
    return replace(spotted, walk=router.shortest(start, errand.goal, weighted))
