"""The papers of a meeting over HTTP: invitations, the code to join, calendars, minutes; all for
its host alone."""

from __future__ import annotations

import logging

from flask import Blueprint, Response, request
from pydantic import Field

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.api import calendar_reading, joining
from citywise.apps.meeting_mgr.api.rights import reading, working
from citywise.apps.meeting_mgr.api.showing import Showing
from citywise.apps.meeting_mgr.model import Attendee, AttendeeId, Busy, Value
from citywise.apps.meeting_mgr.papers import (
    calendars,
    invitations,
    letters,
    mailing,
    minutes,
    minutes_files,
    minutes_page,
)
from citywise.apps.meeting_mgr.papers.invitations import Invited, Organizer
from citywise.apps.meeting_mgr.papers.minutes import Minutes
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import editing
from citywise.apps.meeting_mgr.steps.drafts import AttendeeDraft, Changes
from citywise.backend.app import (
    access,
    as_json,
    aside,
    identity,
    limits,
    mail,
    parameters,
    problems,
    state,
    times,
    translator,
)

LOG = logging.getLogger("citywise.meeting_mgr.papers")
blueprint = Blueprint("meeting_papers", __name__)
CALENDAR = "text/calendar; charset=utf-8"


class Invite(Value):
    """Who is to get an invitation by mail; without `attendees` all who have an address."""

    attendees: tuple[AttendeeId, ...] | None = Field(default=None, max_length=200, strict=False)


# --- Inviting ------------------------------------------------------------------------------------


@blueprint.get("/meetings/<meeting_id>/invitation.ics")
@access.person()
def show_invitation(meeting_id: str) -> Response:
    """An invitation, a change of it or a cancellation, for any calendar."""
    parameters.only("lang")
    invited = _invited(meeting_id)
    entry = invitations.calendar(invited, times.wall_ms(), translator(parameters.language()))
    return _file(entry, f"{CALENDAR}; method={invitations.method(invited.record)}", "meeting.ics")


@blueprint.post("/meetings/<meeting_id>/invitations")
@access.person()
def send_invitations(meeting_id: str) -> Response:
    """Send an invitation, or what has changed of it, by mail."""
    parameters.only("lang")
    body = parameters.body(Invite)
    invited = _invited(meeting_id)
    to = _recipients(invited.record, body)
    limits.spend("mails", f"user {identity.own_id()}", max(1, len(to)))
    t = translator(parameters.language())
    mails = letters.written(invited, to, times.wall_ms(), t)
    try:
        sent = mailing.send(mails, state().settings, invited.organizer.name)
    except mail.NoServerError as error:
        detail = f"{error}, or give people the invitation as a file"
        raise problems.ProblemError(409, "mail-not-configured", "No mail", detail) from None
    except mail.ServerError as error:
        # Which server, and what is wrong with it, is for who runs this system.
        LOG.warning("invitations cannot be sent: %s", error)
        detail = (
            "the mail server cannot be used now; try again later, or give people the invitation "
            "as a file (who runs this system finds the reason in the web process' log)"
        )
        raise problems.ProblemError(502, "mail-unavailable", "Mail unavailable", detail) from None
    told = [
        {"attendee": one.id, "email": one.email, "reason": each.reason}
        for one, each in zip(to, sent, strict=True)
    ]
    return as_json(
        {
            "sent": [_without_reason(one) for one in told if one["reason"] is None],
            "failed": [one for one in told if one["reason"] is not None],
        }
    )


@blueprint.get("/meetings/<meeting_id>/join.svg")
@access.person()
def show_code(meeting_id: str) -> Response:
    """The link to join as a code that phones read."""
    parameters.only()
    return _file(joining.svg(_invited(meeting_id).link), "image/svg+xml", None)


@blueprint.put("/meetings/<meeting_id>/attendees/<attendee_id>/calendar")
@access.person()
@limits.counted("expensive")
def read_calendar(meeting_id: str, attendee_id: str) -> Response:
    """When one of those invited is busy, out of their calendar; nothing else of it is kept."""
    parameters.only()
    with reading() as work:
        meeting = work.hosted(meeting_id).meeting
    since_ms = meeting.starts_ms - calendars.BEFORE_MS
    busy = _busy(max(0, since_ms), meeting.ends_ms + calendars.AFTER_MS)
    with working() as work:
        record = work.hosted(meeting_id)
        if record.meeting.attendee(attendee_id) is None:
            raise problems.not_found(f"attendee {attendee_id!r} of this meeting")
        drafts = [
            _draft(one, busy if one.id == attendee_id else None) for one in record.meeting.attendees
        ]
        work.write(editing.edit(record, Changes(attendees=tuple(drafts)), work.now_ms))
    return as_json(
        {"busy": [{"from": times.iso(b.from_ms), "until": times.iso(b.until_ms)} for b in busy]}
    )


