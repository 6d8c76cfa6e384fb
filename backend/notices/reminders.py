"""Alerts that were held back and are due: each comes once, if its notice is still open."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, select

from citywise.backend.notices import kept, same
from citywise.backend.notices.announcing import News, announce, begin
from citywise.backend.notices.listeners import Listeners, events_of
from citywise.backend.store.models import NoticeRow

MOST = 500
"""Reminders of one transaction; others wait for the database meanwhile."""


def remind(connection: Connection, now_ms: int) -> int:
    """Decide again on what is due at stream time `now_ms` (Unix ms), and announce what alerts
    as `reminded`.

    Returns how many were due; there may be more where it is `MOST`.
    """
    due = _due(now_ms)
    if connection.scalar(select(NoticeRow.id).where(due).limit(1)) is None:
        return 0
    begin(connection)
    rows = kept.still_open(connection, due, MOST)
    users = {row["user"] for row in rows}
    listeners = Listeners(connection, users, now_ms, events_of(rows))
    attended = [listeners.attend(row, "reminded", now_ms) for row in rows]
    kept.save(connection, [notice for notice, _ in attended])
    told = [News("reminded", notice, alert, now_ms) for notice, alert in attended if alert]
    announce(connection, told)
    same.settle(connection, told)
    return len(rows)


def _due(now_ms: int) -> ColumnElement[bool]:
    row = NoticeRow
    return (row.due_ms <= now_ms) & row.closed_ms.is_(None) & row.acknowledged_ms.is_(None)
