"""How far the pipeline has come in the log. Requests that are behind the others (they fail, or
are tried again) are told apart: nobody waits for them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from citywise.backend.store.models import CursorRow


@dataclass(frozen=True)
class Progress:
    """Where the requests stand; log positions in bytes, stream time in Unix ms."""

    position: int = 0
    """Of those that are furthest, which are all but those behind."""
    needed_from: int = 0
    """From where on the log is still needed, by those that are behind too."""
    answered_ms: int | None = None
    """Up to when all have answered that are not behind."""
    needed_by: str | None = None
    """The request that is furthest behind; None where none is."""


def read(connection: Connection) -> Progress:
    """How far the requests have come; all zero before the first batch."""
    row = CursorRow
    cursors = connection.execute(
        select(row.request, row.position, row.resume_from, row.answered_ms)
    ).all()
    if not cursors:
        return Progress()
    position = max(cursor.position for cursor in cursors)
    together = [cursor for cursor in cursors if cursor.position == position]
    behind = [cursor for cursor in cursors if cursor.position < position]
    answered = [c.answered_ms for c in together if c.answered_ms is not None]
    return Progress(
        position=position,
        needed_from=min(cursor.resume_from for cursor in cursors),
        answered_ms=min(answered, default=None),
        needed_by=min(behind, key=lambda c: c.position).request if behind else None,
    )
