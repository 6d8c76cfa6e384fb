"""Two recorded hours of Aarhus with 200 travellers: who is told of which jam, and when.

What must be told is computed here with geodesics and shapely alone: no `backend.space`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from math import atan2, cos, degrees, radians, sin
from pathlib import Path

import pytest
from pyproj import Geod
from shapely import LineString, Point

from citywise.backend.city.replay import Replay
from citywise.backend.city.travellers import Roads, Trip, distance_m, told
from citywise.backend.ingest.payloads import Place
from citywise.backend.ingest.records import ClockReading, Standing
from citywise.backend.machine import REPOSITORY
from citywise.backend.pipeline.played import Played
from citywise.backend.pipeline.recorded import _with, readings
from citywise.backend.times import to_ms
from tests.api.templates import pack_of

EARTH = Geod(ellps="WGS84")
START = datetime(2014, 8, 5, 5, tzinfo=UTC)
UNTIL = START + timedelta(hours=2)
TRAVELLERS = 200
RADIUS_M = 100
MARGIN_M = 1.0
"""So near to the radius it may be either."""
CROSSWISE = (85, 95)
"""At such an angle, degrees, a road may be with or against the route."""
APP = REPOSITORY / "backend" / "context" / "pack"
MINUTE_MS = 60_000
Pair = tuple[str, str]
Line = list[tuple[float, float]]


@dataclass(frozen=True)
class Frame:
    """What stands after a clock: the jams that are open, and who is told of which."""

    t_ms: int
    jams: frozenset[str]
    told: frozenset[Pair]


@dataclass
class Day:
    """What was played, and what came of it."""

    trips: dict[str, Trip]
    lines: dict[str, Line] = field(default_factory=dict)
    """Of each jam, where it is."""
    frames: list[Frame] = field(default_factory=list)
    closed: list[tuple[Pair, str | None]] = field(default_factory=list)
    """Notices that were closed, and why."""


@pytest.fixture(scope="module")
def day(data_pack: Path) -> Day:
    city = Replay(data_pack, START, UNTIL, timedelta(hours=1), kinds=("traffic",))
    places = {place.id: place for place in city.places()}
    first, last = to_ms(START), to_ms(UNTIL)
    trips = {trip.user: trip for trip in Roads(places.values()).trips(TRAVELLERS, first, last, 1)}
    day, jams, told_of = Day(trips), set[str](), set[Pair]()
    played = Played(places.values(), pack_of(APP).templates)
    users = [(first, instance(user)) for user in trips]
    for entry in _with([*users, *phones(trips.values(), last)], readings(city)):
        for _t_ms, kind, found in played.take(entry):
            if kind == "notice":
                pair = found["user"], found["about"]["id"]
                (told_of.discard if found["change"] == "closed" else told_of.add)(pair)
                if found["change"] == "closed":
                    day.closed.append((pair, found["closed_because"]))
            else:
                day.lines[found["id"]] = line(places[found["place"]["id"]])
                (jams.discard if kind == "event.cleared" else jams.add)(found["id"])
        if isinstance(entry, ClockReading) and entry.complete_ms >= last_of(day.frames):
            day.frames.append(Frame(entry.complete_ms, frozenset(jams), frozenset(told_of)))
    return day


def last_of(frames: list[Frame]) -> int:
    return frames[-1].t_ms if frames else 0


def phones(trips: Iterable[Trip], until_ms: int) -> Iterator[tuple[int, Standing]]:
    """What travellers' phones tell that do not know how far along the way they are."""
    for t_ms, standing in told(trips, until_ms):
        if standing.subject == "position" and standing.body is not None:
            where = {axis: standing.body[axis] for axis in ("lon", "lat")}
            yield t_ms, replace(standing, body=where)
        else:
            yield t_ms, standing


def instance(user: str) -> Standing:
    body = {"app": "contextual_filtering", "template": "critical_events", "version": 3}
    values = {"interest": "my_route", "radius": RADIUS_M, "categories": ["TrafficJam"]}
    return Standing("instance", user, {**body, "user": user, "values": values}, 0)


def line(place: Place) -> Line:
    assert place.geometry.type == "LineString"
    return list(place.geometry.coordinates)


# --- What must be told -------------------------------------------------------------------


def rest(trip: Trip, t_ms: int) -> Line:
    """What remains of the way from the position that was told last."""
    since = t_ms - (t_ms - trip.departs_ms) % MINUTE_MS
    here, along = trip.at(since)
    reached = [0.0, *accumulate(distance_m(a, b) for a, b in pairwise(trip.line))]
    return [here, *(p for p, at in zip(trip.line, reached, strict=True) if at > along)]


