"""What lies in a place, or within some metres of it: the place is a point, a line or an area."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from shapely.geometry import shape
from shapely.geometry.base import BaseGeometry

from citywise.backend.space.areas import Box, Here
from citywise.backend.space.geometry import between, project, widened

MOST_M = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A place's geometry in degrees and on the map, prepared for many points."""

    degrees: BaseGeometry
    planar: BaseGeometry
    factor: float
    """The least number of metres that a planar metre has anywhere on it."""

    @classmethod
    def of(cls, geometry: Mapping[str, Any]) -> Place:
        """That of a checked GeoJSON geometry."""
        degrees = shape(dict(geometry))
        at = shapely.get_coordinates(degrees)
        points = project(at[:, 0], at[:, 1])
        planar = shapely.set_coordinates(shape(dict(geometry)), np.column_stack(points[:2]))
        shapely.prepare((degrees, planar))
        return cls(degrees, planar, float(points.factor.min()))


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """All that is at most some metres from a place; with none, what is in it or on its border."""

    place: Place
    radius_m: int
    box: Box
    """All of it lies within."""

    @classmethod
    def of(cls, place: Place, radius_m: int = 0) -> Around:
        """What is within a radius of a place, which is no more than `MOST_M`."""
        radius_m = min(radius_m, MOST_M)
        pad = float(widened(np.array([radius_m], float), np.array([place.factor]))[0])
        west, south, east, north = place.planar.bounds
        return cls(place, radius_m, Box(west - pad, south - pad, east + pad, north + pad))

    def holds(self, point: Here) -> bool:
        """Whether a point is in the place, on its border, or within the radius of it."""
        if not self.box.holds(point):
            return False
        if shapely.intersects_xy(self.place.degrees, point.lon, point.lat):
            return True
        return self.radius_m > 0 and self._away_m(point) <= self.radius_m

    def _away_m(self, point: Here) -> float:
        """Metres from a point outside to the nearest point of the place."""
        line = shapely.shortest_line(shapely.Point(point.x, point.y), self.place.planar)
        nearest = shapely.get_coordinates(line)[-1]
        here = project(np.array([point.lon]), np.array([point.lat]))
        return float(between(here, nearest[:1], nearest[1:])[0])
