"""Bus lines and a light rail of the simulated town: a timetable made of its streets, and how late
they run.

Invented: the same for everybody who plays the town, whatever the day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2s
from itertools import pairwise

from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.network import RoadNetwork
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.roads.simulated import SOURCE
from citywise.apps.travel_planner.transit.calls import Call
from citywise.apps.travel_planner.transit.feed import Feed, Stop, Trip
from citywise.apps.travel_planner.transit.ground import straight_m
from citywise.apps.travel_planner.transit.realtime import (
    Message,
    Moment,
    StopUpdate,
    TripRef,
    TripUpdate,
)
from citywise.backend.app import times

_FIRST_S, _LAST_S = 5 * 3600, 24 * 3600
_DAYS = 400
"""Before and after the day on which the timetable is made."""
_ABOUT_S = 2 * 3600
"""So long before and after now it is known how late trips are."""
_LATE_SHARE, _MOST_LATE_S = 0.35, 360
Position = tuple[float, float]
"""Longitude and latitude."""


@dataclass(frozen=True)
class _Line:
    """A line between two corners of the town by way of its middle; ends are shares of its width
    and height."""

    id: str
    name: str
    mode: str
    start: tuple[float, float]
    end: tuple[float, float]
    apart_m: float
    kmh: float
    headway_s: int


_LINES = (
    _Line("1", "1", "bus", (0.1, 0.5), (0.9, 0.55), 450, 19, 600),
    _Line("2", "2", "bus", (0.5, 0.1), (0.55, 0.9), 450, 19, 600),
    _Line("3", "3", "bus", (0.3, 0.15), (0.85, 0.85), 450, 19, 900),
    _Line("4", "4", "bus", (0.35, 0.3), (0.85, 0.6), 450, 19, 600),
    _Line("L", "Light rail", "tram", (0.15, 0.85), (0.85, 0.15), 900, 30, 450),
)


def is_town(network: RoadNetwork) -> bool:
    """Whether a network is that of the simulated town."""
    return network.source == SOURCE


def timetable(router: Router, now_ms: int) -> Feed:
    """The lines of the town, every day from 5 to 24 o'clock, for a year before and after now."""
    feed = Feed("town", times.zone())
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    feed.days["daily"] = {today + timedelta(n) for n in range(-_DAYS, _DAYS + 1)}
    for line in _LINES:
        stops = list(_stops(line, router))
        if len(stops) < 2:
            continue
        feed.stops |= {stop.id: stop for stop, _ in stops}
        feed.routes[line.id], feed.modes[line.id] = line.name, line.mode
        feed.types[line.id] = {"bus": "3", "tram": "0"}[line.mode]
        feed.agencies[line.id] = ""
        whole = stops[-1][1]
        there = [(stop, along) for stop, along in stops]
        back = [(stop, whole - along) for stop, along in reversed(stops)]
        for way, calls in (("there", there), ("back", back)):
            feed.trips += _trips(line, way, calls)
    return feed


def _stops(line: _Line, router: Router) -> Iterator[tuple[Stop, float]]:
    """Stops along the shortest way, with metres from the first; named after their streets."""
    west, south, east, north = router.network.bounds
    shares = (line.start, (0.5, 0.5), line.end)
    points = [(west + x * (east - west), south + y * (north - south)) for x, y in shares]
    snaps = [router.snap(*point, Mode.CAR) for point in points]
    weighted = router.prepared(router.network.length_m, Mode.CAR)
    coordinates: list[Position] = []
    for one, other in pairwise(snaps):
        path = router.shortest(one, other, weighted) if one and other else None
        coordinates += path.coordinates() if path is not None else []
    along = last = 0.0
    for number, (lon, lat) in enumerate(coordinates):
        if number:
            before = coordinates[number - 1]
            along += straight_m(before[1], before[0], lat, lon)
        if number == 0 or along - last >= line.apart_m or number == len(coordinates) - 1:
            last = along
            snap = router.snap(lon, lat, Mode.CAR)
            street = router.network.street(snap.edge) if snap is not None else None
            name = f"{street or 'Stop'} ({line.name})"
            yield Stop(f"{line.id}-{number}", name, lat, lon, None), along


def _trips(line: _Line, way: str, stops: list[tuple[Stop, float]]) -> Iterator[Trip]:
    dwell = 20
    for number, start in enumerate(range(_FIRST_S, _LAST_S, line.headway_s)):
        calls = []
        for at, (stop, along) in enumerate(stops):
            arrives = start + math.floor(along / line.kmh * 3.6) + at * dwell
            calls.append(Call(stop.id, arrives, arrives + dwell, 0, 0, at + 1))
        name = f"{line.id}-{way}-{number}"
        head = stops[-1][0].name.rsplit(" (", 1)[0]
        yield Trip(name, line.id, "daily", "", head, tuple(calls), (0,), is_frequency=False)


def lateness(feed: Feed, now_ms: int) -> Message:
    """How late the trips are that run about now: a third of them, by up to six minutes, the same
    whenever it is asked."""
    now = now_ms // 1000
    today = datetime.fromtimestamp(now, feed.zone).date()
    updates = [
        update
        for day in (today - timedelta(1), today)
        for trip in feed.trips
        for update in _late(trip, day, now - feed.midnight(day))
    ]
    return Message(now, tuple(updates), (), ())


def _late(trip: Trip, day: date, now: int) -> Iterator[TripUpdate]:
    if not trip.calls[0].departs - _ABOUT_S <= now <= trip.calls[-1].arrives + _ABOUT_S:
        return
    drawn = blake2s(f"{trip.id} {day}".encode(), digest_size=8).digest()
    share, amount = (int.from_bytes(part, "big") / 2**32 for part in (drawn[:4], drawn[4:]))
    late = round(amount * _MOST_LATE_S) if share < _LATE_SHARE else 0
    told = StopUpdate(trip.calls[0].sequence, "", "SCHEDULED", None, Moment(None, late))
    yield TripUpdate(trip.id, TripRef(trip.id, trip.route, f"{day:%Y%m%d}"), (told,))
