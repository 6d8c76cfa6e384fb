"""Repeating trips over HTTP: made, changed, left out for a day and removed by their own user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

from flask import Blueprint, Response
from sqlalchemy import Connection

from citywise.apps.travel_planner import repeater, repeats
from citywise.apps.travel_planner.api_trips import working
from citywise.apps.travel_planner.kept_plans import kept
from citywise.apps.travel_planner.repeat_bodies import (
    MOST_DAYS,
    ChangedRepeat,
    NewRepeat,
    pattern_of,
    repeat_object,
    request_of,
)
from citywise.apps.travel_planner.repeats import Content, Course, Repeat
from citywise.apps.travel_planner.requests import RequestError
from citywise.apps.travel_planner.trips import Body, boxes_of
from citywise.backend.app import (
    access,
    as_json,
    clocks,
    identity,
    parameters,
    problems,
    state,
    times,
)
from citywise.backend.app import boxes as sealing

blueprint = Blueprint("repeats", __name__)
_OTHER_TRIP = ("at", "by", "weekdays", "dates")
"""What makes another trip of it: what was told before says nothing of that."""


@blueprint.get("/repeats")
@access.person()
def list_repeats() -> Response:
    """The asker's repeating trips, the oldest first."""
    parameters.only()
    with state().engine.connect() as connection:
        found = repeats.of_user(connection, boxes_of(state().settings), identity.own_id())
        now = times.iso(clocks.read(connection).now_ms)
    return as_json({"now": now, "repeats": [repeat_object(one) for one in found]})


@blueprint.post("/repeats")
@access.person()
def make_repeat() -> Response:
    """Repeat a trip: on days of the week, or on some days."""
    parameters.only("lang")
    body = parameters.body(NewRepeat)
    user, language = identity.own_id(), parameters.language()
    with working() as work:
        if len(repeats.of_user(work.connection, work.boxes, user)) >= repeats.MOST:
            detail = f"there are {repeats.MOST} repeating trips already; remove one first"
            raise problems.ProblemError(409, "too-many", "Too many trips", detail)
        request, name = _asked(body)
        content = Content(pattern_of(body), request, body.name or name, language)
        made = repeats.new(user, content, work.now_ms)
        if made.due_ms is None and not content.pattern.paused:
            raise _no_day()
        repeats.save(work.connection, work.boxes, made)
        answer = _shown(made, 201)
    answer.headers["Location"] = f"/api/v1/repeats/{made.id}"
    return answer


@blueprint.get("/repeats/<repeat_id>")
@access.person()
def show_repeat(repeat_id: str) -> Response:
    """One repeating trip, as it is now."""
    parameters.only()
    with state().engine.connect() as connection:
        return _shown(_own(connection, boxes_of(state().settings), repeat_id))


@blueprint.patch("/repeats/<repeat_id>")
@access.person()
def change_repeat(repeat_id: str) -> Response:
    """Change what the body names."""
    parameters.only()
    body = parameters.body(ChangedRepeat)

    def changed(content: Content) -> Content:
        pattern = pattern_of(body, content.pattern)
        if not pattern.weekdays and not pattern.dates:
            raise problems.invalid([problems.fault("weekdays", "expected a day, or `dates`")])
        request, _ = _asked(body) if body.plan or body.request else (content.request, None)
        name = body.name or content.name
        after = replace(content, pattern=pattern, request=request, name=name)
        return _other(after) if _is_other(content, after) else after

    return _changed(repeat_id, changed)


@blueprint.put("/repeats/<repeat_id>/skipped/<day>")
@access.person()
def skip_day(repeat_id: str, day: str) -> Response:
    """Leave a day out."""
    parameters.only()
    return _changed(repeat_id, lambda content: _with_skipped(content, _day(day), is_out=True))


@blueprint.delete("/repeats/<repeat_id>/skipped/<day>")
@access.person()
def keep_day(repeat_id: str, day: str) -> Response:
    """Leave a day out no more."""
    parameters.only()
    return _changed(repeat_id, lambda content: _with_skipped(content, _day(day), is_out=False))


@blueprint.delete("/repeats/<repeat_id>")
@access.person()
def remove_repeat(repeat_id: str) -> Response:
    """Repeat a trip no more; the answer has it, so that it can be made again."""
    parameters.only()
    with working() as work:
        found = _own(work.connection, work.boxes, repeat_id)
        repeater.close(work.connection, found, work.now_ms)
        repeats.remove(work.connection, [found])
        return _shown(found)


# --- Changes -------------------------------------------------------------------------------------


def _changed(repeat_id: str, change: Callable[[Content], Content]) -> Response:
    with working() as work:
        found = _own(work.connection, work.boxes, repeat_id)
        content = change(found.content)
        after = repeats.begun(found, content, work.now_ms)
        if after.content.course.day != found.content.course.day:
            told = content.told
            if told is not None and told["day"] == after.content.course.day:
                # It was left out, and its notice closed; now it is to be told again.
                after = replace(after, content=replace(after.content, told=None))
            repeater.close(work.connection, found, work.now_ms)
        return _shown(repeats.save(work.connection, work.boxes, after))


def _is_other(before: Content, after: Content) -> bool:
    one, other = before.pattern, after.pattern
    same = all(getattr(one, name) == getattr(other, name) for name in _OTHER_TRIP)
    return not same or before.request != after.request


def _other(content: Content) -> Content:
    """A trip as if it had just been made."""
    return replace(content, told=None, course=Course())


def _with_skipped(content: Content, day: date, *, is_out: bool) -> Content:
    pattern, text = content.pattern, day.isoformat()
    left = {one for one in pattern.skipped if one != text} | ({text} if is_out else set())
    if len(left) > MOST_DAYS:
        message = f"{MOST_DAYS} days are left out already; expected fewer"
        raise problems.invalid([problems.fault("skipped", message)])
    return replace(content, pattern=replace(pattern, skipped=tuple(sorted(left))))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        detail = f"day {text[:20]!r}; expected one as in 2026-05-04"
        raise problems.not_found(detail) from None


def _asked(body: ChangedRepeat) -> tuple[dict[str, Any], str]:
    """The request that a body means, and what to call the trip."""
    told: Body = body.request or {}
    name = None
    if body.plan is not None:
        answer = kept().find(body.plan)
        if answer is None or answer["kind"] != "travel":
            kind = "journey " if answer else ""
            raise problems.not_found(f"{kind}plan {body.plan!r} (any more); plan again")
        told = answer["request"]
        name = answer["to"].get("name")
    try:
        request = request_of(told)
    except RequestError as error:
        faults = [{**one, "path": f"request.{one['path']}"} for one in error.faults]
        raise problems.invalid(faults) from None
    to = request["to"]
    return request, name or to.get("stop") or f"{to['lat']:.4f}, {to['lon']:.4f}"


# --- Answers -------------------------------------------------------------------------------------


def _own(connection: Connection, boxes: sealing.Boxes, repeat_id: str) -> Repeat:
    found = repeats.find(connection, boxes, repeat_id)
    identity.refuse_other(None if found is None else found.user, f"repeating trip {repeat_id!r}")
    assert found is not None
    return found


def _shown(one: Repeat, status: int = 200) -> Response:
    return as_json({"repeat": repeat_object(one)}, status)


def _no_day() -> problems.ProblemError:
    message = "no day of it is still to come; expected one within a year"
    return problems.invalid([problems.fault("dates", message)])
