"""By which bounds a meeting judges what people share, and how often its host moves them.

Each place of a bound tells whether a value is beyond it, so that who moves one on purpose closes
in on the value: hence what somebody has agreed to holds for few places of a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from citywise.apps.meeting_mgr.model import SENSORS, Meeting, Move, Person, Sensor

MOST_MOVES = 3
"""The move that makes so many of a sensor's in `WITHIN_MS` ends its sharing."""
WITHIN_MS = 3_600_000


def bounds(meeting: Meeting) -> Mapping[Sensor, object]:
    """What decides where each sensor's state changes; of the distance the room's place, too."""
    place = (meeting.room.lat, meeting.room.lon)
    thresholds = meeting.rules.thresholds
    return {
        sensor: (thresholds.get(sensor), place if sensor == "distance" else None)
        for sensor in SENSORS
    }


def moves(before: Meeting, after: Meeting, now_ms: int) -> tuple[Move, ...]:
    """The last moves of each sensor's bounds, with those that make one meeting of another."""
    here, there = bounds(before), bounds(after)
    new = [Move(sensor=name, at_ms=now_ms) for name in SENSORS if here[name] != there[name]]
    return tuple(_last((*before.moves, *new), now_ms))


def is_worn(meeting: Meeting, person: Person, sensor: Sensor, now_ms: int) -> bool:
    """Whether a sensor's bounds have been moved too often since somebody began to share it."""
    since_ms = person.shared_ms.get(sensor, person.joined_ms)
    moved = [at_ms for at_ms in _times(meeting, sensor, now_ms) if at_ms >= since_ms]
    return len(moved) >= MOST_MOVES


def left(meeting: Meeting, sensor: Sensor, now_ms: int) -> tuple[int, int] | None:
    """How often a sensor's bounds can still be moved before its sharing ends for anybody, and
    until when (Unix ms) that is so; None where they have not been moved of late."""
    found = _times(meeting, sensor, now_ms)
    if not found:
        return None
    free = max(0, MOST_MOVES - 1 - len(found))
    return free, found[-min(len(found), MOST_MOVES - 1)] + WITHIN_MS


def _times(meeting: Meeting, sensor: Sensor, now_ms: int) -> list[int]:
    return [one.at_ms for one in _last(meeting.moves, now_ms) if one.sensor == sensor]


def _last(moves: Iterable[Move], now_ms: int) -> list[Move]:
    """Of each sensor the last moves of the last hour, as many as matter."""
    young = [one for one in moves if one.at_ms > now_ms - WITHIN_MS]
    return [
        one
        for n, one in enumerate(young)
        if sum(later.sensor == one.sensor for later in young[n + 1 :]) < MOST_MOVES
    ]
