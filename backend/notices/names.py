"""What the things are called that notices are about, and where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import EventRow, NoticeRow, PlaceRow, longest

_LONGEST = longest(NoticeRow, "about_name")


class Name(NamedTuple):
    """A name, and a point (WGS84) where it is known."""

    text: str
    lat: float | None = None
    lon: float | None = None


class Names:
    """Names of what some changes of notices are about.

    A change that carries a name is believed; else an event has its place's (one opened by
    hand may have a place of its own), a place its own, and what is not known its id.
    """

    def __init__(self, connection: Connection, changes: Iterable[Mapping[str, Any]]) -> None:
        unnamed = [body for body in changes if not body.get("about_name")]
        events = {body["about"] for body in unnamed if body["about_type"] == "event"}
        self._place_of, own = _places_of(connection, events)
        places = {body["about"] for body in unnamed if body["about_type"] == "place"}
        self._names = _places(connection, places | set(self._place_of.values())) | own

    def of(self, change: Mapping[str, Any]) -> Name:
        """The name of what a change is about."""
        about = change["about"]
        if change.get("about_name"):
            return Name(change["about_name"][:_LONGEST], change.get("lat"), change.get("lon"))
        place = self._place_of.get(about, about)
        return self._names.get(place) or Name(place.strip('"')[:_LONGEST])


def _places_of(connection: Connection, events: set[str]) -> tuple[dict[str, str], dict[str, Name]]:
    """The ids of the events' places, and the names of those events that have their own."""
    places: dict[str, str] = {}
    own: dict[str, Name] = {}
    for some in chunks(events):
        query = select(EventRow.id, EventRow.place_id, EventRow.place)
        for event, place_id, place in connection.execute(query.where(EventRow.id.in_(some))):
            if place is None:
                places[event] = place_id
            else:
                own[event] = Name(place["name"][:_LONGEST], place.get("lat"), place.get("lon"))
    return places, own


def _places(connection: Connection, places: set[str]) -> dict[str, Name]:
    columns = (PlaceRow.id, PlaceRow.name, PlaceRow.lat, PlaceRow.lon)
    found: dict[str, Name] = {}
    for some in chunks(places):
        rows = connection.execute(select(*columns).where(PlaceRow.id.in_(some)))
        found |= {place: Name(name, lat, lon) for place, name, lat, lon in rows}
    return found
