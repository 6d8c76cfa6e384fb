"""Other journeys for who is on one that is broken or late: from where they can leave it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from citywise.apps.travel_planner.requests import RequestError
from citywise.apps.travel_planner.transit.decide import Transit
from citywise.apps.travel_planner.transit.request import TransitRequest, read
from citywise.apps.travel_planner.transit.roads import Around
from citywise.apps.travel_planner.transit.telling import iso
from citywise.apps.travel_planner.transit.underway import Json, Spot, Underway, seconds

MOST = 3
WITHIN_MIN = 60
Body = Mapping[str, Any]
_ASKED = ("to", "constraints", "preferences", "walk")


def others(
    transit: Transit,
    found: Underway,
    plan: Body,
    request: Body,
    position: Spot | None,
    around: Around,
    language: str,
) -> list[Json]:
    """Up to three whole journeys, the best first: what is behind, and how to go on from there.

    Who is aboard goes on from where they get off; who was, from there; who is not yet, from
    where they are. Places on the way are left out once the journey has begun.
    """
    kept, start, since = _kept(found, request, position)
    mode = "transit" if kept else plan["mode"]
    via = request.get("via") or [] if not kept else []
    zone = transit.timetable.feeds[0].zone
    body = {
        **{name: request[name] for name in _ASKED if request.get(name)},
        "from": start,
        "via": via,
        "mode": mode,
        "depart": iso(since, zone),
        "alternatives": MOST + 1,
    }
    if mode == "transit":
        body["within_min"] = WITHIN_MIN  # who does not like the first may take a later one
    try:
        asked: TransitRequest = read(body)
        routes = transit.answer(asked, found.now * 1000, language, around)["routes"]
    except RequestError:
        return []
    present = _rides(found.legs)
    whole = [_joined(kept, route, found.now) for route in routes]
    return [each for each in whole if _rides(each["legs"]) != present][:MOST]


def is_same(one: Body, other: Body) -> bool:
    """Whether two journeys ride the same trips."""
    return _rides(one["legs"]) == _rides(other["legs"])


def _rides(legs: Sequence[Body]) -> list[tuple[str, str, str | None]]:
    return [
        (leg["trip"], leg["stop_from"], leg["planned"]["departs"]) for leg in legs if leg["trip"]
    ]


def _kept(
    found: Underway, request: Body, position: Spot | None
) -> tuple[Sequence[Json], Json, int]:
    """The legs that stay, where one goes on from, and when (Unix seconds)."""
    if found.aboard is not None:
        leg, kept = found.aboard, found.legs[: found.at + 1]
        return kept, _place(leg["to"]), seconds(leg["arrives"])
    behind = [n for n, leg in enumerate(found.legs[: found.at]) if leg["mode"] != "walk"]
    if behind:
        leg = found.legs[behind[-1]]
        since = max(found.now, seconds(leg["arrives"]))
        return found.legs[: behind[-1] + 1], _place(leg["to"]), since
    start: Json = dict(request["from"])
    if position is not None:
        start = {"lat": position[0], "lon": position[1]}
    return (), start, found.now


def _place(end: Body) -> Json:
    return {"lat": end["lat"], "lon": end["lon"]}


def _joined(kept: Sequence[Json], route: Json, now: int) -> Json:
    """A journey of what is behind and what follows; its time counts from now."""
    legs = [*kept, *route["legs"]]
    rides = sum(bool(leg["trip"]) and not leg.get("stays_seated") for leg in legs)
    line = [point for leg in legs for point in leg["geometry"]["coordinates"]]
    walked = sum(leg["distance_m"] for leg in kept if leg["mode"] == "walk")
    return {
        **route,
        "legs": legs,
        "geometry": {"type": "LineString", "coordinates": line},
        "distance_m": round(sum(leg["distance_m"] for leg in legs), 1),
        "departs": legs[0]["departs"],
        "time_s": max(0, seconds(route["arrives"]) - now),
        "changes": max(0, rides - 1),
        "walk_m": math.ceil(walked) + route["walk_m"],
    }
