"""The layers in the city's folder: `layers/NAME.geojson`, each of the kind of place NAME."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Engine

from citywise.backend.errors import CitywiseError
from citywise.backend.kinds import FOLDER as KINDS
from citywise.backend.kinds import Kinds, PlaceKind
from citywise.backend.kinds.kind import NAME, RESERVED_OF_PLACES, Field, LayerSource
from citywise.backend.layers.reading import LayerError
from citywise.backend.layers.taking import Taken, take_file, tidy

FOLDER = "layers"
_WORTH = 1_000
"""So many features tell which properties there are."""
_NAMES = ("name", "navn", "title", "Name", "NAME", "Navn")
_TEXTS = {"area": ("Polygon", "MultiPolygon"), "line": ("LineString", "MultiLineString")}


class NoLayerError(CitywiseError):
    """A kind of place is no layer; says what to write."""


def looks_like(path: Path) -> bool:
    """Whether a file means to be GeoJSON."""
    with path.open("rb") as file:
        begin = file.read(2_000).lstrip(b"\xef\xbb\xbf \t\r\n")
    return begin.startswith(b"{") and (
        path.suffix.lower() == ".geojson" or b'"FeatureCollection"' in begin
    )


def take_all(engine: Engine, kinds: Kinds, city: Path) -> Iterator[str]:
    """Take the files of all layers that have changed; tells what became of each."""
    layers = kinds.layers
    with engine.begin() as connection:
        tidy(connection, layers)
    for name, kind in layers.items():
        path = city / FOLDER / f"{name}.geojson"
        try:
            content = path.read_bytes() if path.is_file() else None
        except OSError as error:
            yield f"{path}: {error.strerror}"
            continue
        if content is not None:
            with engine.begin() as connection:
                found = take_file(connection, kind, content, path.name, layers)
            if isinstance(found, LayerError):
                yield f"{found}\nThe layer `{name}` stays as it was."
            elif isinstance(found, Taken):
                yield from found.lines(name)


def name_of(path: Path) -> str:
    """What a layer is called whose file is called so."""
    told = re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_")[:32]
    return told if re.fullmatch(NAME, told) else f"layer_{told}"[:32].rstrip("_")


def known_or_made(name: str, kinds: Kinds, content: bytes) -> tuple[PlaceKind, str | None]:
    """The kind of a layer, and the text of its file where there was none; raises `NoLayerError`."""
    kind = kinds.places.get(name)
    if kind is None:
        kind = _guessed(name, content)
        return kind, text_of(kind)
    if kind.layer is None:
        raise NoLayerError(
            f"the kind of place `{name}` is no layer: its places come one by one; choose another "
            f"name (--layer NAME), or add a table [layer] to {name}.toml"
        )
    return kind, None


def write(city: Path, name: str, content: bytes, kind: str | None) -> Iterator[Path]:
    """Keep a layer's file, and that of its kind if it is new."""
    files = {city / FOLDER / f"{name}.geojson": content}
    if kind is not None:
        files[city / KINDS / f"{name}.toml"] = kind.encode()
    for path, told in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_bytes(told)
        fresh.replace(path)
        yield path


def _guessed(name: str, content: bytes) -> PlaceKind:
    """A kind for a file that has none: its properties with values of one type are fields."""
    try:
        found = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
        features = [one for one in found["features"][:_WORTH] if isinstance(one, dict)]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        features = []  # `read` says what is wrong
    rows = [p for one in features if isinstance(p := one.get("properties"), dict)]
    shapes = [g.get("type") for one in features if isinstance(g := one.get("geometry"), dict)]
    names = list(dict.fromkeys(key for row in rows for key in row))
    called = next((key for key in _NAMES if key in names), "name")
    hours = next((key for key in ("opening_hours", "hours") if key in names), None)
    fields, properties = {}, {}
    for key in names:
        field, own = _field([row[key] for row in rows if row.get(key) is not None]), _own(key)
        if field and own and own not in fields and key not in (called, hours, "id"):
            fields[own] = field
            if own != key:
                properties[own] = key
    has_ids = all(one.get("id") is not None for one in features) or "id" in names
    layer = LayerSource(
        id=None if has_ids else _unique(names, rows),
        name=called,
        opening_hours=hours,
        properties=properties,
    )
    form = next(
        (form for form, types in _TEXTS.items() if any(s in types for s in shapes)), "point"
    )
    return PlaceKind.model_validate(
        {
            "place": name,
            "geometry": form,
            "fields": dict(list(fields.items())[:100]),
            "layer": layer,
        }
    )


def _unique(names: list[str], rows: list[dict[str, Any]]) -> str | None:
    """The first property that tells the features apart."""
    for key in names:
        values = [row.get(key) for row in rows]
        plain = [v for v in values if isinstance(v, str | int) and not isinstance(v, bool)]
        if rows and len(set(plain)) == len(values):
            return key
    return None


def _own(key: str) -> str | None:
    """A property's name as that of a field."""
    told = re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")[:32]
    return told if re.fullmatch(NAME, told) and told not in RESERVED_OF_PLACES else None


def _field(values: list[Any]) -> Field | None:
    """What all of some values are; None where they have nothing in common."""
    if not values:
        return None
    if all(isinstance(v, bool) for v in values):
        return Field(type="boolean")
    if any(isinstance(v, bool) for v in values):
        return None
    if all(isinstance(v, int) and abs(v) < 2**31 for v in values):
        return Field(type="integer")
    if all(isinstance(v, int | float) and abs(v) < 2**31 / 100 for v in values):
        return Field(type="decimal", step=0.01)
    short = all(isinstance(v, str) and len(v) <= 500 for v in values)
    return Field(type="text") if short else None


def text_of(kind: PlaceKind) -> str:
    """A kind as the text of its file."""
    body = kind.model_dump(mode="json", exclude_defaults=True)
    fields, layer = body.pop("fields", {}), body.pop("layer", {})
    lines = _table(body)
    for name, field in fields.items():
        lines += ["", f"[fields.{name}]", *_table(field)]
    properties = layer.pop("properties", {})
    lines += ["", "[layer]", *_table(layer)]
    if properties:
        lines += ["", "[layer.properties]", *_table(properties)]
    return "\n".join(lines) + "\n"


def _table(body: Mapping[str, Any]) -> list[str]:
    """Keys and values of TOML."""
    return [f"{key} = {_value(value)}" for key, value in body.items()]


def _value(value: Any) -> str:
    """A value of TOML, in which texts, numbers and lists are written as in JSON."""
    if isinstance(value, dict):
        return f"{{ {', '.join(_table(value))} }}"
    return orjson.dumps(value).decode().replace("\x7f", "\\u007f")
