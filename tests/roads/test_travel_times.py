"""Travel times follow what is measured, as far as it is fresh and there were vehicles."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.apps.travel_planner.roads import RoadNetwork
from citywise.apps.travel_planner.roads.costs import Basis
from citywise.apps.travel_planner.roads.network import F64
from citywise.apps.travel_planner.roads.travel_times import CarTimes, Sensing, Speeds, pace
from tests.roads.avenue import BLOCKS, LANE, MINUTE_MS, NOW_MS, avenue

NETWORK = avenue()
SENSING = Sensing(NETWORK)
NOTHING_USUAL = np.full(BLOCKS, np.nan)


def seen(speeds: Speeds, sensor: int, ago_min: float, kmh: float, vehicles: int = 9) -> Speeds:
    at = NOW_MS - round(ago_min * MINUTE_MS)
    rows = (np.array([value]) for value in (sensor, at, kmh, vehicles))
    return speeds.seen(*rows)


def after(*readings: tuple[float, ...]) -> Speeds:
    """What is measured after readings of (sensor, minutes ago, km/h, vehicles)."""
    speeds = Speeds.none(BLOCKS)
    for sensor, *reading in readings:
        speeds = seen(speeds, int(sensor), *reading)  # type: ignore[arg-type]
    return speeds


def times(speeds: Speeds, usual: F64 = NOTHING_USUAL, lead_min: float = 0) -> CarTimes:
    return SENSING.times(speeds, usual, NOW_MS, round(lead_min * MINUTE_MS))


def kmh(found: CarTimes, edge: int) -> float:
    return float(NETWORK.length_m[edge] / found.seconds[edge] * 3.6)


def test_a_fresh_reading_is_the_speed_of_its_edges_and_no_others() -> None:
    found = times(after((2, 0, 20)))
    assert kmh(found, 4) == pytest.approx(20)
    assert kmh(found, 5) == pytest.approx(60)
    assert found.basis[4] == Basis.LIVE
    assert found.age_s[4] == 0
    assert np.isnan(found.age_s[5])


def test_a_reading_without_vehicles_tells_nothing() -> None:
    assert kmh(times(after((2, 5, 20), (2, 0, 90, 0))), 4) == kmh(times(after((2, 5, 20))), 4)


def test_a_reading_of_five_minutes_before_counts_half_in_the_mean_time() -> None:
    speeds = after((0, 5, 60), (0, 0, 30))
    assert speeds.pace[0] == pytest.approx((0.5 * 3.6 / 60 + 3.6 / 30) / 1.5)


def test_one_vehicle_counts_a_third_of_three_and_more_count_no_more() -> None:
    assert after((0, 0.1, 60, 9), (0, 0, 30, 1)).pace[0] == pytest.approx(
        (3.6 / 60 + 3.6 / 30 / 3) / (4 / 3), rel=0.01
    )
    assert after((0, 5, 60, 3), (0, 0, 30, 3)).pace[0] == after((0, 5, 60), (0, 0, 30)).pace[0]


def test_a_reading_that_is_older_than_the_last_changes_nothing() -> None:
    assert after((0, 5, 60), (0, 8, 10)).pace[0] == after((0, 5, 60)).pace[0]


def test_what_is_measured_gives_way_to_what_is_usual_as_it_ages() -> None:
    usual = np.full(BLOCKS, 3.6 / 50)
    found = times(after((0, 15, 20)), usual)
    expected = exp(-1) * 3.6 / 20 + (1 - exp(-1)) * 3.6 / 50
    assert 3.6 / kmh(found, 0) == pytest.approx(expected)
    assert found.basis[0] == Basis.LEARNED
    assert kmh(times(after((0, 61, 20)), usual), 0) == pytest.approx(50)


def test_a_later_departure_is_by_what_is_usual_then() -> None:
    usual = np.full(BLOCKS, 3.6 / 50)
    half = times(after((0, 0, 20)), usual, lead_min=10)
    assert 3.6 / kmh(half, 0) == pytest.approx(0.5 * 3.6 / 20 + 0.5 * 3.6 / 50)
    late = times(after((0, 0, 20)), usual, lead_min=20)
    assert kmh(late, 0) == pytest.approx(50)
    assert late.basis[0] == Basis.LEARNED


def test_where_nothing_is_known_streets_are_free() -> None:
    found = times(Speeds.none(BLOCKS))
    assert found.seconds == pytest.approx(SENSING.free_flow_s)
    assert set(found.basis) == {Basis.FREE_FLOW}


def test_streets_that_nobody_measures_are_slower_as_the_measured_ones_are() -> None:
    found = times(after(*((i, 0, 40) for i in range(8))))
    assert kmh(found, LANE) == pytest.approx(20)
    assert found.basis[LANE] == Basis.FREE_FLOW
    few = times(after(*((i, 0, 40) for i in range(7))))
    assert kmh(few, LANE) == pytest.approx(30)


def test_faster_measured_streets_make_no_other_street_faster() -> None:
    assert kmh(times(after(*((i, 0, 90) for i in range(10)))), LANE) == pytest.approx(30)


def test_several_sensors_of_one_edge_are_one_mean_time() -> None:
    both = RoadNetwork(
        **{
            **NETWORK.__dict__,
            "sensors": ("s0", "s1"),
            "sensed": np.array([0, 0], dtype=np.int32),
            "sensed_at": np.array([0, 1, 2]),
            "digest": "",
        }
    )
    speeds = seen(seen(Speeds.none(2), 0, 0, 20), 1, 0, 60)
    found = Sensing(both).times(speeds, np.full(2, np.nan), NOW_MS)
    assert kmh(found, 0) == pytest.approx(3.6 / ((3.6 / 20 + 3.6 / 60) / 2))


READINGS = st.lists(
    st.tuples(
        st.integers(0, BLOCKS - 1),
        st.floats(0, 120),
        st.floats(0, 300),
        st.integers(0, 100_000),
    ),
    max_size=30,
)
USUAL = st.lists(
    st.one_of(st.just(np.nan), st.floats(3.6 / 130, 1.2)), min_size=BLOCKS, max_size=BLOCKS
)


@settings(max_examples=15)
@given(READINGS, USUAL, st.floats(0, 40))
def test_nothing_is_faster_or_slower_than_is_plausible(
    readings: list[tuple[int, float, float, int]], usual: list[float], lead_min: float
) -> None:
    found = times(after(*readings), np.array(usual), lead_min)
    slack = 1e-9
    for seconds in (found.seconds, found.usual_s):
        assert (seconds >= NETWORK.length_m / (130 / 3.6) - slack).all()
        assert (seconds <= NETWORK.length_m / (3 / 3.6) + slack).all()
    assert (np.isnan(found.age_s) == (found.basis != Basis.LIVE)).all()


@settings(max_examples=15)
@given(READINGS)
def test_a_mean_lies_between_what_was_measured(
    readings: list[tuple[int, float, float, int]],
) -> None:
    speeds = after(*readings)
    for sensor in range(BLOCKS):
        paces = [float(pace(np.array(v))) for s, _, v, n in readings if s == sensor and n]
        if np.isnan(speeds.pace[sensor]):
            assert not paces
        else:
            assert min(paces) * 0.999 <= speeds.pace[sensor] <= max(paces) * 1.001
