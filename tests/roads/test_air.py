"""The air along streets is that of their own sensors, or of the stations around."""

from __future__ import annotations

import numpy as np
import pytest

from citywise.apps.travel_planner.roads.air import AirMap, Station, index
from tests.roads.avenue import BLOCKS, LANE, NORTH, SOUTH, STEP, WEST, avenue

NETWORK = avenue()
EAST = WEST + STEP * BLOCKS
OWN = Station("s4", WEST + 4.5 * STEP, SOUTH)


def test_the_index_is_that_of_the_worst_pollutant() -> None:
    names = ("ozone", "particulate_matter", "carbon_monoxide", "nitrogen_dioxide")
    assert index(dict.fromkeys(names, 20) | {"nitrogen_dioxide": 70}, names) == 70
    assert index({"ozone": 20, "nitrogen_dioxide": None}, names) == 20
    assert index({}, names) is None


def test_a_road_that_measures_its_air_tells_of_its_own_edges() -> None:
    stations = [OWN, Station("x", OWN.lon, SOUTH)]
    found = AirMap(NETWORK, stations).along(np.array([90.0, 10.0]))
    assert found is not None
    assert found[8] == 90
    assert found[9] == pytest.approx(50)  # the other direction is not its own


def test_elsewhere_the_nearer_station_counts_more_and_all_lies_between_them() -> None:
    stations = [Station("w", WEST, SOUTH), Station("e", EAST, SOUTH)]
    found = AirMap(NETWORK, stations).along(np.array([20.0, 80.0]))
    assert found is not None
    eastward = found[: 2 * BLOCKS : 2]
    assert (np.diff(eastward) > 0).all()
    assert 20 < eastward[0] < 30
    assert 70 < eastward[-1] < 80


def test_stations_that_say_nothing_are_left_out() -> None:
    stations = [Station("w", WEST, SOUTH), Station("e", EAST, SOUTH)]
    found = AirMap(NETWORK, stations).along(np.array([np.nan, 80.0]))
    assert found is not None
    assert found == pytest.approx(80)


def test_streets_without_a_station_nearby_that_knows_have_the_citys_mean() -> None:
    near = [Station(f"n{i}", WEST + i * STEP / 10, NORTH) for i in range(4)]
    far = [Station(f"f{i}", WEST + i * STEP / 10, NORTH + 1) for i in range(2)]
    levels = np.array([*[np.nan] * 4, 40.0, 60.0])
    found = AirMap(NETWORK, [*near, *far]).along(levels)
    assert found is not None
    assert found[LANE] == 50


@pytest.mark.parametrize("stations", [[], [OWN]])
def test_where_nothing_is_known_there_is_nothing(stations: list[Station]) -> None:
    assert AirMap(NETWORK, stations).along(np.full(len(stations), np.nan)) is None
