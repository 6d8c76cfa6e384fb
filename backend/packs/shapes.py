"""Lines and areas on the map as values of parameters; longitude and latitude in WGS84."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import JsonValue, TypeAdapter, ValidationError

from citywise.backend.ingest.payloads import Line
from citywise.backend.packs.values import BadValueError, show
from citywise.backend.space import Area, BadAreaError

_LINE: TypeAdapter[Any] = TypeAdapter(Line)
_POINT: dict[str, Any] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 2,
    "maxItems": 2,
    "description": "longitude and latitude",
}
LINE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"const": "LineString"},
        "coordinates": {"type": "array", "items": _POINT, "minItems": 2},
    },
    "required": ["coordinates"],
    "additionalProperties": False,
}
_CIRCLE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "center": {
            "type": "object",
            "properties": {
                "lat": {"type": "number", "minimum": -90, "maximum": 90},
                "lon": {"type": "number", "minimum": -180, "maximum": 180},
            },
            "required": ["lat", "lon"],
            "additionalProperties": False,
        },
        "radius_m": {"type": "number", "exclusiveMinimum": 0},
    },
    "required": ["center", "radius_m"],
    "additionalProperties": False,
}
_POLYGON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"const": "Polygon"},
        "coordinates": {"type": "array", "items": {"type": "array", "items": _POINT}},
    },
    "required": ["type", "coordinates"],
    "additionalProperties": False,
}
AREA_SCHEMA: dict[str, Any] = {"anyOf": [_CIRCLE, _POLYGON]}


def line(value: JsonValue, path: str) -> JsonValue:
    """`{"coordinates": …}` of a line of two points or more; raises `BadValueError`.

    A GeoJSON LineString is taken too.
    """
    fix = "give the points in the order of travel, longitude before latitude"
    expected = '"mine" or {"coordinates": [[lon, lat], [lon, lat], …]}'
    if not isinstance(value, dict) or set(value) - {"type"} != {"coordinates"}:
        raise BadValueError(path, show(value), expected, fix)
    if value.get("type", "LineString") != "LineString":
        raise BadValueError(f"{path}.type", show(value["type"]), '"LineString"', "give a line")
    try:
        points = _LINE.validate_json(orjson.dumps(value["coordinates"]), strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = "".join(f"[{key}]" for key in fault["loc"])
        found = f"{show(fault['input'])} ({fault['msg']})"
        raise BadValueError(f"{path}.coordinates{where}", found, expected, fix) from None
    return {"coordinates": [list(point) for point in points]}


def area(value: JsonValue, path: str) -> JsonValue:
    """A circle or a GeoJSON polygon as it is; raises `BadValueError`."""
    expected = '{"center": {"lat", "lon"}, "radius_m"} or a GeoJSON Polygon'
    if not isinstance(value, dict):
        raise BadValueError(path, show(value), expected, "give a circle or a polygon")
    try:
        Area.of(value)
    except BadAreaError as error:
        raise BadValueError(path, show(value), expected, str(error)) from None
    return value
