"""Meetings that are again and again: when the next one is, what it is like, and what of a change
holds for those that follow; and the agenda of any meeting, for another one.

Days are counted by the clock on the city's wall: what is at nine stays at nine when summer time
ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from dateutil.rrule import rrulestr

from citywise.apps.meeting_mgr.model import Every, Instant, Item, Meeting, Series
from citywise.apps.meeting_mgr.record import MeetingRecord, Step, new_meeting_id
from citywise.backend.app import times

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_LAST_WEEK = 5
_OF_ONE = {"decisions": (), "moves": (), "renewed_ms": None, "series": None}
"""What of a meeting no other one takes over."""
_TOGETHER = {"attendees", "agenda"}
"""The agenda names attendees."""


def rule(every: Every, starts_ms: Instant) -> str:
    """How often, as calendars have it, of a meeting that begins then."""
    match every:
        case "week":
            return "FREQ=WEEKLY"
        case "fortnight":
            return "FREQ=WEEKLY;INTERVAL=2"
        case "weekdays":
            return f"FREQ=WEEKLY;BYDAY={','.join(_WEEKDAYS[:5])}"
        case "month":
            day = times.local(starts_ms)
            week = (day.day - 1) // 7 + 1
            return (
                f"FREQ=MONTHLY;BYDAY={-1 if week == _LAST_WEEK else week}{_WEEKDAYS[day.weekday()]}"
            )


def series(
    meeting: Meeting, meeting_id: str, every: Every | None, before: Series | None = None
) -> Series | None:
    """That of a meeting as it is repeated from now on; None: it never was."""
    if every is None:
        return before and before.model_copy(update={"every": None})
    plan = _plan(meeting)
    known = before.id if before is not None else meeting_id
    return Series(id=known, every=every, rule=rule(every, plan.starts_ms), plan=plan)


def changed(meeting: Meeting, found: Series, fields: Collection[str]) -> Series:
    """A series of which what follows is like a meeting in some fields from now on."""
    taken = set(fields) - {"starts_ms", "ends_ms"} - _OF_ONE.keys()
    taken |= _TOGETHER if taken & _TOGETHER else set()
    like = _plan(meeting)
    changes: dict[str, Any] = {name: getattr(like, name) for name in taken}
    starts_ms = like.starts_ms if "starts_ms" in fields else found.plan.starts_ms
    length_ms = found.plan.ends_ms - found.plan.starts_ms
    if {"starts_ms", "ends_ms"} & set(fields):
        length_ms = like.ends_ms - like.starts_ms
    changes |= {"starts_ms": starts_ms, "ends_ms": starts_ms + length_ms}
    plan = found.plan.model_copy(update=changes)
    is_moved = starts_ms != found.plan.starts_ms and found.every is not None
    ruled = rule(found.every, starts_ms) if is_moved and found.every is not None else found.rule
    return found.model_copy(update={"plan": plan, "rule": ruled})


def is_other(meeting: Meeting) -> bool:
    """Whether a meeting is otherwise than its series has it, as calendars show it."""
    found = meeting.series
    return found is not None and _shown(meeting) != _shown(found.plan)


def due_ms(record: MeetingRecord) -> Instant | None:
    """When the next one is to be made (wall time): as soon as this one is over, or should be;
    None: there is none, or it is made."""
    found = record.meeting.series
    if found is None or found.every is None or found.next is not None:
        return None
    is_over = record.state in ("ended", "cancelled")
    return record.updated_ms if is_over else record.meeting.ends_ms


def follow(record: MeetingRecord, now_ms: int) -> tuple[Step, Step] | None:
    """A meeting that knows the one after it, and that one (`created`): the first that is not past,
    with the same link. None where the rule has none any more."""
    found = record.meeting.series
    assert found is not None
    length_ms = found.plan.ends_ms - found.plan.starts_ms
    ahead = (at_ms for at_ms in _following(found) if at_ms + length_ms > now_ms)
    starts_ms = next(ahead, None)
    if starts_ms is None:
        return None
    plan = found.plan.model_copy(update={"starts_ms": starts_ms, "ends_ms": starts_ms + length_ms})
    name = new_meeting_id()
    own = found.model_copy(update={"plan": plan})
    made = record._replace(
        id=name,
        state="planned",
        # Calendars take what they know with a higher number for a change of it.
        version=record.version + 1,
        meeting=plan.model_copy(update={"series": own}),
        proposals=(),
        created_ms=now_ms,
        updated_ms=now_ms,
    )
    knowing = found.model_copy(update={"next": name})
    before = record._replace(
        meeting=record.meeting.model_copy(update={"series": knowing}), updated_ms=now_ms
    )
    return Step(before, "edited"), Step(made, "created")


def _following(found: Series) -> Iterator[Instant]:
    """When those after a meeting are, by the rule."""
    zone = times.zone()
    first = times.local(found.plan.starts_ms).replace(tzinfo=None)
    for each in rrulestr(found.rule, dtstart=first):
        at_ms = round(each.replace(tzinfo=zone).timestamp() * 1000)
        if at_ms > found.plan.starts_ms:
            yield at_ms


def _plan(meeting: Meeting) -> Meeting:
    """A meeting as it is before anything has happened in it, with nobody's calendar."""
    attendees = tuple(one.model_copy(update={"busy": ()}) for one in meeting.attendees)
    agenda = tuple(_fresh(item) for item in meeting.agenda)
    return meeting.model_copy(update={**_OF_ONE, "attendees": attendees, "agenda": agenda})


def agenda_for_another(record: MeetingRecord) -> tuple[Item, ...]:
    """A meeting's agenda for another meeting: nothing of it has happened, and what proposals have
    moved, shortened or put off is as it was planned."""
    agenda, first = record.meeting.agenda, record.first_accepted()
    before = () if first is None else first.before or ()
    place = {item.id: n for n, item in enumerate(before)}
    minutes = {item.id: {"minutes": item.minutes} for item in before}
    in_order = sorted(agenda, key=lambda item: place.get(item.id, len(place)))
    return tuple(_fresh(one).model_copy(update=minutes.get(one.id, {})) for one in in_order)


def _fresh(item: Item) -> Item:
    return item.model_copy(
        update={"state": "open", "began_ms": None, "ended_ms": None, "returns": False}
    )


def _shown(meeting: Meeting) -> tuple[object, ...]:
    return meeting.title, meeting.room.name, meeting.starts_ms, meeting.ends_ms
