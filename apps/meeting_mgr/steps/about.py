"""Steps that are about one of those who take part, and what the minutes tell of them."""

from __future__ import annotations

from citywise.apps.meeting_mgr.entries import AbilityChanged, Body, Entry, PresenceChanged
from citywise.apps.meeting_mgr.model import AbilityState, Person, PersonState
from citywise.apps.meeting_mgr.record import Change, MeetingError, MeetingRecord, Step


def require_there(person: Person) -> None:
    """Raise `MeetingError` `left` for who is there no more."""
    if person.left_ms is not None:
        raise MeetingError("left", f"{person.name} has left the meeting.")


def about(
    record: MeetingRecord, change: Change, person: Person, now_ms: int, *bodies: Body
) -> Step:
    """A step after which somebody is as `person`, with what the minutes tell of them."""
    entries = tuple(Entry(now_ms, body, person.id) for body in bodies)
    return Step(record, change, (person,), entries, person.id, is_record_new=False)


def quiet(person: Person) -> Person:
    """Somebody of whom nothing is asked any more, and who neither asks to speak nor shows their
    screen."""
    return person.model_copy(update={"hand": False, "presents": False, "asked": None})


def has_moved(before: PersonState, after: PersonState) -> bool:
    """Whether somebody takes part from elsewhere."""
    return before.presence != after.presence


def news(before: PersonState, after: PersonState) -> list[Body]:
    """What the minutes tell of a new state of somebody."""
    changed = [
        AbilityChanged(capability=name, state=one.state, because=one.because)
        for name, one in after.abilities.items()
        if _state_of(before.abilities.get(name)) != _state_of(one)
    ]
    moved = [PresenceChanged(presence=after.presence)] if has_moved(before, after) else []
    return [*changed, *moved]


def _state_of(ability: AbilityState | None) -> tuple[object, ...] | None:
    return None if ability is None else (ability.state, ability.because)
