"""Who of a meeting's people is on the way to it, and when they arrive, of those who let it know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sqlalchemy import Connection

from citywise.apps.meeting_mgr.model import Person, Room
from citywise.apps.meeting_mgr.process.live import Live
from citywise.apps.meeting_mgr.readings import apart_m
from citywise.apps.meeting_mgr.steps.arriving import is_time, rounded
from citywise.backend.app import Settings, people

NEAR_M = 200
"""So near the room a trip to the meeting ends."""


class News(NamedTuple):
    """When somebody arrives (Unix ms), which was not known before; None: it no longer is."""

    meeting: str
    person: str
    arrives_ms: int | None


def news(
    connection: Connection, settings: Settings, lives: Iterable[Live], now_ms: int
) -> list[News]:
    """What is other than the meetings know."""
    telling = [(live, person) for live in lives for person in _telling(live)]
    users = {one.user for live, one in telling if one.user and is_time(live.record, now_ms)}
    expected = people.arrivals.expected(connection, settings, users)
    found = []
    for live, person in telling:
        is_now = is_time(live.record, now_ms)
        ways = expected.get(person.user or "", []) if is_now else []
        at_ms = min((way.at_ms for way in ways if _leads_to(way, live)), default=None)
        arrives_ms = rounded(at_ms, person.arrives_ms)
        if arrives_ms != person.arrives_ms:
            found.append(News(live.record.id, person.id, arrives_ms))
    return found


def _telling(live: Live) -> Iterator[Person]:
    return (one for one in live.people.values() if one.tells_arrival and one.left_ms is None)


def _leads_to(way: people.arrivals.Arrival, live: Live) -> bool:
    there = Room(name="there", lat=way.lat, lon=way.lon)
    away_m = apart_m(live.record.meeting.room, there)
    return away_m is not None and away_m <= NEAR_M
