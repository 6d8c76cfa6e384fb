"""Ways are the shortest ones, and alternatives are other roads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from citywise.apps.travel_planner.roads.network import Mode
from citywise.apps.travel_planner.roads.router import MOST_DETOUR, Router
from citywise.apps.travel_planner.roads.snapping import Snap
from tests.roads import oracle
from tests.roads.drawn import Drawn, drawn, network


@settings(max_examples=10)
@given(drawn())
def test_a_way_is_as_short_as_a_plain_search_finds(case: Drawn) -> None:
    """Also within one edge, round the block, along parallel streets, through closed ones."""
    _check_way(case)


@settings(max_examples=6)
@given(drawn(points=4))
def test_distances_are_those_of_the_ways_in_both_directions(case: Drawn) -> None:
    _check_distances(case)


@settings(max_examples=6)
@given(drawn())
def test_alternatives_are_ways_that_differ(case: Drawn) -> None:
    _check_alternatives(case)


@pytest.mark.slow
@settings(max_examples=200)
@given(drawn(points=4))
def test_all_of_this_holds_in_many_networks(case: Drawn) -> None:
    for check in (_check_way, _check_distances, _check_alternatives):
        check(case)


def _check_way(case: Drawn) -> None:
    if not case.snaps:
        return
    start, end = case.snaps[:2]
    expected = oracle.weight(case.network, case.weights, start, end)
    path = case.router.shortest(start, end, case.router.prepared(case.weights, Mode.CAR))
    if path is None:
        assert expected == math.inf
    else:
        assert not oracle.faults(path, start, end)
        finite = np.where(np.isinf(case.weights), 1e9, case.weights)
        assert path.total(finite) == pytest.approx(expected)


def _check_distances(case: Drawn) -> None:
    if not case.snaps:
        return
    start, *ends = case.snaps
    weighted = case.router.prepared(case.weights, Mode.CAR)
    there = case.router.distances_to(start, ends, weighted)
    assert there == pytest.approx([_weight(case, start, end) for end in ends])
    back = case.router.distances_to(start, ends, weighted, reverse=True)
    assert back == pytest.approx([_weight(case, end, start) for end in ends])


def _check_alternatives(case: Drawn) -> None:
    if not case.snaps:
        return
    start, end = case.snaps[:2]
    weights = np.where(np.isinf(case.weights), 20.0, case.weights)
    weighted = case.router.prepared(weights, Mode.CAR)
    found = case.router.alternatives(start, end, weighted, 3)
    totals = [path.total(weights) for path in found]
    assert totals[0] == pytest.approx(_weight(case, start, end, weights))
    assert totals == sorted(totals)
    assert totals[-1] <= MOST_DETOUR * totals[0] + 1e-9
    for number, path in enumerate(found):
        assert not oracle.faults(path, start, end)
        assert all(path.overlap(other) <= 0.7 for other in found[:number])


def test_who_enters_a_street_of_two_one_ways_may_turn_round_in_it() -> None:
    """From 1 to a point of 0 → 1, by the other street 1 → 0."""
    made = network(3, [(0, 1, False), (1, 0, False), (0, 2, True), (1, 2, True)])
    router, weights = Router(made), np.full(made.edges, 10.0)
    weights[2] = weights[0] = 1.0
    end = Snap(0, 0.5, 0, 0, 0)
    path = router.shortest(_at(router, 1), end, router.prepared(weights, Mode.CAR))
    assert path is not None
    assert path.edges.tolist() == [2, 0]


@pytest.mark.parametrize("lighter", [0, 1])
def test_of_parallel_streets_the_lighter_is_taken(lighter: int) -> None:
    made = network(4, [(1, 2, False), (1, 2, False), (0, 1, True), (2, 3, True), (2, 1, False)])
    weights = np.full(made.edges, 5.0)
    streets = [0, 2]
    weights[streets[lighter]] = 1.0
    router = Router(made)
    path = router.shortest(_at(router, 0), _at(router, 3), router.prepared(weights, Mode.CAR))
    assert path is not None
    assert streets[lighter] in path.edges
    assert streets[1 - lighter] not in path.edges


def test_a_way_leaves_a_street_that_is_slower_than_the_way_round() -> None:
    """Both points lie in the same street, but it is jammed."""
    made = network(3, [(0, 1, True), (0, 1, True), (1, 2, True)])
    weights = np.ones(made.edges)
    weights[0] = 100.0
    router = Router(made)
    start, end = Snap(0, 0.1, 0, 0, 0, 1), Snap(0, 0.9, 0, 0, 0, 1)
    path = router.shortest(start, end, router.prepared(weights, Mode.CAR))
    assert path is not None
    assert path.edges.tolist() == [1, 2, 1]
    assert path.total(weights) == pytest.approx(1.2)


def test_an_alternative_is_no_more_than_so_much_heavier() -> None:
    made = network(2, [(0, 1, True), (0, 1, True)])
    router, weights = Router(made), np.ones(made.edges)
    start, end = _at(router, 0), _at(router, 1)
    counts = []
    for heavier in (MOST_DETOUR - 0.01, MOST_DETOUR + 0.01):
        weights[2] = heavier
        found = router.alternatives(start, end, router.prepared(weights, Mode.CAR), 2)
        counts.append(len(found))
    assert counts == [2, 1]


def test_alternatives_are_the_same_each_time() -> None:
    streets = [(0, 1, True), (1, 2, True), (0, 3, True), (3, 2, True), (0, 4, True), (4, 2, True)]
    made = network(5, streets)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.1, 1.0, 1.0, 1.0, 1.2, 1.0, 1.0])
    ways = []
    for _ in range(2):
        router = Router(made)
        start, end = _at(router, 0), _at(router, 2)
        found = router.alternatives(start, end, router.prepared(weights, Mode.CAR), 3)
        ways.append([path.edges.tolist() for path in found])
    assert ways[0] == ways[1] == [[0, 2], [4, 6], [8, 10]]


def _at(router: Router, node: int) -> Snap:
    edge = int(np.flatnonzero(router.network.tail == node)[0])
    return Snap(edge, 0.0, 0.0, 0.0, 0.0)


def _weight(case: Drawn, start: Snap, end: Snap, weights: object = None) -> float:
    used = case.weights if weights is None else np.asarray(weights)
    return oracle.weight(case.network, used, start, end)


def _corners(case: Drawn) -> dict[int, Snap]:
    """A point at each node of the main part."""
    made = case.network
    usable = case.router.graph(Mode.CAR).edges.tolist()
    return {int(made.tail[edge]): Snap(edge, 0.0, 0.0, 0.0, 0.0) for edge in usable}
