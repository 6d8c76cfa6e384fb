"""Joining, leaving, and what somebody who takes part says; and what the host does about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count
from typing import Any, Literal

from citywise.apps.meeting_mgr.entries import (
    Acted,
    HandRaised,
    Joined,
    Left,
    WentAway,
)
from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    OPEN,
    SENSORS,
    AbilityState,
    Asked,
    Capability,
    Person,
    PersonState,
    Surroundings,
)
from citywise.apps.meeting_mgr.record import (
    Change,
    FaultError,
    MeetingError,
    MeetingRecord,
    Step,
    new_person_id,
)
from citywise.apps.meeting_mgr.steps.about import about, has_moved, news, quiet, require_there
from citywise.apps.meeting_mgr.steps.running import new_link, require
from citywise.apps.meeting_mgr.steps.sharing import rests_on

_ASKS: Mapping[str, Literal["mute", "unmute", "speak", "present"]] = {
    "mute": "mute",
    "unmute": "unmute",
    "ask_to_speak": "speak",
    "ask_to_present": "present",
}


def join(
    record: MeetingRecord,
    name: str | None,
    attendee: str | None,
    user: str | None,
    now_ms: int,
    former: Person | None = None,
    there: Collection[Person] = (),
) -> Step:
    """Somebody joins (`joined`), perhaps not for the first time (`former`), perhaps with a second
    device beside those who are `there`: `step.people[0]`. With an attendee, under that one's name
    if none is given. Raises `FaultError` for an unknown attendee or no name, `MeetingError` where
    the meeting is over."""
    if record.state not in OPEN:
        raise MeetingError("over", f"The meeting is {record.state}; nobody can join it.")
    called = name or _attendee_name(record, attendee)
    person = Person(
        id=new_person_id(),
        meeting=record.id,
        name=called,
        attendee=attendee,
        user=user,
        formerly=() if former is None else (*former.formerly, former.id),
        device=_device(attendee, there, former),
        joined_ms=now_ms,
        state=PersonState(due_ms=now_ms),
    )
    entry = Joined(name=called, attendee=attendee, device=person.device)
    return about(record, "joined", person, now_ms, entry)


def _device(attendee: str | None, there: Collection[Person], former: Person | None) -> int:
    """Which device of one of the invited it is that joins: a browser that is known keeps its
    number; another beside others has the first that is free, but never looks like the only one."""
    if attendee is None:
        return 1
    others = {
        one.device
        for one in there
        if one.left_ms is None and one.attendee == attendee and one != former
    }
    if former is not None and former.attendee == attendee and former.device not in others:
        return former.device
    return next(n for n in count(2) if n not in others) if others else 1


def _attendee_name(record: MeetingRecord, attendee: str | None) -> str:
    if attendee is None:
        raise FaultError("missing", "name", "name: missing; say who you are, or which invited one")
    invited = record.meeting.attendee(attendee)
    if invited is not None:
        return invited.name
    detail = f"attendee: {attendee!r} is none of those who are invited (any more)"
    raise FaultError("unknown-attendee", "attendee", detail)


def leave(
    record: MeetingRecord,
    person: Person,
    now_ms: int,
    *,
    forget: bool = False,
) -> Step:
    """Somebody leaves (`left`): they share nothing any more, and nothing is asked of them. With
    `forget` what sensors told goes from the minutes, and how long anybody spoke."""
    require_there(person)
    gone = _gone(person, now_ms)
    if not forget:
        return about(record, "left", gone, now_ms, Left())
    silent = gone.model_copy(update={"agrees_talk_time": False})
    return about(record, "left", silent, now_ms, Left())._replace(forgets=frozenset(SENSORS))


def remove(record: MeetingRecord, person: Person, now_ms: int, *, keep_link: bool = False) -> Step:
    """The host puts somebody out (`removed`), with this one of their devices. The link leads
    nowhere from then on, unless it is kept: with it they could come back."""
    require_there(person)
    require(record, "put anybody out", *OPEN)
    after = record if keep_link else new_link(record, now_ms).record
    step = about(after, "removed", _gone(person, now_ms), now_ms, Left(removed=True))
    return step._replace(is_record_new=not keep_link)


def go_away(record: MeetingRecord, person: Person, now_ms: int) -> Step:
    """No page of somebody is open any more (`away`): they do not count until one is, and their
    seat, what they share and what they asked for wait for them."""
    gone = person.model_copy(update={"away_ms": now_ms, "presents": False})
    return about(record, "away", gone, now_ms, WentAway(is_away=True))


def come_back(record: MeetingRecord, person: Person, now_ms: int) -> Step:
    """A page of somebody who was away is open again (`back`)."""
    state = person.state.model_copy(update={"due_ms": now_ms})
    there = person.model_copy(update={"away_ms": None, "state": state})
    return about(record, "back", there, now_ms, WentAway(is_away=False))


def _gone(person: Person, now_ms: int) -> Person:
    unknown = AbilityState(state="unknown", since_ms=now_ms, because=("left",))
    state = PersonState(
        abilities=dict.fromkeys(CAPABILITIES, unknown), presence_since_ms=now_ms, due_ms=None
    )
    changes = {"left_ms": now_ms, "sharing": (), "shared_ms": {}, "ended": (), "state": state}
    changes |= {"tells_arrival": False, "arrives_ms": None, "away_ms": None}
    return quiet(person).model_copy(update=changes)


def say(
    record: MeetingRecord,
    person: Person,
    now_ms: int,
    *,
    surroundings: Surroundings | None = None,
    hand: bool | None = None,
    muted: bool | None = None,
    presents: bool | None = None,
) -> Step:
    """Somebody says where they are (`says`), asks to speak or no longer (`hand`), is muted or no
    longer (`muted`), or shows their screen or does not (`presenting`), which answers the host's
    asking for it."""
    require_there(person)
    changes: dict[str, Any] = {}
    change: Change = "hand"
    if presents is not None:
        change = "presenting"
    if muted is not None:
        change = "muted"
    if surroundings is not None:
        change = "says"
        changes["says_surroundings"] = surroundings
        changes["state"] = person.state.model_copy(update={"due_ms": now_ms})
    said = {"hand": hand, "muted": muted, "presents": presents}
    changes |= {name: value for name, value in said.items() if value is not None}
    if person.asked is not None and _is_answered(person.asked, hand, muted, presents):
        changes["asked"] = None
    raised = [HandRaised()] if hand and not person.hand else []
    return about(record, change, person.model_copy(update=changes), now_ms, *raised)


def _is_answered(
    asked: Asked, hand: bool | None, muted: bool | None, presents: bool | None
) -> bool:
    """Who was asked to speak has been heard as soon as they lower their hand or unmute; to show
    one's screen one may refuse."""
    match asked.what:
        case "mute":
            return muted is True
        case "unmute":
            return muted is False
        case "speak":
            return hand is False or muted is False
        case "present":
            return presents is not None


