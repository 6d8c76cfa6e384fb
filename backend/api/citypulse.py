"""`/citypulse/contextual_events_request`: contextual filtering in CityPulse's messages.

A request makes a session: an instance of the template `critical_events`, whose notices are
in our API, and the answer is what is critical now. Later positions of the user go to the
same address with the session's id (docs/contextual-filtering.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import Connection, select

from citywise.backend.api import access, limits, parameters, problems, sessions
from citywise.backend.api.answers import as_json
from citywise.backend.api.open_events import OpenEvents, template_now
from citywise.backend.api.state import state
from citywise.backend.context import messages
from citywise.backend.context.answers import contextual_events
from citywise.backend.context.critical import APP, TEMPLATE
from citywise.backend.context.interest import straight_point
from citywise.backend.context.messages import Coordinate, MessageError, UserGPSCoordinate
from citywise.backend.context.registration import Registration, register
from citywise.backend.ingest.standing import Entry
from citywise.backend.packs import installed
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.values import BadValuesError
from citywise.backend.people.ids import is_session
from citywise.backend.store.models import PlaceRow
from citywise.backend.times import wall_ms

blueprint = Blueprint("citypulse", __name__, url_prefix="/citypulse")

ADDRESS = "/contextual_events_request"
SESSION, NOTE = "Citypulse-Session", "Citypulse-Note"


@blueprint.post(ADDRESS)
@access.city
@limits.counted("expensive")
def contextual_events_request() -> Response:
    """Register what a client wants to be told of, or take its position, and answer."""
    parameters.only("session")
    body = parameters.json_object()
    session = _session()
    try:
        message = messages.read(body)
        with state().engine.begin() as connection:
            near = _somewhere(connection)
            if isinstance(message, UserGPSCoordinate):
                wish = _moved(connection, _required(session), message.user_coordinate, near)
            else:
                wish = _registered(connection, session, register(message, near))
    except MessageError as error:
        raise problems.invalid(error.faults) from None
    return _answer(wish)


@blueprint.delete(ADDRESS)
@access.city
def end_contextual_events() -> Response:
    """Forget a session."""
    parameters.only("session")
    session = _required(_session())
    with state().engine.begin() as connection:
        sessions.find(connection, session)
        sessions.forget(connection, session)
    state().end_streams(user=session)
    return Response(status=204)


@dataclass(frozen=True)
class _Wish:
    """What a session wants to be told of, from where."""

    session: str
    template: TemplateVersion
    values: dict[str, Any]
    context: Sequence[Entry]
    notes: Sequence[str]


# --- Sessions ------------------------------------------------------------------------------


def _session() -> str | None:
    """The id of the session that the request names, if any."""
    found = request.headers.get(SESSION) or request.args.get("session")
    if found is not None and not is_session(found):
        raise problems.not_found(f"session {found!r}")
    return found


def _required(session: str | None) -> str:
    if session is None:
        message = f"name it in the header `{SESSION}` that the answer to a request had"
        raise problems.bad_parameter("session", message)
    return session


def _registered(connection: Connection, session: str | None, wish: Registration) -> _Wish:
    """A new session, or what a session wants instead of what it wanted."""
    template = template_now(connection)
    try:
        values = template.bind(wish.values)
    except BadValuesError as error:
        raise MessageError(*({"path": "place", "message": str(f)} for f in error.faults)) from None
    if session is None:
        sessions.make_room(connection)
        session, created = sessions.new_id(), wall_ms()
    else:
        created = sessions.find(connection, session)["created_ms"]
    sessions.save(connection, session, template.version, values, created)
    return _Wish(session, template, values, (), wish.notes)


# --- Positions and answers -----------------------------------------------------------------


def _moved(
    connection: Connection, session: str, point: Coordinate, near: Coordinate | None
) -> _Wish:
    """A session's user is at a point now."""
    row = sessions.find(connection, session)
    straight, notes = straight_point(point, near, "userCoordinate")
    position = {"lat": straight.latitude, "lon": straight.longitude}
    entry = sessions.move(connection, session, position)
    template = installed.find(connection, APP, TEMPLATE, row["version"])
    return _Wish(session, template, row["values"], (entry,), notes)


def _answer(wish: _Wish) -> Response:
    """What is critical now; evaluated after the change is committed, so that no other waits."""
    with state().engine.connect() as connection:
        city = OpenEvents.read(connection)
    found = city.critical(wish.template, wish.values, wish.context)
    answer = as_json(contextual_events(found))
    answer.headers[SESSION] = wish.session
    if wish.notes:
        answer.headers[NOTE] = "; ".join(wish.notes)
    return answer


def _somewhere(connection: Connection) -> Coordinate | None:
    """A point of the city, if any of its places is known."""
    row = connection.execute(select(PlaceRow.lat, PlaceRow.lon).limit(1)).one_or_none()
    return None if row is None else Coordinate(latitude=row.lat, longitude=row.lon)
