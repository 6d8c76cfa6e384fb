"""Areas: circles and polygons that a parameter describes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from shapely.errors import ShapelyError

from backend.errors import CitywiseError
from backend.space.geometry import between, project

_LARGEST_M = 50_000


class BadAreaError(CitywiseError):
    """A value that describes no area; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Area:
    """A circle on the ground or a polygon, its border included."""

    lon: float
    lat: float
    radius_m: float
    polygon: shapely.Polygon | None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Area:
        """The area of `{"center": {"lat", "lon"}, "radius_m"}` or a GeoJSON Polygon.

        Raises BadAreaError.
        """
        if value.get("type") == "Polygon":
            return cls(math.nan, math.nan, math.nan, _polygon(value.get("coordinates")))
        if "center" in value and "radius_m" in value:
            return _circle(value["center"], value["radius_m"])
        found = ", ".join(map(str, value)) or "nothing"
        raise BadAreaError(
            f'an area is {{"center": {{"lat", "lon"}}, "radius_m"}} or a GeoJSON Polygon '
            f"(`type` and `coordinates`); found {found}"
        )

    def contains(self, lon: float, lat: float) -> bool:
        """Whether the point is inside or on the border."""
        if self.polygon is not None:
            return bool(shapely.intersects_xy(self.polygon, lon, lat))
        here, there = (
            project(np.array([x]), np.array([y])) for x, y in ((self.lon, self.lat), (lon, lat))
        )
        return bool(between(here, there.x, there.y)[0] <= self.radius_m)


def _circle(center: Any, radius_m: Any) -> Area:
    if not isinstance(center, Mapping) or {"lat", "lon"} - center.keys():
        raise BadAreaError(f"center: {center!r} lacks `lat` and `lon`, degrees of WGS84")
    _check_point("center", center["lon"], center["lat"])
    if not _is_number(radius_m) or not 0 < radius_m <= _LARGEST_M:
        raise BadAreaError(f"radius_m: {radius_m!r} is no number of metres, 0 to {_LARGEST_M}")
    return Area(center["lon"], center["lat"], radius_m, None)


def _polygon(rings: Any) -> shapely.Polygon:
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
    return polygon


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
