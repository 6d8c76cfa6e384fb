"""What of somebody's sensors is kept, and what of it goes when they share less."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from citywise.apps.meeting_mgr.entries import AbilityChanged, Entry, PresenceChanged
from citywise.apps.meeting_mgr.model import (
    OPEN,
    SENSORS,
    Ability,
    AbilityState,
    Capability,
    Ending,
    Person,
    PersonState,
    Reason,
    Room,
    Sensor,
)
from citywise.apps.meeting_mgr.readings import apart_m
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps.bounds import is_worn

SENSOR_OF: Mapping[Reason, Sensor] = {
    "noise": "noise",
    "light": "light",
    "proximity": "proximity",
    "motion": "motion",
    "driving": "speed",
    "hidden": "visible",
    "battery": "battery",
    "network": "network",
    "sensitive": "noise",
}
"""Which sensor told, where it was one; of being in public, noise does."""
SENSORS_OF: Mapping[Capability, frozenset[Sensor]] = {
    "speak": frozenset({"noise", "network"}),
    "listen": frozenset({"noise", "network"}),
    "read": frozenset({"light", "proximity", "motion", "speed", "visible"}),
    "chat": frozenset({"proximity", "motion", "speed", "visible"}),
    "share": frozenset({"noise", "speed", "battery", "network"}),
}
"""Which sensors decide what somebody can do (`user_reasoner.casp`: affect)."""
EARLIEST_MS = 30 * 60_000
"""So long before its planned start people begin to share in a meeting."""
SAME_PLACE_M = 100
"""A room that is put so far away, or less, is where it was."""
ROOM_SENSORS: tuple[Sensor, ...] = ("noise", "light")
"""What a room's own sensors tell of those who are in it."""


def gone(person: Person, sharing: Collection[Sensor], room: Room) -> frozenset[Sensor]:
    """What may be kept no longer of somebody who shares these sensors from now on.

    Who shares nothing withdraws everything.
    """
    if not sharing:
        return frozenset(SENSORS)
    return told_with(set(person.sharing) - set(sharing), sharing, room)


def told_with(
    sensors: Collection[Sensor], sharing: Collection[Sensor], room: Room
) -> frozenset[Sensor]:
    """Some sensors, and those of the room, which tell of who is known to be in it alone."""
    if "distance" in sensors and room.sensors is not None:
        return frozenset(sensors) | (set(ROOM_SENSORS) - set(sharing))
    return frozenset(sensors)


def is_too_early(record: MeetingRecord, now_ms: int) -> bool:
    """Whether a meeting is so far ahead that nothing is shared in it yet."""
    return record.state == "planned" and now_ms < record.meeting.starts_ms - EARLIEST_MS


def unasked(before: MeetingRecord, after: MeetingRecord, person: Person) -> Mapping[Sensor, Ending]:
    """What somebody shared with a meeting and not with what has been made of it, and why: all,
    where it no longer is before them, or not yet; where they are, where its room is now another
    place; and what is judged by bounds that have been moved too often."""
    now_ms = after.updated_ms
    is_stopped = after.state not in OPEN or (before.state, after.state) == ("running", "planned")
    if is_stopped or is_too_early(after, now_ms):
        return dict.fromkeys(person.sharing, "over")
    found: dict[Sensor, Ending] = {
        name: "bounds" for name in person.sharing if is_worn(after.meeting, person, name, now_ms)
    }
    if "distance" in person.sharing and _is_elsewhere(before.meeting.room, after.meeting.room):
        found["distance"] = "room"
    return found


def _is_elsewhere(here: Room, there: Room) -> bool:
    if there.lat is None or (here.lat, here.lon) == (there.lat, there.lon):
        return False
    away_m = apart_m(here, there)
    return away_m is None or away_m > SAME_PLACE_M


def without(state: PersonState, less: Collection[Sensor], now_ms: int) -> PersonState:
    """A state that tells nothing of some sensors; the reasoner is to look again.

    What is concluded anew waits for no dwell time: it would tell what was before.
    """
    nowhere = {"presence": "unknown", "presence_since_ms": now_ms} if "distance" in less else {}
    hidden = {
        "sensors": {name: one for name, one in state.sensors.items() if name not in less},
        "sensed": {},
        "abilities": {
            name: _hidden(name, one, less, now_ms) for name, one in state.abilities.items()
        },
        "changed_ms": {},
        "surroundings": "unknown",
        "due_ms": now_ms,
    }
    return state.model_copy(update=hidden | nowhere)


def _hidden(
    name: Capability, ability: AbilityState, less: Collection[Sensor], now_ms: int
) -> AbilityState:
    state, because = _disclosed(name, ability.state, ability.because, less)
    since_ms = ability.since_ms if state == ability.state else now_ms
    return AbilityState(state=state, since_ms=since_ms, because=because)


def rests_on(state: PersonState, person: Person, room: Room) -> bool:
    """Whether a state has been concluded from what somebody shares and nothing else; of those
    who are, or were, in the room its own sensors tell, too."""
    is_there = "room" in (state.presence, person.state.presence) and room.sensors is not None
    allowed = set(person.sharing) | set(ROOM_SENSORS if is_there else ())
    return {name for name, one in state.sensors.items() if one.state != "not_shared"} <= allowed


def remaining(entries: Iterable[Entry], less: Collection[Sensor]) -> list[Entry]:
    """A person's entries without what some sensors told: reasons go, what rested on them is
    unknown, and entries that then say nothing new go."""
    last: dict[Capability, AbilityChanged] = {}
    kept = []
    for entry in entries:
        body = entry.body
        if isinstance(body, AbilityChanged):
            stripped = _stripped(body, less)
            if stripped == last.get(body.capability):
                continue
            last[body.capability] = stripped
            entry = entry._replace(body=stripped)
        elif isinstance(body, PresenceChanged) and "distance" in less:
            continue
        kept.append(entry)
    return kept


def _stripped(body: AbilityChanged, less: Collection[Sensor]) -> AbilityChanged:
    state, because = _disclosed(body.capability, body.state, body.because, less)
    return body.model_copy(update={"state": state, "because": because})


def _disclosed(
    name: Capability, state: Ability, because: tuple[Reason, ...], less: Collection[Sensor]
) -> tuple[Ability, tuple[Reason, ...]]:
    """What may be said of an ability without some sensors: that it is on, or unknown since all
    is silent, rests on each of them; that it is off, only on those that are a reason."""
    if state == "off":
        kept = tuple(reason for reason in because if SENSOR_OF.get(reason) not in less)
        return (state, kept) if kept else ("unknown", ("not_shared",))
    return ("unknown", ("not_shared",)) if SENSORS_OF[name] & set(less) else (state, because)
