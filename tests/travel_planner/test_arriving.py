"""When somebody arrives by a trip, as those hear it whom they let know."""

from __future__ import annotations

from dataclasses import replace

from citywise.apps.travel_planner.arriving import SILENT_MS, arrival
from citywise.apps.travel_planner.following import line_of
from tests.travel_planner import followed
from tests.travel_planner.followed import NOON_MS, NORTH, TO, WEST, Live


def test_a_way_ends_where_it_leads_when_its_rest_is_behind() -> None:
    trip = followed.trip(Live())
    found = arrival(trip, NOON_MS)
    assert found is not None
    assert (found.lat, found.lon) == (TO["lat"], TO["lon"])
    assert found.at_ms == NOON_MS + round(trip.content.plan["time_s"] * 1000)
    half = followed.moved(trip, followed.MIDDLE)
    later = arrival(half, NOON_MS + 60_000)  # Heard at noon; a minute without word changes nothing.
    assert later is not None
    assert NOON_MS < later.at_ms < found.at_ms - 50_000


def test_who_has_told_no_position_for_long_is_not_expected() -> None:
    trip = followed.trip(Live())
    assert arrival(trip, NOON_MS + SILENT_MS) is not None
    assert arrival(trip, NOON_MS + SILENT_MS + 1) is None


def test_from_a_garage_it_goes_on_on_foot_to_where_one_wanted() -> None:
    trip = followed.trip(Live(), "parking")
    found, plan = arrival(trip, NOON_MS), trip.content.plan
    assert found is not None
    assert (found.lat, found.lon) == (NORTH, WEST)
    assert found.at_ms == NOON_MS + round((plan["drive_s"] + plan["walk_s"]) * 1000)
    standing = replace(trip.content, plan={**plan, "drive": None})
    assert line_of(standing.plan) is None
    assert arrival(replace(trip, content=standing), NOON_MS) is None
