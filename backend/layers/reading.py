"""A file of GeoJSON as the places of a layer: all of it, or a report of what is wrong with it.

No I/O. Nothing is guessed: what cannot be a place refuses the file, so that a layer is never half
of what its maker meant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from citywise.backend.connectors.ids import identifier, name
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest.payloads import Place
from citywise.backend.ingest.standing import MOST_BYTES
from citywise.backend.kinds import PlaceKind, place_fields
from citywise.backend.kinds.kind import MOST_LAYER_BYTES, Field
from citywise.backend.opening import BadHoursError, check_hours
from citywise.backend.packs.values import show

MOST_FEATURES = 100_000
MOST_FAULTS = 20
"""Told of one file."""
TYPES = ("Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon")
_WGS84 = ("CRS84", "EPSG::4326", "EPSG:4326", "EPSG/0/4326")
_CONVERT = "write longitude and latitude (`ogr2ogr -t_srs EPSG:4326 new.geojson old.geojson`)"
_DEEPEST = 3
"""Lists around a point, in a MultiPolygon."""
_NEAR = 1.0
"""Degrees around a city within which its layers are expected."""

Bounds = tuple[float, float, float, float]
"""West, south, east and north, degrees."""


class LayerError(CitywiseError):
    """A file is no layer; names file, feature and key of what is wrong, and what to do."""

    def __init__(self, file: str, faults: Sequence[str]) -> None:
        more = len(faults) - MOST_FAULTS
        told = [*faults[:MOST_FAULTS], *([f"and {more} more"] if more > 0 else [])]
        super().__init__("\n".join(f"{file}: {fault}" for fault in told))
        self.faults = tuple(faults)


@dataclass(frozen=True)
class Layer:
    """The places of a layer, and what is to be said of the file that they came from."""

    kind: str
    places: tuple[Place, ...]
    remarks: tuple[str, ...]


class _FeatureError(Exception):
    """What is wrong with a feature, from its key on."""


def read(kind: PlaceKind, content: bytes, file: str, city: Bounds | None = None) -> Layer:
    """The layer in a file; raises `LayerError`.

    `city` is where other places are, so that exchanged coordinates are noticed.
    """
    return _Reading(kind, file).layer(_features(content, file, kind), city)


def _features(content: bytes, file: str, kind: PlaceKind) -> list[Any]:
    """What a file lists as its features."""
    most = kind.layer.max_bytes if kind.layer else MOST_LAYER_BYTES
    if len(content) > most:
        raise LayerError(file, [f"has {len(content):,} bytes, at most {most:,} are read"])
    try:
        found = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        hint = "; JSON has no NaN" if b"NaN" in content else ""
        raise LayerError(file, [f"is no JSON: {error}{hint}"]) from None
    told = found.get("type") if isinstance(found, dict) else None
    if told == "Feature":
        return [found]
    if told != "FeatureCollection" or not isinstance(found.get("features"), list):
        what = f"`type` is {show(told)}" if isinstance(found, dict) else f"found {show(found)}"
        raise LayerError(file, [f"{what}, expected a FeatureCollection with `features`"])
    if crs := _foreign_crs(found):
        raise LayerError(file, [f"crs: found {crs}, expected WGS84; {_CONVERT}"])
    features: list[Any] = found["features"]
    if not features:
        said = "has no features; nothing is replaced by nothing (a layer can be removed)"
        raise LayerError(file, [said])
    if len(features) > MOST_FEATURES:
        said = f"has {len(features):,} features, at most {MOST_FEATURES:,} are read; split the file"
        raise LayerError(file, [said])
    return features


def _foreign_crs(found: Mapping[str, Any]) -> str | None:
    """The reference system that an old file names, where it is not that of GeoJSON."""
    told = found.get("crs")
    if told is None:
        return None
    properties = told.get("properties") if isinstance(told, dict) else None
    called = str(properties.get("name") if isinstance(properties, dict) else told)
    return None if called.endswith(_WGS84) else show(called)


class _Reading:
    """A file as it is read, feature by feature."""

    def __init__(self, kind: PlaceKind, file: str) -> None:
        assert kind.layer is not None, f"`{kind.place}` is no layer"
        self._kind, self._layer, self._file = kind, kind.layer, file
        self._ids: dict[str, int] = {}
        self._faults: list[str] = []
        self._remarks: Counter[str] = Counter()

    def layer(self, features: Sequence[Any], city: Bounds | None) -> Layer:
        """All features; raises `LayerError`."""
        places = [place for n, one in enumerate(features) if (place := self._place(n, one))]
        if self._faults:
            raise LayerError(self._file, self._faults)
        if not places:
            raise LayerError(self._file, ["no feature has a geometry"])
        if city is not None and (fault := _elsewhere(places, city)):
            raise LayerError(self._file, [fault])
        remarks = [f"{said} ({n} features)" if n > 1 else said for said, n in self._remarks.items()]
        return Layer(self._kind.place, tuple(places), tuple(remarks))

    def _place(self, number: int, feature: Any) -> Place | None:
        told = ""
        try:
            if not isinstance(feature, dict) or feature.get("type") != "Feature":
                raise _FeatureError(f"found {show(feature)}, expected a Feature")
            properties = feature.get("properties") or {}
            if not isinstance(properties, dict):
                raise _FeatureError(f"properties: found {show(properties)}, expected an object")
            foreign = self._id(feature, properties)
            told = f" (`{foreign}`)"
            if feature.get("geometry") is None:
                self._remarks["a feature without geometry is left out"] += 1
                return None
            return self._identified_place(number, foreign, feature["geometry"], properties)
        except _FeatureError as fault:
            self._faults.append(f"feature {number}{told}: {fault}")
            return None

    def _id(self, feature: Mapping[str, Any], properties: Mapping[str, Any]) -> str:
        """What the file calls a feature."""
        if self._layer.id is not None:
            found = properties.get(self._layer.id)
            where = f"properties.{self._layer.id}"
        else:
            found, where = feature.get("id", properties.get("id")), "id"
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
            cure = "give each feature an `id`, or name the property with it (`id` in [layer])"
            raise _FeatureError(
                f"{where}: found {show(found)}, expected a text or whole number; {cure}"
            )
        return str(found)

    def _identified_place(
        self, number: int, foreign: str, geometry: Any, properties: Mapping[str, Any]
    ) -> Place:
        key = identifier(f"{self._kind.place}.{foreign}", "id")
        before = self._ids.setdefault(key, number)
        if before != number:
            raise _FeatureError(f"id: feature {before} has it, too; ids are of one feature")
        body = {
            "id": key,
            "kind": self._kind.place,
            "sensors": [],
            "geometry": self._flat(geometry),
            **self._names(foreign, properties),
            **self._hours(properties),
            **self._fields(properties),
            **self._others(properties),
        }
        text = orjson.dumps(body)
        if len(text) > MOST_BYTES:
            raise _FeatureError(
                f"has {len(text):,} bytes, at most {MOST_BYTES:,} are taken; simplify its geometry"
            )
        try:
            return Place.model_validate_json(text)
        except ValidationError as error:
            raise _FeatureError(_first_fault(error)) from None

    # -- properties -------------------------------------------------------------------

    def _names(self, foreign: str, properties: Mapping[str, Any]) -> dict[str, str]:
        """The name, and beside it that in each language."""
        wanted = self._layer.name
        if isinstance(wanted, str):
            return {"name": name(_text(properties.get(wanted)), foreign)}
        found = {
            language: name(text, foreign)
            for language, key in wanted.items()
            if (text := _text(properties.get(key)))
        }
        usual = found.get("en") or next(iter(found.values()), foreign)
        return {"name": usual, **{f"name_{language}": text for language, text in found.items()}}

    def _hours(self, properties: Mapping[str, Any]) -> dict[str, str]:
        key = self._layer.opening_hours
        hours = _text(properties.get(key)) if key else None
        if not hours:
            return {}
        try:
            check_hours(hours)
        except BadHoursError as error:
            self._remarks[f"properties.{key}: {error}; taken without them"] += 1
            return {}
        return {"opening_hours": hours}

    def _fields(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """What the kind says that such places have."""
        given = {}
        for field, about in self._kind.fields.items():
            key = self._layer.properties.get(field, field)
            value = _coerced(properties.get(key), about)
            if value is not None:
                given[field] = value
            elif about.required:
                raise _FeatureError(f"properties.{key}: found nothing, expected {_expected(about)}")
        try:
            return place_fields(self._kind, given)
        except ValidationError as error:
            field = str(error.errors()[0]["loc"][0])
            key, about = self._layer.properties.get(field, field), self._kind.fields[field]
            found, wanted = show(properties.get(key)), _expected(about)
            raise _FeatureError(f"properties.{key}: found {found}, expected {wanted}") from None

    def _others(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """What else the file says, to be shown as it is."""
        layer = self._layer
        names = [layer.name] if isinstance(layer.name, str) else layer.name.values()
        used = {*names, layer.id, layer.opening_hours, "id"}
        used |= {layer.properties.get(field, field) for field in self._kind.fields}
        kept = {
            key[:100]: value[:500] if isinstance(value, str) else value
            for key, value in properties.items()
            if key not in used and isinstance(value, str | int | float) and value != ""
        }
        return {"properties": kept} if kept else {}

    # -- geometry ---------------------------------------------------------------------

    def _flat(self, geometry: Any) -> dict[str, Any]:
        """The geometry with two numbers a point; raises `_FeatureError` for what is none."""
        kind = geometry.get("type") if isinstance(geometry, dict) else None
        if kind not in TYPES:
            what = show(kind) if isinstance(geometry, dict) else show(geometry)
            raise _FeatureError(f"geometry.type: found {what}, expected one of {', '.join(TYPES)}")
        where = "geometry.coordinates"
        coordinates = geometry.get("coordinates")
        if not isinstance(coordinates, list) or not coordinates:
            raise _FeatureError(f"{where}: found {show(coordinates)}, expected coordinates")
        return {"type": kind, "coordinates": self._points(coordinates, where)}

    def _points(self, found: list[Any], where: str, depth: int = 0) -> list[Any]:
        if found and not isinstance(found[0], list):
            return self._point(found, where)
        if depth == _DEEPEST:
            raise _FeatureError(f"{where}: found {show(found)}, expected [longitude, latitude]")
        for number, one in enumerate(found):
            if not isinstance(one, list) or not one:
                raise _FeatureError(f"{where}[{number}]: found {show(one)}, expected coordinates")
        return [
            self._points(one, f"{where}[{number}]", depth + 1) for number, one in enumerate(found)
        ]

    def _point(self, found: list[Any], where: str) -> list[Any]:
        numbers = [isinstance(n, int | float) and not isinstance(n, bool) for n in found]
        if len(found) < 2 or not all(numbers) or not all(map(math.isfinite, found)):
            raise _FeatureError(f"{where}: found {show(found)}, expected [longitude, latitude]")
        lon, lat = found[:2]
        if abs(lon) > 360 or abs(lat) > 360:
            raise _FeatureError(
                f"{where}: found {show(found)}, which are metres of a map; {_CONVERT}"
            )
        if abs(lat) > 90 and abs(lon) <= 90:
            raise _FeatureError(
                f"{where}: found {show(found)}, where latitude and longitude are exchanged; "
                "GeoJSON has longitude first"
            )
        if abs(lon) > 180 or abs(lat) > 90:
            raise _FeatureError(f"{where}: found {show(found)}, which is nowhere on the earth")
        if len(found) > 2:
            self._remarks["heights are left out"] = 1
        return [lon, lat]


def _elsewhere(places: Sequence[Place], city: Bounds) -> str | None:
    """Whether a layer is not where the city is, but would be with its coordinates exchanged."""
    here = sum(_is_near(*place.middle, city) for place in places)
    exchanged = sum(_is_near(lat, lon, city) for lon, lat in (place.middle for place in places))
    if exchanged > here:
        lon, lat = places[0].middle
        return (
            f"feature 0: geometry is at longitude {lon:g}, latitude {lat:g}, far from the city: "
            "longitude and latitude are exchanged; GeoJSON has longitude first"
        )
    return None


def _is_near(lon: float, lat: float, city: Bounds) -> bool:
    west, south, east, north = city
    return west - _NEAR <= lon <= east + _NEAR and south - _NEAR <= lat <= north + _NEAR


def _text(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip() or None


def _coerced(value: Any, field: Field) -> Any:
    """A value as its field has it, where a file writes the same otherwise: `"40"`, `40.0`."""
    if isinstance(value, str):
        value = value.strip()
        if value == "" and field.type != "text":
            return None
        if field.is_number:
            try:
                value = float(value)
            except ValueError:
                return value
        elif field.type == "boolean":
            return {"true": True, "false": False}.get(value.lower(), value)
    if field.type == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if field.type in ("text", "category") and isinstance(value, int | float):
        return str(value)
    return value


def _expected(field: Field) -> str:
    if field.values:
        return f"one of {', '.join(field.values)}"
    within = f" from {field.bounds[0]:g} to {field.bounds[1]:g}" if field.is_number else ""
    kinds = {"integer": "a whole number", "decimal": "a number", "boolean": "true or false"}
    return kinds.get(field.type, "text of at most 500 characters") + within


def _first_fault(error: ValidationError) -> str:
    """The first of what pydantic found, with its path as GeoJSON has it."""
    fault = error.errors(include_url=False)[0]
    path = ""
    for part in fault["loc"]:
        if part not in TYPES:
            path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    message = fault["msg"].removeprefix("Value error, ")
    found = "" if fault["type"] == "value_error" else f"found {show(fault.get('input'))}; "
    return f"{path}: {found}{message}"
