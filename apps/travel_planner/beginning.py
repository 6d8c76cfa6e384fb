"""Beginning to follow a plan: from the planner's answer to a trip, and what watches for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from citywise.apps.travel_planner import answering, ending, trips
from citywise.apps.travel_planner.following import line_of
from citywise.apps.travel_planner.trips import APP, TEMPLATES, Body, Content, Kind, Position, Trip
from citywise.backend.app import boxes as sealing
from citywise.backend.app import problems, watching

AROUND_M = 75.0
"""What happens so near a garage may be about it."""
HORIZON_KM: Mapping[str, float] = {"car": 5.0, "bicycle": 3.0, "walk": 1.5}
"""What is farther ahead is as far as can be."""
_UNUSABLE = frozenset({"full", "closed", "no-way", "no-drive"})


def chosen(answer: Body, choice: str | None) -> Body:
    """The route or garage of an answer that somebody means; a problem where there is none.

    Ways that were rejected may be followed too, garages that are full or closed may not.
    """
    options: dict[str, Body] = {one["id"]: one for key in _LISTS for one in answer.get(key) or ()}
    first = next(iter(options.values()), None)
    found = first if choice is None else options.get(choice)
    if found is None:
        there = ", ".join(options) or "none: the plan has no answer"
        raise problems.invalid(
            [{"path": "choice", "message": f"found {choice!r}, expected one of {there}"}]
        )
    codes = {reason["code"] for reason in found.get("reasons") or ()}
    if "lat" in found and codes & _UNUSABLE:
        message = f"{found['name']} cannot be used: {found['why']} Choose another garage"
        raise problems.invalid([{"path": "choice", "message": message}])
    return found


_LISTS = ("routes", "garages", "rejected")


def new_trip(
    user: str,
    answer: Body,
    option: Body,
    position: Position | None,
    language: str,
    now_ms: int,
    to_name: str | None = None,
) -> Trip:
    """A trip that follows an option of an answer from stream time `now_ms` on; `to_name` is what
    its user calls the destination of a journey.

    Without a position its user is taken to be where the plan begins, if it begins anywhere.
    """
    kind: Kind = "travel" if answer["kind"] == "travel" else "parking"
    to = answer["to"] if kind == "travel" else option
    called = {"name": to_name} if to_name and kind == "travel" else {}
    content = Content(
        request=answer["request"],
        plan=option,
        origin={"plan": answer["plan"], "choice": option["id"]},
        to={name: to.get(name) for name in ("lat", "lon", "name")} | called,
        language=language,
        position=position or _at_start(option, now_ms),
    )
    trip = Trip(trips.new_id(), user, kind, "following", now_ms, now_ms, None, content)
    return trip.with_content(now_ms, **answering.placed(content, line_of(option)))


def resumed(trip: Trip, now_ms: int) -> Trip:
    """A trip that ended, followed again; the pause is not time on the way."""
    paused_ms = trip.content.paused_ms + now_ms - (trip.ended_ms or now_ms)
    again = replace(trip, state="following", ended_ms=None)
    return again.with_content(now_ms, paused_ms=paused_ms)


def begin(connection: Connection, boxes: sealing.Boxes, trip: Trip, now_ms: int) -> Trip | None:
    """Follow a trip, in a transaction that has called `outbox.begin`; the one of its kind that
    was followed until now is ended, and returned."""
    mine = trips.followed(connection, boxes, trip.user)
    before = next((one for one in mine if one.kind == trip.kind), None)
    over = None
    if before is not None and before.id != trip.id:
        over = ending.end(connection, boxes, before, "ended", now_ms)
    trips.save(connection, boxes, trip)
    trips.trim_of(connection, trip.user)
    watch(connection, trip)
    watching.tell(connection, trip.user, ending.context_of(trip))
    trips.tell(connection, trip, "started", now_ms)
    return over


def watch(connection: Connection, trip: Trip) -> None:
    """Make or change the template instance that watches for a trip."""
    values = _garage(trip.content.plan) if trip.kind == "parking" else _way(trip.content.plan)
    watching.watch(connection, trip.instance, trip.user, APP, TEMPLATES[trip.kind], values)


def _way(plan: Body) -> dict[str, Any]:
    return {"horizon": HORIZON_KM.get(plan["mode"], 5.0)}


def _garage(plan: Body) -> dict[str, Any]:
    center = {"lat": plan["lat"], "lon": plan["lon"]}
    return {
        "garage": plan["id"],
        "around": {"center": center, "radius_m": AROUND_M},
        "hours": "known" if plan.get("opening_hours") else "unknown",
    }


def _at_start(plan: Body, now_ms: int) -> Position | None:
    line = line_of(plan)
    return Position(line[0][1], line[0][0], now_ms) if line else None
