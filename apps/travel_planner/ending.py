"""Beginning and ending to watch for a trip: what the pipeline is told of its user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from citywise.apps.travel_planner import trips
from citywise.apps.travel_planner.following import line_of
from citywise.apps.travel_planner.trips import Kind, Position, State, Trip
from citywise.backend.app import Settings, clocks, notices, watching
from citywise.backend.app import boxes as sealing

ACTIVITIES: Mapping[str, str] = {"car": "DrivingCar", "bicycle": "Cycling", "walk": "Walking"}
NEEDED: Mapping[Kind, tuple[str, ...]] = {
    "travel": ("position", "route", "activity"),
    "parking": ("position",),
}
"""What of their context people must allow to be used, to be followed."""


def context_of(trip: Trip) -> dict[str, Mapping[str, Any] | None]:
    """What the pipeline is to know of the user while a trip is followed, as the log has it."""
    content = trip.content
    found: dict[str, Mapping[str, Any] | None] = {}
    if trip.kind == "travel" and content.plan["mode"] in ACTIVITIES:  # no line is a street
        coordinates = line_of(content.plan)
        found["route"] = {"coordinates": coordinates}
        found["activity"] = {"activity": ACTIVITIES[content.plan["mode"]]}
    if content.position is not None:
        found["position"] = standing_position(content.position)
    return found


def standing_position(position: Position) -> dict[str, Any]:
    """A position as it stands in the log."""
    known = {"lat": position.lat, "lon": position.lon, "heading": position.heading}
    return {name: value for name, value in known.items() if value is not None}


def end(
    connection: Connection, boxes: sealing.Boxes, trip: Trip, state: State, now_ms: int
) -> Trip:
    """End a trip at stream time `now_ms`, in a transaction that has called `outbox.begin`: what
    watched for it is removed, and what was told of its user for its sake is forgotten."""
    _withdraw_advice(connection, trip, now_ms)
    over = trips.save(connection, boxes, trips.ended(trip, state, now_ms))
    others = trips.followed(connection, boxes, trip.user)
    gone: list[str] = []
    if not any(other.kind == trip.kind for other in others):
        watching.stop(connection, trip.instance)
        gone += ("route", "activity") if trip.kind == "travel" else ()
    if not others:
        gone.append("position")
    watching.tell(connection, trip.user, dict.fromkeys(gone))
    trips.tell(connection, over, "arrived" if state == "arrived" else "ended", now_ms)
    return over


def withdrawn(connection: Connection, settings: Settings, user: str, subject: str) -> None:
    """End the trips that need a kind of context whose use somebody allows no longer, and keep
    nothing of where they were if it is their position."""
    boxes, now_ms = trips.boxes_of(settings), clocks.read(connection).now_ms
    for trip in trips.of_user(connection, boxes, user):
        if trip.state == "following" and subject in NEEDED[trip.kind]:
            trip = end(connection, boxes, trip, "ended", now_ms)
        if subject == "position" and trip.state != "following":
            nowhere = dict.fromkeys(("position", "along_m", "off_m", "outlook"))
            trips.save(connection, boxes, trip.with_content(trip.updated_ms, **nowhere))


def _withdraw_advice(connection: Connection, trip: Trip, now_ms: int) -> None:
    proposal = trip.content.proposal
    if proposal is not None and proposal["notice"] is not None:
        notices.advise(connection, proposal["notice"], None, now_ms)
