"""Points of the map become points of streets."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from citywise.apps.travel_planner.roads.network import F64, Mode, RoadNetwork
from citywise.apps.travel_planner.roads.paths import stretch
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.roads.snapping import MOST_SNAP_M, Snapper, twins_of
from tests.roads.drawn import network

_EARTH = Geod(ellps="WGS84")
_STREETS = [(0, 1, True), (1, 2, True), (2, 3, False), (3, 0, True), (1, 3, True), (2, 2, False)]


@pytest.fixture(scope="module")
def made() -> RoadNetwork:
    return network(4, _STREETS)


@pytest.fixture(scope="module")
def router(made: RoadNetwork) -> Router:
    return Router(made)


@settings(max_examples=10)
@given(st.floats(10.19, 10.215), st.floats(56.145, 56.165))
def test_no_point_of_a_street_is_nearer_than_the_snap(
    router: Router, lon: float, lat: float
) -> None:
    """To within what a straight line on one map and on another differ in a kilometre."""
    snap = router.snap(lon, lat, Mode.CAR)
    assert snap is not None
    assert _metres(lon, lat, snap.lon, snap.lat) == pytest.approx(snap.metres, abs=1.1)
    edges = router.graph(Mode.CAR).edges
    steps = np.linspace(0, 1, 30)
    points = np.concatenate([_dense(router.network.line(int(edge)), steps) for edge in edges])
    here = np.broadcast_to([lon, lat], points.shape)
    nearest = _EARTH.inv(here[:, 0], here[:, 1], points[:, 0], points[:, 1])[2].min()
    assert snap.metres <= nearest + 0.05


def test_a_snap_lies_on_its_edge_at_its_share_and_on_the_twin_at_the_rest(router: Router) -> None:
    snap = router.snap(10.2035, 56.1585, Mode.CAR)
    assert snap is not None
    assert snap.twin >= 0
    assert 0 < snap.share < 1
    for edge, share in ((snap.edge, snap.share), (snap.twin, 1 - snap.share)):
        at = stretch(router.network.line(edge), share, share)[0]
        assert _metres(snap.lon, snap.lat, *at) < 0.01


def test_a_one_way_street_has_no_twin_for_cars_but_for_walkers(made: RoadNetwork) -> None:
    router = Router(made)
    lon, lat = stretch(made.line(4), 0.4, 0.4)[0]
    by_car, on_foot = (router.snap(lon, lat, mode) for mode in (Mode.CAR, Mode.WALK))
    assert by_car is not None
    assert (by_car.edge, by_car.twin) == (4, -1)
    assert on_foot is not None
    assert (on_foot.edge, on_foot.twin) == (4, 5)


def test_a_point_within_a_metre_of_a_junction_is_at_the_junction(router: Router) -> None:
    node = (router.network.lon[1], router.network.lat[1])
    snap = router.snap(node[0] + 3e-6, node[1], Mode.CAR)
    assert snap is not None
    assert snap.share in (0.0, 1.0)
    assert (snap.lon, snap.lat) == pytest.approx(node, abs=1e-9)


@pytest.mark.parametrize(
    ("lon", "lat"), [(56.15, 10.2), (-74.0, 40.7), (10.2, 56.3), (10.2, -90.0)]
)
def test_a_point_far_from_all_streets_is_not_in_the_city(
    router: Router, lon: float, lat: float
) -> None:
    """Swapped coordinates, another continent, another town, the pole."""
    assert router.snap(lon, lat, Mode.CAR) is None


def test_the_limit_is_in_metres(router: Router) -> None:
    west, middle = float(router.network.shape[:, 0].min()), 56.15
    lons = [_EARTH.fwd(west, middle, 270, MOST_SNAP_M + more)[0] for more in (-400, 400)]
    assert [router.snap(lon, middle, Mode.CAR) is None for lon in lons] == [False, True]


def test_a_mode_snaps_only_to_what_it_can_travel() -> None:
    """Dead ends that nobody can leave are no part of it."""
    made = network(3, [(0, 1, True), (1, 2, False)])
    router = Router(made)
    lon, lat = made.lon[2], made.lat[2]
    by_car, on_foot = (router.snap(lon, lat, mode) for mode in (Mode.CAR, Mode.WALK))
    assert by_car is not None
    assert by_car.edge in (0, 1)
    assert by_car.metres > 100
    assert on_foot is not None
    assert on_foot.edge in (2, 3)
    assert on_foot.metres < 1


def test_nothing_is_found_where_there_are_no_streets(made: RoadNetwork) -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert Snapper(made, nothing, twins_of(made)).snap(10.2, 56.15) is None


@pytest.mark.slow
def test_a_snap_in_aarhus_does_not_look_at_all_streets(aarhus_router: Router) -> None:
    points = np.random.default_rng(1).uniform((10.15, 56.13), (10.24, 56.18), (50, 2))
    streets = aarhus_router.network.shape
    ratios = []
    for lon, lat in points:
        began = time.thread_time()
        aarhus_router.snap(lon, lat, Mode.WALK)
        snapped = time.thread_time()
        np.hypot(*(streets - (lon, lat)).T).argmin()  # the least that looking at all would do
        ratios.append((snapped - began) / (time.thread_time() - snapped))
    assert np.median(ratios) < 1


def _metres(lon: float, lat: float, to_lon: float, to_lat: float) -> float:
    return float(_EARTH.inv(lon, lat, to_lon, to_lat)[2])


def _dense(line: F64, steps: F64) -> F64:
    ends = pairwise(line)
    return np.concatenate([begin + steps[:, None] * (end - begin) for begin, end in ends])
