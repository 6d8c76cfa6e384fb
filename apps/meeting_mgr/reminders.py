"""Reminders of meetings: who wants one, when it is due, and what has been reminded of.

A row is the timer: it outlasts a restart, follows a meeting that is put at another time, and is
marked in the transaction that has the letter sent.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.model import APP
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.tables import MeetingPersonRow, ReminderRow
from citywise.backend.app import boxes as sealing
from citywise.backend.app import mail, upsert

USUAL_MINUTES = 15
LONGEST_MINUTES = 7 * 24 * 60
_MOST = 200
"""Reminders of one transaction."""


class Reminder(NamedTuple):
    """That somebody is reminded so long before the start, and of which start they have been."""

    minutes: int
    told_ms: int | None


def concerns(connection: Connection, record: MeetingRecord, user: str) -> bool:
    """Whether an account hosts a meeting, or takes part in it."""
    row = MeetingPersonRow
    seat = select(row.id).where(row.meeting == record.id, row.user == user, row.secret.is_not(None))
    return record.user == user or connection.scalar(seat.limit(1)) is not None


def of(connection: Connection, meeting: str, user: str) -> Reminder | None:
    """What somebody has chosen of a meeting."""
    row = ReminderRow
    chosen = select(row.minutes, row.told_ms).where(row.meeting == meeting, row.user == user)
    found = connection.execute(chosen).one_or_none()
    return None if found is None else Reminder(*found)


def choose(connection: Connection, record: MeetingRecord, user: str, minutes: int) -> None:
    """Remind somebody of a meeting, so long before it starts."""
    row = {"meeting": record.id, "user": user, "minutes": minutes}
    upsert(connection, ReminderRow, [row])
    store.renew_reminders(connection, record)


def drop(connection: Connection, meeting: str, user: str) -> None:
    """Do not remind somebody of a meeting."""
    row = ReminderRow
    connection.execute(delete(row).where(row.meeting == meeting, row.user == user))


def remind(
    connection: Connection, boxes: sealing.Boxes, now_ms: int, *, writes: bool = True
) -> int:
    """Have those reminded of whose meetings it is time, each once, in a transaction in which nobody
    else changes meetings; how many. Without `writes` nobody can be written to."""
    row = ReminderRow
    due = select(row.meeting, row.user).where(row.due_ms <= now_ms).order_by(row.due_ms)
    sent = 0
    for meeting, user in connection.execute(due.limit(_MOST)).all():
        record = store.find(connection, boxes, meeting)
        starts_ms = None
        if record is not None and is_ahead(record, now_ms):
            starts_ms = record.meeting.starts_ms
            if writes and concerns(connection, record, user):
                mail.put_of_app(connection, APP, user, meeting)
                sent += 1
        mine = (row.meeting == meeting, row.user == user)
        told = {"due_ms": None} if starts_ms is None else {"due_ms": None, "told_ms": starts_ms}
        connection.execute(update(row).where(*mine).values(**told))
    return sent


def is_due(connection: Connection, now_ms: int) -> bool:
    """Whether there is anything to do."""
    row = ReminderRow
    return connection.scalar(select(row.meeting).where(row.due_ms <= now_ms).limit(1)) is not None


def is_ahead(record: MeetingRecord, now_ms: int) -> bool:
    """Whether a meeting is still to come."""
    return record.state == "planned" and now_ms < record.meeting.starts_ms
