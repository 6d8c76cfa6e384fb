"""A meeting as its host sees it: all of it but what people's sensors say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citywise.apps.meeting_mgr import planned
from citywise.apps.meeting_mgr.agenda.attendance import attending, needed
from citywise.apps.meeting_mgr.model import (
    OPEN,
    SENSORS,
    Attendee,
    Cause,
    Item,
    Meeting,
    Person,
    PlannedItem,
    Proposal,
    Proposed,
    Series,
)
from citywise.apps.meeting_mgr.planned import Span
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import bounds, repeating
from citywise.apps.meeting_mgr.views.shown import View, arrivals, head, item_times, seen
from citywise.backend.app import times


def host(
    record: MeetingRecord,
    people: Sequence[Person],
    now_ms: int,
    *,
    join_url: str,
    conference: View | None = None,
) -> View:
    """All of a meeting but what people's sensors say."""
    meeting = record.meeting
    joined = {person.attendee for person in people if person.left_ms is None}
    on_the_way = arrivals(meeting, people, now_ms)
    return {
        **head(record, now_ms, conference),
        "host": True,
        "version": record.version,
        "series": _series(meeting.series),
        "room": meeting.room.model_dump(),
        "join": {
            "url": join_url,
            "key": record.join_key,
            "renewed": times.iso_or_none(meeting.renewed_ms),
        },
        "attendees": [_attendee(one) for one in meeting.attendees],
        "absent": [
            {"id": one.id, "name": one.name, "required": one.required}
            for one in meeting.attendees
            if one.id not in joined
        ],
        "agenda": _host_agenda(record, people, on_the_way, now_ms),
        "people": [_host_person(record, person) for person in _without_former(people)],
        "proposals": [_proposal(one, on_the_way) for one in record.proposals],
        "decisions": [
            {"at": times.iso(one.at_ms), "item": one.item, "title": one.title, "text": one.text}
            for one in meeting.decisions
        ],
        "rules": meeting.rules.model_dump(mode="json"),
        "moved": _moved(meeting, now_ms),
        "hook": None if meeting.hook is None else {"url": meeting.hook.url},
    }


def brief(record: MeetingRecord) -> View:
    """A meeting in a host's list."""
    meeting = record.meeting
    return {
        "id": record.id,
        "state": record.state,
        "title": meeting.title,
        "room": meeting.room.name,
        "starts": times.iso(meeting.starts_ms),
        "ends": times.iso(meeting.ends_ms),
        "attendees": len(meeting.attendees),
        "items": len(meeting.agenda),
        "repeats": None if meeting.series is None else meeting.series.every,
    }


def agenda(record: MeetingRecord) -> View:
    """A meeting's agenda for another meeting, and who speaks in it."""
    items = repeating.agenda_for_another(record)
    speaking = {item.speaker for item in items}
    people = [one for one in record.meeting.attendees if one.id in speaking]
    fields = {"id", *PlannedItem.model_fields}
    return {
        "title": record.meeting.title,
        "agenda": [item.model_dump(include=fields) for item in items],
        "speakers": [one.model_dump(exclude={"busy"}) for one in people],
    }


def _series(found: Series | None) -> View | None:
    """How often a meeting is again, when it is by the rule, and which one follows."""
    if found is None:
        return None
    starts = times.iso(found.plan.starts_ms)
    return {"every": found.every, "starts": starts, "next": found.next}


def _attendee(one: Attendee) -> View:
    busy = [
        {"from": times.iso(each.from_ms), "until": times.iso(each.until_ms)} for each in one.busy
    ]
    return {**one.model_dump(exclude={"busy"}), "busy": busy}


