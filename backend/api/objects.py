"""The objects of the API (DESIGN A10), made from database rows."""

from __future__ import annotations

from typing import Any

from backend.api.times import iso, iso_or_none
from backend.store.models import EventRow, PlaceRow, ReadingRow

Json = dict[str, Any]


def event_place(place_id: str, place: PlaceRow | None) -> Json:
    """Where an event is; a place nobody has described yet has only its id."""
    if place is None:
        return {"id": place_id, "name": place_id, "kind": None, "lat": None, "lon": None}
    return {
        "id": place_id,
        "name": place.name,
        "kind": place.kind,
        "lat": place.lat,
        "lon": place.lon,
    }


def event_object(row: EventRow, place: PlaceRow | None) -> Json:
    """`E` of DESIGN A10, with the request it came from and the atoms behind it."""
    return {
        "id": row.id,
        "type": row.type,
        "level": row.level,
        "place": event_place(row.place_id, place),
        "start": iso(row.start_ms),
        "confirmed": iso(row.confirmed_ms),
        "end": iso_or_none(row.end_ms),
        "request": row.request,
        "causes": row.causes,
    }


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
