"""What happens to a meeting, as server-sent events: to its host, and to who takes part."""

from __future__ import annotations

import orjson
from flask import Blueprint, Response, current_app

from citywise.apps.meeting_mgr.api import open_pages
from citywise.apps.meeting_mgr.api.rights import reading
from citywise.apps.meeting_mgr.api.showing import Showing
from citywise.apps.meeting_mgr.api.snapshots import Snapshots
from citywise.apps.meeting_mgr.telling import MEETING, host_channel, person_channel
from citywise.backend.app import access, event_stream, identity, limits, parameters, state

blueprint = Blueprint("meeting_stream", __name__)
_EXTENSION = "citywise-meetings"


@blueprint.get("/meetings/<meeting_id>/events")
@access.person()
def stream_events(meeting_id: str) -> Response:
    """The changes of a meeting for its host: each `meeting` with the change, whom it is about,
    and the whole meeting as it is by then."""
    parameters.only("last_event_id")
    with reading() as work:
        work.hosted(meeting_id)
    reader = event_stream.Reader.of(
        identity.principal(), host_channel(meeting_id), limits.address()
    )
    return _served(reader, meeting_id)


@blueprint.get("/meetings/<meeting_id>/people/me/events")
@access.key_holder
def stream_own_events(meeting_id: str) -> Response:
    """The changes of a meeting for who takes part; ends when they leave or are put out."""
    parameters.only("last_event_id")
    with reading() as work:
        person = work.seat(meeting_id).person.id
    reader = event_stream.Reader(person_channel(person), address=limits.address())
    answer = _served(reader, meeting_id, person)
    answer.call_on_close(open_pages.opened(person))
    return answer


def _served(reader: event_stream.Reader, meeting_id: str, viewer: str = "") -> Response:
    """The stream of a reader: of the host, or of somebody who takes part."""
    web, snapshots, showing = state(), _snapshots(), Showing.of_request()

    def shown(message: event_stream.Message) -> event_stream.Message | None:
        """What has changed with all that is there now; the last tells that nothing is."""
        told = orjson.loads(message.data) if message.event == MEETING else {}
        if told.get("meeting") != meeting_id:
            return None
        view = snapshots.after(message.id or 0, meeting_id).shown(viewer, showing)
        if view is None:
            web.hub.end(user=reader.user)
        body = {"change": told["change"], "person": told["person"], "meeting": view}
        return event_stream.Message(MEETING, orjson.dumps(body), message.id, reader.user)

    return event_stream.served(reader, shown)


def _snapshots() -> Snapshots:
    """Those of the current application's database."""
    web, kept = state(), current_app.extensions
    of, found = kept.get(_EXTENSION, (None, None))
    if not isinstance(found, Snapshots) or of is not web:
        found = Snapshots(web.engine, web.settings)
        kept[_EXTENSION] = web, found
    return found
