"""What lies ahead, behind and against the direction of travel, on routes of every shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from citywise.backend.space import Relation, Space
from citywise.backend.space.geometry import Path
from citywise.backend.space.paths import Book
from tests.space.reference import EARTH, Lonlat

START = (10.2039, 56.1629)


def at(east: float, north: float) -> list[float]:
    """The point so many metres east and north of the start."""
    lon, lat, _ = EARTH.fwd(*START, 90, east)
    lon, lat, _ = EARTH.fwd(lon, lat, 0, north)
    return [lon, lat]


def line(*corners: Lonlat) -> list[list[float]]:
    return [at(*corner) for corner in corners]


def point(east: float, north: float) -> dict[str, Any]:
    return {"type": "Point", "coordinates": at(east, north)}


def road(*corners: Lonlat) -> dict[str, Any]:
    return {"type": "LineString", "coordinates": line(*corners)}


def position(east: float, north: float, **more: float) -> dict[str, Any]:
    lon, lat = at(east, north)
    return {"lon": lon, "lat": lat, **more}


def relation(
    route: Sequence[Lonlat],
    where: dict[str, Any] | None,
    thing: dict[str, Any],
    reach: float = 100,
) -> Relation | None:
    """How a user on the route stands to a directed thing."""
    space = Space(reach)
    space.put_route("alice", route)
    space.put_position("alice", where)
    space.put_thing("jam", thing, directed=True)
    return next((told for *_, told in space.settle()), None)


def progress(route: Sequence[Lonlat], where: dict[str, Any]) -> list[float]:
    """How far along the route, and how far from it."""
    space = Space(100)
    space.put_route("alice", route)
    space.put_position("alice", where)
    list(space.settle())
    along, off = space.progress_m("alice"), space.off_route_m("alice")
    assert along is not None
    assert off is not None
    return [along, off]


STRAIGHT = line((0, 0), (1000, 0))
THERE_AND_BACK = line((0, 0), (333, 77), (1000, 0), (333, 77), (0, 0))
LOOP = line((0, 0), (500, 0), (500, 500), (0, 500), (0, 0))
EIGHT = line((0, 0), (1000, 0), (1000, 400), (500, 400), (500, -400))


def test_before_a_position_is_known_the_whole_route_remains() -> None:
    told = relation(STRAIGHT, None, point(300, 40))
    assert told.route_m == pytest.approx(40, abs=0.1)
    assert told[1:] == (None, False, False, None)


def test_ahead_is_measured_along_the_route() -> None:
    bent = line((0, 0), (400, 0), (400, 400))
    told = relation(bent, position(100, 0), point(440, 300))
    assert told.route_m == pytest.approx(40, abs=0.1)
    assert told.ahead_m == pytest.approx(600, abs=0.5)


def test_what_was_passed_is_behind_once_it_is_out_of_reach_of_the_rest() -> None:
    assert relation(STRAIGHT, position(350, 0), point(300, 40)).ahead_m == 0
    assert relation(STRAIGHT, position(405, 0), point(300, 40)) == (None, None, True, False, None)


def test_what_was_passed_is_ahead_again_where_the_route_comes_back() -> None:
    told = relation(THERE_AND_BACK, position(700, 30, heading=90), point(200, 46))
    assert told.ahead_m == pytest.approx(300 + 671 + 136, rel=0.01)


def test_on_the_way_out_the_first_of_two_equal_passes_counts() -> None:
    start = position(10, 2, along_m=10)
    told = relation(THERE_AND_BACK, start, point(600, 100))
    assert told.ahead_m == pytest.approx(594.4, abs=0.5)


@pytest.mark.parametrize("side", [-60, 60])
def test_ways_out_and_back_that_differ_by_millimetres_are_equally_near(side: float) -> None:
    route = line((0, 0), (200, 0), (100, 0.002), (0, 0))
    told = relation(route, position(20, 0, along_m=20), point(100, side))
    assert told.ahead_m == pytest.approx(80, abs=2)
    assert progress(route, position(175, side))[0] == pytest.approx(175, abs=2)


def test_a_road_is_opposite_if_the_rest_of_the_route_runs_against_it() -> None:
    against, same = road((600, 5), (400, 5)), road((400, 5), (600, 5))
    assert relation(STRAIGHT, None, against).opposite
    assert not relation(STRAIGHT, None, same).opposite
    assert not relation(STRAIGHT, None, point(500, 5)).opposite


def test_a_road_that_is_met_on_the_way_back_is_not_opposite_and_lies_there() -> None:
    home = road((700, 35), (600, 46))
    told = relation(THERE_AND_BACK, position(10, 2, along_m=10), home)
    assert not told.opposite
    assert told.ahead_m == pytest.approx(1013 + 353, rel=0.02)


@pytest.mark.parametrize(
    ("where", "along", "off"),
    [
        (position(-300, 0), 0, 300),
        (position(1400, 300), 1000, 500),
        (position(400, 70), 400, 70),
        (position(400, 70, along_m=650), 650, 70),
        (position(400, 70, along_m=9999), 1000, 70),
    ],
)
def test_progress_is_the_nearest_point_unless_the_device_knows_better(
    where: dict[str, Any], along: float, off: float
) -> None:
    assert progress(STRAIGHT, where) == pytest.approx([along, off], abs=0.5)


@pytest.mark.parametrize(
    ("route", "where", "along"),
    [
        (THERE_AND_BACK, position(600, 50), 607),
        (THERE_AND_BACK, position(600, 50, heading=90), 607),
        (THERE_AND_BACK, position(600, 50, heading=250), 2026 - 607),
        (LOOP, position(3, 2), 3),
        (LOOP, position(2, 20), 2),
        (LOOP, position(2, 20, heading=180), 1980),
        (EIGHT, position(500, 5, heading=95), 500),
        (EIGHT, position(505, 5, heading=185), 2295),
        (EIGHT, position(505, -300), 2600),
    ],
)
def test_where_a_route_comes_by_twice_the_heading_tells_which_pass_it_is(
    route: list[list[float]], where: dict[str, Any], along: float
) -> None:
    assert progress(route, where)[0] == pytest.approx(along, abs=7)


def test_a_way_back_along_the_same_street_is_not_taken_for_the_way_out() -> None:
    found = [progress(THERE_AND_BACK, position(east, 37.7))[0] for east in range(30, 1000, 10)]
    assert max(found) < 1015


@pytest.mark.parametrize("far", [99.8, 100.2])
def test_reach_is_exact(far: float) -> None:
    within = far < 100
    assert (relation(STRAIGHT, None, point(500, far)) is not None) is within
    assert (relation(STRAIGHT, None, point(1000 + far, 0)) is not None) is within
    assert (relation([START, START], None, point(0, -far)) is not None) is within
    away = relation(line((5000, 0), (6000, 0)), position(0, 0), point(-far, 0))
    assert (away is not None) is within


def test_a_heading_does_not_reach_for_a_pass_farther_off_than_a_street() -> None:
    far = line((0, 0), (1000, 0), (1000, 45), (0, 45))
    near = line((0, 0), (1000, 0), (1000, 25), (0, 25))
    assert progress(far, position(600, 0, heading=270))[0] == pytest.approx(600, abs=0.5)
    assert progress(near, position(600, 0, heading=270))[0] == pytest.approx(1425, abs=0.5)


def test_a_route_that_stands_still_is_a_point() -> None:
    told = relation(line((0, 0), (0, 0)), position(0, 5), road((80, 0), (60, 0)))
    assert told.route_m == pytest.approx(70, abs=0.1)
    assert (told.ahead_m, told.opposite) == (0, False)


def test_only_the_relations_that_are_wanted_are_told() -> None:
    space = Space(100, route=False)
    space.put_route("alice", STRAIGHT)
    space.put_position("alice", position(500, 0))
    space.put_thing("near", point(520, 0))
    space.put_thing("on the way", point(900, 0))
    [(_, thing, told)] = space.settle()
    assert (thing, told.route_m, told.away_m) == ("near", None, pytest.approx(20, abs=0.1))
    assert space.progress_m("alice") == pytest.approx(500, abs=0.5)


def test_a_user_with_a_larger_reach_does_not_widen_that_of_others() -> None:
    space = Space(100)
    space.put_reach("bob", 400)
    for user in ("alice", "bob"):
        space.put_route(user, STRAIGHT)
    space.put_thing("jam", point(500, 300))
    assert [user for user, *_ in space.settle()] == ["bob"]


def test_numbers_of_users_and_things_that_went_are_used_again() -> None:
    space = Space(100)
    for turn in range(50):
        space.put_thing(f"jam {turn}", point(500, 0))
        space.put_position(f"user {turn}", position(500, 0))
        assert [told[:2] for told in space.settle()] == [(f"user {turn}", f"jam {turn}")]
        space.put_thing(f"jam {turn}", None)
        space.put_position(f"user {turn}", None)
        assert [told[2] for told in space.settle()] == [None]
    assert space.progress_m("user 49") is None
    assert (len(space._users), len(space._things.slots), space._ledger._used) == (1, 1, 1)


def test_runs_are_merged_so_that_few_are_searched_and_no_dead_path_stays_for_long() -> None:
    book, path = Book(), Path.of(STRAIGHT)
    for slot in range(300):
        book.put(slot, path, 100)
        book.flush()
    assert len(book.runs) < 10
    for slot in range(280):
        book.put(slot, None, 100)
        book.flush()
    assert sum(len(run.alive) for run in book.runs) <= 40
