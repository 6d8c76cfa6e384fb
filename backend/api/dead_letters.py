"""What the ingest refused, and why."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from citywise.backend.api import access, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.state import state
from citywise.backend.operations import letters
from citywise.backend.store import letters as kept_letters
from citywise.backend.store.models import DeadLetterRow
from citywise.backend.times import iso, iso_or_none

blueprint = Blueprint("dead_letters", __name__)

_SHOWN = 2000
"""Characters of a payload; more is kept, to be replayed."""


def _letter(row: DeadLetterRow, prefix: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "received_at": iso(row.received_ms),
        "topic": row.topic,
        "reason": row.reason,
        "detail": row.detail,
        "size": row.size,
        "payload": row.payload[:_SHOWN],
        "replayed_at": iso_or_none(row.replayed_ms),
        "not_replayable": letters.why_not(row, prefix),
    }


@blueprint.get("/dead-letters")
@access.role("admin")
def list_dead_letters() -> Response:
    """Dead letters, newest first, with how many there are for each reason."""
    parameters.only("limit", "before", "reason")
    limit = parameters.integer("limit", 100, 1, 1000) or 100
    before = parameters.integer("before", None, 1, 2**62)
    reasons = parameters.choices("reason")
    query = select(DeadLetterRow).order_by(DeadLetterRow.id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(DeadLetterRow.id < before)
    if reasons:
        query = query.where(DeadLetterRow.reason.in_(reasons))
    count = select(DeadLetterRow.reason, func.count()).group_by(DeadLetterRow.reason)
    with Session(state().engine) as session:
        prefix = state().settings.broker.prefix
        found = [_letter(row, prefix) for row in session.scalars(query)]
        refused = kept_letters.refused(session.connection())
        counts = dict(session.execute(count.order_by(DeadLetterRow.reason)).all())
    more, found = len(found) > limit, found[:limit]
    following = found[-1]["id"] if more else None
    return as_json({"counts": counts, "refused": refused, "dead_letters": found, "next": following})
