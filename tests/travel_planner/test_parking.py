"""Parking: which garages are offered near a place, what they cost, and which never are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.roads.conditions import Conditions, Costing
from citywise.apps.travel_planner.roads.gathering import Gathering
from citywise.apps.travel_planner.roads.tariffs import ASSUMED
from citywise.backend.city.aarhus import Pack
from citywise.backend.kinds import builtin
from citywise.backend.times import ZONE, iso, to_ms
from tests.travel_planner.conftest import HOME, NOW_MS, WORK, calm, garage, parking

Json = dict[str, Any]
FAR = {"lat": WORK["lat"] - 0.02, "lon": WORK["lon"]}
EAST, WEST = WORK["lon"] + 0.002, WORK["lon"] - 0.004


def ids(garages: list[Json]) -> list[str]:
    return [found["id"] for found in garages]


def test_the_garage_with_the_shortest_walk_is_first(planner: Planner) -> None:
    garages = [garage("west", WEST, WORK["lat"]), garage("east", EAST, WORK["lat"])]
    answer = parking(planner, calm(planner.city, garages), preferences=[{"minimise": "walk"}])
    best = min((*answer["garages"], *answer["rejected"]), key=lambda each: each["walk_m"])
    assert answer["garages"][0]["id"] == best["id"]
    assert answer["garages"][0]["chosen"]
    assert "least walking" in answer["garages"][0]["why"]
    end = answer["garages"][0]["geometry"]["coordinates"][-1]
    assert end == pytest.approx([WORK["lon"], WORK["lat"]], abs=0.003)


def test_who_wishes_a_low_price_gets_it_and_sees_what_it_costs_to_walk(planner: Planner) -> None:
    garages = [
        garage("near", EAST, WORK["lat"], per_hour=30),
        garage("cheap", WORK["lon"] - 0.008, WORK["lat"], per_hour=10),
    ]
    wishes = [{"minimise": "cost"}, {"minimise": "walk"}]
    conditions = calm(planner.city, garages)
    answer = parking(planner, conditions, preferences=wishes, stay_minutes=150)
    cheap, near = answer["garages"]
    assert (cheap["id"], cheap["cost"], near["cost"]) == ("cheap", 30.0, 90.0)
    assert "more expensive" in near["difference"]
    assert "less walking" in near["difference"]


def test_full_closed_and_uncounted_garages_are_never_offered(planner: Planner) -> None:
    """NOW is ten o'clock in Aarhus, a Monday."""
    garages = [
        garage("full", EAST, WORK["lat"], taken=100),
        garage("overfull", EAST, WORK["lat"] + 0.001, taken=140),
        garage("closed", EAST, WORK["lat"] - 0.001, hours="Tu-Fr 08:00-18:00"),
        garage("uncounted", WEST, WORK["lat"], taken=None),
        garage("far", FAR["lon"], FAR["lat"]),
        garage("good", WEST, WORK["lat"] + 0.001, hours="Mo-Fr 08:00-18:00", age_min=120),
    ]
    answer = parking(planner, calm(planner.city, garages), radius_m=900)
    assert ids(answer["garages"]) == ["good"]
    assert "old" in answer["garages"][0]["why"]
    refused = {found["id"]: found for found in answer["rejected"]}
    codes = {name: found["reasons"][0]["code"] for name, found in refused.items()}
    assert codes == {
        "full": "full",
        "overfull": "full",
        "closed": "closed",
        "uncounted": "unknown-free",
    }
    assert refused["overfull"]["overfull"]
    assert refused["overfull"]["why"] == "Full: 140 cars were counted for 100 places."
    assert refused["closed"]["why"] == "Closed when you arrive; opens at 08:00."
    assert refused["closed"]["opens"] == "2026-05-05T06:00:00Z"


def test_a_garage_that_is_full_now_may_be_free_another_day(planner: Planner) -> None:
    garages = [garage("full", EAST, WORK["lat"], taken=100)]
    conditions = calm(planner.city, garages)
    for hours, offered in ((1, []), (72, ["full"])):
        arrive = iso(NOW_MS + hours * 3_600_000)
        found = parking(planner, conditions, arrive=arrive, radius_m=900)["garages"]
        assert ids(found) == offered
        assert all("It may be full when you arrive" in each["why"] for each in found)


def test_the_radius_is_the_straight_line_and_includes_its_end(planner: Planner) -> None:
    garages = [garage("it", EAST, WORK["lat"])]
    (found,) = parking(planner, calm(planner.city, garages))["garages"]
    crow = found["crow_m"]
    assert crow == pytest.approx(124.6, abs=1)
    for radius, wanted in ((crow + 0.1, ["it"]), (crow - 0.1, [])):
        assert ids(parking(planner, calm(planner.city, garages), radius_m=radius)["garages"]) == (
            wanted
        )


def test_with_a_start_the_drive_counts_and_the_arrival_is_that_of_the_drive(
    planner: Planner,
) -> None:
    garages = [garage("it", EAST, WORK["lat"])]
    conditions = calm(planner.city, garages)
    answer = parking(planner, conditions, **{"from": HOME}, preferences=[{"minimise": "time"}])
    (found,) = answer["garages"]
    assert found["drive_s"] == found["drive"]["time_s"] > 60
    assert found["drive_m"] == found["drive"]["distance_m"]
    path = planner.way(found["drive"])
    assert path is not None
    assert path.length_m == pytest.approx(found["drive_m"], abs=0.1)
    arrives = datetime.fromisoformat(found["arrives"])
    assert to_ms(arrives) == NOW_MS + round(found["drive_s"] * 1000)
    assert found["expected"]["at"] == found["arrives"]


