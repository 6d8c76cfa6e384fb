"""Trips over HTTP: a plan is started, followed, changed and ended by its own user."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from flask import Blueprint, Response
from sqlalchemy import Connection

from citywise.apps.travel_planner import answering, beginning, ending, following, trip_stream, trips
from citywise.apps.travel_planner.answering import Answered
from citywise.apps.travel_planner.following import line_of
from citywise.apps.travel_planner.kept_plans import kept
from citywise.apps.travel_planner.trip_bodies import Answer, NewTrip, ToldPosition
from citywise.apps.travel_planner.trip_objects import trip_object
from citywise.apps.travel_planner.trips import Position, Trip
from citywise.backend.app import (
    access,
    as_json,
    clocks,
    identity,
    limits,
    notices,
    outbox,
    parameters,
    problems,
    state,
    times,
    watching,
)
from citywise.backend.app import boxes as sealing

blueprint = Blueprint("trips", __name__)
LOG = logging.getLogger(__name__)
AHEAD_MS = 60_000
"""A device whose clock is further ahead does not know the time."""


class Work(NamedTuple):
    """A transaction that changes trips: with what it opens boxes, and the stream time."""

    connection: Connection
    boxes: sealing.Boxes
    now_ms: int

    def trip(self, trip_id: str) -> Trip:
        """A trip of who asks; a 404 for all others."""
        return _own(trips.find(self.connection, self.boxes, trip_id), trip_id)

    def followed(self, trip_id: str) -> Trip:
        """The same, if it is still followed; else a 409."""
        trip = self.trip(trip_id)
        if trip.state != "following":
            raise _over(trip)
        return trip


@blueprint.get("/trips")
@access.person()
def list_trips() -> Response:
    """The asker's trips: those being followed first, then the newest."""
    parameters.only()
    user = identity.own_id()
    with state().engine.connect() as connection:
        found = trips.of_user(connection, _boxes(), user)
        now_ms = clocks.read(connection).now_ms
    shown = [_object(trip, now_ms) for trip in found]
    return as_json({"now": times.iso(now_ms), "trips": shown})


@blueprint.post("/trips")
@access.person()
def start_trip() -> Response:
    """Follow a plan, or go on with a trip that ended; what was followed of its kind ends."""
    parameters.only()
    body = parameters.body(NewTrip)
    user = identity.own_id()
    with working() as work:
        trip = _resumed(work, body) if body.resume else _new(work, body, user)
        identity.refuse_without_consent(work.connection, user, ending.NEEDED[trip.kind])
        over = beginning.begin(work.connection, work.boxes, trip, work.now_ms)
        ended = None if over is None else _object(over, work.now_ms)
        found = as_json({"trip": _object(trip, work.now_ms), "ended": ended}, 201)
    found.headers["Location"] = f"/api/v1/trips/{trip.id}"
    return found


@blueprint.get("/trips/<trip_id>")
@access.person()
def show_trip(trip_id: str) -> Response:
    """One trip, as it is now."""
    parameters.only()
    with state().engine.connect() as connection:
        trip = _own(trips.find(connection, _boxes(), trip_id), trip_id)
        return _shown(trip, clocks.read(connection).now_ms)


@blueprint.delete("/trips/<trip_id>")
@access.person()
def end_trip(trip_id: str) -> Response:
    """Follow a trip no more; it can be gone on with for a day."""
    parameters.only()
    with working() as work:
        trip = work.trip(trip_id)
        if trip.state == "following":
            trip = ending.end(work.connection, work.boxes, trip, "ended", work.now_ms)
        return _shown(trip, work.now_ms)


@blueprint.put("/trips/<trip_id>/position")
@access.person(right="context")
@limits.counted("context")
def put_position(trip_id: str) -> Response:
    """Tell where one is; what comes out of order is ignored."""
    parameters.only()
    body = parameters.body(ToldPosition)
    with working() as work:
        trip = work.followed(trip_id)
        identity.refuse_without_consent(work.connection, trip.user, ("position",))
        position = _timed(body.position(work.now_ms))
        if _is_late(position, trip.content.position):
            return _shown(trip, work.now_ms, ignored=True)
        moved = trip.with_content(work.now_ms, position=position)
        placed = answering.placed(moved.content, line_of(moved.content.plan))
        moved = moved.with_content(work.now_ms, **placed)
        if following.is_there(moved.content):
            over = ending.end(work.connection, work.boxes, moved, "arrived", work.now_ms)
            return _shown(over, work.now_ms)
        trips.save(work.connection, work.boxes, moved)
        standing = ending.standing_position(position)
        watching.tell(work.connection, trip.user, {"position": standing})
        trips.tell(work.connection, moved, "moved", work.now_ms)
        return _shown(moved, work.now_ms)


@blueprint.post("/trips/<trip_id>/proposal")
@access.person()
def answer_proposal(trip_id: str) -> Response:
    """Accept a proposal, decline it, decide later, or undo what was accepted."""
    parameters.only()
    body = parameters.body(Answer)
    with working() as work:
        trip = work.followed(trip_id)
        _refuse_other_proposal(trip, body)
        found = _answered(trip, body, work.now_ms)
        if found.has_new_plan:
            identity.refuse_without_consent(work.connection, trip.user, ending.NEEDED[trip.kind])
            beginning.watch(work.connection, found.trip)
            watching.tell(work.connection, trip.user, ending.context_of(found.trip))
        proposal = trip.content.proposal
        if proposal is not None and proposal["notice"] is not None and body.answer != "snooze":
            notices.advise(work.connection, proposal["notice"], None, work.now_ms)
        trips.save(work.connection, work.boxes, found.trip)
        trips.tell(work.connection, found.trip, found.change, work.now_ms)
        return _shown(found.trip, work.now_ms)


