"""How far somebody is on their way is what the app's rules see, and its end is an arrival."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.apps.travel_planner import following
from citywise.apps.travel_planner.following import Progress
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.trips import Position
from tests.travel_planner import followed

LINE = [(10.200, 56.150), (10.200, 56.160), (10.212, 56.160)]


def at(lat: float, lon: float = 10.2, **more: float) -> Progress:
    return following.progress(LINE, Position(lat, lon, 0, **more))  # type: ignore[arg-type]


@cache
def path() -> Path:
    network = followed.planner().city.network
    found = followed.trip(followed.Live()).content.plan["way"]
    return Path(np.array(found["edges"], dtype=np.int32), 0.7, 0.4, network)


def test_progress_is_measured_along_the_line() -> None:
    half_up = at(56.155)
    assert half_up.along_m == pytest.approx(556.6, abs=1)
    assert half_up.length_m == pytest.approx(1113.2 + 746, abs=3)
    assert half_up.off_m == pytest.approx(0, abs=0.1)
    assert half_up.remaining_m + half_up.along_m == pytest.approx(half_up.length_m)
    assert 0.29 < half_up.done_share < 0.31


def test_who_is_61_metres_beside_the_way_is_off_it() -> None:
    assert not at(56.155, 10.2009).is_off
    assert at(56.155, 10.2011).is_off


def test_a_device_that_may_err_by_more_is_not_called_off() -> None:
    assert not at(56.155, 10.2011, accuracy_m=90).is_off
    assert at(56.155, 10.2030, accuracy_m=90).is_off


@pytest.mark.parametrize(
    ("lon", "speed", "arrived"),
    [
        (10.2120, None, True),
        (10.2114, None, True),  # 37 m before the end
        (10.2112, None, False),  # 50 m
        (10.2112, 4.0, True),  # the same, hardly moving
        (10.2112, 20.0, False),
        (10.2109, 2.0, False),  # 68 m
    ],
)
def test_one_has_arrived_near_the_end_or_slowly_a_little_before(
    lon: float, speed: float | None, arrived: bool
) -> None:
    assert following.has_arrived(at(56.160, lon), speed) is arrived


def test_who_passes_the_end_on_the_way_has_not_arrived() -> None:
    there_and_back = [(10.2, 56.15), (10.2, 56.17), (10.2, 56.1501)]
    begin = following.progress(there_and_back, Position(56.15, 10.2, 0))
    assert begin.to_end_m < 40
    assert not following.has_arrived(begin, 0.0)


@given(st.floats(0, 1))
def test_what_remains_and_what_is_behind_are_the_whole(share: float) -> None:
    whole = path()
    rest = following.rest(whole, share)
    assert rest.length_m == pytest.approx(whole.length_m * (1 - share), abs=0.01)
    assert rest.edges.tolist() == whole.edges.tolist()[-len(rest.edges) :]
    assert rest.coordinates()[-1] == whole.coordinates()[-1]


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_rest_of_the_rest_is_the_rest(first: float, second: float) -> None:
    whole = path()
    twice = following.rest(following.rest(whole, first), second)
    at_once = following.rest(whole, 1 - (1 - first) * (1 - second))
    assert twice.length_m == pytest.approx(at_once.length_m, abs=0.01)


def test_the_rest_of_a_single_edge_is_part_of_it() -> None:
    whole = path()
    single = Path(whole.edges[:1], 0.8, 0.9, whole.network)
    rest = following.rest(single, 0.5)
    assert rest.length_m == pytest.approx(single.length_m / 2)
    assert rest.last_share == 0.9
