"""A graph of junctions has all that a mode can travel, and each edge once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from citywise.apps.travel_planner.roads.graph import ModeGraph, Weighted
from citywise.apps.travel_planner.roads.network import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.snapping import twins_of
from tests.roads.drawn import Drawn, drawn, network


def _graph(made: RoadNetwork, mode: Mode = Mode.CAR) -> ModeGraph:
    return ModeGraph(made, mode, twins_of(made))


def _arcs(graph: ModeGraph) -> list[list[int]]:
    return [graph.arc_edges[a:b].tolist() for a, b in pairwise(graph.arc_at)]


@pytest.mark.parametrize(
    ("streets", "junctions", "arcs"),
    [
        ([(0, 1, True), (1, 2, True), (2, 0, True)], 1, 2),  # a ring: both ways round
        ([(0, 1, False), (1, 2, False), (2, 0, False)], 1, 1),  # a one-way ring
        ([(0, 1, True), (1, 2, True)], 2, 2),  # a chain between dead ends
        ([(0, 1, True), (1, 2, False), (2, 1, False)], 3, 4),  # where one can turn round
        ([(0, 1, True), (0, 1, True), (1, 2, True)], 3, 6),  # parallel streets are a choice
        ([(0, 1, True), (1, 2, True), (1, 1, False)], 3, 5),  # a loop is a choice
        ([(0, 1, True), (0, 2, True), (1, 1, False)], 2, 3),  # also at the end of a chain
        ([(0, 1, False), (1, 0, False), (1, 2, False)], 2, 2),  # who enters 2 cannot leave
        ([(0, 1, False)], 0, 0),
    ],
)
def test_only_nodes_without_a_choice_are_contracted(
    streets: list[tuple[int, int, bool]], junctions: int, arcs: int
) -> None:
    graph = _graph(network(3, streets))
    assert (graph.size, len(_arcs(graph))) == (junctions, arcs)


@settings(max_examples=12)
@given(drawn(points=0))
def test_every_edge_is_in_one_arc_and_arcs_weigh_what_their_edges_do(case: Drawn) -> None:
    graph = case.router.graph(Mode.CAR)
    arcs = _arcs(graph)
    assert sorted(edge for arc in arcs for edge in arc) == graph.edges.tolist()
    for arc in arcs:
        assert case.network.head[arc[:-1]].tolist() == case.network.tail[arc[1:]].tolist()
    weighted = Weighted(graph, case.weights)
    assert weighted.arcs == pytest.approx([case.weights[arc].sum() for arc in arcs])


def test_the_core_has_no_dead_ends_and_they_know_the_way_to_it() -> None:
    """A tree of streets at a ring; a one-way loop at its tip would be no dead end."""
    ring = [(0, 1, True), (1, 2, True), (2, 0, True)]
    graph = _graph(network(6, [*ring, (2, 3, True), (3, 4, True), (3, 5, True)]))
    assert graph.core.edges.tolist() == [0, 1, 2, 3, 4, 5]
    assert graph.spurs.way_out(4) == ([9, 7], 2)
    assert graph.spurs.way_in(5) == ([6, 10], 2)
    assert graph.spurs.way_out(1) == ([], 1)
    looped = _graph(network(4, [*ring, (2, 3, True), (3, 3, False)]))
    assert looped.core.edges.tolist() == looped.edges.tolist()


def test_the_largest_part_counts_and_a_mode_that_goes_nowhere_has_none() -> None:
    made = network(5, [(0, 1, True), (2, 3, True), (3, 4, True)])
    assert _graph(made).edges.tolist() == [2, 3, 4, 5]
    nowhere = _graph(made, Mode.BICYCLE)
    assert nowhere.edges.tolist() == []
    assert Weighted(nowhere, np.ones(made.edges)).arcs.tolist() == []