def _answered(trip: Trip, body: Answer, now_ms: int) -> Answered:
    match body.answer:
        case "accept":
            return answering.accept(trip, now_ms, _option(trip, body))
        case "decline":
            return answering.decline(trip, now_ms)
        case "snooze":
            return answering.snooze(trip, body.minutes, now_ms)
        case "undo":
            return answering.undo(trip, now_ms)


@blueprint.get("/trips/<trip_id>/events")
@access.person()
def stream_trip(trip_id: str) -> Response:
    """What happens to a trip, as server-sent events: `trip` with the change and the trip."""
    parameters.only("last_event_id")
    with state().engine.connect() as connection:
        trip = _own(trips.find(connection, _boxes(), trip_id), trip_id)
    return trip_stream.stream(trip.id, trip.user)


# --- What is asked for ---------------------------------------------------------------------------


def _new(work: Work, body: NewTrip, user: str) -> Trip:
    """A trip of a plan that was answered a while ago at most."""
    answer = kept().find(body.plan or "")
    if answer is None:
        raise problems.not_found(
            f"plan {body.plan!r} (any more: plans are kept for 30 minutes); plan again"
        )
    option = beginning.chosen(answer, body.choice)
    told = body.position
    position = None if told is None else _timed(told.position(work.now_ms))
    language = parameters.language()
    return beginning.new_trip(user, answer, option, position, language, work.now_ms, body.to_name)


def _resumed(work: Work, body: NewTrip) -> Trip:
    trip = work.trip(body.resume or "")
    if trip.user != identity.own_id():
        raise problems.not_found(f"trip {trip.id!r} of yours")
    return beginning.resumed(trip, work.now_ms)


def _option(trip: Trip, body: Answer) -> int:
    """Which journey of a proposal is meant; a problem where there is none."""
    there = len((trip.content.proposal or {}).get("others") or ())
    if body.option > there:
        message = f"found {body.option}, expected at most {there}: as many others are proposed"
        raise problems.invalid([{"path": "option", "message": message}])
    return body.option


def _refuse_other_proposal(trip: Trip, body: Answer) -> None:
    """Raise a 409 where there is nothing to answer, or something else than is meant."""
    content = trip.content
    if body.answer == "undo":
        if content.previous is None:
            detail = "no other plan was accepted on this trip; there is nothing to undo"
            raise problems.ProblemError(409, "nothing-to-undo", "Nothing to undo", detail)
    elif content.proposal is None:
        detail = "nothing is proposed to this trip (any more); read it again"
        raise problems.ProblemError(409, "no-proposal", "No proposal", detail)
    elif body.number not in (None, content.proposal["number"]):
        detail = (
            f"number: found {body.number}, but proposal {content.proposal['number']} is open; "
            "read the trip again and answer that"
        )
        raise problems.ProblemError(409, "proposal-changed", "Proposal changed", detail)


def _timed(position: Position) -> Position:
    """A position without a time that cannot be: of a device whose clock is wrong, what comes
    last counts, and what comes when it is right again."""
    latest = max(times.wall_ms(), position.heard_ms) + AHEAD_MS
    impossible = position.at_ms is not None and position.at_ms > latest
    return replace(position, at_ms=None) if impossible else position


def _is_late(position: Position, last: Position | None) -> bool:
    """Whether a position is no later than the last one that said when it was."""
    if last is None or last.at_ms is None or position.at_ms is None:
        return False
    return position.at_ms <= last.at_ms


# --- Answers -------------------------------------------------------------------------------------


def _shown(trip: Trip, now_ms: int, **more: Any) -> Response:
    return as_json({"trip": _object(trip, now_ms), **more})


def _object(trip: Trip, now_ms: int) -> dict[str, Any]:
    return trip_object(trip, now_ms, parameters.language())


def _own(trip: Trip | None, trip_id: str) -> Trip:
    identity.refuse_other(None if trip is None else trip.user, f"trip {trip_id!r}")
    assert trip is not None
    return trip


def _over(trip: Trip) -> problems.ProblemError:
    detail = f"this trip is over ({trip.state}); POST /api/v1/trips with `resume` to go on with it"
    return problems.ProblemError(409, "trip-over", "Trip over", detail, state=trip.state)


def _boxes() -> sealing.Boxes:
    return trips.boxes_of(state().settings)


@contextmanager
def working() -> Iterator[Work]:
    """A transaction in which nobody else announces anything."""
    try:
        with state().engine.begin() as connection:
            outbox.begin(connection)
            yield Work(connection, _boxes(), clocks.read(connection).now_ms)
    except (sealing.BoxError, OSError, sqlite3.Error) as error:  # It may name files of the server.
        if problems.is_full(error):
            raise  # a 507 (`backend.api.problems`)
        LOG.warning("trips cannot be opened or sealed: %s", error)
        detail = "trips cannot be kept now: their keys cannot be used; try again later"
        raise problems.ProblemError(503, "trips-unavailable", "Trips unavailable", detail) from None