def _host_agenda(
    record: MeetingRecord, people: Sequence[Person], on_the_way: Mapping[str, str], now_ms: int
) -> list[View]:
    meeting = record.meeting
    spans = planned.planned(meeting, record.state, now_ms)
    return [
        {
            **item.model_dump(exclude={"began_ms", "ended_ms"}),
            **item_times(item, spans.get(item.id)),
            "arrives": on_the_way.get(item.speaker or ""),
            "attendance": _attendance(record, item, spans.get(item.id), people, now_ms),
        }
        for item in meeting.in_order()
    ]


def _attendance(
    record: MeetingRecord,
    item: Item,
    span: Span | None,
    people: Sequence[Person],
    now_ms: int,
) -> list[View]:
    """Of what is to come, who of the invited can take part."""
    if span is None or item.state not in ("open", "current") or record.state not in OPEN:
        return []
    persons = {person.attendee: person.id for person in people if person.is_there}
    return [
        {
            "attendee": one.attendee.id,
            "person": persons.get(one.attendee.id),
            "name": one.attendee.name,
            "required": one.attendee.required or one.attendee.id == item.speaker,
            "can": one.can,
            "known": _is_known(item, one.attendee.id, people),
            "lacks": one.lacks,
            "because": one.because,
            "arrives": times.iso_or_none(one.arrives_ms),
        }
        for one in attending(record.meeting, item, span, people, now_ms)
    ]


def _is_known(item: Item, attendee: str, people: Sequence[Person]) -> bool:
    """Whether something tells of all that an item asks of somebody: of one of their devices."""
    present = [one for one in people if one.attendee == attendee and one.is_there]
    return all(
        any(
            name in one.state.abilities and one.state.abilities[name].state != "unknown"
            for one in present
        )
        for name in needed(item, attendee)
    )


def _without_former(people: Sequence[Person]) -> list[Person]:
    """Those who are there, and who is away or has left, and is not there otherwise as the same of
    the invited."""
    last = {one.attendee: one.id for one in people if one.attendee is not None}
    seated = {one.attendee for one in people if one.left_ms is None}
    there = {one.attendee for one in people if one.is_there}
    return [
        one
        for one in people
        if one.is_there
        or one.attendee is None
        or (one.attendee not in there and one.left_ms is None)
        or (one.attendee not in seated and last[one.attendee] == one.id)
    ]


def _host_person(record: MeetingRecord, person: Person) -> View:
    invited = record.meeting.attendee(person.attendee)
    return {
        **seen(person),
        "required": invited is not None and invited.required,
        "overrides": person.overrides,
        "surroundings": person.state.surroundings,
        "device": person.device,
    }


def _moved(meeting: Meeting, now_ms: int) -> View:
    """Of the sensors whose bounds have been moved of late, how often that is still possible
    before those who share them are asked anew, and until when that is so."""
    found = {name: bounds.left(meeting, name, now_ms) for name in SENSORS}
    return {
        name: {"left": one[0], "until": times.iso(one[1])} for name, one in found.items() if one
    }


def _proposal(one: Proposal, on_the_way: Mapping[str, str]) -> View:
    """A proposal; when somebody arrives is as it is known now, and not where it no longer is."""
    return {
        "number": one.number,
        "at": times.iso(one.at_ms),
        "kind": one.kind,
        "causes": [_cause(cause, on_the_way) for cause in one.causes],
        "options": [_option(option) for option in one.options],
        "answer": one.answer,
        "chosen": one.chosen,
        "automatic": one.automatic,
    }


def _cause(one: Cause, on_the_way: Mapping[str, str]) -> View:
    arrives = on_the_way.get(one.person or "") if "arriving" in one.because else None
    return {**one.model_dump(), "arrives": arrives}


def _option(option: Proposed) -> View:
    return {
        **option.model_dump(exclude={"agenda", "starts_ms", "ends_ms"}),
        "agenda": [
            {"item": one.item, "starts": times.iso(one.starts_ms), "minutes": one.minutes}
            for one in option.agenda
        ],
        "starts": times.iso_or_none(option.starts_ms),
        "ends": times.iso_or_none(option.ends_ms),
    }
