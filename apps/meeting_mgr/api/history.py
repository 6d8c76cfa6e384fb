"""What happened in a meeting over HTTP, for its host."""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response

from citywise.apps.meeting_mgr import store, views
from citywise.apps.meeting_mgr.api.rights import reading
from citywise.backend.app import access, as_json, parameters

blueprint = Blueprint("meeting_history", __name__)
_USUAL, _MOST = 30, 200


@blueprint.get("/meetings/<meeting_id>/entries")
@access.person()
def list_entries(meeting_id: str) -> Response:
    """What happened, the newest first, as far as it was news."""
    parameters.only("limit", "before")
    limit = parameters.integer("limit", _USUAL, 1, _MOST) or _USUAL
    before = parameters.integer("before", None, 1, 2**62)
    with reading() as work:
        record = work.hosted(meeting_id)
        newest = partial(store.newest_entries, work.connection, work.boxes, record.id, before)
        page = views.page(newest, limit)
        whom = {one["person"] for one in page.told} - {None}
        people = store.people(work.connection, work.boxes, whom)
    return as_json({"entries": views.named(page.told, people), "next": page.following})
