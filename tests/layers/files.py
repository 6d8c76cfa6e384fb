"""Files of GeoJSON, written for a test."""

from __future__ import annotations

import json
from typing import Any

from citywise.backend.kinds import PlaceKind

SCHOOL = PlaceKind.model_validate(
    {
        "place": "school",
        "geometry": "area",
        "label": {"en": "Schools", "da": "Skoler"},
        "fields": {
            "limit": {"type": "integer", "unit": "km/h", "range": [5, 130]},
            "private": {"type": "boolean"},
            "level": {"type": "category", "values": ["first", "second"]},
        },
        "layer": {
            "id": "school_no",
            "name": {"en": "name", "da": "navn"},
            "opening_hours": "hours",
            "properties": {"limit": "max_speed"},
        },
    }
)


def square(west: float, south: float, size: float = 0.01) -> list[list[float]]:
    east, north = west + size, south + size
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def polygon(west: float = 10.2, south: float = 56.15, size: float = 0.01) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": [square(west, south, size)]}


def feature(key: Any = "north", geometry: Any = None, **properties: Any) -> dict[str, Any]:
    told = {"school_no": key, "name": "North School", "max_speed": 40, **properties}
    return {"type": "Feature", "geometry": geometry or polygon(), "properties": told}


def collection(*features: Any, **more: Any) -> bytes:
    return json.dumps({"type": "FeatureCollection", "features": list(features), **more}).encode()
