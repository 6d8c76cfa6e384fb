"""The next meeting of a series, made when the one before it is over."""

from __future__ import annotations

from sqlalchemy import Connection, update

from citywise.apps.meeting_mgr import reminders, store
from citywise.apps.meeting_mgr.process.faults import PASSING, tell
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import repeating
from citywise.apps.meeting_mgr.store import MOST_MEETINGS
from citywise.apps.meeting_mgr.tables import MeetingRow
from citywise.backend.app import boxes as sealing

MOST_AT_ONCE = 50


def make_due(connection: Connection, boxes: sealing.Boxes, now_ms: int) -> int:
    """Make those that are due, in a transaction in which nobody else changes meetings; how many.
    One that cannot be made, or that would be more than are kept of a host, is given up, and holds
    up no other."""
    made = 0
    for meeting, host in store.to_follow(connection, now_ms, MOST_AT_ONCE):
        try:
            with connection.begin_nested():
                record = store.find(connection, boxes, meeting)
                if record is not None and store.count_of_host(connection, host) < MOST_MEETINGS:
                    made += _make(connection, boxes, record, now_ms)
        except PASSING:
            raise
        except Exception as error:  # noqa: BLE001 - one bad meeting stops no other
            tell(f"repeating meeting {meeting}", error)
        tried = update(MeetingRow).where(MeetingRow.id == meeting)
        connection.execute(tried.values(next_ms=None))
    return made


def _make(connection: Connection, boxes: sealing.Boxes, record: MeetingRecord, now_ms: int) -> int:
    steps = repeating.follow(record, now_ms)
    if steps is None:
        return 0
    for step in steps:
        store.write(connection, boxes, step)
    chosen = reminders.of(connection, record.id, record.user)
    if chosen is not None:
        reminders.choose(connection, steps[1].record, record.user, chosen.minutes)
    return 1
