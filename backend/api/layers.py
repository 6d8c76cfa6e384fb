"""Layers of the city: what there are, as GeoJSON, and an operator's files of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, request
from pydantic import Field
from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from citywise.backend.api import access, identity, limits, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.objects import place_feature
from citywise.backend.api.problems import fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.kinds import PlaceKind, files, installed
from citywise.backend.kinds.kind import MOST_LAYER_BYTES, NAME
from citywise.backend.layers import folder, taking
from citywise.backend.layers.reading import Bounds, Layer, LayerError, read
from citywise.backend.people import audit
from citywise.backend.sources.fetch import FetchError, Tag, fetch
from citywise.backend.store.models import PlaceRow
from citywise.backend.times import iso_or_none
from citywise.reasoning import Finding

blueprint = Blueprint("layers", __name__)
View = Callable[..., Response]
_FETCH_S = 20.0
"""Of an address, while somebody waits."""
_MOST_SHOWN = 5
"""Places of a layer that is tried."""


class Trial(StrictBody):
    """A layer as it might be: a file's text or an address; `toml` where its kind is to be another
    than there is, or than the file suggests."""

    name: str | None = Field(default=None, pattern=NAME)
    file: str = Field(default="layer", max_length=200)
    content: str | None = Field(default=None, max_length=MOST_LAYER_BYTES)
    address: str | None = Field(default=None, max_length=1000)
    toml: str | None = Field(default=None, max_length=100_000)


class Switch(StrictBody):
    """Whether maps show a layer."""

    shown: bool


def _large(view: View) -> View:
    """Let a view take bodies as large as a layer may be."""

    @wraps(view)
    def taking_more(*args: Any, **given: Any) -> Response:
        as_text = 2 if request.is_json else 1  # A quote within JSON is two characters.
        request.max_content_length = as_text * MOST_LAYER_BYTES
        return view(*args, **given)

    return taking_more


@blueprint.get("/layers")
@access.city
def list_layers() -> Response:
    """The layers that there are (docs/layers.md)."""
    parameters.only()
    with state().engine.connect() as connection:
        layers, known = _layers(connection), taking.known(connection)
    return as_json(
        {"layers": [_layer_json(kind, known.get(name)) for name, kind in layers.items()]}
    )


@blueprint.get("/layers/<name>.geojson")
@access.city
def show_layer(name: str) -> Response:
    """All places of a layer as a GeoJSON FeatureCollection."""
    parameters.only()
    with state().engine.connect() as connection:
        _kind(connection, name)
        told = taking.known(connection).get(name, {}).get("digest") or "none"
    if told in request.if_none_match:
        answer = Response(status=304)
    else:
        query = select(PlaceRow).where(PlaceRow.kind == name).order_by(PlaceRow.id)
        with Session(state().engine) as session:
            features = [place_feature(row) for row in session.scalars(query)]
        body = {"type": "FeatureCollection", "features": features}
        answer = as_json(body, content_type="application/geo+json")
    answer.set_etag(told)
    return answer


@blueprint.get("/operator/layers")
@access.role("admin")
def list_sources_of_layers() -> Response:
    """How each layer fares: where it came from, when, and why it is not newer."""
    parameters.only()
    with state().engine.connect() as connection:
        layers, known = _layers(connection), taking.known(connection)
        origins = installed.origins(connection)
    found = [
        _layer_json(kind, known.get(name)) | _state(kind, known.get(name), origins)
        for name, kind in layers.items()
    ]
    return as_json({"layers": found})


@blueprint.post("/operator/layers/try")
@access.role("admin")
@_large
@limits.counted("expensive")
def try_layer() -> Response:
    """What a file or what an address answers would become; nothing is kept."""
    parameters.only()
    asked = parameters.body(Trial)
    content = _content(asked)
    origin = asked.address or asked.file
    with state().engine.connect() as connection:
        kinds, origins = state().known_kinds.read(connection), installed.origins(connection)
        city = taking.bounds(connection, kinds.layers)
    name = asked.name or folder.name_of(Path(origin))
    try:
        kind, text = aside(lambda: folder.known_or_made(name, kinds, content))
    except folder.NoLayerError as error:
        raise invalid([fault("name", str(error))]) from None
    if asked.toml is not None:
        kind = _described(asked.toml, name)
        text = asked.toml if kind != kinds.places.get(name) else None
    elif text is not None or origins.get(f"place/{name}") == "operator":
        assert kind.layer is not None
        about = kind.layer.model_copy(update={"address": asked.address})
        if about != kind.layer or text is not None:
            text = folder.text_of(kind := kind.model_copy(update={"layer": about}))
    layer = _sound(kind, content, origin, city, "address" if asked.address else "content")
    with state().engine.connect() as connection:
        would = taking.would(connection, layer)
    return as_json(
        {
            "name": name,
            "toml": text,
            **_told(would),
            "first": [
                {"id": place.id, **place.model_dump(mode="json", exclude={"id", "geometry"})}
                for place in layer.places[:_MOST_SHOWN]
            ],
        }
    )


@blueprint.put("/operator/layers/<name>")
@access.role("admin")
@_large
def put_layer(name: str) -> Response:
    """Take a file of a layer; what was taken before stays where there is a fault in it."""
    parameters.only("file")
    origin = request.args.get("file", "file")[:200]
    content = request.get_data()
    engine = state().engine
    with engine.connect() as connection:
        kind, city = _kind(connection, name), taking.bounds(connection, _layers(connection))
    layer = _sound(kind, content, origin, city)
    with engine.begin() as connection:
        found = taking.take(connection, layer, content, origin)
        told = {"places": found.places}
        audit.record(connection, identity.own_id(), "layer.taken", name, None, told)
    return as_json(_told(found))


@blueprint.patch("/operator/layers/<name>")
@access.role("admin")
def switch_layer(name: str) -> Response:
    """Have maps show a layer or not; rules know its places all the same."""
    parameters.only()
    shown = parameters.body(Switch).shown
    with state().engine.begin() as connection:
        kind = _kind(connection, name)
        taking.switch(connection, name, is_shown=shown)
        action = "layer.shown" if shown else "layer.hidden"
        audit.record(connection, identity.own_id(), action, name, None, None)
        row, origins = taking.known(connection).get(name), installed.origins(connection)
    return as_json(_layer_json(kind, row) | _state(kind, row, origins))


@blueprint.delete("/operator/layers/<name>")
@access.role("admin")
def delete_layer(name: str) -> Response:
    """Remove the places of a layer; its kind stays."""
    parameters.only()
    with state().engine.begin() as connection:
        _kind(connection, name)
        removed = taking.remove(connection, name)
        audit.record(
            connection, identity.own_id(), "layer.removed", name, {"places": removed}, None
        )
    return Response(status=204)


def _content(asked: Trial) -> bytes:
    """The file that was sent, or what the address answers now."""
    if asked.content is not None:
        return asked.content.encode("utf-8", "replace")
    if asked.address is None:
        raise invalid([fault("content", "choose a file, or give an address")])
    address, allowed = asked.address, state().settings.fetching.allow
    if not address.startswith(("http://", "https://")):
        said = f"found {address[:60]!r}, expected an address with https:// or http://"
        raise invalid([fault("address", said)])
    try:
        answer = aside(
            lambda: fetch(
                address, headers={}, tag=Tag(), timeout_s=_FETCH_S,
                max_bytes=MOST_LAYER_BYTES, allowed=allowed,
            )
        )  # fmt: skip
    except FetchError as error:
        raise invalid([fault("address", str(error))]) from None
    return answer.body or b""


def _described(text: str, name: str) -> PlaceKind:
    """The kind in the text of its file; a problem with all that is wrong with it."""
    findings: list[Finding] = []
    kind = files.parse(text, "kind", findings)
    said = [f"line {found.location.line}: {found.message}" for found in findings]
    if kind is not None and not isinstance(kind, PlaceKind):
        said = [f'found a kind of observation, expected `place = "{name}"`']
    elif kind is not None and kind.place != name:
        said = [f'found `place = "{kind.place}"`, expected the name of the layer, `{name}`']
    elif kind is not None and kind.layer is None:
        said = ["has no table `[layer]`; add one, if it is empty"]
    elif kind is not None:
        return kind
    raise invalid([fault("toml", each) for each in said])


def _sound(
    kind: PlaceKind, content: bytes, origin: str, city: Bounds | None, path: str = "body"
) -> Layer:
    """The layer in a file; a problem with all that is wrong with it."""
    try:
        return aside(lambda: read(kind, content, origin, city))
    except LayerError as error:
        raise invalid([fault(path, said) for said in error.faults[:20]]) from None


def _told(found: taking.Taken) -> dict[str, Any]:
    return {
        "places": found.places,
        "added": found.added,
        "changed": found.changed,
        "removed": found.removed,
        "remarks": list(found.remarks),
    }


def _layers(connection: Connection) -> dict[str, PlaceKind]:
    return state().known_kinds.read(connection).layers


def _kind(connection: Connection, name: str) -> PlaceKind:
    found = _layers(connection).get(name)
    if found is None:
        raise not_found(f"layer {name!r}")
    return found


def _layer_json(kind: PlaceKind, row: Mapping[str, Any] | None) -> dict[str, Any]:
    assert kind.layer is not None
    return {
        "name": kind.place,
        "label": kind.label,
        "geometry": kind.geometry,
        "color": kind.layer.color,
        "fields": {
            name: {"type": field.type, "unit": field.unit, "label": field.label}
            for name, field in kind.fields.items()
        },
        "places": row["places"] if row else 0,
        "taken": iso_or_none(row["taken_ms"] if row else None),
        "shown": row is None or row["is_shown"],
    }


def _state(
    kind: PlaceKind, row: Mapping[str, Any] | None, origins: Mapping[str, str]
) -> dict[str, Any]:
    known = row or {}
    return {
        "address": kind.layer.address if kind.layer else None,
        "made": origins.get(f"place/{kind.place}") == "operator",
        "origin": known.get("origin"),
        "asked": iso_or_none(known.get("asked_ms")),
        "error": known.get("error"),
        "remarks": known.get("remarks", []),
    }
