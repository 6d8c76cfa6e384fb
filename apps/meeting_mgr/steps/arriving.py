"""Telling a meeting when one arrives: agreed to, found out, and withdrawn with what came of it."""

from __future__ import annotations

from citywise.apps.meeting_mgr.entries import ArrivalTold
from citywise.apps.meeting_mgr.model import OPEN, Person
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps.about import about, require_there
from citywise.apps.meeting_mgr.steps.answering import without_arrival
from citywise.apps.meeting_mgr.steps.consent import require_open

_AROUND_MS = 2 * 3_600_000
"""So long before its planned start, and after its planned end though nobody has ended it, a meeting
is told who is on the way."""
MINUTE_MS = 60_000
_SPARE_MS = 30_000
"""By so much somebody may be later than a full minute and still arrive at it: what is reckoned
again and again else turns to and fro."""


def is_possible(record: MeetingRecord, person: Person) -> bool:
    """Whether a meeting has a place on the map, and somebody an account, which trips need."""
    return record.meeting.room.lat is not None and person.user is not None


def is_time(record: MeetingRecord, now_ms: int) -> bool:
    """Whether a meeting is told who is on the way."""
    meeting = record.meeting
    return meeting.starts_ms - _AROUND_MS <= now_ms <= meeting.ends_ms + _AROUND_MS


def agree(record: MeetingRecord, person: Person, now_ms: int) -> Step:
    """Somebody lets the meeting know when they arrive (`arrival`). Raises `MeetingError`: `over`,
    or `no-way` where it has no place on the map, or they no account."""
    require_there(person)
    require_open(record)
    if not is_possible(record, person):
        detail = "Log in and join again; the host has to put the room on the map."
        raise MeetingError("no-way", f"Nothing can be known of your way to this meeting. {detail}")
    agreed = person.model_copy(update={"tells_arrival": True})
    told = [] if person.tells_arrival else [ArrivalTold(tells=True)]
    return about(record, "arrival", agreed, now_ms, *told)


def withdraw(record: MeetingRecord, person: Person, now_ms: int) -> Step:
    """The meeting may not know it any more (`arrival`): what was accepted because of it is undone
    (`undone`), unless something else has changed the agenda since, and no proposal tells of it."""
    if not person.tells_arrival:
        return cease(record, person, now_ms)
    step = about(record, "arrival", _silent(person), now_ms, ArrivalTold(tells=False))
    if record.state not in OPEN or person.attendee is None:
        return step
    back = without_arrival(record, person.attendee, now_ms)
    return step._replace(
        record=back.record,
        change=back.change,
        entries=(*step.entries, *back.entries),
        is_record_new=back.record != record,
    )


def cease(record: MeetingRecord, person: Person, now_ms: int) -> Step:
    """Somebody is asked anew, as the meeting is over, put at another time or elsewhere
    (`arrival`)."""
    return about(record, "arrival", _silent(person), now_ms)


def is_another(before: MeetingRecord, after: MeetingRecord) -> bool:
    """Whether what has been made of a meeting is another one to arrive at: a host who moves the
    room, or when it begins, would find out where people are going, and when."""
    is_stopped = after.state not in OPEN or (before.state, after.state) == ("running", "planned")
    return is_stopped or _where_and_when(before) != _where_and_when(after)


def found(record: MeetingRecord, person: Person, arrives_ms: int | None, now_ms: int) -> Step:
    """When somebody arrives is known, or no longer (`arrival`)."""
    return about(record, "arrival", person.model_copy(update={"arrives_ms": arrives_ms}), now_ms)


def rounded(at_ms: int | None, told_ms: int | None) -> int | None:
    """The full minute at which somebody arrives, where it was told to be at `told_ms` before."""
    if at_ms is None:
        return None
    if told_ms is not None and told_ms - MINUTE_MS - _SPARE_MS < at_ms <= told_ms + _SPARE_MS:
        return told_ms
    return -(-at_ms // MINUTE_MS) * MINUTE_MS


def _where_and_when(record: MeetingRecord) -> tuple[float | None, float | None, int]:
    meeting = record.meeting
    return meeting.room.lat, meeting.room.lon, meeting.starts_ms


def _silent(person: Person) -> Person:
    return person.model_copy(update={"tells_arrival": False, "arrives_ms": None})
