"""What is travelled of the edges of a path, and how it looks on the map."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from citywise.apps.travel_planner.roads.network import F64, RoadNetwork
from citywise.apps.travel_planner.roads.paths import Path, stretch
from tests.roads.drawn import network

LINE = np.array([[10.0, 56.0], [10.01, 56.0], [10.02, 56.0]])


@pytest.fixture(scope="module")
def made() -> RoadNetwork:
    return network(3, [(0, 1, True), (1, 2, True), (2, 0, True)])


def _path(made: RoadNetwork, edges: list[int], first: float, last: float) -> Path:
    return Path(np.array(edges, dtype=np.int32), first, last, made)


def test_the_ends_count_as_far_as_they_are_travelled(made: RoadNetwork) -> None:
    weights = np.array([8.0, 0, 10.0, 0, 100.0, 0])
    path = _path(made, [0, 2, 4], 0.25, 0.5)
    assert path.shares() == pytest.approx([0.25, 1.0, 0.5])
    assert path.total(weights) == pytest.approx(2 + 10 + 50)


def test_of_a_single_edge_the_part_between_both_points_counts(made: RoadNetwork) -> None:
    path = _path(made, [2], 0.75, 0.75)
    assert path.shares() == pytest.approx([0.5])
    assert path.length_m == pytest.approx(made.length_m[2] / 2)


def test_round_the_block_the_same_edge_counts_twice(made: RoadNetwork) -> None:
    path = _path(made, [0, 2, 4, 0], 0.25, 0.25)
    assert path.total(np.array([8.0, 0, 1, 0, 1, 0])) == pytest.approx(2 + 1 + 1 + 2)


def test_the_line_goes_from_point_to_point_through_all_edges(made: RoadNetwork) -> None:
    path = _path(made, [0, 2], 0.25, 0.5)
    line = path.coordinates()
    assert line[0] == pytest.approx(stretch(made.line(0), 0.75, 0.75)[0], abs=1e-6)
    assert line[-1] == pytest.approx(stretch(made.line(2), 0.5, 0.5)[0], abs=1e-6)
    node = (round(float(made.lon[1]), 6), round(float(made.lat[1]), 6))
    assert line.count(node) == 1
    assert all(a != b for a, b in pairwise(line))


def test_a_line_has_two_points_even_where_nothing_is_travelled(made: RoadNetwork) -> None:
    line = _path(made, [0], 0.5, 0.5).coordinates()
    assert len(line) == 2
    assert line[0] == line[1]


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (0.0, 1.0, [10.0, 10.01, 10.02]),
        (0.25, 1.0, [10.005, 10.01, 10.02]),
        (0.25, 0.5, [10.005, 10.01]),
        (0.6, 0.6, [10.012, 10.012]),
        (0.0, 0.0, [10.0, 10.0]),
        (1.0, 1.0, [10.02, 10.02]),
    ],
)
def test_a_stretch_of_a_line_is_cut_by_length(
    begin: float, end: float, expected: list[float]
) -> None:
    assert stretch(LINE, begin, end)[:, 0] == pytest.approx(expected)


def test_a_line_without_length_is_cut_too() -> None:
    still: F64 = np.array([[10.0, 56.0], [10.0, 56.0]])
    assert stretch(still, 0.3, 0.7).tolist() == [[10.0, 56.0], [10.0, 56.0]]


def test_overlap_is_the_share_of_the_own_length_that_the_other_has(made: RoadNetwork) -> None:
    path, other = _path(made, [0, 2], 1.0, 1.0), _path(made, [0], 1.0, 1.0)
    share = made.length_m[0] / (made.length_m[0] + made.length_m[2])
    assert path.overlap(other) == pytest.approx(share)
    assert other.overlap(path) == 1.0
    assert path.overlap(_path(made, [4], 1.0, 1.0)) == 0.0
