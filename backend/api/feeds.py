"""Events as feeds: Atom of the newest, and CAP of each (docs/outgoing.md)."""

from __future__ import annotations

from flask import Blueprint, Response, request
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from citywise.backend.api import access, languages, parameters
from citywise.backend.api.objects import event_from
from citywise.backend.api.problems import not_found
from citywise.backend.api.state import state
from citywise.backend.outgoing.feeds import CAP_TYPE, Words, atom, cap
from citywise.backend.packs import ontology
from citywise.backend.store import clocks
from citywise.backend.store.models import EventRow, PlaceRow

blueprint = Blueprint("feeds", __name__)
MOST = 200
_CATEGORIES = {
    "TransportationEvent": "Transport",
    "WeatherEvent": "Met",
    "EnvironmentEvent": "Env",
    "PublicEvent": "Other",
}
"""Of CAP, by the classes of `ontologies/event.ttl`."""


@blueprint.get("/events.atom")
@access.city
def show_atom() -> Response:
    """The events that changed last, of some types if they are named."""
    parameters.only("type", "limit", "lang")
    limit = parameters.integer("limit", 50, 1, MOST) or MOST
    changed = func.coalesce(EventRow.end_ms, EventRow.confirmed_ms)
    query = select(EventRow, PlaceRow).join(
        PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True
    )
    query = query.where(EventRow.withdrawn_ms.is_(None))
    if types := parameters.choices("type"):
        query = query.where(EventRow.type.in_(types))
    with Session(state().engine) as session:
        now_ms = clocks.read(session).now_ms
        rows = session.execute(query.order_by(changed.desc(), EventRow.id).limit(limit)).all()
        events = [event_from(event, place) for event, place in rows]
    own = f"{_base()}{request.full_path.rstrip('?')}"
    feed = atom(events, _words(), _base(), own, now_ms)
    return Response(feed, content_type="application/atom+xml; charset=utf-8")


@blueprint.get("/events/<event_id>/cap")
@access.city
def show_cap(event_id: str) -> Response:
    """An event as an alert of CAP 1.2."""
    parameters.only("lang")
    query = select(EventRow, PlaceRow).join(
        PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True
    )
    with Session(state().engine) as session:
        found = session.execute(query.where(EventRow.id == event_id)).one_or_none()
        if found is None:
            raise not_found(f"event {event_id!r}")
        event, is_real = event_from(*found), clocks.read(session).source not in clocks.CONTROLLED
    alert = cap(event, _words(), _base(), _category(event["type"]), is_real=is_real)
    return Response(alert, content_type=CAP_TYPE)


def _category(kind: str) -> str:
    known = ontology.city()
    above = known.superclasses(kind if "://" in kind else ontology.expand(f"ev:{kind}"))
    names = map(ontology.local_name, above)
    return next((_CATEGORIES[name] for name in sorted(names) if name in _CATEGORIES), "Other")


def _base() -> str:
    """The address of the pages, as people reach them."""
    return state().settings.web.public_url or request.host_url.rstrip("/")


def _words() -> Words:
    language = parameters.language()
    texts = languages.strings(language)
    names = {k.removeprefix("event."): v for k, v in texts.items() if k.startswith("event.")}
    return Words(language, texts["feed.title"], texts["feed.level"], texts["feed.over"], names)
