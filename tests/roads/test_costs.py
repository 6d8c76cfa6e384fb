"""The costs of a departure: seconds and pollution by mode, to the minute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.air import Station
from citywise.apps.travel_planner.roads.conditions import Conditions, Costing, Known, Model
from citywise.apps.travel_planner.roads.costs import EdgeCosts
from citywise.apps.travel_planner.roads.travel_times import Speeds
from tests.roads.avenue import BLOCKS, MINUTE_MS, NOW_MS, avenue, event

NETWORK = avenue()


def city(**known: object) -> Conditions:
    stations = [Station("s0", *NETWORK.shape[0])]
    told = replace(Known.nothing(NETWORK, 1), **known)  # type: ignore[arg-type]
    return Conditions(NOW_MS, (), Costing(Model(NETWORK, stations), told))


@pytest.mark.parametrize(("mode", "kmh"), [(Mode.BICYCLE, 16), (Mode.WALK, 4.8), (Mode.CAR, 60)])
def test_each_mode_has_its_pace(mode: Mode, kmh: float) -> None:
    seconds = city().costs().seconds(mode)
    assert NETWORK.length_m[0] / seconds[0] * 3.6 == pytest.approx(kmh)


def test_a_jam_that_is_measured_does_not_count_twice() -> None:
    reading = (np.array([value]) for value in (4, NOW_MS, 10.0, 9))
    jammed = city(speeds=Speeds.none(BLOCKS).seen(*reading))

    def kmh(level: int) -> float:
        return float(
            NETWORK.length_m[8] / jammed.including(event(level=level)).costs().car_s[8] * 3.6
        )

    assert [kmh(level) for level in (0, 2, 8)] == pytest.approx([10, 10, 60 / 9])


def test_pollution_is_the_index_times_the_hours_spent_in_it() -> None:
    found = city(air=np.array([60.0]), air_ms=np.array([NOW_MS])).costs()
    assert found.pollution(Mode.CAR)[0] == pytest.approx(found.car_s[0] / 3600 * 60)


def test_where_the_air_is_not_known_the_costs_say_so() -> None:
    found = city().costs()
    assert not found.air_known
    assert (found.air == 1).all()


def test_departures_of_one_minute_share_their_costs_and_versions_tell_costs_apart() -> None:
    conditions = city()
    times = [NOW_MS, NOW_MS + 59_000, NOW_MS + MINUTE_MS, NOW_MS + 10**9]
    found: list[EdgeCosts] = [conditions.costs(t - NOW_MS % MINUTE_MS) for t in times]
    assert found[0] is found[1] is conditions.costs()
    assert len({costs.version for costs in found}) == 3


def test_a_departure_in_the_past_is_now() -> None:
    conditions = city()
    assert conditions.costs(NOW_MS - 10**9) is conditions.costs()


def test_costs_that_are_computed_again_are_the_same() -> None:
    conditions = city()
    first = conditions.costs()
    for minutes in range(1, 40):
        conditions.costs(NOW_MS + minutes * MINUTE_MS)
    again = conditions.costs()
    assert again.version != first.version
    assert np.array_equal(again.car_s, first.car_s)


def test_an_event_that_has_just_opened_slows_at_once() -> None:
    """Costs are made to the minute; what opened within it counts from its first second."""
    before = city().costs().car_s
    opened = city().including(event(level=2, start_ms=NOW_MS + 1))
    assert opened.costs().car_s[8] == pytest.approx(3 * before[8])
