"""Simulated travellers: their ways follow roads, and they are where they can be by then."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from citywise.backend.city.travellers import Point, Roads, Trip, distance_m, length_m, told
from citywise.backend.ingest.payloads import LineString, Place
from citywise.backend.ingest.standing import checked

EARTH = Geod(ellps="WGS84")
START, HOUR = 1_407_218_400_000, 3_600_000
STEP = 0.02
"""Degrees of longitude and latitude between the crossings of a grid of streets."""


def road(name: str, *line: Point, kmh: float | None = 50) -> Place:
    return Place(
        id=name, kind="road", name=name, geometry=LineString(coordinates=list(line)),
        sensors=("traffic",), free_flow_kmh=kmh,
    )  # fmt: skip


def crossing(x: int, y: int) -> Point:
    return round(10.1 + STEP * x, 6), round(56.1 + STEP * y / 2, 6)


def grid(size: int = 4) -> list[Place]:
    """Streets both ways between neighbouring crossings, each bent in its middle."""
    pairs = [
        ((x, y), there)
        for x in range(size)
        for y in range(size)
        for there in ((x + 1, y), (x, y + 1))
        if max(there) < size
    ]
    found = []
    for a, b in [*pairs, *((b, a) for a, b in pairs)]:
        start, end = crossing(*a), crossing(*b)
        bend = (start[0] + end[0]) / 2 + 0.001, (start[1] + end[1]) / 2 + 0.001
        found.append(road("{}{}-{}{}".format(*a, *b), start, bend, end))
    return found


GRID = grid()
STREETS = {tuple(place.geometry.coordinates) for place in GRID}


def trips(seed: int = 1, count: int = 20, places: Sequence[Place] = GRID) -> list[Trip]:
    return list(Roads(places).trips(count, START, START + HOUR, seed))


def test_a_seed_gives_the_same_trips_and_another_seed_others() -> None:
    assert trips(1) == trips(1)
    assert trips(1) != trips(2)
    assert trips(1, 5) == trips(1, 20)[:5]


def test_trips_have_users_of_their_own_and_begin_in_the_period() -> None:
    found = trips()
    assert [trip.user for trip in found] == [f"traveller-{n}" for n in range(1, 21)]
    assert all(START <= trip.departs_ms < START + HOUR for trip in found)
    assert len({trip.departs_ms for trip in found}) > 5
    assert all(1_500 <= length_m(trip.line) <= 15_000 for trip in found)


def test_a_way_follows_whole_streets_one_after_the_other() -> None:
    for trip in trips():
        streets = list(zip(trip.line[::2], trip.line[1::2], trip.line[2::2], strict=False))
        assert len(trip.line) == 2 * len(streets) + 1
        assert set(streets) <= STREETS


def test_no_street_is_driven_against_its_direction() -> None:
    oneway = GRID[: len(GRID) // 2]  # to the east and north
    allowed = {tuple(place.geometry.coordinates) for place in oneway}
    for trip in trips(places=oneway):
        assert set(zip(trip.line[::2], trip.line[1::2], trip.line[2::2], strict=False)) <= allowed


def test_the_fastest_way_is_taken_not_the_shortest() -> None:
    a, far, b = (10.1, 56.1), (10.13, 56.12), (10.16, 56.1)
    direct = road("slow", a, b, kmh=10)
    places = [direct, road("fast-1", a, far, kmh=100), road("fast-2", far, b, kmh=100)]
    there = [trip for trip in trips(count=30, places=places) if trip.line[0] == a]
    found = [trip for trip in there if trip.line[-1] == b]
    assert {trip.line for trip in found} == {(a, far, b)}
    expected = (length_m((a, far)) + length_m((far, b))) / (100 / 3.6)
    assert found[0].seconds == pytest.approx(expected)


def test_ends_of_roads_a_few_metres_apart_are_one_junction() -> None:
    beside = (10.13, 56.1002)  # 22 m north
    places = [road("1", (10.1, 56.1), (10.13, 56.1)), road("2", beside, (10.16, 56.1))]
    lines = {trip.line for trip in trips(places=places)}
    assert ((10.1, 56.1), (10.13, 56.1), (10.16, 56.1)) in lines


def test_roads_that_lead_nowhere_far_give_no_trips() -> None:
    assert trips(places=[road("1", (10.1, 56.1), (10.105, 56.1))]) == []
    assert trips(places=[]) == []


# --- On the way ------------------------------------------------------------------------------


@given(st.sampled_from(trips()), st.floats(-0.2, 1.2), st.floats(0, 0.3))
def test_a_traveller_is_on_the_way_and_gets_on(trip: Trip, share: float, more: float) -> None:
    times = [trip.departs_ms + round(trip.seconds * 1000 * s) for s in (share, share + more)]
    (here, along), (_there, later) = (trip.at(t_ms) for t_ms in times)
    assert 0 <= along <= later <= length_m(trip.line) + 0.001
    nearest = min(_off(here, start, end) for start, end in pairwise(trip.line))
    assert nearest < 0.5
    assert _driven(trip, here) == pytest.approx(along, abs=0.5)


def _off(point: Point, start: Point, end: Point) -> float:
    """How many metres longer it is from start to end by way of the point."""
    return distance_m(start, point) + distance_m(point, end) - distance_m(start, end)


def _driven(trip: Trip, here: Point) -> float:
    """Metres along the way to a point on it."""
    done = 0.0
    for start, end in pairwise(trip.line):
        if _off(here, start, end) < 0.001:
            return done + distance_m(start, here)
        done += distance_m(start, end)
    return done


def test_a_trip_begins_at_its_start_and_is_over_at_its_end() -> None:
    trip = trips()[0]
    assert trip.at(trip.departs_ms - 1000) == (trip.line[0], 0.0)
    end, along = trip.at(trip.arrives_ms() + 1000)
    assert distance_m(end, trip.line[-1]) < 0.01
    assert along == pytest.approx(length_m(trip.line))


def test_distances_are_those_of_the_ellipsoid_within_half_a_percent() -> None:
    for start, end in pairwise(trips()[0].line):
        exact = EARTH.inv(*start, *end)[2]
        assert distance_m(start, end) == pytest.approx(exact, rel=0.005)


# --- What phones tell -------------------------------------------------------------------------


def test_phones_tell_the_way_then_each_minute_where_they_are_then_that_it_is_over() -> None:
    trip = trips()[0]
    found = [(t, e.subject, e.body) for t, e in told([trip], trip.arrives_ms())]
    assert [subject for _, subject, _ in found[:3]] == ["route", "activity", "position"]
    assert found[0][2] == {"coordinates": [list(point) for point in trip.line]}
    positions = [(t, body) for t, subject, body in found[2:-3] if subject == "position"]
    assert [t for t, _ in positions] == list(range(trip.departs_ms, trip.arrives_ms(), 60_000))
    alongs = [body["along_m"] for _, body in positions if body]
    assert alongs == sorted(alongs)
    assert (alongs[0], len(set(alongs))) == (0, len(alongs))
    arrived = trip.arrives_ms()
    assert found[-3:] == [(arrived, s, None) for s in ("route", "position", "activity")]


def test_phones_of_all_tell_in_order_of_time_and_nothing_after_the_end() -> None:
    until = START + HOUR // 2
    found = list(told(trips(), until))
    times = [t for t, _ in found]
    assert times == sorted(times)
    standing = [e for _, e in found if e.subject == "position"]
    assert max(t for t, e in found if e.subject == "position") <= until
    assert len({e.key for e in standing}) > 3


def test_what_phones_tell_is_what_the_ingest_accepts() -> None:
    for _t, entry in told(trips(count=2), START + 2 * HOUR):
        body: dict[str, Any] = {**(entry.body or {})}
        accepted = checked(entry.subject, entry.key, entry.body).body or {}
        assert {k: v for k, v in accepted.items() if v is not None} == body
