"""Whether one is reminded of a meeting by e-mail: its host, and who takes part with an account."""

from __future__ import annotations

from flask import Blueprint, Response
from pydantic import Field

from citywise.apps.meeting_mgr import reminders, store
from citywise.apps.meeting_mgr.api.rights import Work, reading, working
from citywise.apps.meeting_mgr.model import Value
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.backend.app import access, as_json, identity, parameters, problems, state

blueprint = Blueprint("meeting_reminders", __name__)


class Chosen(Value):
    """How long before a meeting starts one is reminded of it."""

    minutes: int = Field(default=reminders.USUAL_MINUTES, ge=1, le=reminders.LONGEST_MINUTES)


@blueprint.get("/meetings/<meeting_id>/reminder")
@access.person()
def show_reminder(meeting_id: str) -> Response:
    """Whether one is reminded of a meeting, and how long before."""
    parameters.only()
    with reading() as work:
        return _shown(work, _own(work, meeting_id))


@blueprint.put("/meetings/<meeting_id>/reminder")
@access.person()
def choose_reminder(meeting_id: str) -> Response:
    """Be reminded of a meeting."""
    parameters.only()
    minutes = parameters.body(Chosen).minutes
    with working() as work:
        record = _own(work, meeting_id)
        if not state().settings.writes_to_people:
            detail = (
                "nobody is written to here; who runs this system sets mail.host and web.public_url"
            )
            raise problems.ProblemError(409, "mail-not-configured", "No mail", detail)
        reminders.choose(work.connection, record, identity.own_id(), minutes)
        return _shown(work, record)


@blueprint.delete("/meetings/<meeting_id>/reminder")
@access.person()
def drop_reminder(meeting_id: str) -> Response:
    """Be reminded of a meeting no more."""
    parameters.only()
    with working() as work:
        reminders.drop(work.connection, _own(work, meeting_id).id, identity.own_id())
    return Response(status=204)


def _own(work: Work, meeting_id: str) -> MeetingRecord:
    """A meeting that who asks hosts or takes part in; a 404 for all others."""
    found, asker = store.find(work.connection, work.boxes, meeting_id), identity.own_id()
    if found is None or not reminders.concerns(work.connection, found, asker):
        raise problems.not_found(f"meeting {meeting_id!r} that you host or have joined")
    return found


def _shown(work: Work, record: MeetingRecord) -> Response:
    chosen = reminders.of(work.connection, record.id, identity.own_id())
    return as_json(
        {
            "minutes": None if chosen is None else chosen.minutes,
            "usual": reminders.USUAL_MINUTES,
            "available": state().settings.writes_to_people,
        }
    )
