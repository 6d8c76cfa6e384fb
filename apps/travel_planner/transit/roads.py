"""Journeys by car, bicycle or on foot all the way, beside those by line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.requests import RequestError, TravelRequest
from citywise.apps.travel_planner.requests import read as read_as
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.transit.offers import Offer
from citywise.apps.travel_planner.transit.request import TransitRequest
from citywise.backend.app import times as clock

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Around:
    """The city around the lines: its streets, and what is known of them now."""

    planner: Planner
    conditions: Conditions


def road_offers(
    request: TransitRequest, around: Around, at: int, language: str, zone: ZoneInfo
) -> Iterator[Offer]:
    """The best way by car and by bicycle between two positions; none if one is a stop, or not in
    the city, or the journey goes along other places. On foot it is among the journeys by line.

    Where the arrival is given, one leaves by what the drive takes at that time.
    """
    if request.via or request.start.stop is not None or request.to.stop is not None:
        return
    conditions, planner = around.conditions, around.planner
    depart = clock.iso(max(at * 1000, conditions.now_ms))
    for mode in (Mode.CAR, Mode.BICYCLE):
        body = {
            "from": request.start.model_dump(include={"lat", "lon"}),
            "to": request.to.model_dump(include={"lat", "lon"}),
            "mode": str(mode),
            "depart": depart,
            "alternatives": 1,
        }
        try:
            asked = read_as(TravelRequest, body, planner.situation(conditions))
            routes = planner.travel(asked, conditions, language)["routes"]
        except RequestError:
            continue
        for route in routes[:1]:
            yield _offer(route, at, request, zone)


def _offer(route: Json, at: int, request: TransitRequest, zone: ZoneInfo) -> Offer:
    seconds = math.ceil(route["time_s"])
    departs, arrives = (at - seconds, at) if request.arrive is not None else (at, at + seconds)
    ends = {"departure": float(departs), "arrival": float(arrives)}
    values = {
        **{name: ends[name] for name in request.times},
        "changes": 0.0,
        "walk": float(route["walk_m"]),
        "time": route["time_s"],
        "distance": route["distance_m"],
        "cost": route["cost"],
        "pollution": route["pollution"],
    }
    times = {
        name: datetime.fromtimestamp(time, zone).isoformat()
        for name, time in (("departs", departs), ("arrives", arrives))
    }
    leg = {
        "mode": route["mode"],
        "from": _end(route, 0),
        "to": _end(route, -1),
        "distance_m": route["distance_m"],
        "geometry": route["geometry"],
        **dict.fromkeys(("stop_from", "stop_to", "route", "trip", "headsign")),
        **times,
        "planned": times,
    }
    told = {**route, **times, "changes": 0, "legs": [leg]}
    for name in ("id", "chosen", "why", "reasons", "difference", "best_at"):
        told.pop(name, None)
    return Offer(route["mode"], values, lambda: told)


def _end(route: Json, at: int) -> Json:
    lon, lat = route["geometry"]["coordinates"][at]
    return {"lat": lat, "lon": lon}
