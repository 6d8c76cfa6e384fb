"""To the line by one's own means: by bicycle to a stop, by car to a garage and on foot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from citywise.apps.travel_planner.ground import Measured, measure
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.costs import KMH
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.transit.ground import DETOUR, Ground, straight_m
from citywise.apps.travel_planner.transit.journeys import Place
from citywise.apps.travel_planner.transit.search import Ends
from citywise.apps.travel_planner.transit.streets import Streets
from citywise.apps.travel_planner.transit.telling import Telling

MOST_CYCLED_M = 5_000.0
MOST_GARAGES = 5
"""Garages from which lines are looked for: those soonest reached."""
BICYCLE_MS = KMH[Mode.BICYCLE] / 3.6
Json = dict[str, Any]


@dataclass(frozen=True)
class Cycled:
    """By bicycle, which stays at the stop."""

    metres: dict[int, float]

    def legs(self, telling: Telling, place: Place, stop: int, until: int) -> Iterator[Json]:
        """In time for a departure (Unix seconds)."""
        metres = self.metres[stop]
        here = {"lat": place.lat, "lon": place.lon}
        span = (until - _seconds(metres), until)
        yield telling.moved("bicycle", (here, telling.stop(stop)), span, metres)


def cycling(lat: float, lon: float, ground: Ground, streets: Streets | None) -> Place:
    """A place from which one goes by bicycle to the stops around."""
    stops, metres = ground.stops, {}
    near = {
        place: DETOUR * straight_m(lat, lon, stop.lat, stop.lon)
        for place, stop in enumerate(stops.all)
        if straight_m(lat, lon, stop.lat, stop.lon) <= MOST_CYCLED_M
    }
    if streets is not None and streets.known(lat, lon):
        ends = {place: (stops.all[place].lat, stops.all[place].lon) for place in near}
        known = [place for place, end in ends.items() if streets.known(*end)]
        found = streets.metres(lat, lon, [ends[place] for place in known])
        near |= dict(zip(known, found, strict=True))
    metres = {place: far for place, far in near.items() if far <= MOST_CYCLED_M}
    access = {place: (_seconds(far), 0) for place, far in metres.items()}
    return Place(lat, lon, access=access, lead=Cycled(metres))


def _seconds(metres: float) -> int:
    return -int(-metres // BICYCLE_MS)


@dataclass(frozen=True)
class Parked:
    """By car to a garage, and on foot to the stop."""

    garage: Garage
    driven: Measured
    line: list[tuple[float, float]]
    seconds: int
    free: int | None

    def legs(self, telling: Telling, place: Place, stop: int, until: int) -> Iterator[Json]:
        """In time for a departure (Unix seconds)."""
        garage, (walk_s, _) = self.garage, telling.reach(self.garage.lat, self.garage.lon)[stop]
        left = until - walk_s
        here, there = {"lat": place.lat, "lon": place.lon}, _point(garage)
        span = (left - self.seconds, left)
        leg = telling.moved("car", (here, there), span, self.driven.distance_m)
        leg["geometry"] = {"type": "LineString", "coordinates": self.line}
        tariff = garage.tariff
        price = {"per_hour": tariff.per_hour, "day_most": tariff.day_most}
        parked = {**there, "free_expected": self.free, "capacity": garage.capacity, "price": price}
        yield {**leg, "cost": self.driven.cost, "pollution": self.driven.pollution, "park": parked}
        yield telling.walk(there, telling.stop(stop), left, until)


def _point(garage: Garage) -> Json:
    return {"lat": garage.lat, "lon": garage.lon, "name": garage.name, "garage": garage.id}


class Drive:
    """Drives from a position (latitude, longitude) under the conditions of a time."""

    def __init__(
        self, start: tuple[float, float], planner: Planner, conditions: Conditions, depart_s: int
    ) -> None:
        self._planner, self._costs = planner, conditions.costs(depart_s * 1000)
        self._begin = planner.weights.router.snap(start[1], start[0], Mode.CAR)
        self._weighted = planner.weights.by("time", Mode.CAR, self._costs)

    def to(self, garage: Garage) -> tuple[Path, Measured, int] | None:
        """The soonest way to a garage, what it takes, and its seconds; None: there is none."""
        weights = self._planner.weights
        end = weights.corner(garage.lon, garage.lat, Mode.CAR)
        if self._begin is None or end is None:
            return None
        path = weights.router.shortest(self._begin, end, self._weighted)
        if path is None:
            return None
        rate, access_m = self._planner.car_cost_per_km, self._begin.metres
        driven = measure(path, Mode.CAR, self._costs, rate, access_m)
        return path, driven, math.ceil(driven.time_s)


def parking(
    start: tuple[float, float],
    ground: Ground,
    planner: Planner,
    conditions: Conditions,
    depart_s: int,
) -> list[Place]:
    """Places from which one drives to a garage with places expected, each with its garage; those
    first that are soonest reached."""
    drive = Drive(start, planner, conditions, depart_s)
    found: list[Parked] = []
    for garage in conditions.garages:
        to_it = drive.to(garage) if garage.free is not None else None
        if to_it is None or garage.free is None:
            continue
        path, driven, seconds = to_it
        arrive_ms = (depart_s + seconds) * 1000
        expected = garage.expected(arrive_ms)
        free = garage.free if expected is None else expected.free
        if free > 0 and garage.open_at(arrive_ms) is not False:
            found.append(Parked(garage, driven, path.coordinates(), seconds, free))
    soonest = sorted(found, key=lambda each: each.seconds)[:MOST_GARAGES]
    return [_parked(start, each, ground) for each in soonest]


def _parked(start: tuple[float, float], parked: Parked, ground: Ground) -> Place:
    garage = parked.garage
    access: Ends = {
        stop: (parked.seconds + seconds, micro)
        for stop, (seconds, micro) in ground.reach(garage.lat, garage.lon).items()
    }
    return Place(start[0], start[1], access=access, lead=parked)
