"""Events slow those whose activity they affect, near where they are, for as long as they last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.costs import EdgeCosts
from citywise.apps.travel_planner.roads.disturbances import OpenEvent, slowed
from tests.roads.avenue import LANE, MIDDLE, MINUTE_MS, NOW_MS, SOUTH, STEP, WEST, avenue, event

NETWORK = avenue()
CALM = Conditions.calm(NETWORK, NOW_MS)


def costs(*events: OpenEvent, later_min: float = 0) -> EdgeCosts:
    city = Conditions.calm(NETWORK, NOW_MS, events=events)
    return city.costs(NOW_MS + round(later_min * MINUTE_MS))


def ratio(found: EdgeCosts, mode: Mode = Mode.CAR) -> list[float]:
    """By what the events multiply the seconds of each edge."""
    return [float(r) for r in (found.seconds(mode) / CALM.costs().seconds(mode)).round(6)]


def test_the_usual_time_of_edges_within_200_metres_grows_by_the_level() -> None:
    found = ratio(costs(event(level=2)))
    assert [edge for edge, factor in enumerate(found) if factor > 1] == [8, 9]
    assert found[8] == 3


def test_a_line_reaches_what_is_near_any_part_of_it() -> None:
    line = {"type": "LineString", "coordinates": [MIDDLE, (MIDDLE[0] + 2 * STEP, SOUTH)]}
    found = ratio(costs(event(geometry=line)))
    assert [edge for edge, factor in enumerate(found) if factor > 1] == [8, 9, 10, 11, 12, 13]


def test_a_line_that_stands_still_is_a_point() -> None:
    line = {"type": "LineString", "coordinates": [MIDDLE, MIDDLE]}
    assert ratio(costs(event(geometry=line))) == ratio(costs(event()))


def test_a_line_around_an_area_closes_all_streets_in_it() -> None:
    """Those that it crosses, and the two blocks that it does not touch."""
    west, east = WEST + 3.5 * STEP, WEST + 6.5 * STEP
    south, north = SOUTH - 0.002, SOUTH + 0.002
    ring = [(west, south), (east, south), (east, north), (west, north), (west, south)]
    outline = {"type": "LineString", "coordinates": ring}
    found = ratio(costs(event("RoadClosure", geometry=outline)))
    assert [edge for edge, factor in enumerate(found) if factor == 30] == list(range(6, 14))


@pytest.mark.parametrize(
    ("type_", "modes"),
    [
        ("TrafficJam", {"car"}),
        ("Accident", {"car", "bicycle"}),
        ("RoadWorks", {"car", "bicycle", "walk"}),
        ("RoadClosure", {"car", "bicycle"}),
        ("CulturalEvent", {"car"}),
        ("ParkingFull", set()),
        ("PoorAir", set()),
        ("HeavyRain", set()),
        ("https://w3id.org/citywise/event#Accident", {"car", "bicycle"}),
        ("https://example.org/Parade", set()),
    ],
)
def test_an_event_slows_the_modes_that_the_ontology_says_it_affects(
    type_: str, modes: set[str]
) -> None:
    assert slowed(type_) == modes
    found = costs(event(type_))
    assert {mode for mode in Mode if ratio(found, mode)[8] > 1} == modes


def test_of_several_events_the_worst_counts() -> None:
    both = event(level=2), event(level=4, id="e2")
    assert ratio(costs(*both))[8] == 5


def test_where_a_road_is_closed_it_counts_thirty_times_and_around_it_by_the_level() -> None:
    ahead = {"type": "Point", "coordinates": (WEST + 4.9 * STEP, SOUTH)}
    found = ratio(costs(event("RoadClosure", 3, geometry=ahead)))
    assert found[8] == found[9] == 30
    assert found[10] == found[11] == 4


def test_what_is_measured_fades_for_later_departures_what_an_operator_says_does_not() -> None:
    measured, told = event("TrafficJam", 4), event(level=4, by_hand=True)
    assert [ratio(costs(measured, later_min=m))[8] for m in (0, 10, 20)] == [5, 3, 1]
    assert [ratio(costs(told, later_min=m))[8] for m in (0, 10, 200)] == [5, 5, 5]


def test_an_event_with_an_end_does_not_slow_departures_after_it() -> None:
    works = event(by_hand=True, until_ms=NOW_MS + 60 * MINUTE_MS)
    assert [ratio(costs(works, later_min=m))[8] for m in (59, 60)] == [3, 1]


def test_a_planned_event_slows_departures_from_its_beginning_on() -> None:
    known = replace(
        CALM.costing.known,
        planned=(event(by_hand=True, start_ms=NOW_MS + 60 * MINUTE_MS),),
    )
    city = replace(CALM, costing=type(CALM.costing)(CALM.costing.model, known))
    found = [ratio(city.costs(NOW_MS + m * MINUTE_MS))[8] for m in (0, 59, 60)]
    assert found == [1, 1, 3]
    assert [len(city.affecting(Mode.CAR, NOW_MS + m * MINUTE_MS)) for m in (0, 60)] == [0, 1]


def test_the_events_that_count_come_with_the_edges_that_they_reach() -> None:
    city = Conditions.calm(NETWORK, NOW_MS, events=[event(), event("TrafficJam", id="e2")])
    assert [(a.event.id, a.edges.tolist()) for a in city.affecting(Mode.WALK)] == [("e1", [8, 9])]
    assert [a.event.id for a in city.affecting(Mode.CAR)] == ["e1", "e2"]


EVENTS = st.lists(
    st.builds(
        event,
        st.sampled_from(["TrafficJam", "RoadWorks", "RoadClosure", "ParkingFull", "Fog"]),
        st.integers(1, 5),
        by_hand=st.booleans(),
        geometry=st.builds(
            lambda x, y: {"type": "Point", "coordinates": (WEST + x, SOUTH + y)},
            st.floats(-0.01, 0.1),
            st.floats(-0.01, 0.02),
        ),
    ),
    max_size=5,
)


@settings(max_examples=12)
@given(EVENTS, st.integers(0, 60))
def test_no_event_makes_a_street_faster_and_when_it_clears_all_is_as_before(
    events: list[OpenEvent], later_min: int
) -> None:
    depart = NOW_MS + later_min * MINUTE_MS
    before, city = CALM.costs(depart), CALM
    for one in events:
        city = city.including(one)
    during, after = city.costs(depart), CALM.including(event()).costing
    for mode in Mode:
        assert (during.seconds(mode) >= before.seconds(mode)).all()
    cleared = type(after)(after.model, replace(after.known, events=()))
    assert np.array_equal(cleared.costs(NOW_MS, depart).car_s, before.car_s)


def test_streets_far_from_the_event_are_as_they_were() -> None:
    assert ratio(costs(event(level=5)))[LANE] == 1
