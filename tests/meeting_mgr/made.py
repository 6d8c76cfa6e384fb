"""Meetings and people made for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citywise.apps.meeting_mgr.model import (
    AbilityState,
    Attendee,
    Busy,
    Capability,
    Cause,
    Item,
    Meeting,
    MeetingState,
    Person,
    PersonState,
    Placed,
    Proposal,
    Proposed,
    Room,
    SensorState,
)
from citywise.apps.meeting_mgr.record import MeetingRecord, Step
from citywise.backend.times import parse_ms

NOW_MS = parse_ms("2026-05-04T09:00:00Z")
MINUTE_MS = 60_000
ALICE = Attendee(id="a1", name="Alice", email="alice@example.org")
BOB = Attendee(
    id="a2",
    name="Bob",
    email="bob@example.org",
    busy=(Busy(from_ms=NOW_MS + 50 * MINUTE_MS, until_ms=NOW_MS + 70 * MINUTE_MS),),
)
CHARLIE = Attendee(id="a3", name="Charlie", email="charlie@example.org", required=False)
MEETING_ID = "m-" + "a" * 20


def item(name: str, minutes: int = 20, **more: Any) -> Item:
    """An item of the agenda, called after its id."""
    return Item(id=name, title=f"Item {name[1:]}", minutes=minutes, **more)


def meeting(**more: Any) -> Meeting:
    """An hour with three items, the second sensitive and Bob's."""
    usual: dict[str, Any] = {
        "title": "Business meeting",
        "room": Room(name="Room B", lat=56.15, lon=10.2),
        "starts_ms": NOW_MS,
        "ends_ms": NOW_MS + 60 * MINUTE_MS,
        "attendees": (ALICE, BOB, CHARLIE),
        "agenda": (
            item("i1", speaker="a1"),
            item("i2", speaker="a2", sensitive=True, least_minutes=10),
            item("i3", speaker="a1"),
        ),
    }
    return Meeting(**usual | more)


def record(
    state: MeetingState = "planned",
    user: str = "u-" + "h" * 20,
    proposals: tuple[Proposal, ...] = (),
    **more: Any,
) -> MeetingRecord:
    """A meeting as it is kept."""
    return MeetingRecord(
        MEETING_ID, user, state, 1, meeting(**more), proposals, "key", NOW_MS, NOW_MS
    )


def person(letter: str = "b", attendee: str | None = "a2", **more: Any) -> Person:
    """Somebody in the meeting, who has just joined."""
    names = {one.id: one.name for one in (ALICE, BOB, CHARLIE)}
    usual: dict[str, Any] = {
        "id": f"p-{letter * 20}",
        "meeting": MEETING_ID,
        "name": names.get(attendee or "", "Guest"),
        "attendee": attendee,
        "joined_ms": NOW_MS,
    }
    return Person(**usual | more)


def state(
    sensors: Mapping[Any, str] | None = None,
    because: Mapping[Capability, tuple[Any, ...]] | None = None,
    **more: Any,
) -> PersonState:
    """A state with sensors (`{"noise": "out"}`), and what is off because of what."""
    told = {name: SensorState(state=how, since_ms=NOW_MS) for name, how in (sensors or {}).items()}  # type: ignore[arg-type]
    why = because or {}
    abilities = {
        name: AbilityState(
            state="off" if name in why else "on", since_ms=NOW_MS, because=why.get(name, ())
        )
        for name in ("speak", "listen", "read", "chat", "share")
    }
    sensed: dict[str, Any] = {"sensors": told, "sensed": abilities, "abilities": abilities}
    return PersonState(**sensed | more)


NOISY: Mapping[Capability, tuple[Any, ...]] = dict.fromkeys(
    ("speak", "listen", "share"), ("noise",)
)


def noisy(**more: Any) -> Person:
    """Bob, where it is noisy."""
    return person(sharing=("noise", "distance"), state=state({"noise": "out"}, NOISY), **more)


def swapped(number: int = 1) -> Proposal:
    """A proposal that moves the second item to the end, shortened; or puts it off."""
    placed = [("i1", 0, 20), ("i3", 20, 20), ("i2", 40, 10)]
    agenda = tuple(
        Placed(item=name, starts_ms=NOW_MS + at * MINUTE_MS, minutes=minutes)
        for name, at, minutes in placed
    )
    first = Proposed(agenda=agenda, moved=("i2",), shortened=("i2",), cost=(0, 0, 10, 0, 1))
    other = Proposed(agenda=agenda[:2], put_off=("i2",), cost=(20, 0, 0, 0, 0))
    cause = Cause(item="i2", person="a2", lacks=("speak",), because=("noise",))
    return Proposal(
        number=number, at_ms=NOW_MS, kind="reorder", causes=(cause,), options=(first, other)
    )


def states(step: Step) -> dict[str, str]:
    """How far the items of an agenda are, after a step."""
    return {one.id: one.state for one in step.record.meeting.agenda}
