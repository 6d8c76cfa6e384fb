"""A meeting as those who take part see it: themselves, the agenda, and of others what the host
lets all see."""

from __future__ import annotations

from collections.abc import Sequence

from citywise.apps.meeting_mgr import planned
from citywise.apps.meeting_mgr.agenda.attendance import lack_of, needed
from citywise.apps.meeting_mgr.model import OPEN, Ended, Item, Person
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import arriving, talk_time
from citywise.apps.meeting_mgr.views.shown import (
    View,
    abilities,
    arrivals,
    head,
    item_times,
    other,
    seen,
)
from citywise.backend.app import times


def participant(
    record: MeetingRecord,
    people: Sequence[Person],
    me: Person,
    now_ms: int,
    *,
    conference: View | None = None,
) -> View:
    """What somebody who takes part sees: themselves, the agenda, and of others what the host
    lets all see."""
    others = [one for one in people if one.id != me.id and _is_seen(one)]
    shows = record.meeting.rules.show_abilities_to_all
    return {
        **head(record, now_ms, conference),
        "host": False,
        "room": {"name": record.meeting.room.name, "measures": _measures(record)},
        "me": {
            **_me(me, people),
            "arrival": _arrival(record, me),
            "talk_time": _talk_time(record, me, people),
        },
        "shows_abilities": shows,
        "next": _next(record),
        "rules": _rules(record, me),
        "agenda": _agenda(record, people, me, now_ms),
        "needed": _needed(record, me, now_ms),
        "people": [
            {**other(one), **({"abilities": _unexplained(one)} if shows else {})} for one in others
        ],
    }


def _is_seen(one: Person) -> bool:
    """Whether others see somebody: there, or on the way with the phone put away."""
    return one.left_ms is None and (one.is_there or one.arrives_ms is not None)


def before_joining(record: MeetingRecord) -> View:
    """What somebody who has the link sees before they join."""
    meeting = record.meeting
    return {
        "id": record.id,
        "state": record.state,
        "title": meeting.title,
        "room": {"name": meeting.room.name},
        "starts": times.iso(meeting.starts_ms),
        "ends": times.iso(meeting.ends_ms),
        "zone": times.zone_name(),
        "next": _next(record),
        "attendees": [{"id": one.id, "name": one.name} for one in meeting.attendees],
        "shows_abilities": meeting.rules.show_abilities_to_all,
    }


def _next(record: MeetingRecord) -> str | None:
    """The one after it in its series, to which the same link leads."""
    return None if record.meeting.series is None else record.meeting.series.next


def _unexplained(one: Person) -> View:
    """What somebody else can do; why is for them and the host to know."""
    return {name: {**told, "because": ()} for name, told in abilities(one).items()}


def _measures(record: MeetingRecord) -> bool:
    """Whether the room has sensors of its own, which count for who is in it."""
    return record.meeting.room.sensors is not None


def _me(me: Person, people: Sequence[Person]) -> View:
    sensors = {
        name: {"state": one.state, "since": times.iso(one.since_ms)}
        for name, one in me.state.sensors.items()
    }
    surroundings = {"says": me.says_surroundings, "surroundings": me.state.surroundings}
    overrides = sorted(me.overrides)
    return {
        **seen(me),
        **surroundings,
        "account": me.user is not None,
        "sharing": me.sharing,
        "ended": [_ended(one) for one in me.ended],
        "devices": _devices(me, people),
        "sensors": sensors,
        "overridden": overrides,
    }


def _arrival(record: MeetingRecord, me: Person) -> View:
    """Whether the meeting can know when they arrive, and may."""
    return {"possible": arriving.is_possible(record, me), "tells": me.tells_arrival}


def _talk_time(record: MeetingRecord, me: Person, people: Sequence[Person]) -> View:
    """Whether they are asked for how long they speak, agree, and everybody does."""
    return {
        "asked": record.meeting.rules.talk_time,
        "agrees": me.agrees_talk_time,
        "all": talk_time.is_agreed(record, people),
    }


def _ended(one: Ended) -> View:
    return {"sensor": one.sensor, "because": one.because, "at": times.iso(one.at_ms)}


def _devices(me: Person, people: Sequence[Person]) -> int:
    """With how many devices one of the invited is there; all too many may be somebody else's."""
    same = {one.id for one in people if one.is_there and one.attendee == me.attendee}
    return 1 if me.attendee is None else len(same | {me.id})


def _rules(record: MeetingRecord, me: Person) -> View:
    """By which what somebody shares is judged: the host can move the bounds at any time."""
    rules = record.meeting.rules
    asked = {*me.sharing, *(one.sensor for one in me.ended)}
    bounds = {name: one.model_dump() for name, one in rules.thresholds.items() if name in asked}
    return {"silent_s": rules.silent_s, "thresholds": bounds}


def _agenda(record: MeetingRecord, people: Sequence[Person], me: Person, now_ms: int) -> list[View]:
    meeting = record.meeting
    on_the_way = arrivals(meeting, people, now_ms)
    spans = planned.planned(meeting, record.state, now_ms)
    return [
        {
            "id": item.id,
            "title": item.title,
            "type": item.type,
            "speaker": meeting.named(item.speaker),
            "mine": _is_mine(item, me),
            "minutes": item.minutes,
            "sensitive": item.sensitive,
            "state": item.state,
            **item_times(item, spans.get(item.id)),
            "arrives": on_the_way.get(item.speaker or ""),
        }
        for item in meeting.in_order()
    ]


def _is_mine(item: Item, me: Person) -> bool:
    return me.attendee is not None and item.speaker == me.attendee


def _needed(record: MeetingRecord, me: Person, now_ms: int) -> View | None:
    """What is needed of somebody next: the first item that they speak on, or else the first
    that is to come; what of it they lack as things stand."""
    ahead = [one for one in record.meeting.in_order() if one.state in ("current", "open")]
    wanted = [one for one in ahead if needed(one, me.attendee)]
    item = next((one for one in wanted if _is_mine(one, me)), next(iter(wanted), None))
    if item is None or record.state not in OPEN:
        return None
    lack = lack_of(item, me)
    span = planned.planned(record.meeting, record.state, now_ms)[item.id]
    return {
        "item": item.id,
        "title": item.title,
        "role": "speaker" if _is_mine(item, me) else "listener",
        "from": times.iso(span.starts_ms),
        "sensitive": item.sensitive,
        "needs": needed(item, me.attendee),
        "lacks": lack.lacks,
        "because": lack.because,
    }