def middle(jam: Line) -> tuple[float, float, float]:
    """Longitude and latitude of the middle of a line's middle piece, and its azimuth."""
    (x1, y1), (x2, y2) = jam[(len(jam) - 1) // 2 :][:2]
    lon, lat = (x1 + x2) / 2, (y1 + y2) / 2
    return lon, lat, EARTH.inv(lon, lat, x2, y2)[0]


def around(lon: float, lat: float, way: Line) -> LineString:
    """The way in metres east and north of a point."""
    azimuth, _, metres = EARTH.inv(
        [lon] * len(way), [lat] * len(way), [p[0] for p in way], [p[1] for p in way]
    )
    each = zip(azimuth, metres, strict=True)
    return LineString([(m * sin(radians(a)), m * cos(radians(a))) for a, m in each])


def affected(way: Line, jam: Line) -> bool | None:
    """Whether a jam concerns who has this way before them; None: too close to tell."""
    lon, lat, azimuth = middle(jam)
    if len(way) < 2:
        return None
    path = around(lon, lat, way)
    distance = path.distance(Point(0, 0))
    if distance > RADIUS_M + MARGIN_M:
        return False
    along = path.project(Point(0, 0))
    if along == 0:
        return False  # nearest is where the traveller is: the jam is passed
    turn = angle(path, azimuth)
    if along < 1 + MARGIN_M or distance > RADIUS_M - MARGIN_M or CROSSWISE[0] < turn < CROSSWISE[1]:
        return None
    return turn < 90


def angle(path: LineString, azimuth: float) -> float:
    """Degrees between the path where it is nearest to the origin and an azimuth."""
    at = path.project(Point(0, 0))
    before, after = (path.interpolate(max(0.0, at + step)) for step in (-1, 1))
    heading = degrees(atan2(after.x - before.x, after.y - before.y))
    return abs((heading - azimuth + 180) % 360 - 180)


class Judge:
    """Whom each open jam concerns at a time, by where they were last."""

    def __init__(self, day: Day) -> None:
        self._day = day
        self._affected: dict[tuple[str, int, str], bool | None] = {}
        self._on_the_way: dict[Pair, bool] = {}

    def verdicts(self, frame: Frame) -> Iterator[tuple[Pair, bool | None]]:
        """Every traveller on the way with every jam, and whether it concerns them."""
        for user, trip in self._day.trips.items():
            if trip.departs_ms <= frame.t_ms < trip.arrives_ms():
                for jam in sorted(frame.jams):
                    yield (user, jam), self._verdict(trip, frame.t_ms, jam)

    def is_on_the_way(self, pair: Pair) -> bool:
        """Whether the jam lies near the traveller's whole way, passed or not."""
        if pair not in self._on_the_way:
            trip, jam = self._day.trips[pair[0]], self._day.lines[pair[1]]
            self._on_the_way[pair] = affected(list(trip.line), jam) is True
        return self._on_the_way[pair]

    def _verdict(self, trip: Trip, t_ms: int, jam: str) -> bool | None:
        key = trip.user, (t_ms - trip.departs_ms) // MINUTE_MS, jam
        if key not in self._affected:
            self._affected[key] = affected(rest(trip, t_ms), self._day.lines[jam])
        return self._affected[key]


@pytest.fixture(scope="module")
def judge(day: Day) -> Judge:
    return Judge(day)


@pytest.mark.thorough
def test_exactly_those_are_told_of_a_jam_whose_remaining_way_it_is_on(
    day: Day, judge: Judge
) -> None:
    agreed = Counter[bool]()
    for frame in day.frames:
        verdicts = dict(judge.verdicts(frame))
        assert frame.told <= verdicts.keys()
        for pair, concerned in verdicts.items():
            if concerned is not None:
                assert (pair in frame.told) is concerned, (frame.t_ms, pair)
                agreed[concerned] += 1
    assert agreed[True] > 1000
    assert agreed[False] > 40_000


@pytest.mark.slow
def test_who_has_passed_a_jam_is_not_told_of_it_any_more(day: Day, judge: Judge) -> None:
    passed, ever = set[Pair](), set[Pair]()
    for frame in day.frames:
        behind = {
            pair
            for pair, concerned in judge.verdicts(frame)
            if concerned is False and judge.is_on_the_way(pair)
        }
        assert not behind & frame.told
        passed |= behind
        ever |= frame.told
    assert passed & ever
    assert passed & ever <= {pair for pair, why in day.closed if why == "passed"}
    assert passed - ever  # jams that opened behind someone