def ask(
    record: MeetingRecord,
    person: Person,
    what: Literal["mute", "unmute", "ask_to_speak", "ask_to_present"],
    now_ms: int,
) -> Step:
    """The host asks somebody to mute or unmute themselves, to speak, or to show their screen
    (`asked`)."""
    require(record, "ask for anything", *OPEN)
    require_there(person)
    asked = person.model_copy(update={"asked": Asked(what=_ASKS[what], at_ms=now_ms)})
    return about(record, "asked", asked, now_ms, Acted(do=what))


def hand_over(record: MeetingRecord, person: Person, now_ms: int) -> Step:
    """The host hands the current item over to one of the invited, who becomes its speaker and
    is asked to speak (`handed_over`)."""
    require(record, "be handed over", *OPEN)
    require_there(person)
    item = record.meeting.current()
    if item is None:
        raise MeetingError("no-item", "There is no current item to hand over.")
    if record.meeting.attendee(person.attendee) is None:
        detail = f"{person.name} is not invited; only one of the invited can speak on an item."
        raise MeetingError("not-invited", detail)
    agenda = tuple(
        one.model_copy(update={"speaker": person.attendee}) if one.id == item.id else one
        for one in record.meeting.agenda
    )
    asked = person.model_copy(update={"asked": Asked(what="speak", at_ms=now_ms), "hand": False})
    changed = record.with_meeting(now_ms, agenda=agenda)
    handed = Acted(do="hand_over", item=item.id, former=item.speaker)
    step = about(changed, "handed_over", asked, now_ms, handed)
    return step._replace(is_record_new=True)


def override(
    record: MeetingRecord,
    person: Person,
    words: Mapping[Capability, Literal["on", "off"] | None],
    now_ms: int,
) -> Step:
    """The host says what somebody can do (None: what the sensors say) (`overridden`)."""
    require(record, "say what people can do", *OPEN)
    require_there(person)
    overrides = {**person.overrides, **words}
    changes = {
        "overrides": {name: word for name, word in overrides.items() if word is not None},
        "state": person.state.model_copy(update={"due_ms": now_ms}),
    }
    bodies = [Acted(do="override", capability=name, word=word) for name, word in words.items()]
    return about(record, "overridden", person.model_copy(update=changes), now_ms, *bodies)


def concluded(record: MeetingRecord, person: Person, state: PersonState, now_ms: int) -> Step:
    """What the reasoner concludes of somebody (`abilities`, or `presence` where only that has
    changed). A conclusion from sensors that are no longer shared, or of who has left, changes
    nothing: `step.people` is empty then."""
    change: Change = "presence" if has_moved(person.state, state) else "abilities"
    if person.left_ms is not None or not rests_on(state, person, record.meeting.room):
        return Step(record, change, person=person.id, is_record_new=False)
    after = person.model_copy(update={"state": state})
    return about(record, change, after, now_ms, *news(person.state, state))
