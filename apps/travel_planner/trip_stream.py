"""What happens to one trip, as server-sent events."""

from __future__ import annotations

import orjson
from flask import Response
from sqlalchemy import Engine

from citywise.apps.travel_planner import trips
from citywise.apps.travel_planner.trip_objects import trip_object
from citywise.apps.travel_planner.trips import TRIP
from citywise.backend.app import boxes as sealing
from citywise.backend.app import clocks, event_stream, identity, limits, parameters, state


def stream(trip_id: str, user: str) -> Response:
    """The changes of a user's trip from now on (or after `Last-Event-ID`): each `trip` with
    `change` and the whole trip as it is by then, in the language asked for."""
    language, engine = parameters.language(), state().engine
    boxes = trips.boxes_of(state().settings)

    def shown(message: event_stream.Message) -> event_stream.Message | None:
        change = _change(message, trip_id)
        if change is None:
            return None
        body = {"change": change, "trip": _trip(engine, boxes, trip_id, language)}
        return event_stream.Message(TRIP, orjson.dumps(body), message.id, user)

    reader = event_stream.Reader.of(identity.principal(), user, limits.address())
    return event_stream.served(reader, shown)


def _change(message: event_stream.Message, trip_id: str) -> str | None:
    """What a message says has changed of a trip; None if it is about anything else."""
    body = orjson.loads(message.data) if message.event == TRIP else {}
    return str(body["change"]) if body.get("trip") == trip_id else None


def _trip(engine: Engine, boxes: sealing.Boxes, trip_id: str, language: str) -> object:
    with engine.connect() as connection:
        found = trips.find(connection, boxes, trip_id)
        now_ms = clocks.read(connection).now_ms
    return None if found is None else trip_object(found, now_ms, language)
