"""The whole city as it is now, in one answer: what pages begin with."""

from __future__ import annotations

from flask import Blueprint, Response
from sqlalchemy.orm import Session

from citywise.backend.api import access, events, kinds, parameters, places
from citywise.backend.api.answers import as_json
from citywise.backend.api.state import state
from citywise.backend.store import clocks

blueprint = Blueprint("snapshot", __name__)


@blueprint.get("/city")
@access.city
def show_city() -> Response:
    """Kinds, places, readings, open events and the clock, each as its own address answers."""
    parameters.only()
    opened = events.opened()  # First: what changes while the rest is read is announced, not missed.
    with Session(state().engine) as session:
        clock = clocks.read(session).as_json()
    return as_json(
        {
            "clock": clock,
            "events": opened.as_list(),
            "kinds": kinds.as_list(),
            "places": places.as_collection(),
            "readings": places.latest(),
        }
    )
