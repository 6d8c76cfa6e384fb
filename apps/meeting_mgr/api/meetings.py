"""Meetings over HTTP, for their hosts."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Response

from citywise.apps.meeting_mgr import settings as configured
from citywise.apps.meeting_mgr import store, views
from citywise.apps.meeting_mgr.api.bodies import (
    Action,
    Answer,
    ChangedMeeting,
    NewMeeting,
    Overrides,
    ToldMeeting,
    TypedDecision,
)
from citywise.apps.meeting_mgr.api.rights import Work, reading, working
from citywise.apps.meeting_mgr.api.showing import Showing
from citywise.apps.meeting_mgr.conferences import hooks
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import (
    answering,
    arriving,
    bounds,
    consent,
    editing,
    running,
    sharing,
    taking_part,
)
from citywise.apps.meeting_mgr.steps.drafts import Changes
from citywise.apps.meeting_mgr.store import MOST_MEETINGS
from citywise.backend.app import access, as_json, identity, limits, parameters, problems, state

blueprint = Blueprint("meetings", __name__)


@blueprint.get("/meetings")
@access.person()
def list_meetings() -> Response:
    """The meetings that the asker hosts, and those of others that they are in; the latest to start
    first."""
    parameters.only()
    asker = identity.own_id()
    with reading() as work:
        hosted = store.listed_of_host(work.connection, work.boxes, asker)
        joined = store.joined_by(work.connection, work.boxes, asker)
    return as_json(
        {
            "meetings": [views.brief(record) for record in hosted],
            "joined": [views.brief(record) for record in joined],
        }
    )


@blueprint.post("/meetings")
@access.person()
def create_meeting() -> Response:
    """A new meeting, whose host is who asks."""
    parameters.only()
    body = parameters.body(NewMeeting)
    _refuse_hook(body)
    with working() as work:
        _refuse_more(work, identity.own_id())
        record = work.write(editing.create(identity.own_id(), body.changes(), work.now_ms))
        answer = _host_view(work, record.id, 201)
    answer.headers["Location"] = f"/api/v1/meetings/{record.id}"
    return answer


@blueprint.get("/meetings/<meeting_id>")
@access.person()
def show_meeting(meeting_id: str) -> Response:
    """A meeting as its host sees it."""
    parameters.only()
    with reading() as work:
        return _host_view(work, meeting_id)


@blueprint.get("/meetings/<meeting_id>/agenda")
@access.person()
def show_agenda(meeting_id: str) -> Response:
    """A meeting's agenda, for another meeting of its host."""
    parameters.only()
    with reading() as work:
        return as_json(views.agenda(work.hosted(meeting_id)))


@blueprint.patch("/meetings/<meeting_id>")
@access.person()
def change_meeting(meeting_id: str) -> Response:
    """Change what a meeting is to be, or restore one that was cancelled."""
    parameters.only()
    body = parameters.body(ChangedMeeting)
    _refuse_hook(body)
    _refuse_probing(meeting_id, body)
    with working() as work:
        record = work.hosted(meeting_id)
        _refuse_stale(record, body.version)
        if body.state == "planned" and record.state == "cancelled":
            record = work.write(running.restore(record, work.now_ms))
        if (changes := body.changes()).model_fields_set:
            edited = editing.edit(record, changes, work.now_ms, following=body.following)
            _write(work, record, edited)
        answer = _host_view(work, meeting_id)
    state().tell_broker()
    return answer


@blueprint.delete("/meetings/<meeting_id>")
@access.person()
def cancel_meeting(meeting_id: str) -> Response:
    """Cancel a meeting, with `following` those of its series that follow, too; `forever`: remove
    it and all that is kept of it."""
    parameters.only("forever", "following")
    with working() as work:
        record = work.hosted(meeting_id)
        if parameters.boolean("forever"):
            store.delete(work.connection, _removable(record).id)
            answer = Response(status=204)
        else:
            cancelled = running.cancel(record, work.now_ms, work.people(record))
            if parameters.boolean("following"):
                never = Changes(repeats="never")
                record_after = editing.edit(cancelled.record, never, work.now_ms).record
                cancelled = cancelled._replace(record=record_after)
            _write(work, record, cancelled)
            answer = _host_view(work, meeting_id)
    state().tell_broker()
    return answer


@blueprint.post("/meetings/<meeting_id>/actions")
@access.person()
def act(meeting_id: str) -> Response:
    """Start, go on, end; ask somebody to do something, or put them out."""
    parameters.only()
    body = parameters.body(Action)
    with working() as work:
        record = work.hosted(meeting_id)
        _write(work, record, _step(work, record, body))
        answer = _host_view(work, meeting_id)
    if body.do in ("start", "end", "remove"):
        state().tell_broker()
    return answer


@blueprint.put("/meetings/<meeting_id>/people/<person_id>/overrides")
@access.person()
def override(meeting_id: str, person_id: str) -> Response:
    """Say what somebody can do, whatever their sensors say."""
    parameters.only()
    body = parameters.body(Overrides)
    return _changed(
        meeting_id,
        lambda work, record: taking_part.override(
            record, work.person(record, person_id), body.given(), work.now_ms
        ),
    )


