"""Where things are: GeoJSON of foreign messages, and the geometries that we take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from citywise.backend.connectors.found import Fault

Position = tuple[float, float]
"""Longitude and latitude, WGS84."""
MOST_POINTS = 10_000
_CIRCLE_POINTS = 24
_METRES_PER_DEGREE = 111_195.0


def position(lon: object, lat: object, at: str) -> Position:
    """A position of two numbers, or texts of numbers."""
    try:
        found = float(lon), float(lat)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan, math.nan
    if isinstance(lon, bool) or isinstance(lat, bool) or not _is_sound(*found):
        raise Fault(
            "geometry", at, f"found {_short(lon)}, {_short(lat)}, expected longitude and latitude"
        )
    return found


def _is_sound(lon: float, lat: float) -> bool:
    return abs(lon) <= 180 and abs(lat) <= 90


def _short(value: object) -> str:
    return repr(value)[:40] if not isinstance(value, list | dict) else "a list"


def point(where: Position) -> dict[str, Any]:
    """A GeoJSON point."""
    return {"type": "Point", "coordinates": list(where)}


def line(points: Sequence[Position], at: str) -> dict[str, Any]:
    """A GeoJSON line; a point if all its points are the same."""
    if not points:
        raise Fault("no-geometry", at, "there are no coordinates")
    if len(points) > MOST_POINTS:
        raise Fault("geometry", at, f"found {len(points)} points, expected at most {MOST_POINTS}")
    if all(where == points[0] for where in points):
        return point(points[0])
    return {"type": "LineString", "coordinates": [list(where) for where in points]}


def geojson(told: object, at: str) -> dict[str, Any]:
    """The point or line of a GeoJSON geometry or feature; of an area its outline."""
    shape = told
    if isinstance(shape, dict) and shape.get("type") == "Feature":
        shape = shape.get("geometry")
        at = f"{at}/geometry"
    if not isinstance(shape, dict):
        raise Fault("geometry", at, "found no object, expected a geometry of GeoJSON")
    kind, coordinates = shape.get("type"), shape.get("coordinates")
    within = f"{at}/coordinates"
    match kind:
        case "Point":
            return point(_pair(coordinates, within))
        case "LineString":
            return line(_pairs(coordinates, within), within)
        case "MultiPoint":
            return line(_pairs(coordinates, within), within)
        case "MultiLineString" | "Polygon":
            return line(_pairs(_longest(coordinates, within, kind == "Polygon"), within), within)
        case "MultiPolygon":
            rings = [_longest(one, within, first=True) for one in _list(coordinates, within)]
            return line(_pairs(max(rings, key=len, default=[]), within), within)
    raise Fault("geometry", f"{at}/type", f"found {_short(kind)}, expected a geometry of GeoJSON")


def _list(value: object, at: str) -> list[Any]:
    if not isinstance(value, list):
        raise Fault("geometry", at, f"found {_short(value)}, expected coordinates")
    return value


def _longest(value: object, at: str, first: bool) -> list[Any]:
    parts = [_list(part, at) for part in _list(value, at)]
    return (parts[0] if first else max(parts, key=len)) if parts else []


def _pair(value: object, at: str) -> Position:
    pair = _list(value, at)
    if len(pair) < 2:
        raise Fault("geometry", at, f"found {len(pair)} numbers, expected longitude and latitude")
    return position(pair[0], pair[1], at)


def _pairs(value: object, at: str) -> list[Position]:
    found = _list(value, at)
    if len(found) > MOST_POINTS:
        raise Fault("geometry", at, f"found {len(found)} points, expected at most {MOST_POINTS}")
    return [_pair(one, at) for one in found]


def latitudes_first(text: str, at: str) -> list[Position]:
    """The positions of `52.69 6.20 52.70 6.21`, as GML's posList has them."""
    numbers = text.replace(",", " ").split()
    if len(numbers) % 2 or len(numbers) > 2 * MOST_POINTS:
        raise Fault("geometry", at, f"found {len(numbers)} numbers, expected pairs of them")
    return [position(lon, lat, at) for lat, lon in zip(numbers[::2], numbers[1::2], strict=True)]


def circle(middle: Position, radius_m: float) -> list[Position]:
    """The outline of a circle, closed; of a radius of 0 its middle."""
    if radius_m <= 0:
        return [middle]
    lon, lat = middle
    high = radius_m / _METRES_PER_DEGREE
    wide = high / max(math.cos(math.radians(lat)), 0.01)
    turns = (2 * math.pi * step / _CIRCLE_POINTS for step in range(_CIRCLE_POINTS))
    found = [
        (_within(lon + wide * math.cos(turn), 180), _within(lat + high * math.sin(turn), 90))
        for turn in turns
    ]
    return [*found, found[0]]


def _within(degrees: float, most: float) -> float:
    return round(min(max(degrees, -most), most), 6)


def around(outlines: Iterable[Sequence[Position]]) -> list[Position]:
    """One outline for several: the only one, or the hull around all."""
    every = [list(outline) for outline in outlines if outline]
    if len(every) <= 1:
        return every[0] if every else []
    points = sorted({where for outline in every for where in outline})
    if len(points) < 3:
        return points
    hull = [*_half(points), *_half(points[::-1])]
    return [*hull, hull[0]]


def _half(points: Sequence[Position]) -> list[Position]:
    """One half of the convex hull (Andrew's monotone chain), without its last point."""
    half: list[Position] = []
    for where in points:
        while len(half) >= 2 and _turn(half[-2], half[-1], where) <= 0:
            half.pop()
        half.append(where)
    return half[:-1]


def _turn(a: Position, b: Position, c: Position) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
