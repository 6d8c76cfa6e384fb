"""The map of the next hours, and of what is usual, says what was learned and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from citywise.apps.travel_planner.roads.conditions import Conditions, Costing
from citywise.apps.travel_planner.roads.disturbances import OpenEvent
from citywise.apps.travel_planner.roads.expecting import expected, usually
from citywise.apps.travel_planner.roads.gathering import Gathering
from citywise.apps.travel_planner.roads.learned import SLOTS, slot
from citywise.apps.travel_planner.roads.network import F64
from citywise.apps.travel_planner.roads.tariffs import ASSUMED
from citywise.backend.kinds import builtin
from tests.roads.avenue import MINUTE_MS, NOW_MS, avenue, block, event, garage

HOUR_MS = 60 * MINUTE_MS


def city(weeks: Mapping[str, F64] | None = None, *, events: Sequence[OpenEvent] = ()) -> Conditions:
    """The avenue, where block 0 is driven at 20 km/h now, and what is usual at some places."""
    gathering = Gathering(avenue(), ASSUMED, builtin())
    gathering.describe([*(block(i) for i in range(3)), garage()])
    gathering.take("traffic", [("s0", NOW_MS, {"speed_kmh": 20.0, "vehicle_count": 9})])
    gathering.take("parking", [("HARBOUR", NOW_MS, {"occupied": 40, "capacity": 100})])
    if weeks is not None:
        gathering.usual(lambda places: rows(weeks, places))
    known = replace(gathering.known(), events=tuple(events))
    return Conditions(NOW_MS, gathering.garages(NOW_MS), Costing(gathering.model, known))


def rows(weeks: Mapping[str, F64], places: Sequence[str]) -> F64:
    return np.array([weeks.get(place, np.full(SLOTS, np.nan)) for place in places])


def always(value: float) -> F64:
    return np.full(SLOTS, value)


def pace(kmh: float) -> F64:
    return always(3.6 / kmh)


def test_before_anything_is_learned_only_what_is_measured_is_told() -> None:
    assert usually(city(), NOW_MS) == {"roads": {}, "garages": {}, "events": []}
    assert expected(city(), NOW_MS)["roads"] == {"s0": 20.0}
    later = expected(city(), NOW_MS + 2 * HOUR_MS)
    assert later["roads"] == {}
    assert later["garages"]["HARBOUR"]["free"] == 60  # by its count, less sure with the hours


def test_hours_ahead_roads_are_as_usual_then() -> None:
    week = pace(50)
    week[slot(NOW_MS + 2 * HOUR_MS)] = week[slot(NOW_MS + 3 * HOUR_MS)] = 3.6 / 25
    found = city({"s0": week, "s1": pace(45)})
    # Between the middles of two hours, both of which are slow.
    assert expected(found, NOW_MS + 3 * HOUR_MS)["roads"] == {"s0": 25.0, "s1": 45.0}
    assert usually(found, NOW_MS + 3 * HOUR_MS)["roads"] == {"s0": 25.0, "s1": 45.0}
    assert usually(found, NOW_MS - HOUR_MS)["roads"]["s0"] == 50.0


def test_what_is_usual_forgets_what_is_measured_now() -> None:
    found = city({"s0": pace(50)})
    assert usually(found, NOW_MS)["roads"] == {"s0": 50.0}
    assert expected(found, NOW_MS)["roads"] == {"s0": 20.0}


def test_a_garage_is_told_with_its_range_and_usually_by_its_share() -> None:
    found = city({"HARBOUR": always(0.7)})
    now = expected(found, NOW_MS)["garages"]["HARBOUR"]
    assert (now["free"], now["capacity"]) == (60, 100)
    later = expected(found, NOW_MS + 2 * HOUR_MS)["garages"]["HARBOUR"]
    assert later["low"] < later["free"] < later["high"]
    assert usually(found, NOW_MS)["garages"] == {"HARBOUR": {"free": 30, "capacity": 100}}


@pytest.mark.parametrize("hours", [2, 24])
def test_an_old_count_tells_nothing_of_a_garage_whose_week_is_unknown(hours: int) -> None:
    then = NOW_MS + hours * HOUR_MS
    assert expected(city(), then)["garages"] != {}
    old = city()
    late = Conditions(then, tuple(replace(one, at_ms=then) for one in old.garages), old.costing)
    assert expected(late, then)["garages"] == {}


def test_events_are_told_for_as_long_as_they_are_expected_to_last() -> None:
    jam = event("TrafficJam", id="jam", by_hand=False)
    works = event("RoadWorks", id="works", by_hand=True, until_ms=NOW_MS + 2 * HOUR_MS)
    found = city(events=[jam, works])
    told = [expected(found, NOW_MS + n * HOUR_MS)["events"] for n in (0, 1, 3)]
    assert told == [["jam", "works"], ["works"], []]
    assert usually(found, NOW_MS)["events"] == []