def test_a_limit_that_no_garage_keeps_says_what_to_allow(planner: Planner) -> None:
    garages = [garage("it", EAST, WORK["lat"], per_hour=20)]
    limit = [{"on": "cost", "op": "<", "value": 15}]
    answer = parking(planner, calm(planner.city, garages), constraints=limit)
    assert answer["garages"] == []
    assert answer["conflict"]["wishes"] == ["cost < 15 DKK"]
    assert "you could park at Garage it" in answer["conflict"]["relaxation"]
    assert answer["conflict"]["then"]["option"] == "it"


def test_where_no_garage_is_near_there_is_none_and_no_conflict(planner: Planner) -> None:
    answer = parking(planner, calm(planner.city))
    assert (answer["garages"], answer["rejected"], answer["conflict"]) == ([], [], None)
    assert answer["notes"][0]["code"] == "no-garage"


def test_where_no_garage_within_the_radius_will_do_the_nearest_that_does_is_told(
    planner: Planner,
) -> None:
    garages = [
        garage("full", EAST, WORK["lat"], taken=100),
        garage("shut", EAST + 0.001, WORK["lat"] + 0.002, hours="Tu-Fr 08:00-18:00"),
        garage("good", WORK["lon"], WORK["lat"] - 0.006),
        garage("other", WORK["lon"], WORK["lat"] - 0.008),
    ]
    conditions = calm(planner.city, garages)
    limits = [{"on": "cost", "op": "<=", "value": 100.0}]
    for radius, inside in ((1, []), (150, ["full"])):
        answer = parking(planner, conditions, radius_m=radius, constraints=limits)
        assert (answer["garages"], ids(answer["rejected"])) == ([], inside)
        assert answer["notes"][0] == {
            "code": "none-near",
            "text": f"No garage within {radius} m has a place for you; the nearest that has is "
            "Garage good, 668 m away.",
        }
        conflict = answer["conflict"]
        assert conflict["wishes"] == [f"radius ≤ {radius} m"]
        assert conflict["relaxation"] == (
            f"With radius ≤ 700 m instead of {radius} m you could park at Garage good."
        )
        then = conflict["then"]
        assert then == {"constraints": limits, "option": "good", "radius_m": 700}
        again = parking(
            planner, conditions, radius_m=then["radius_m"], constraints=then["constraints"]
        )
        assert ids(again["garages"]) == ["good"]


def test_a_dear_garage_is_planned_with_like_any_other(planner: Planner) -> None:
    """Anyone who may describe a place may ask any price; nobody else is to suffer for it."""
    garages = [
        garage("dear", EAST, WORK["lat"], per_hour=100_000),
        garage("good", WEST, WORK["lat"]),
    ]
    conditions = calm(planner.city, garages)
    answer = parking(
        planner, conditions, stay_minutes=30 * 24 * 60, preferences=[{"minimise": "cost"}]
    )
    assert [found["cost"] for found in answer["garages"]] == [14_400.0, 72_000_000.0]


# --- The recorded city --------------------------------------------------------------------


def references(pack: Path) -> list[Json]:
    """What an independent program found, in the order of time."""
    lines = (pack / "requests/parking_reference.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    for each in found:
        local = datetime.fromisoformat(each["at_local"]).replace(tzinfo=ZoneInfo(ZONE))
        each["at_ms"] = to_ms(local)
    return sorted(found, key=lambda each: int(each["at_ms"]))


def counted(planner: Planner, pack: Path, times: list[int]) -> Iterator[Conditions]:
    """The garages of the recorded city as they were known at some times, one after the other."""
    source, gathering = Pack(pack), Gathering(planner.city.network, ASSUMED, builtin())
    gathering.describe(source.places())
    instants = source.parking(0, times[-1])
    instant = next(instants, None)
    for at_ms in times:
        while instant is not None and instant[0] <= at_ms:
            counts = [(str(one["sensor"]), instant[0], one) for one in instant[1]]
            gathering.take("parking", counts)
            instant = next(instants, None)
        costing = Costing(gathering.model, gathering.known())
        yield Conditions(at_ms, gathering.garages(at_ms), costing)


@pytest.mark.slow
def test_all_15_requests_give_the_garage_of_the_reference(aarhus: Planner, data_pack: Path) -> None:
    requests = references(data_pack)
    times = [int(each["at_ms"]) for each in requests]
    found, walks = [], []
    for request, conditions in zip(requests, counted(aarhus, data_pack, times), strict=True):
        answer = parking(
            aarhus,
            conditions,
            destination={"lat": request["poi_lat"], "lon": request["poi_lon"]},
            radius_m=request["distance_range_m"],
            preferences=[{"minimise": "walk"}],
        )
        found.append(next(iter(ids(answer["garages"])), None))
        metres = {each["garagecode"]: each["walk_m"] for each in request["garages"]}
        walks += [(each["walk_m"], metres[each["id"]]) for each in answer["garages"]]
        usable = {each["garagecode"] for each in request["garages"] if each["usable"]}
        offered = {
            each["id"]
            for each in (*answer["garages"], *answer["rejected"])
            if each["reasons"][0]["code"] not in ("full", "closed")
        }
        assert offered == usable
    assert found == [each["best_by_walk"] for each in requests]
    assert len(found) == 15
    assert [mine for mine, _ in walks] == pytest.approx([other for _, other in walks], abs=0.3)
