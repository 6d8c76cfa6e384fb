"""What a map shows below its streets: water, green, built-up land, rails, and names of quarters.

Vector data of the city's own, as GeoJSON, so that no foreign server draws the map. What is too
small to be seen in a whole city is left out, and lines have no more points than show.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import shapely
from shapely.geometry import mapping
from shapely.geometry.base import BaseGeometry

from citywise.apps.travel_planner.roads.network import NetworkError
from citywise.backend.app import geometry as ground

log = logging.getLogger(__name__)

AREAS = ("water", "green", "built")
LINES = ("river", "rail")
NAMED = ("quarter",)
KINDS = (*AREAS, *LINES, *NAMED)
LEAST_M2 = 3_000.0
"""Smaller areas are left out."""
_TOLERANCE_M = 4.0
_DECIMALS = 5
"""Of degrees: about a metre."""
MOST = 12_000
"""Features: what a page can draw at once; of more the largest areas are taken."""
_OF_TAGS: Mapping[str, Mapping[str, str]] = {
    "natural": {"water": "water", "wood": "green", "heath": "green", "grassland": "green",
                "scrub": "green", "wetland": "green", "beach": "green"},
    "landuse": {"reservoir": "water", "basin": "water", "forest": "green", "grass": "green",
                "meadow": "green", "cemetery": "green", "allotments": "green",
                "village_green": "green", "recreation_ground": "green", "residential": "built",
                "commercial": "built", "industrial": "built", "retail": "built"},
    "leisure": {"park": "green", "garden": "green", "nature_reserve": "green",
                "golf_course": "green"},
    "waterway": {"riverbank": "water", "dock": "water", "river": "river", "canal": "river"},
    "railway": {"rail": "rail", "light_rail": "rail", "tram": "rail"},
    "place": {"suburb": "quarter", "quarter": "quarter", "neighbourhood": "quarter",
              "borough": "quarter", "village": "quarter", "town": "quarter"},
}  # fmt: skip
KEYS = tuple(_OF_TAGS)
Json = dict[str, Any]


def kind_of(tags: Mapping[str, str]) -> str | None:
    """What the tags of an object of OpenStreetMap make of it here, if anything."""
    return next(
        (kind for key, known in _OF_TAGS.items() if (kind := known.get(tags.get(key, "")))), None
    )


class Basemap:
    """Features of a map, in the order in which they are drawn."""

    def __init__(self, features: Iterable[Json] = ()) -> None:
        self.features = list(features)

    def save(self, path: Path) -> None:
        """Write it to a file, at once or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(self.geojson())
        part.replace(path)

    def geojson(self, **more: str | None) -> bytes:
        """A FeatureCollection, with `more` beside its features; each of these has a `kind`
        (`KINDS`) and a `name` or null."""
        return orjson.dumps({"type": "FeatureCollection", **more, "features": self.features})

    @classmethod
    def load(cls, path: Path) -> Basemap:
        """Read what `save` wrote; empty where there is no file. Raises `NetworkError`."""
        try:
            return cls(orjson.loads(path.read_bytes())["features"])
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise NetworkError(
                f"{path}: not a base map ({error}); remove the file, or make the city again with "
                "`citywise city import` (docs/city.md)"
            ) from error


def made(found: Iterable[tuple[str, str | None, BaseGeometry]]) -> Basemap:
    """A base map of kinds, names and shapes in degrees: simplified, without what is too small."""
    drawn = sorted(_drawn(found), key=lambda each: each[:2])
    if len(drawn) > MOST:
        log.warning("the base map has %d features; the %d largest are kept", len(drawn), MOST)
    order = [each[2] for each in drawn[:MOST]]
    return Basemap(sorted(order, key=lambda each: KINDS.index(each["properties"]["kind"])))


def _drawn(
    found: Iterable[tuple[str, str | None, BaseGeometry]],
) -> Iterator[tuple[float, int, Json]]:
    """What is worth drawing, and how it ranks: what has no area first, then the largest."""
    for number, (kind, name, shape) in enumerate(found):
        area = _square_metres(shape)
        if shape.is_empty or (kind in AREAS and area < LEAST_M2):
            continue
        thinned = shape.simplify(_TOLERANCE_M / ground.METRES_PER_DEGREE)
        rounded = shapely.set_precision(thinned, 10.0**-_DECIMALS)
        if not rounded.is_empty:
            properties = {"kind": kind, "name": name}
            feature = {
                "type": "Feature",
                "properties": properties,
                "geometry": _rounded(mapping(rounded)),
            }
            yield (-area if kind in AREAS else -float("inf")), number, feature


def _rounded(geometry: Any) -> Json:
    """Without the noise of floating point numbers."""

    def tidy(value: Any) -> Any:
        if isinstance(value, int | float):
            return round(value, _DECIMALS)
        return [tidy(each) for each in value]

    return {"type": geometry["type"], "coordinates": tidy(geometry["coordinates"])}


def _square_metres(shape: BaseGeometry) -> float:
    if shape.is_empty:
        return 0.0
    wide, high = ground.plane(shape.centroid.y)
    return float(shape.area * wide * high)
