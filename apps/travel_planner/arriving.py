"""When somebody arrives by the trips that they follow, for those whom they let know it."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from citywise.apps.travel_planner import trips
from citywise.apps.travel_planner.transit.underway import is_by_line
from citywise.apps.travel_planner.trip_objects import remaining_s
from citywise.apps.travel_planner.trips import Trip
from citywise.backend.app import Settings, clocks, people

SILENT_MS = 15 * 60_000
"""So long after the last position nobody can say when somebody arrives, but a timetable."""


def expected(
    connection: Connection, settings: Settings, user: str
) -> Iterator[people.arrivals.Arrival]:
    """Where the trips lead that a user follows, and when they end, in stream time."""
    now_ms = clocks.read(connection).now_ms
    for trip in trips.followed(connection, trips.boxes_of(settings), user):
        if (found := arrival(trip, now_ms)) is not None:
            yield found


def arrival(trip: Trip, now_ms: int) -> people.arrivals.Arrival | None:
    """Where a trip leads, and when it ends; None where that is not known. What is left is counted
    from when the position was heard: who tells none meanwhile goes on."""
    content = trip.content
    heard_ms = trip.created_ms if content.position is None else content.position.heard_ms
    if now_ms - heard_ms > SILENT_MS and not is_by_line(content.plan):
        return None
    left_s = remaining_s(content, heard_ms)
    if left_s is None:
        return None
    to, walk_s = content.to, 0.0
    if trip.kind == "parking":  # From the garage it goes on, on foot.
        to, walk_s = content.request["destination"], content.plan.get("walk_s") or 0.0
    return people.arrivals.Arrival(to["lat"], to["lon"], heard_ms + round((left_s + walk_s) * 1000))
