"""Areas: circles and polygons that a parameter describes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import shapely
from shapely.errors import ShapelyError

from citywise.backend.errors import CitywiseError
from citywise.backend.space.geometry import Floats, Points, between, project, widened

_LARGEST_M = 50_000
_CIRCLE, _POLYGON = {"center", "radius_m"}, {"type", "coordinates"}


class BadAreaError(CitywiseError):
    """A value that describes no area; the message says what was expected."""


class Here(NamedTuple):
    """A point in degrees and on the map."""

    lon: float
    lat: float
    x: float
    y: float

    @classmethod
    def of(cls, lon: float, lat: float) -> Self:
        """The point of a longitude and a latitude in degrees."""
        at = project(np.array([lon]), np.array([lat]))
        return cls(lon, lat, float(at.x[0]), float(at.y[0]))


class Box(NamedTuple):
    """A rectangle on the map, its border included."""

    west: float
    south: float
    east: float
    north: float

    def holds(self, point: Here) -> bool:
        """Whether a point is inside or on the border."""
        return self.west <= point.x <= self.east and self.south <= point.y <= self.north


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """A circle on the ground or a polygon, its border included."""

    box: Box
    """All of it lies within."""
    center: Floats | None
    """`Points` of one, in a single array."""
    radius_m: float
    polygon: shapely.Polygon | None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Area:
        """The area of `{"center": {"lat", "lon"}, "radius_m"}` or a GeoJSON Polygon.

        Raises BadAreaError.
        """
        if value.keys() == _POLYGON and value["type"] == "Polygon":
            return _polygon(value["coordinates"])
        if value.keys() == _CIRCLE:
            return _circle(value["center"], value["radius_m"])
        found = ", ".join(map(str, value)) or "nothing"
        if value.keys() == _POLYGON:
            found = f"`type` {value['type']!r}"
        raise BadAreaError(
            f'an area is {{"center": {{"lat", "lon"}}, "radius_m"}} or a GeoJSON Polygon '
            f"(`type` and `coordinates`); found {found}"
        )

    def contains(self, lon: float, lat: float) -> bool:
        """Whether the point is inside or on the border."""
        return self.holds(Here.of(lon, lat))

    def holds(self, point: Here) -> bool:
        """Whether the point is inside or on the border."""
        if not self.box.holds(point):
            return False
        if self.polygon is not None:
            return bool(shapely.intersects_xy(self.polygon, point.lon, point.lat))
        assert self.center is not None
        away = between(Points(*self.center), np.array([point.x]), np.array([point.y]))
        return bool(away[0] <= self.radius_m)


def _circle(center: Any, radius_m: Any) -> Area:
    if not isinstance(center, Mapping) or center.keys() != {"lat", "lon"}:
        raise BadAreaError(f"center: {center!r} is not `lat` and `lon`, degrees of WGS84")
    _check_point("center", center["lon"], center["lat"])
    if not _is_number(radius_m) or not 0 < radius_m <= _LARGEST_M:
        raise BadAreaError(f"radius_m: {radius_m!r} is no number of metres, 0 to {_LARGEST_M}")
    at = project(np.array([center["lon"]], float), np.array([center["lat"]], float))
    x, y = float(at.x[0]), float(at.y[0])
    pad = float(widened(np.array([radius_m], float), at.factor)[0])
    return Area(Box(x - pad, y - pad, x + pad, y + pad), np.array(at), radius_m, None)


def _polygon(rings: Any) -> Area:
    if not isinstance(rings, list) or not rings:
        raise BadAreaError("coordinates: a Polygon is a list of rings, the outer one first")
    for number, ring in enumerate(rings):
        _check_ring(f"coordinates[{number}]", ring)
    try:
        polygon = shapely.Polygon(rings[0], rings[1:])
    except (ShapelyError, ValueError) as error:
        raise BadAreaError(f"coordinates: {error}") from error
    if not polygon.is_valid:
        reason = shapely.is_valid_reason(polygon)
        raise BadAreaError(f"coordinates: {reason}; rings may not cross themselves or others")
    shapely.prepare(polygon)
    west, south, east, north = polygon.bounds
    low, high = Here.of(west, south), Here.of(east, north)
    return Area(Box(low.x, low.y, high.x, high.y), None, math.nan, polygon)


def _check_ring(where: str, ring: Any) -> None:
    if not isinstance(ring, list) or len(ring) < 4 or ring[0] != ring[-1]:
        raise BadAreaError(
            f"{where}: a ring has at least four [lon, lat] points, the last one equal to the first"
        )
    for number, point in enumerate(ring):
        if not isinstance(point, list) or len(point) != 2:
            raise BadAreaError(f"{where}[{number}]: {point!r} is no [lon, lat] point")
        _check_point(f"{where}[{number}]", *point)


def _check_point(where: str, lon: Any, lat: Any) -> None:
    for name, value, most in (("lon", lon, 180), ("lat", lat, 90)):
        if not _is_number(value) or abs(value) > most:
            raise BadAreaError(f"{where}: {name} {value!r} is not between -{most} and {most}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
