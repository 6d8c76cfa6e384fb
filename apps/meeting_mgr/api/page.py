"""The pages of the meeting manager: one's meetings, the host's panel, the participant's page.

None of them holds anything of a meeting; they ask for it.
"""

from __future__ import annotations

from flask import Blueprint, Response

from citywise.apps.meeting_mgr import settings as configured
from citywise.backend.app import access, page, state

blueprint = Blueprint("meeting_pages", __name__)


@blueprint.get("/meetings")
@access.city
def show_meetings() -> Response:
    """The meetings somebody hosts, and a form for the next."""
    return page("meetings", section="meetings")


@blueprint.get("/meetings/<meeting_id>")
@access.city
def show_meeting(meeting_id: str) -> Response:
    """The host's panel of a meeting; who may not see it is told so by the API alone."""
    return page("meeting", meeting_id=meeting_id, section="meetings")


@blueprint.get("/meet/<meeting_id>")
@access.door
def show_meet(meeting_id: str) -> Response:
    """The participant's page; what follows `?key=` is the link's secret and stays there."""
    jitsi = configured.of(state().settings).jitsi
    return page(
        "meet",
        meeting_id=meeting_id,
        section="meetings",
        has_broker=True,
        granted={jitsi: ("script-src", "frame-src", "camera", "microphone", "display-capture")}
        if jitsi
        else {},
    )
