"""The page, and what it asks for."""

from flask import Blueprint, Response
from sqlalchemy import func, select

from citywise.backend.app import EventRow, access, as_json, identity, page, state, times, upsert

from .tables import PINS

api = Blueprint("pulse_api", __name__)
pages = Blueprint("pulse_pages", __name__)


@api.get("/pulse")
@access.city
def count() -> Response:
    """How many events are open, by type."""
    query = select(EventRow.type, func.count()).where(EventRow.end_ms.is_(None))
    with state().engine.connect() as connection:
        found = connection.execute(query.group_by(EventRow.type).order_by(EventRow.type))
        return as_json({"open": {row[0]: row[1] for row in found}})


@api.put("/pulse/pins/<kind>")
@access.person()
def pin(kind: str) -> Response:
    """Remember that a person wants to see events of a type first."""
    row = {"user": identity.own_id(), "type": kind[:64], "since_ms": times.wall_ms()}
    with state().engine.begin() as connection:
        upsert(connection, PINS, [row], keys=("user", "type"))
    return as_json({"pinned": row["type"]})


@pages.get("/pulse")
@access.city
def show() -> Response:
    """templates/now.html, with the menu entry `pulse` marked."""
    return page("now", section="pulse")
