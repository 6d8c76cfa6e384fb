"""Going on past a meeting's end, so that nothing is dropped."""

from __future__ import annotations

from dataclasses import replace

from citywise.apps.meeting_mgr.agenda.problem import Problem
from citywise.apps.meeting_mgr.busy import is_busy
from citywise.apps.meeting_mgr.model import LONGEST_MS, Attendee, Meeting
from citywise.apps.meeting_mgr.planned import MINUTE_MS

MOST_MS = 60 * MINUTE_MS
"""For so long people may be asked to stay; what takes longer needs another time."""


def overrun(
    meeting: Meeting, rest: Problem, now_ms: int, room_until_ms: int | None = None
) -> Problem | None:
    """What is left of an agenda with an end that leaves time for all open items in full; what
    has been put off stays so. It is a whole minute of the clock, the last before all is done.

    None where that would be no later than the meeting's end, or by more than `MOST_MS`, or where
    somebody required, or a speaker, is busy by then, or the room is wanted from `room_until_ms` on.
    """
    ends_ms = rest.first_ms + sum(item.minutes for item in rest.open_items) * MINUTE_MS
    ends_ms -= ends_ms % MINUTE_MS
    later = ends_ms - meeting.ends_ms
    if not 0 < later <= MOST_MS or ends_ms - meeting.starts_ms > LONGEST_MS:
        return None
    if room_until_ms is not None and ends_ms > room_until_ms:
        return None
    since_ms = max(now_ms, meeting.ends_ms)
    if any(is_busy(one, since_ms, ends_ms) for one in _needed(meeting, rest)):
        return None
    returning = {rest.items[i].id for i in rest.returning}
    return replace(rest, items=rest.open_items, ends_ms=ends_ms, never=rest.never | returning)


def _needed(meeting: Meeting, rest: Problem) -> list[Attendee]:
    speakers = {item.speaker for item in rest.open_items}
    return [one for one in meeting.attendees if one.required or one.id in speakers]