# --- Minutes -------------------------------------------------------------------------------------


@blueprint.get("/meetings/<meeting_id>/minutes.html")
@access.person()
def show_minutes(meeting_id: str) -> Response:
    """The minutes as one page, to print and to keep."""
    parameters.only("lang")
    language = parameters.language()
    page = minutes_page.page(_minutes(meeting_id), language, translator(language))
    answer = _file(page.encode(), "text/html; charset=utf-8", "minutes.html", shown=True)
    answer.headers["Content-Language"] = language
    return answer


@blueprint.get("/meetings/<meeting_id>/minutes.md")
@access.person()
def show_minutes_as_markdown(meeting_id: str) -> Response:
    """The minutes as Markdown."""
    parameters.only("lang")
    text = minutes_files.markdown(_minutes(meeting_id), translator(parameters.language()))
    return _file(text.encode(), "text/markdown; charset=utf-8", "minutes.md")


@blueprint.get("/meetings/<meeting_id>/minutes.ics")
@access.person()
def show_minutes_as_calendar(meeting_id: str) -> Response:
    """The minutes as an entry of a calendar, at the time at which the meeting was."""
    parameters.only("lang")
    made = _minutes(meeting_id)
    entry = minutes_files.calendar(made, translator(parameters.language()), times.wall_ms())
    return _file(entry, CALENDAR, "minutes.ics")


# --- What they rest on ---------------------------------------------------------------------------


def _invited(meeting_id: str) -> Invited:
    origin = Showing.of_request().origin
    with reading() as work:
        record = work.hosted(meeting_id)
        host = identity.name_of(work.connection, record.user)
    name = record.meeting.title if host is None else host
    link = joining.url(origin, record.id, record.join_key)
    return Invited(record, Organizer(name, state().settings.mail.sender), link)


def _recipients(record: MeetingRecord, body: Invite) -> list[Attendee]:
    """Those meant; a problem where one of them cannot get mail."""
    known = {one.id: one for one in record.meeting.attendees}
    if body.attendees is None:
        return [one for one in known.values() if one.email is not None]
    faults = [
        problems.fault(
            f"attendees.{n}", f"{each!r} " + ("has no address" if each in known else "is nobody")
        )
        for n, each in enumerate(body.attendees)
        if each not in known or known[each].email is None
    ]
    if faults:
        raise problems.invalid(faults)
    return [known[each] for each in dict.fromkeys(body.attendees)]


def _without_reason(told: dict[str, str | None]) -> dict[str, str | None]:
    return {name: value for name, value in told.items() if name != "reason"}


def _busy(since_ms: int, until_ms: int) -> tuple[Busy, ...]:
    if request.mimetype != "text/calendar":
        found = request.mimetype or "without a type"
        detail = f"the body is {found}; send a calendar as text/calendar"
        raise problems.ProblemError(415, "unsupported-media-type", "Unsupported media type", detail)
    return calendar_reading.busy(request.get_data(), since_ms, until_ms)


def _draft(one: Attendee, busy: tuple[Busy, ...] | None) -> AttendeeDraft:
    return AttendeeDraft(
        id=one.id, name=one.name, email=one.email, required=one.required, busy=busy
    )


def _minutes(meeting_id: str) -> Minutes:
    with reading() as work:
        record = work.hosted(meeting_id)
        people = store.people_of(work.connection, work.boxes, record)
        sealed = store.sealed_entries(work.connection, record.id)
        boxes, now_ms = work.boxes, work.now_ms
        return aside(lambda: minutes.made(record, people, store.opened(boxes, sealed), now_ms))


def _file(body: bytes, kind: str, name: str | None, *, shown: bool = False) -> Response:
    """A file to keep, or to be shown first."""
    answer = Response(body, content_type=kind)
    if name is not None:
        how = "inline" if shown else "attachment"
        answer.headers["Content-Disposition"] = f'{how}; filename="{name}"'
    return answer
