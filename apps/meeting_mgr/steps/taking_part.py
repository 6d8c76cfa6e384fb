"""Joining, leaving, and what somebody who takes part says; and what the host does about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from apps.meeting_mgr.entries import (
    AbilityChanged,
    Acted,
    Body,
    Entry,
    Joined,
    Left,
    PresenceChanged,
)
from apps.meeting_mgr.model import (
    CAPABILITIES,
    OPEN,
    SENSORS,
    AbilityState,
    Asked,
    Capability,
    Person,
    PersonState,
    Sensor,
    Surroundings,
)
from apps.meeting_mgr.record import (
    Change,
    FaultError,
    MeetingError,
    MeetingRecord,
    Step,
    new_person_id,
)
from apps.meeting_mgr.steps.running import current, require
from apps.meeting_mgr.steps.sharing import (
    EARLIEST_MS,
    gone,
    is_too_early,
    rests_on,
    told_with,
    without,
)
from backend.times import iso

_ASKS: Mapping[str, Literal["mute", "unmute", "speak"]] = {
    "mute": "mute",
    "unmute": "unmute",
    "ask_to_speak": "speak",
}


def join(
    record: MeetingRecord,
    name: str | None,
    attendee: str | None,
    user: str | None,
    now_ms: int,
    former: Person | None = None,
) -> Step:
    """Somebody joins (`joined`), perhaps not for the first time (`former`): `step.people[0]`.
    With an attendee, under that one's name if none is given. Raises `FaultError` for an unknown
    attendee or no name, `MeetingError` where the meeting is over."""
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
        joined_ms=now_ms,
        state=PersonState(due_ms=now_ms),
    )
    entry = Joined(name=called, attendee=attendee)
    return _step(record, "joined", person, now_ms, entry)


def _attendee_name(record: MeetingRecord, attendee: str | None) -> str:
    if attendee is None:
        raise FaultError("missing", "name", "name: missing; say who you are, or which invited one")
    for one in record.meeting.attendees:
        if one.id == attendee:
            return one.name
    detail = f"attendee: {attendee!r} is none of those who are invited (any more)"
    raise FaultError("unknown-attendee", "attendee", detail)


def leave(
    record: MeetingRecord,
    person: Person,
    now_ms: int,
    *,
    removed: bool = False,
    forget: bool = False,
) -> Step:
    """Somebody leaves (`left`), or is put out by the host (`removed`): they share nothing any
    more, and nothing is asked of them. With `forget` what sensors told goes from the minutes."""
    _require_there(person)
    if removed:
        require(record, "put anybody out", *OPEN)
    unknown = AbilityState(state="unknown", since_ms=now_ms, because=("left",))
    state = PersonState(
        abilities=dict.fromkeys(CAPABILITIES, unknown), presence_since_ms=now_ms, due_ms=None
    )
    changes = {"left_ms": now_ms, "sharing": (), "hand": False, "asked": None, "state": state}
    left = person.model_copy(update=changes)
    change: Change = "removed" if removed else "left"
    step = _step(record, change, left, now_ms, Left(removed=removed))
    return step._replace(forgets=frozenset(SENSORS)) if forget else step


def share(record: MeetingRecord, person: Person, sensors: tuple[Sensor, ...], now_ms: int) -> Step:
    """Somebody shares these sensors and no others from now on (`sharing`); what was kept of
    others goes. Raises `MeetingError` where the meeting is over, or `too-early` where it is not
    before them yet: then one shares no more than one did."""
    _require_there(person)
    wanted = tuple(dict.fromkeys(sensors))
    if set(wanted) - set(person.sharing):
        require_open(record)
        _require_near(record, now_ms)
    less = gone(person, wanted, record.meeting.room)
    state = (
        without(person.state, less, now_ms)
        if less
        else person.state.model_copy(update={"due_ms": now_ms})
    )
    sharing = person.model_copy(update={"sharing": wanted, "state": state})
    return _step(record, "sharing", sharing, now_ms)._replace(forgets=less)


def cease(record: MeetingRecord, person: Person, sensors: Collection[Sensor], now_ms: int) -> Step:
    """Somebody shares some sensors no longer since what they shared them for is another
    (`sharing`): nothing is known of them from now on, and the minutes stay as they are."""
    wanted = tuple(name for name in person.sharing if name not in sensors)
    state = without(person.state, gone(person, wanted, record.meeting.room), now_ms)
    ceased = person.model_copy(update={"sharing": wanted, "state": state})
    return _step(record, "sharing", ceased, now_ms, *_news(person.state, state))


def withdraw(
    record: MeetingRecord, person: Person, sensors: Collection[Sensor], now_ms: int
) -> Step:
    """Somebody shares some sensors no longer (`sharing`), and what these told goes, also of who
    has left or shared them before."""
    wanted = tuple(name for name in person.sharing if name not in sensors)
    step = _step(record, "sharing", person, now_ms)
    if wanted != person.sharing:
        step = share(record, person, wanted, now_ms)
    less = told_with(sensors, wanted, record.meeting.room)
    return step._replace(forgets=step.forgets | less)


def require_open(record: MeetingRecord) -> None:
    """Raise `MeetingError` where a meeting is over: nothing is shared in it any more."""
    if record.state not in OPEN:
        detail = f"The meeting is {record.state}; nothing is shared in it."
        raise MeetingError("over", detail)


def _require_near(record: MeetingRecord, now_ms: int) -> None:
    if is_too_early(record, now_ms):
        first = iso(record.meeting.starts_ms - EARLIEST_MS)
        detail = f"The meeting is not before you yet; share from {first} on, or when it runs."
        raise MeetingError("too-early", detail)


def say(
    record: MeetingRecord,
    person: Person,
    now_ms: int,
    *,
    surroundings: Surroundings | None = None,
    hand: bool | None = None,
    muted: bool | None = None,
) -> Step:
    """Somebody says where they are (`says`), asks to speak or no longer (`hand`), or is muted or
    no longer (`muted`, which answers the host's asking for it)."""
    _require_there(person)
    changes: dict[str, Any] = {}
    change: Change = "muted" if muted is not None else "hand"
    if surroundings is not None:
        change = "says"
        changes["says_surroundings"] = surroundings
        changes["state"] = person.state.model_copy(update={"due_ms": now_ms})
    said = {"hand": hand, "muted": muted}
    changes |= {name: value for name, value in said.items() if value is not None}
    if _is_answered(person.asked, hand, muted):
        changes["asked"] = None
    return _step(record, change, person.model_copy(update=changes), now_ms)


def _is_answered(asked: Asked | None, hand: bool | None, muted: bool | None) -> bool:
    """Who was asked to speak has been heard as soon as they lower their hand or unmute."""
    match asked.what if asked else None:
        case "mute":
            return muted is True
        case "unmute":
            return muted is False
        case "speak":
            return hand is False or muted is False
    return False


def ask(
    record: MeetingRecord,
    person: Person,
    what: Literal["mute", "unmute", "ask_to_speak"],
    now_ms: int,
) -> Step:
    """The host asks somebody to mute or unmute themselves, or to speak (`asked`)."""
    require(record, "ask for anything", *OPEN)
    _require_there(person)
    asked = person.model_copy(update={"asked": Asked(what=_ASKS[what], at_ms=now_ms)})
    return _step(record, "asked", asked, now_ms, Acted(do=what))


def hand_over(record: MeetingRecord, person: Person, now_ms: int) -> Step:
    """The host hands the current item over to one of the invited, who becomes its speaker and
    is asked to speak (`handed_over`)."""
    require(record, "be handed over", *OPEN)
    _require_there(person)
    item = current(record)
    if item is None:
        raise MeetingError("no-item", "There is no current item to hand over.")
    if person.attendee not in {one.id for one in record.meeting.attendees}:
        detail = f"{person.name} is not invited; only one of the invited can speak on an item."
        raise MeetingError("not-invited", detail)
    agenda = tuple(
        one.model_copy(update={"speaker": person.attendee}) if one.id == item.id else one
        for one in record.meeting.agenda
    )
    asked = person.model_copy(update={"asked": Asked(what="speak", at_ms=now_ms), "hand": False})
    changed = record.with_meeting(now_ms, agenda=agenda)
    step = _step(changed, "handed_over", asked, now_ms, Acted(do="hand_over", item=item.id))
    return step._replace(is_record_new=True)


def override(
    record: MeetingRecord,
    person: Person,
    words: Mapping[Capability, Literal["on", "off"] | None],
    now_ms: int,
) -> Step:
    """The host says what somebody can do (None: what the sensors say) (`overridden`)."""
    require(record, "say what people can do", *OPEN)
    _require_there(person)
    overrides = {**person.overrides, **words}
    changes = {
        "overrides": {name: word for name, word in overrides.items() if word is not None},
        "state": person.state.model_copy(update={"due_ms": now_ms}),
    }
    bodies = [Acted(do="override", capability=name, word=word) for name, word in words.items()]
    return _step(record, "overridden", person.model_copy(update=changes), now_ms, *bodies)


def concluded(record: MeetingRecord, person: Person, state: PersonState, now_ms: int) -> Step:
    """What the reasoner concludes of somebody (`abilities`, or `presence` where only that has
    changed). A conclusion from sensors that are no longer shared, or of who has left, changes
    nothing: `step.people` is empty then."""
    change: Change = "presence" if _moved(person.state, state) else "abilities"
    if person.left_ms is not None or not rests_on(state, person, record.meeting.room):
        return Step(record, change, person=person.id, is_record_new=False)
    after = person.model_copy(update={"state": state})
    return _step(record, change, after, now_ms, *_news(person.state, state))


def _moved(before: PersonState, after: PersonState) -> bool:
    return before.presence != after.presence


def _news(before: PersonState, after: PersonState) -> list[Body]:
    """What the minutes tell of a new state of somebody."""
    changed = [
        AbilityChanged(capability=name, state=one.state, because=one.because)
        for name, one in after.abilities.items()
        if _told(before.abilities.get(name)) != _told(one)
    ]
    moved = [PresenceChanged(presence=after.presence)] if _moved(before, after) else []
    return [*changed, *moved]


def _told(ability: AbilityState | None) -> tuple[object, ...] | None:
    return None if ability is None else (ability.state, ability.because)


def _require_there(person: Person) -> None:
    if person.left_ms is not None:
        raise MeetingError("left", f"{person.name} has left the meeting.")


def _step(
    record: MeetingRecord, change: Change, person: Person, now_ms: int, *bodies: Body
) -> Step:
    entries = tuple(Entry(now_ms, body, person.id) for body in bodies)
    return Step(record, change, (person,), entries, person.id, is_record_new=False)
