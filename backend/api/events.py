"""Events as JSON and GeoJSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response
from sqlalchemy import Select, and_, or_, select
from sqlalchemy.orm import Session

from citywise.backend.api import access, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.objects import event_feature, event_from
from citywise.backend.api.problems import not_found
from citywise.backend.api.state import state
from citywise.backend.store import clocks, outbox
from citywise.backend.store.models import EventRow, PlaceRow
from citywise.backend.times import iso

blueprint = Blueprint("events", __name__)

MAX_EVENTS = 10_000
_NAMES = ("type", "from", "until", "open", "limit", "cursor")
Rows = Select[EventRow, PlaceRow]


@dataclass(frozen=True)
class Page:
    """One page of events, and what a client needs to go on from it."""

    now: str
    position: int
    events: list[dict[str, Any]]
    next: str | None

    def as_list(self) -> dict[str, Any]:
        """The page as JSON."""
        return {
            "now": self.now, "events": self.events, "position": self.position, "next": self.next,
        }  # fmt: skip


def _with_places() -> Rows:
    return select(EventRow, PlaceRow).join(PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True)


def _after(query: Rows, started: int, event_id: str) -> Rows:
    return query.where(
        or_(
            EventRow.start_ms > started,
            and_(EventRow.start_ms == started, EventRow.id > event_id),
        )
    )


def _filtered(query: Rows) -> Rows:
    """Apply the filters; an event overlaps [from, until] if any instant of it lies inside. What
    turned out never to have been is no event."""
    parameters.only(*_NAMES)
    query = query.where(EventRow.withdrawn_ms.is_(None))
    types = parameters.choices("type")
    begin, end = parameters.span()
    if types:
        query = query.where(EventRow.type.in_(types))
    if begin is not None:
        query = query.where(or_(EventRow.end_ms.is_(None), EventRow.end_ms >= begin))
    if end is not None:
        query = query.where(EventRow.start_ms <= end)
    is_open = parameters.boolean("open")
    if is_open is not None:
        query = query.where(EventRow.end_ms.is_(None) if is_open else EventRow.end_ms.is_not(None))
    return query


def _page() -> Page:
    limit = parameters.integer("limit", MAX_EVENTS, 1, MAX_EVENTS) or MAX_EVENTS
    query = _filtered(_with_places())
    cursor = parameters.cursor()
    if cursor:
        query = _after(query, *cursor)
    return _read(query, limit)


def opened() -> Page:
    """The first page of the events that are open."""
    query = _with_places().where(EventRow.withdrawn_ms.is_(None), EventRow.end_ms.is_(None))
    return _read(query, MAX_EVENTS)


def _read(query: Rows, limit: int) -> Page:
    query = query.order_by(EventRow.start_ms, EventRow.id).limit(limit + 1)
    with Session(state().engine) as session:
        # Read first, so that a change between the two statements is announced, not missed.
        position = outbox.newest(session)
        now = clocks.read(session).now_ms
        rows = session.execute(query).all()
        events = [event_from(event, place) for event, place in rows[:limit]]
    last = rows[limit - 1][0] if len(rows) > limit else None
    return Page(iso(now), position, events, f"{last.start_ms}~{last.id}" if last else None)


@blueprint.get("/events")
@access.city
def list_events() -> Response:
    """Events, oldest start first."""
    return as_json(_page().as_list())


@blueprint.get("/events.geojson")
@access.city
def list_events_geojson() -> Response:
    """The same events as a GeoJSON FeatureCollection."""
    page = _page()
    collection = {
        "type": "FeatureCollection",
        "now": page.now,
        "position": page.position,
        "next": page.next,
        "features": [event_feature(event) for event in page.events],
    }
    return as_json(collection, content_type="application/geo+json")


@blueprint.get("/events/<event_id>")
@access.city
def show_event(event_id: str) -> Response:
    """One event."""
    parameters.only()
    query = _with_places().where(EventRow.id == event_id)
    with Session(state().engine) as session:
        found = session.execute(query).one_or_none()
        if found is None:
            raise not_found(f"event {event_id!r}")
        return as_json(event_from(*found))
