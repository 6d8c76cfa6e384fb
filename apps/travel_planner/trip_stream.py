"""What happens to one trip, as server-sent events."""

from __future__ import annotations

import orjson
from flask import Response

from citywise.apps.travel_planner import trips
from citywise.apps.travel_planner.trip_objects import trip_object
from citywise.apps.travel_planner.trips import TRIP
from citywise.backend.api import event_stream, identity, languages, limits
from citywise.backend.api.entitled import Reader
from citywise.backend.api.hub import Message
from citywise.backend.api.state import WebState, state
from citywise.backend.store import clocks


def stream(trip_id: str, user: str) -> Response:
    """The changes of a user's trip from now on (or after `Last-Event-ID`): each `trip` with
    `change` and the whole trip as it is by then, in the language asked for."""
    web, language = state(), languages.asked()

    def shown(message: Message) -> Message | None:
        change = _change(message, trip_id)
        if change is None:
            return None
        body = {"change": change, "trip": _trip(web, trip_id, language)}
        return Message(TRIP, orjson.dumps(body), message.id, user)

    reader = Reader.of(identity.principal(), user, limits.address())
    return event_stream.served(reader, shown)


def _change(message: Message, trip_id: str) -> str | None:
    """What a message says has changed of a trip; None if it is about anything else."""
    body = orjson.loads(message.data) if message.event == TRIP else {}
    return str(body["change"]) if body.get("trip") == trip_id else None


def _trip(web: WebState, trip_id: str, language: str) -> object:
    with web.engine.connect() as connection:
        found = trips.find(connection, trips.boxes_of(web.settings), trip_id)
        now_ms = clocks.read(connection).now_ms
    return None if found is None else trip_object(found, now_ms, language)
