"""What host and participants see alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from citywise.apps.meeting_mgr import planned
from citywise.apps.meeting_mgr.agenda.members import members
from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    AbilityState,
    Item,
    Meeting,
    Person,
)
from citywise.apps.meeting_mgr.planned import Span
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.backend.app import times

View = Mapping[str, Any]
"""JSON, times in ISO 8601."""


def head(record: MeetingRecord, now_ms: int, conference: View | None) -> dict[str, Any]:
    """What everybody sees."""
    meeting, item = record.meeting, record.meeting.current()
    return {
        "id": record.id,
        "state": record.state,
        "title": meeting.title,
        "starts": times.iso(meeting.starts_ms),
        "ends": times.iso(meeting.ends_ms),
        "zone": times.zone_name(),
        "now": times.iso(now_ms),
        "current": None if item is None else _current(item, now_ms),
        "conference": conference or {"kind": meeting.conference},
    }


def _current(item: Item, now_ms: int) -> View:
    began = times.iso_or_none(item.began_ms)
    return {"item": item.id, "began": began, "left_s": planned.left_s(item, now_ms)}


def item_times(item: Item, span: Span | None) -> dict[str, str | None]:
    return {
        "began": times.iso_or_none(item.began_ms),
        "ended": times.iso_or_none(item.ended_ms),
        "starts": None if span is None else times.iso(span.starts_ms),
        "ends": None if span is None else times.iso(span.ends_ms),
    }


def arrivals(meeting: Meeting, people: Sequence[Person], now_ms: int) -> dict[str, str]:
    """When those of the invited arrive who are on the way, by their ids."""
    found = members(meeting, people, now_ms)
    return {
        one.attendee.id: times.iso(one.arrives_ms) for one in found if one.arrives_ms is not None
    }


def seen(person: Person) -> dict[str, Any]:
    """What the host and they themselves see of somebody."""
    asked = person.asked
    return {
        **other(person),
        "attendee": person.attendee,
        "abilities": abilities(person),
        "hand": person.hand,
        "muted": person.muted,
        "presents": person.presents,
        "asked": None if asked is None else {"what": asked.what, "at": times.iso(asked.at_ms)},
    }


def other(person: Person) -> dict[str, Any]:
    """What all may see of anybody."""
    state = person.state
    since = times.iso_or_none(state.presence_since_ms or None)
    return {
        "id": person.id,
        "name": person.name,
        "joined": times.iso(person.joined_ms),
        "left": times.iso_or_none(person.left_ms),
        "away": times.iso_or_none(person.away_ms),
        "presence": {"state": state.presence, "since": since or times.iso(person.joined_ms)},
        "arrives": times.iso_or_none(person.arrives_ms),
    }


def abilities(person: Person) -> View:
    """All five; what nothing has been concluded of is unknown since somebody joined."""
    unknown = AbilityState(state="unknown", since_ms=person.joined_ms, because=("not_shared",))
    found = ((name, person.state.abilities.get(name, unknown)) for name in CAPABILITIES)
    return {
        name: {"state": one.state, "since": times.iso(one.since_ms), "because": one.because}
        for name, one in found
    }
