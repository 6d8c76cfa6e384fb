"""A small town for trips: a main street and a bypass from south to north, with a lane between
them half way, two garages in the north, and somebody who follows a way through it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

from citywise.apps.travel_planner import answering, requests
from citywise.apps.travel_planner.beginning import new_trip
from citywise.apps.travel_planner.following import line_of
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.roads import City, Gazetteer
from citywise.apps.travel_planner.roads.building import NetworkBuilder
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.disturbances import OpenEvent
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.roads.tariffs import ASSUMED
from citywise.apps.travel_planner.trips import Position, Trip
from citywise.backend.times import parse_ms

NOON_MS = parse_ms("2014-08-05T12:00:00Z")
WEST, EAST = 10.200, 10.212
SOUTH, MIDDLE, NORTH = 56.150, 56.160, 56.170
FROM, TO = {"lat": SOUTH, "lon": WEST}, {"lat": NORTH, "lon": WEST}
ALICE = "alice"


@cache
def planner() -> Planner:
    """The planner of the town."""
    builder = NetworkBuilder()
    rows = [SOUTH, 56.1525, 56.155, 56.1575, MIDDLE, 56.1625, 56.165, 56.1675, NORTH]
    main = [builder.add_node(WEST, lat) for lat in rows]
    bypass = [builder.add_node(EAST, lat) for lat in rows]
    for column, name in ((main, "Main Street"), (bypass, "Bypass")):
        for tail, head in pairwise(column):
            builder.add_street(tail, head, name=name, speed_kmh=50)
    for row in (0, 4, 8):
        builder.add_street(main[row], bypass[row], name="Lane", speed_kmh=50)
    return Planner(City(builder.build("a test", "none"), Gazetteer(())))


def event(level: int = 4, lat: float = 56.1665, kind: str = "Accident") -> OpenEvent:
    """An event on the main street."""
    geometry = {"type": "Point", "coordinates": [WEST, lat]}
    return OpenEvent("crash", kind, level, "Main Street", WEST, lat, NOON_MS, geometry)


def garage(name: str = "MAIN", occupied: int = 50, **more: Any) -> Garage:
    """A garage in the north, on one of the two streets; its places are counted every minute."""
    lon = WEST if name == "MAIN" else EAST
    known = Garage(name, name.title(), 56.1695, lon, NOON_MS, 100, occupied, NOON_MS, None, ASSUMED)
    return replace(known, **more)


@dataclass
class Live:
    """The city's conditions, as a test says they are."""

    now_ms: int = NOON_MS
    events: tuple[OpenEvent, ...] = ()
    garages: tuple[Garage, ...] = field(default_factory=lambda: (garage("MAIN"), garage("EAST")))
    _kept: Conditions | None = None

    def refresh(self) -> Conditions:
        """The conditions now, the same ones while nothing changes."""
        if self._kept is None:
            network = planner().city.network
            garages = tuple(replace(one, at_ms=self.now_ms) for one in self.garages)
            self._kept = Conditions.calm(network, self.now_ms, events=self.events, garages=garages)
        return self._kept

    def change(self, **what: Any) -> Conditions:
        """Let something be otherwise."""
        for name, value in what.items():
            setattr(self, name, value)
        self._kept = None
        return self.refresh()


def travel_answer(live: Live, **more: Any) -> dict[str, Any]:
    """A plan from the south to the north."""
    body = {"from": FROM, "to": TO, "mode": "car", **more}
    request = requests.read(requests.TravelRequest, body, None)
    return {"plan": "pl_test", **planner().travel(request, live.refresh())}


def parking_answer(live: Live, **more: Any) -> dict[str, Any]:
    """A plan for where to park in the north."""
    body = {"destination": TO, "from": FROM, "radius_m": 1500, **more}
    request = requests.read(requests.ParkingRequest, body, None)
    return {"plan": "pl_test", **planner().parking(request, live.refresh())}


def trip(live: Live, kind: str = "travel", user: str = ALICE, **more: Any) -> Trip:
    """Alice on the way that the planner chose."""
    answer = travel_answer(live, **more) if kind == "travel" else parking_answer(live, **more)
    option = answer["routes" if kind == "travel" else "garages"][0]
    return new_trip(user, answer, option, None, "en", live.now_ms)


def moved(found: Trip, lat: float, lon: float = WEST, **more: Any) -> Trip:
    """Alice somewhere else."""
    position = Position(lat, lon, NOON_MS, **more)
    there = found.with_content(found.updated_ms, position=position)
    return there.with_content(
        found.updated_ms, **answering.placed(there.content, line_of(there.content.plan))
    )
