"""The geo-queries of NGSI-LD, such as `near;maxDistance==2000` of a Point.

Source: ETSI GS CIM 009 V1.8.1, clause 4.10. Distances are metres; what is no point is measured
from its nearest point, on a plane around the reference.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import shapely
from shapely.errors import ShapelyError
from shapely.geometry import shape
from shapely.geometry.base import BaseGeometry
from shapely.ops import nearest_points

from citywise.backend.ngsi.entities import Entity
from citywise.backend.ngsi.query import QueryError
from citywise.backend.space.sphere import distance_m

Test = Callable[[Entity], bool]
GEOMETRIES = ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon")
_NEAR = re.compile(r"near;(max|min)Distance==(\d+(?:\.\d+)?)")
_RELATIONS: dict[str, Callable[[BaseGeometry, BaseGeometry], bool]] = {
    "within": lambda one, other: bool(one.within(other)),
    "contains": lambda one, other: bool(one.contains(other)),
    "intersects": lambda one, other: bool(one.intersects(other)),
    "equals": lambda one, other: bool(one.equals(other)),
    "disjoint": lambda one, other: bool(one.disjoint(other)),
    "overlaps": lambda one, other: bool(one.overlaps(other)),
}
_MOST_CHARACTERS = 100_000


def parse(georel: str, geometry: str, coordinates: str, name: str = "location") -> Test:
    """What a geo-query tests of the attribute of a name; raises `QueryError`."""
    reference = _shape(geometry, coordinates)
    if (near := _NEAR.fullmatch(georel)) is not None:
        most, metres = near[1] == "max", float(near[2])
        if reference.geom_type != "Point":
            raise QueryError("georel near: the geometry has to be a Point")
        return _with(name, lambda found: (_metres(reference, found) <= metres) is most)
    relation = _RELATIONS.get(georel)
    if relation is None:
        known = ", ".join(_RELATIONS)
        raise QueryError(f"georel: `{georel}` is not near;maxDistance==METRES or one of {known}")
    return _with(name, lambda found: relation(found, reference))


def _with(name: str, test: Callable[[BaseGeometry], bool]) -> Test:
    def holds(entity: Entity) -> bool:
        attribute = entity.get(name)
        if not isinstance(attribute, dict) or attribute["type"] != "GeoProperty":
            return False
        return test(shape(attribute["value"]))

    return holds


def _shape(geometry: str, coordinates: str) -> BaseGeometry:
    if geometry not in GEOMETRIES:
        raise QueryError(f"geometry: `{geometry}` is not one of {', '.join(GEOMETRIES)}")
    if len(coordinates) > _MOST_CHARACTERS:
        raise QueryError("coordinates: they are too many")
    try:
        told: Any = json.loads(coordinates)
        found = shape({"type": geometry, "coordinates": told})
        if found.is_empty or not all(map(math.isfinite, found.bounds)):
            raise ValueError("it is empty")
        if not found.is_valid:
            raise ValueError(shapely.is_valid_reason(found))
    except (
        ValueError,
        TypeError,
        IndexError,
        RecursionError,
        ShapelyError,
    ) as error:
        raise QueryError(f"coordinates: no {geometry} of [longitude, latitude]: {error}") from None
    return found


def _metres(reference: BaseGeometry, found: BaseGeometry) -> float:
    lon, lat = reference.coords[0][:2]
    narrow = max(math.cos(math.radians(lat)), 0.01)
    here, there = (
        shapely.transform(one, lambda points: points * (narrow, 1.0)) for one in (reference, found)
    )
    near_x, near_y = nearest_points(here, there)[1].coords[0][:2]
    return distance_m(lat, lon, near_y, near_x / narrow)
