"""Where one can be by line and on foot within some minutes (an isochrone), as GeoJSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import shapely
from shapely.geometry import mapping

from citywise.apps.travel_planner.transit.days import Calendar
from citywise.apps.travel_planner.transit.ground import DETOUR, MICRO, RADIUS_M, Ground
from citywise.apps.travel_planner.transit.search import Search, Span
from citywise.apps.travel_planner.transit.telling import iso

_CORNERS = 6
"""Of a quarter of a circle."""
_SMOOTH_M = 5.0
Json = dict[str, Any]
Radius = tuple[float, int, int]
"""Metres left to walk (straight), when one got off, and rides."""


def reachable(
    calendar: Calendar,
    ground: Ground,
    lat: float,
    lon: float,
    span: tuple[int, int],
    compiled: bool,
) -> Mapping[int, Radius]:
    """By stop the soonest one gets off there within a span of Unix seconds, and how far one can
    walk on from there by its end: who gets off later may have walked less before."""
    limit, speed = ground.walk.limit, ground.walk.speed_ms
    search = Search(ground, calendar.between(*span), backwards=False, compiled=compiled)
    off = search.reach(ground.reach(lat, lon), Span(*span, limit))
    found = {}
    for stop, rows in off.items():
        left = max(
            min((span[1] - time) * speed, (limit - micro) / MICRO) for time, micro, _ in rows
        )
        time, rides = min((time, rides) for time, _, rides in rows)
        found[stop] = left / DETOUR, time, rides
    return found


def as_geojson(
    found: Mapping[int, Radius],
    ground: Ground,
    lat: float,
    lon: float,
    span: tuple[int, int],
    zone: ZoneInfo,
) -> Json:
    """The area as the first feature, then the stops, the soonest first."""
    stops, walk = ground.stops, ground.walk
    on_foot = min((span[1] - span[0]) * walk.speed_ms, walk.max_m) / DETOUR
    circles = [(lat, lon, on_foot)]
    circles += [
        (stops.all[stop].lat, stops.all[stop].lon, left) for stop, (left, _, _) in found.items()
    ]
    area = {
        "type": "Feature",
        "id": "area",
        "geometry": _union(np.array(circles), lat),
        "properties": {"departs": iso(span[0], zone), "until": iso(span[1], zone)},
    }
    features: list[Json] = [area]
    for stop, (left, time, rides) in sorted(found.items(), key=lambda each: each[1][1:]):
        here = stops.all[stop]
        told = {"name": here.name, "arrives": iso(time, zone), "changes": rides - 1}
        features.append(
            {
                "type": "Feature",
                "id": here.id,
                "geometry": {"type": "Point", "coordinates": [here.lon, here.lat]},
                "properties": {**told, "walk_m": round(left)},
            }
        )
    return {"type": "FeatureCollection", "features": features}


def _union(circles: np.ndarray[Any, np.dtype[np.float64]], lat: float) -> Json:
    """Circles (latitude, longitude, metres) as one area; on a plane that is true about `lat`."""
    metres = math.radians(1) * RADIUS_M
    scale = np.array([metres * math.cos(math.radians(lat)), metres])
    points = shapely.points(circles[:, 1::-1] * scale)
    union = shapely.union_all(shapely.buffer(points, circles[:, 2], quad_segs=_CORNERS))
    plain = shapely.transform(
        shapely.simplify(union, _SMOOTH_M), lambda at: np.round(at / scale, 6)
    )
    return dict(mapping(plain))
