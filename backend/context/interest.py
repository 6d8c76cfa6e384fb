"""Places of interest as values of the template, and coordinates put right."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pydantic import JsonValue

from citywise.backend.context.messages import Coordinate, PlaceOfInterest

POINT_RADIUS_M = 100
"""Events so near to a point of interest are at it, metres."""
_FAR_DEGREES, _NEAR_DEGREES = 5.0, 1.0
Values = dict[str, JsonValue]
"""Values of the template by its parameters."""


def place_values(place: PlaceOfInterest) -> Values:
    """The values that say where."""
    if place.type == "ROUTE":
        return {"interest": "my_route", "route": {"coordinates": _pairs(place.points)}}
    if place.type == "AREA":
        ring = _pairs(place.points)
        ring += [] if ring[0] == ring[-1] else [ring[0]]
        return {"interest": "area", "area": {"type": "Polygon", "coordinates": [ring]}}
    (point,) = place.points
    center: JsonValue = {"lat": point.latitude, "lon": point.longitude}
    return {"interest": "area", "area": {"center": center, "radius_m": POINT_RADIUS_M}}


def _pairs(points: Iterable[Coordinate]) -> list[JsonValue]:
    return [[point.longitude, point.latitude] for point in points]


def straight_place(
    place: PlaceOfInterest, near: Coordinate | None, path: str = "place"
) -> tuple[PlaceOfInterest, tuple[str, ...]]:
    """The place with latitudes and longitudes exchanged back if all of them are exchanged, and
    what to say of it; `near` is where it should be near."""
    points, notes = _straight(place.points, near, path)
    return (place.with_points(points) if notes else place), notes


def straight_point(
    point: Coordinate, near: Coordinate | None, path: str
) -> tuple[Coordinate, tuple[str, ...]]:
    """As `straight_place`, of one point."""
    points, notes = _straight([point], near, path)
    return points[0], notes


def _straight(
    points: list[Coordinate], near: Coordinate | None, path: str
) -> tuple[list[Coordinate], tuple[str, ...]]:
    if near is None or not all(_is_exchanged(point, near) for point in points):
        return points, ()
    note = f"{path}: latitude and longitude were exchanged; they were exchanged back"
    return [_exchanged(point) for point in points], (note,)


def _is_exchanged(point: Coordinate, near: Coordinate) -> bool:
    """Whether a point is far (beyond 5 degrees) from where it should be near, and within 1
    degree if it is read the other way."""
    return _apart(point, near) > _FAR_DEGREES and _apart(_exchanged(point), near) < _NEAR_DEGREES


def _apart(one: Coordinate, other: Coordinate) -> float:
    return math.hypot(one.latitude - other.latitude, one.longitude - other.longitude)


def _exchanged(point: Coordinate) -> Coordinate:
    return point.model_copy(update={"latitude": point.longitude, "longitude": point.latitude})
