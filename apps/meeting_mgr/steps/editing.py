"""Making a meeting out of what its host writes, and changing it; nonsense is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any, TypeVar

from citywise.apps.meeting_mgr.model import (
    LONGEST_MS,
    Attendee,
    Busy,
    Every,
    Item,
    ItemState,
    Meeting,
    PlannedItem,
    Room,
    Rules,
    Series,
)
from citywise.apps.meeting_mgr.record import (
    FaultError,
    MeetingError,
    MeetingRecord,
    Step,
    new_meeting_id,
)
from citywise.apps.meeting_mgr.steps import repeating
from citywise.apps.meeting_mgr.steps.bounds import moves
from citywise.apps.meeting_mgr.steps.drafts import AttendeeDraft, Changes, ItemDraft
from citywise.backend.app import people

HIGHEST_NUMBER = 9_999
"""Of an item or an attendee (`model.ItemId`)."""
_AFTERWARDS = {"title", "hook"}
"""What of a meeting that is over can still be changed."""
_Draft = TypeVar("_Draft", AttendeeDraft, ItemDraft)
_PLAN = PlannedItem.model_fields


def create(user: str, changes: Changes, now_ms: int) -> Step:
    """A new meeting of a host (`created`); title, room, starts_ms and ends_ms must be given.
    Raises `FaultError`."""
    for name in ("title", "room", "starts_ms", "ends_ms"):
        if getattr(changes, name) is None:
            field = name.removesuffix("_ms")
            raise FaultError("missing", field, f"{field}: missing; a meeting needs one")
    empty = Meeting(title="-", room=Room(name="-"), starts_ms=0, ends_ms=1)
    meeting = _checked(empty.model_copy(update=_changed_fields(empty, changes)))
    name = new_meeting_id()
    every = _every(changes)
    meeting = meeting.model_copy(update={"series": repeating.series(meeting, name, every)})
    record = MeetingRecord(
        name,
        user,
        "planned",
        1,
        meeting,
        (),
        people.secret.random_text(),
        now_ms,
        now_ms,
    )
    return Step(record, "created")


def edit(record: MeetingRecord, changes: Changes, now_ms: int, *, following: bool = False) -> Step:
    """The meeting with changes (`edited`, or `shown` where abilities are shown to all from now
    on), and with `following` those of its series that follow; ids stay whose they are. Raises
    `FaultError`, or `MeetingError` where something has happened already that would be changed."""
    given = _changed_fields(record.meeting, changes)
    is_other = bool(given.keys() - _AFTERWARDS) or changes.repeats is not None
    if record.state == "ended" and is_other:
        detail = "The meeting is over; only its title and webhook can be changed."
        raise MeetingError("wrong-state", detail)
    changed = record.with_meeting(now_ms, **given)
    moved = moves(record.meeting, changed.meeting, now_ms)
    repeated = _repeated(changed, changes, given if following else ())
    others = {"moves": moved, "series": repeated}
    changed = changed._replace(meeting=changed.meeting.model_copy(update=others))
    _checked(changed.meeting)
    _refuse_rewriting(record.meeting, changed.meeting)
    return Step(changed, "shown" if _are_shown(record.meeting, changed.meeting) else "edited")


def _every(changes: Changes) -> Every | None:
    return None if changes.repeats == "never" else changes.repeats


def _repeated(record: MeetingRecord, changes: Changes, fields: Collection[str]) -> Series | None:
    """The series of a meeting, after changes of which some fields hold for those that follow."""
    found = record.meeting.series
    if found is not None and fields:
        found = repeating.changed(record.meeting, found, fields)
    every = _every(changes)
    if changes.repeats is None or every == (None if found is None else found.every):
        return found
    return repeating.series(record.meeting, record.id, every, found)


def _are_shown(before: Meeting, after: Meeting) -> bool:
    return after.rules.show_abilities_to_all and not before.rules.show_abilities_to_all


def _changed_fields(meeting: Meeting, changes: Changes) -> dict[str, Any]:
    """The fields of a meeting that are to be others, as they are to be."""
    given = {name: getattr(changes, name) for name in changes.model_fields_set}
    given = {name: value for name, value in given.items() if value is not None or name == "hook"}
    given.pop("repeats", None)
    if changes.attendees is not None:
        given["attendees"] = _attendees(meeting, changes.attendees)
    if changes.agenda is not None:
        given["agenda"] = _agenda(meeting, changes.agenda)
    if changes.rules is not None:
        given["rules"] = _rules(meeting.rules, changes.rules)
    return given


def _attendees(meeting: Meeting, drafts: Sequence[AttendeeDraft]) -> tuple[Attendee, ...]:
    calendars = {one.id: one.busy for one in meeting.attendees}
    return tuple(
        Attendee(
            id=name,
            name=draft.name,
            email=draft.email,
            required=draft.required,
            busy=calendars.get(name, ()) if draft.busy is None else tuple(map(_busy, draft.busy)),
        )
        for name, draft in _named("a", calendars, drafts, "attendees")
    )


def _busy(busy: Busy) -> Busy:
    return Busy(from_ms=busy.from_ms, until_ms=busy.until_ms)


def _agenda(meeting: Meeting, drafts: Sequence[ItemDraft]) -> tuple[Item, ...]:
    known = {item.id: item for item in meeting.agenda}
    return tuple(
        _item(known.get(name), name, draft) for name, draft in _named("i", known, drafts, "agenda")
    )


def _item(known: Item | None, name: str, draft: ItemDraft) -> Item:
    plan = {field: getattr(draft, field) for field in _PLAN}
    item = Item(id=name, **plan) if known is None else known.model_copy(update=plan)
    if draft.put_off is None or item.state not in ("open", "put_off"):
        return item
    state: ItemState = "put_off" if draft.put_off else "open"
    if state == item.state:
        return item
    return item.model_copy(update={"state": state, "returns": False})


def _rules(rules: Rules, given: Rules) -> Rules:
    """Rules with those that are given; of the thresholds, those of the sensors that are."""
    changes = {name: getattr(given, name) for name in given.model_fields_set}
    if "thresholds" in changes:
        changes["thresholds"] = {**rules.thresholds, **given.thresholds}
    return rules.model_copy(update=changes)


def _named(
    letter: str, used: Iterable[str], drafts: Sequence[_Draft], field: str
) -> list[tuple[str, _Draft]]:
    """Drafts with their ids; new ones are numbered on from the highest there has been, and where
    that is the last possible, by what is free."""
    given: list[str] = []
    for n, draft in enumerate(drafts):
        if draft.id in given:
            detail = f"{field}.{n}.id: {draft.id!r} is there twice; each id may be there once"
            raise FaultError("repeated", f"{field}.{n}.id", detail)
        given += [draft.id] if draft.id is not None else []
    taken = {int(name[1:]) for name in [*used, *given]}
    last = max(taken, default=0)
    numbers = chain(range(last + 1, HIGHEST_NUMBER + 1), range(1, last))
    free = (f"{letter}{number}" for number in numbers if number not in taken)
    return [(draft.id or next(free), draft) for draft in drafts]


# --- Checking ------------------------------------------------------------------------------------


def _checked(meeting: Meeting) -> Meeting:
    length = meeting.ends_ms - meeting.starts_ms
    if length <= 0:
        detail = "ends: is not after `starts`; a meeting ends after it starts"
        raise FaultError("ends-before-start", "ends", detail)
    if length > LONGEST_MS:
        raise FaultError("too-long", "ends", "ends: a meeting takes at most 24 hours")
    _check_place(meeting.room)
    _check_attendees(meeting.attendees)
    _check_rules(meeting.rules)
    _check_agenda(meeting)
    return meeting


def _check_place(room: Room) -> None:
    if (room.lat is None) != (room.lon is None):
        field = "room.lat" if room.lat is None else "room.lon"
        raise FaultError("missing", field, f"{field}: missing; a place is both `lat` and `lon`")


def _check_attendees(attendees: Sequence[Attendee]) -> None:
    seen: set[str] = set()
    for n, one in enumerate(attendees):
        email = (one.email or "").casefold()
        if email in seen:
            field = f"attendees.{n}.email"
            raise FaultError("repeated", field, f"{field}: {one.email!r} is invited already")
        seen |= {email} if email else set()
        for k, busy in enumerate(one.busy):
            if busy.from_ms >= busy.until_ms:
                field = f"attendees.{n}.busy.{k}.until"
                raise FaultError("ends-before-start", field, f"{field}: is not after `from`")


def _check_rules(rules: Rules) -> None:
    for sensor, one in rules.thresholds.items():
        if one.lower is None or one.upper is None:
            continue
        if one.upper - one.lower <= 2 * one.hysteresis:
            field = f"rules.thresholds.{sensor}"
            detail = f"{field}: no value is more than `hysteresis` inside `lower` and `upper`"
            raise FaultError("empty-range", field, detail)


def _check_agenda(meeting: Meeting) -> None:
    invited = {one.id for one in meeting.attendees}
    places = {item.id: n for n, item in enumerate(meeting.agenda)}
    for n, item in enumerate(meeting.agenda):
        where = f"agenda.{n}"
        if item.speaker is not None and item.speaker not in invited:
            detail = f"{where}.speaker: {item.speaker!r} is none of the attendees"
            raise FaultError("unknown-speaker", f"{where}.speaker", detail)
        if item.least_minutes is not None and item.least_minutes > item.minutes:
            detail = f"{where}.least_minutes: is more than `minutes`, which is {item.minutes}"
            raise FaultError("least-more-than-minutes", f"{where}.least_minutes", detail)
        if unknown := sorted(set(item.after) - places.keys()):
            detail = f"{where}.after: {unknown[0]!r} is not on the agenda"
            raise FaultError("unknown-item", f"{where}.after", detail)
    _refuse_cycles(meeting.agenda, places)
    _refuse_wrong_order(meeting.agenda, places)


def _refuse_cycles(agenda: Sequence[Item], places: dict[str, int]) -> None:
    try:
        TopologicalSorter({item.id: item.after for item in agenda}).prepare()
    except CycleError as error:
        field = f"agenda.{places[error.args[1][0]]}.after"
        names = " → ".join(reversed(error.args[1]))
        raise FaultError("cyclic", field, f"{field}: items wait for each other: {names}") from None


def _refuse_wrong_order(agenda: Sequence[Item], places: dict[str, int]) -> None:
    """Of what is still to come, nothing may stand before what it waits for."""
    ahead = {item.id for item in agenda if item.state == "open"}
    for n, item in enumerate(agenda):
        late = [name for name in item.after if name in ahead and places[name] > n]
        if item.id in ahead and late:
            detail = f"agenda.{n}.after: {late[0]!r} comes later; move it before {item.id!r}"
            raise FaultError("before-its-prerequisite", f"agenda.{n}.after", detail)


def _refuse_rewriting(before: Meeting, after: Meeting) -> None:
    """What is done stays as it was, and the current item stays."""
    items = {item.id: item for item in after.agenda}
    for item in before.agenda:
        if item.state == "done" and items.get(item.id) != item:
            detail = f"{item.title!r} is done; it can be neither removed nor changed."
            raise MeetingError("item-done", detail)
        if item.state == "current" and item.id not in items:
            detail = f"The meeting is at {item.title!r}; go on before you remove it."
            raise MeetingError("current-item", detail)
