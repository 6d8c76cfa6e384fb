"""What the compiled search has reached, as the search in Python reads it."""

from __future__ import annotations

import numpy as np

from citywise.apps.travel_planner.transit.arrays import Slices


def test_rows_of_a_stop_are_those_that_nothing_beats_there() -> None:
    at = np.array([0, 3, 3, 4])
    rows = np.array([(9, 1, 1), (9, 2, 2), (8, 5, 2), (9, 2, 1)])
    found = Slices(at, rows)
    assert dict(found) == {0: [(9, 1, 1), (8, 5, 2)], 2: [(9, 2, 1)]}
    assert 1 not in found
    assert len(found) == 2


def test_rows_are_read_of_the_stops_that_are_asked_for_alone() -> None:
    found = Slices(np.array([0, 1, 2]), np.array([(1, 0, 1), (2, 0, 1)]))
    assert found[1] == [(2, 0, 1)]
    assert list(found._asked) == [1]
