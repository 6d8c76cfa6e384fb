"""Conference systems in which a meeting is held: what each shows, and what it is told.

Two adapters: rooms of a Jitsi Meet server within our own page, and messages to any other system
(`hooks.py` delivers them). Neither is ever told a sensor's value.
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from citywise.apps.meeting_mgr.model import Capability, Person, Reason, Value
from citywise.apps.meeting_mgr.record import Change, MeetingRecord
from citywise.apps.meeting_mgr.settings import Meetings
from citywise.backend.app import times

Body = dict[str, Any]
TOLD: tuple[Change, ...] = (
    *("started", "item", "extended", "ended", "cancelled", "restored"),
    *("joined", "left", "removed", "away", "back", "muted", "presenting", "asked"),
    *("handed_over", "overridden"),
    *("abilities", "presence", "accepted", "undone"),
)
"""The changes that another conference system can act on."""


class Wanted(Value):
    """What a conference system is to do about somebody: as the host asked, and as they can."""

    audio: Literal["muted", "free"] = "free"
    share: Literal["stopped", "allowed"] = "allowed"
    because: tuple[Reason | Literal["host"], ...] = ()


class Room(Value):
    """A room that our own page shows."""

    kind: Literal["jitsi"] = "jitsi"
    server: str
    room: str


class Conference(Protocol):
    """A conference system, as one meeting uses it."""

    def room(self, record: MeetingRecord) -> Room | None:
        """What our page shows of it; None: it has windows of its own."""

    def told(
        self, record: MeetingRecord, change: Change, person: Person | None, at_ms: int
    ) -> Body | None:
        """The message that tells it of a change; None: it is not told, our page is."""


class Jitsi:
    """Rooms of a Jitsi Meet server; the participant's own page mutes and shares (`Wanted`)."""

    def __init__(self, server: str) -> None:
        self._server = server

    def room(self, record: MeetingRecord) -> Room:
        """A room whose name only those know who have joined; a new link means a new room."""
        digest = hashlib.sha256(f"room {record.id} {record.join_key}".encode()).digest()
        name = b32encode(digest[:20]).decode().lower().rstrip("=")
        return Room(server=self._server, room=f"citywise-{name}")

    def told(
        self, record: MeetingRecord, change: Change, person: Person | None, at_ms: int
    ) -> None:
        """Nothing: the page that shows the room hears of changes itself."""
        del record, change, person, at_ms


class Webhook:
    """Any system that takes messages over HTTP."""

    def room(self, record: MeetingRecord) -> None:
        """None: it has windows of its own."""
        del record

    def told(
        self, record: MeetingRecord, change: Change, person: Person | None, at_ms: int
    ) -> Body | None:
        """A change with the meeting's state and the person's abilities as they are now."""
        if change not in TOLD:
            return None
        current = record.meeting.current()
        return {
            "event": change,
            "at": times.iso(at_ms),
            "meeting": {
                "id": record.id,
                "title": record.meeting.title,
                "state": record.state,
                "item": current and {"id": current.id, "title": current.title},
            },
            "person": None if person is None else _told_of(person),
        }


def of(record: MeetingRecord, settings: Meetings) -> Sequence[Conference]:
    """The conference systems that a meeting uses and the operator allows."""
    found: list[Conference] = []
    if record.meeting.conference == "jitsi" and settings.jitsi is not None:
        found.append(Jitsi(settings.jitsi))
    if record.meeting.hook is not None:
        found.append(Webhook())
    return found


def shown(record: MeetingRecord, settings: Meetings) -> Body | None:
    """The room that the page of a meeting shows, for who has joined and for the host."""
    rooms = (one.room(record) for one in of(record, settings))
    room = next((room for room in rooms if room is not None), None)
    return None if room is None else room.model_dump()


def wanted(person: Person) -> Wanted:
    """What is to be done about somebody: nobody is unmuted or made to share, only stopped."""
    speak, share = _off(person, "speak"), _off(person, "share")
    host: tuple[Literal["host"], ...] = ("host",) if person.muted else ()
    return Wanted(
        audio="muted" if person.muted or speak is not None else "free",
        share="stopped" if share is not None else "allowed",
        because=tuple(dict.fromkeys((*host, *(speak or ()), *(share or ())))),
    )


def _off(person: Person, capability: Capability) -> tuple[Reason, ...] | None:
    """Why somebody cannot do something; None: they can, or nobody knows."""
    found = person.state.abilities.get(capability)
    return found.because if found is not None and found.state == "off" else None


def _told_of(person: Person) -> Body:
    state = person.state
    return {
        "id": person.id,
        "name": person.name,
        "here": person.is_there,
        "presence": state.presence,
        "hand": person.hand,
        "muted": person.muted,
        "presents": person.presents,
        "asked": None if person.asked is None else person.asked.what,
        "abilities": {
            name: {
                "state": one.state,
                "since": times.iso(one.since_ms),
                "because": list(one.because),
            }
            for name, one in state.abilities.items()
        },
        "wanted": wanted(person).model_dump(mode="json"),
    }
