"""What the ingest refused, and why."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.api import parameters
from backend.api.answers import as_json
from backend.api.state import state
from backend.store.models import DeadLetterRow
from backend.times import iso

blueprint = Blueprint("dead_letters", __name__)


def _letter(row: DeadLetterRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "received_at": iso(row.received_ms),
        "topic": row.topic,
        "reason": row.reason,
        "detail": row.detail,
        "size": row.size,
        "payload": row.payload,
    }


@blueprint.get("/dead-letters")
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
        letters = [_letter(row) for row in session.scalars(query)]
        counts = dict(session.execute(count.order_by(DeadLetterRow.reason)).all())
    more = len(letters) > limit
    letters = letters[:limit]
    return as_json(
        {"counts": counts, "dead_letters": letters, "next": letters[-1]["id"] if more else None}
    )