@blueprint.post("/meetings/<meeting_id>/proposals/<int:number>")
@access.person()
def answer_proposal(meeting_id: str, number: int) -> Response:
    """Accept another agenda, decline it, or undo what was accepted."""
    parameters.only()
    body = parameters.body(Answer)

    def step(work: Work, record: MeetingRecord) -> Step:
        match body.answer:
            case "accept":
                return answering.accept(record, number, body.option, work.now_ms)
            case "decline":
                return answering.decline(record, number, work.now_ms)
            case "undo":
                return answering.undo(record, number, work.now_ms)

    return _changed(meeting_id, step)


@blueprint.post("/meetings/<meeting_id>/decisions")
@access.person()
def decide(meeting_id: str) -> Response:
    """Note what was decided, for the minutes."""
    parameters.only()
    body = parameters.body(TypedDecision)
    return _changed(
        meeting_id,
        lambda work, record: running.decide(record, body.text, body.item, work.now_ms),
    )


def _changed(meeting_id: str, step: Callable[[Work, MeetingRecord], Step]) -> Response:
    """Make a step of a meeting of who asks, and show the meeting after it."""
    with working() as work:
        record = work.hosted(meeting_id)
        _write(work, record, step(work, record))
        return _host_view(work, meeting_id)


def _write(work: Work, record: MeetingRecord, step: Step) -> None:
    """Write a step of a meeting; what people did not share it for, they are asked for anew."""
    work.write(step)
    for person in work.people(record):
        if because := sharing.unasked(record, step.record, person):
            work.write(consent.cease(step.record, person, because, work.now_ms))
    if arriving.is_another(record, step.record):
        for person in work.people(record):
            if person.tells_arrival:
                work.write(arriving.cease(step.record, person, work.now_ms))


def _refuse_probing(meeting_id: str, body: ChangedMeeting) -> None:
    """Raise a 429 where bounds, or the room, are moved again and again while people are there:
    what changes with each move would tell what their sensors measure. Counted before the
    transaction that moves them."""
    changes = body.changes()
    with reading() as work:
        before = work.hosted(meeting_id)
        _refuse_stale(before, body.version)
        if not _moves_bounds(before, changes, work.now_ms):
            return
        people = work.people(before)
    if any(person.left_ms is None for person in people):
        limits.spend("bounds", f"user {before.user}")


def _moves_bounds(record: MeetingRecord, changes: Changes, now_ms: int) -> bool:
    """Whether changes would move what sensors are compared with."""
    if not changes.model_fields_set & {"rules", "room"}:
        return False
    after = editing.edit(record, changes, now_ms).record
    return bounds.bounds(record.meeting) != bounds.bounds(after.meeting)


def _step(work: Work, record: MeetingRecord, body: Action) -> Step:
    """What an action makes of a meeting."""
    now_ms = work.now_ms
    match body.do:
        case "start":
            return running.start(record, now_ms)
        case "next":
            return running.next_item(record, now_ms, body.item)
        case "go_to":
            return running.go_to(record, body.item or "", now_ms)
        case "extend":
            return running.extend(record, body.minutes or 0, now_ms)
        case "end":
            return running.end(record, now_ms, work.people(record))
        case "new_link":
            return running.new_link(record, now_ms)
    person = work.person(record, body.person)
    match body.do:
        case "hand_over":
            return taking_part.hand_over(record, person, now_ms)
        case "remove":
            return taking_part.remove(record, person, now_ms, keep_link=body.keep_link)
        case asked:
            return taking_part.ask(record, person, asked, now_ms)


def _host_view(work: Work, meeting_id: str, status: int = 200) -> Response:
    record = work.hosted(meeting_id)
    people = work.people(record)
    return as_json(Showing.of_request().host(record, people, work.now_ms), status)


def _refuse_stale(record: MeetingRecord, version: int) -> None:
    if version != record.version:
        detail = (
            f"version: found {version}, but the meeting has changed since (it is at "
            f"{record.version}); read it again and change that"
        )
        raise MeetingError("stale", detail)


def _refuse_more(work: Work, user: str) -> None:
    if store.count_of_host(work.connection, user) >= MOST_MEETINGS:
        detail = f"{MOST_MEETINGS} meetings are kept of one host; remove those that are over"
        raise MeetingError("too-many-meetings", detail)


def _refuse_hook(body: ToldMeeting) -> None:
    """Raise a 422 where messages are to go to an address that the operator does not allow."""
    if body.hook is None:
        return
    try:
        hooks.check(body.hook.url, configured.of(state().settings).webhooks)
    except hooks.HookError as error:
        raise problems.invalid([problems.fault("hook.url", str(error))]) from None


def _removable(record: MeetingRecord) -> MeetingRecord:
    if record.state == "running":
        raise MeetingError("running", "the meeting is running; end it first, then remove it")
    return record
