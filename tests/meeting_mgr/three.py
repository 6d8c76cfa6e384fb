"""A meeting of three people with three items, the first of which is going on."""

from __future__ import annotations

from citywise.apps.meeting_mgr.model import Attendee, Item, Meeting, Person, PersonState, Room
from tests.meeting_mgr.agendas import MINUTE, STARTS, off, person

NOW = STARTS + MINUTE
LATE = STARTS + 3 * MINUTE
"""From here on who has not joined is late."""
ANN, BOB, CID = (Attendee(id=f"a{n}", name=name) for n, name in enumerate(("Ann", "Bob", "Cid")))
FIRST = Item(id="i1", title="First", speaker="a0", minutes=10, state="current", began_ms=STARTS)
SECOND = Item(id="i2", title="Second", speaker="a1", minutes=10, least_minutes=5)
THIRD = Item(id="i3", title="Third", speaker="a0", minutes=10)


def meeting(*agenda: Item, minutes: int = 60, **others: object) -> Meeting:
    values: dict[str, object] = {
        "title": "Any",
        "room": Room(name="B"),
        "starts_ms": STARTS,
        "ends_ms": STARTS + minutes * MINUTE,
        "attendees": (ANN, BOB, CID),
        "agenda": agenda,
    }
    return Meeting.model_validate({**values, **others})


def joined(bob: PersonState | None = None) -> list[Person]:
    state = bob or PersonState()
    return [person(0, "a0"), person(1, "a1", state=state), person(2, "a2")]


NOISY = PersonState(abilities=off("speak"))
