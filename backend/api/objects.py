"""The objects of the API (docs/api.md), made from database rows."""

from __future__ import annotations

from typing import Any

from citywise.backend.city.events import event_object
from citywise.backend.kinds import Kind
from citywise.backend.store.models import EventRow, PlaceRow, ReadingRow
from citywise.backend.times import iso

Json = dict[str, Any]


def event_from(row: EventRow, place: PlaceRow | None) -> Json:
    """An event's row and its place's as the API shows them."""
    return event_object(vars(row), vars(place) if place else None)


def event_feature(event: Json) -> Json:
    """A GeoJSON point of an event; without a geometry where the place is unknown."""
    place = event["place"]
    geometry = (
        None
        if place["lon"] is None
        else {"type": "Point", "coordinates": [place["lon"], place["lat"]]}
    )
    return {"type": "Feature", "id": event["id"], "geometry": geometry, "properties": event}


def place_feature(row: PlaceRow) -> Json:
    """A place with its own geometry (a road is a line) and all its properties."""
    properties = {key: value for key, value in row.body.items() if key != "geometry"}
    return {
        "type": "Feature",
        "id": row.id,
        "geometry": row.body.get("geometry")
        or {"type": "Point", "coordinates": [row.lon, row.lat]},
        "properties": {"id": row.id, "kind": row.kind, "name": row.name, **properties},
    }


def reading_object(row: ReadingRow) -> Json:
    """The latest observation of one sensor."""
    return {
        **row.body,
        "kind": row.kind,
        "place_id": row.place_id,
        "observed_at": iso(row.observed_ms),
    }


def kind_object(kind: Kind) -> Json:
    """A kind of observations, each field with its property."""
    body = kind.model_dump(mode="json")
    for name, field in body["fields"].items():
        field["rdf"] = kind.rdf(name)
    return body
