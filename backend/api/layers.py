"""Layers of the city: what there are, as GeoJSON, and an operator's files of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from citywise.backend.api import access, identity, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.objects import place_feature
from citywise.backend.api.problems import fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.kinds import PlaceKind
from citywise.backend.kinds.kind import MOST_LAYER_BYTES
from citywise.backend.layers import taking
from citywise.backend.layers.reading import LayerError, read
from citywise.backend.people import audit
from citywise.backend.store.models import PlaceRow
from citywise.backend.times import iso_or_none

blueprint = Blueprint("layers", __name__)
View = Callable[..., Response]


def _large(view: View) -> View:
    """Let a view take bodies as large as a layer may be."""

    @wraps(view)
    def taking_more(*args: Any, **given: Any) -> Response:
        request.max_content_length = MOST_LAYER_BYTES
        return view(*args, **given)

    return taking_more


@blueprint.get("/layers")
@access.city
def list_layers() -> Response:
    """The layers that there are (docs/layers.md)."""
    parameters.only()
    with state().engine.connect() as connection:
        layers, known = _layers(connection), taking.known(connection)
    return as_json({"layers": [_shown(kind, known.get(name)) for name, kind in layers.items()]})


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
    found = [_shown(kind, known.get(n)) | _state(known.get(n)) for n, kind in layers.items()]
    return as_json({"layers": found})


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
    try:
        layer = aside(lambda: read(kind, content, origin, city))
    except LayerError as error:
        raise invalid([fault("body", said) for said in error.faults[:20]]) from None
    with engine.begin() as connection:
        found = taking.take(connection, layer, content, origin)
        told = {"places": found.places}
        audit.record(connection, identity.own_id(), "layer.taken", name, None, told)
    return as_json(
        {
            "places": found.places,
            "added": found.added,
            "changed": found.changed,
            "removed": found.removed,
            "remarks": list(found.remarks),
        }
    )


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


def _layers(connection: Connection) -> dict[str, PlaceKind]:
    return state().known_kinds.read(connection).layers


def _kind(connection: Connection, name: str) -> PlaceKind:
    found = _layers(connection).get(name)
    if found is None:
        raise not_found(f"layer {name!r}")
    return found


def _shown(kind: PlaceKind, row: Mapping[str, Any] | None) -> dict[str, Any]:
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
    }


def _state(row: Mapping[str, Any] | None) -> dict[str, Any]:
    known = row or {}
    return {
        "origin": known.get("origin"),
        "asked": iso_or_none(known.get("asked_ms")),
        "error": known.get("error"),
        "remarks": known.get("remarks", []),
    }
