"""A journey by line is followed: every leg as it runs now, whether its changes hold, and what to
take instead of what is cancelled, missed, late or full."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from citywise.apps.travel_planner import answering
from citywise.apps.travel_planner.trip_objects import trip_object
from citywise.apps.travel_planner.watching import Outcome
from tests.transit.oracle import Told, Update
from tests.travel_planner.bus_town import DAY, BusTown
from tests.travel_planner.followed import NOON_MS, SOUTH, WEST, Live, garage


@pytest.fixture
def town(tmp_path: Path) -> BusTown:
    return BusTown(tmp_path)


def next_of(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = outcome.outlook["journey"]["next"]
    return found


def minute(time: str) -> int:
    return round((datetime.fromisoformat(time).timestamp() * 1000 - NOON_MS) / 60_000)


def rides(plan: dict[str, Any]) -> list[str]:
    return [leg["trip"] for leg in plan["legs"] if leg["trip"]]


def late(trip: str, stop: str, minutes: int, sequence: int = 1) -> Update:
    return Update(trip, DAY, stops=(Told(sequence, stop, departure=(None, minutes * 60)),))


def test_what_comes_next_is_told_of_every_leg(town: BusTown) -> None:
    """Board, get off in two stops, in one, change, get off, there."""
    assert rides(dict(town.trip.content.plan)) == ["A0", "B0"]
    told = [next_of(town.at(minutes)) for minutes in (2, 6, 9, 11, 14)]
    codes = [(one["code"], one["stop"], one.get("stops")) for one in told]
    assert codes == [
        ("board", "South", None),
        ("alight", "Change", 2),
        ("alight", "Change", 1),
        ("board", "Change", None),
        ("alight", "North", 1),
    ]
    assert [one["line"] for one in told] == ["A", "A", "A", "B", "B"]
    assert next_of(town.at(19))["code"] == "arrived"
    assert (town.at(19).is_over, town.at(25).is_over) == (False, True)


@pytest.mark.parametrize(("minutes", "state"), [(0, "holds"), (2, "tight"), (4, "broken")])
def test_whether_a_change_holds_is_told(town: BusTown, minutes: int, state: str) -> None:
    town.told(late("A0", "south", minutes))
    (change,) = town.at(7).outlook["journey"]["changes"]
    assert (change["state"], change["slack_s"]) == (state, (3 - minutes) * 60)


def test_a_change_that_breaks_is_shown_with_valid_journeys_beside_it(town: BusTown) -> None:
    town.told(late("A0", "south", 4))
    found = town.at(10)
    journey, proposal = found.outlook["journey"], found.proposal
    assert journey["broken"] == {"leg": 1, "why": "change_missed"}
    assert proposal is not None
    assert (proposal["reason"], rides(dict(proposal))) == ("change_missed", ["A0", "B1"])
    assert minute(proposal["arrives"]) == 28
    assert [rides(other) for other in proposal["others"]] == [["A0", "B2"], ["A0", "B3"]]
    assert proposal["difference"]["time_s"] == 600


def test_a_cancelled_trip_ahead_is_replaced_and_accepted(town: BusTown) -> None:
    town.told(Update("B0", DAY, "CANCELED"))
    found = town.at(7)
    journey = found.outlook["journey"]
    assert journey["legs"][-1]["realtime"] == "cancelled"
    assert (journey["broken"]["why"], journey["arrives"]) == ("trip_cancelled", None)
    assert found.proposal is not None
    assert rides(dict(found.proposal)) == ["A0", "B1"]
    waiting = town.trip.with_content(NOON_MS, proposal=found.proposal, number=1)
    town.trip = answering.accept(waiting, NOON_MS).trip
    assert rides(dict(town.trip.content.plan)) == ["A0", "B1"]
    again = town.at(7.5)
    assert (again.proposal, again.outlook["journey"]["broken"]) == (None, None)
    assert "others" not in town.trip.content.plan


def test_what_is_declined_is_not_proposed_again(town: BusTown) -> None:
    town.told(Update("B0", DAY, "CANCELED"))
    waiting = town.trip.with_content(NOON_MS, proposal=town.at(7).proposal, number=1)
    town.trip = answering.decline(waiting, NOON_MS).trip
    assert town.at(8).proposal is None
    assert town.at(8).outlook["journey"]["broken"] is not None


def test_one_that_is_proposed_already_keeps_its_number(town: BusTown) -> None:
    town.told(Update("B0", DAY, "CANCELED"))
    first = town.at(7).proposal
    town.trip = town.trip.with_content(NOON_MS, proposal=first, number=1)
    again = town.at(7.1).proposal
    assert first is not None
    assert again is not None
    assert (again["number"], again["made"]) == (first["number"], first["made"])


def test_a_stop_that_is_left_out_is_as_a_trip_that_is(town: BusTown) -> None:
    stops = (Told(2, "half"), Told(3, "change", "SKIPPED"))
    town.told(Update("A0", DAY, stops=stops))
    assert town.at(1).outlook["journey"]["broken"] == {"leg": 0, "why": "trip_cancelled"}


def test_who_still_stands_at_the_stop_has_missed_the_ride(town: BusTown) -> None:
    town.stands(SOUTH + 0.0001, 7)
    assert town.at(7).outlook["journey"]["broken"] == {"leg": 0, "why": "ride_missed"}
    proposal = town.at(7).proposal
    assert proposal is not None
    assert rides(dict(proposal)) == ["A1", "B1"]
    town.stands(56.153, 7)
    assert town.at(7).outlook["journey"]["broken"] is None


def test_lateness_alone_is_no_reason_without_a_better_journey(town: BusTown) -> None:
    town.told(late("B0", "change", 5))
    found = town.at(7)
    assert found.proposal is None
    assert minute(found.outlook["journey"]["arrives"]) == 23


def test_a_late_journey_is_left_for_one_that_is_there_sooner(town: BusTown) -> None:
    town.told(late("B0", "change", 15))
    proposal = town.at(11).proposal
    assert proposal is not None
    assert (proposal["reason"], rides(dict(proposal))) == ("line_late", ["A0", "B1"])


def test_it_is_shown_with_when_one_is_there(town: BusTown) -> None:
    town.told(Update("B0", DAY, "CANCELED"))
    found = town.at(7)
    trip = town.trip.with_content(NOON_MS, outlook=found.outlook, proposal=found.proposal)
    shown = trip_object(trip, NOON_MS + 7 * 60_000, "da")
    assert shown["journey"]["broken"]["leg"] == 1
    assert (shown["progress"]["arrives"], shown["progress"]["remaining_s"]) == (None, None)
    assert shown["proposal"]["because"] == "B 14:13 Change er aflyst."
    assert shown["proposal"]["difference"]["text"].startswith("10 min")


def test_a_new_timetable_without_the_trip_leaves_the_journey_as_planned(town: BusTown) -> None:
    town.transit.timetable.trips.clear()
    found = town.at(7).outlook["journey"]
    assert (found["broken"], minute(found["arrives"])) == (None, 18)


def park_and_ride(folder: Path) -> BusTown:
    """To a garage next to the stop half way, or to another, and on by line A."""
    near = tuple(replace(garage(name), lat=56.1551, lon=WEST) for name in ("MAIN", "EAST"))
    return BusTown(folder, "park_and_ride", Live(garages=near))


def test_a_garage_that_fills_up_is_left_for_another(tmp_path: Path) -> None:
    town = park_and_ride(tmp_path)
    park = town.trip.content.plan["legs"][0]["park"]
    full = tuple(
        replace(one, occupied=100) if one.id == park["garage"] else one for one in town.live.garages
    )
    town.live.change(garages=full)
    found = town.at(1)
    assert found.proposal is not None
    assert found.proposal["reason"] == "garage_full"
    assert found.proposal["legs"][0]["park"]["garage"] != park["garage"]


def test_a_drive_that_takes_too_long_breaks_the_journey(tmp_path: Path) -> None:
    """Who is still in the south when the bus leaves half way does not get it."""
    town = park_and_ride(tmp_path)
    ride = next(leg for leg in town.trip.content.plan["legs"] if leg["trip"])
    left = minute(ride["departs"])
    town.stands(SOUTH + 0.0005, left - 0.5)
    found = town.at(left - 0.5)
    assert found.outlook["journey"]["broken"]["why"] == "drive_late"
    assert found.proposal is not None
    assert found.proposal["reason"] == "drive_late"
    assert minute(found.proposal["arrives"]) > minute(town.trip.content.plan["arrives"])
