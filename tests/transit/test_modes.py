"""Limits and wishes over journeys, and journeys that begin by car or bicycle."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from citywise.apps.travel_planner import decide
from citywise.apps.travel_planner.transit.decide import transit
from tests.command import Folder
from tests.transit.networks import Tables, clock, zipped

DEPART = "2014-08-05T08:03:00+02:00"
NORTH, SOUTH = {"lat": 56.179, "lon": 10.196}, {"lat": 56.136, "lon": 10.196}


def line() -> dict[str, Any]:
    """A tram through Aarhus every ten minutes, and an express that leaves out the middle and
    ends 700 m short of the south."""
    trips: list[list[object]] = [["route_id", "service_id", "trip_id"]]
    calls: list[list[object]] = [
        ["trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence"]
    ]
    for route, stops in (("L1", (("A", 0), ("B", 6), ("C", 16))), ("X", (("A", 7), ("D", 10)))):
        for number in range(60):
            trip = f"{route}-{number}"
            trips.append([route, "s", trip])
            for at, (stop, minute) in enumerate(stops):
                time = clock(360 + number * 10 + minute)
                calls.append([trip, time, time, stop, at])
    tables: Tables = {
        "agency.txt": [["agency_id", "agency_timezone"], ["a", "Europe/Copenhagen"]],
        "stops.txt": [
            ["stop_id", "stop_name", "stop_lat", "stop_lon"],
            ["A", "Nord", 56.180, 10.195],
            ["B", "Midt", 56.157, 10.205],
            ["C", "Syd", 56.135, 10.195],
            ["D", "Syd D", 56.1415, 10.197],
        ],
        "routes.txt": [["route_id", "route_short_name", "route_type"], ["L1", 1, 0], ["X", 9, 3]],
        "trips.txt": trips,
        "stop_times.txt": calls,
        "calendar_dates.txt": [["service_id", "date", "exception_type"], ["s", 20140805, 1]],
    }
    return dict(tables)


def asked(folder: Path, **more: Any) -> dict[str, Any]:
    feed = zipped(folder / "line.zip", line())
    body = {"from": NORTH, "to": SOUTH, "mode": "transit", "depart": DEPART, "alternatives": 1000}
    return transit({**body, "walk": {"max_m": 2000.0}, **more}, [feed], None)


def routes(answer: dict[str, Any]) -> list[str]:
    return [next(leg["route"] for leg in r["legs"] if leg["route"]) for r in answer["routes"]]


def test_wishes_order_the_set(tmp_path: Path) -> None:
    assert routes(asked(tmp_path)) == ["X", "L1"]
    least = asked(tmp_path, preferences=[{"minimise": "walk"}])
    assert routes(least) == ["L1", "X"]
    assert "least walking of 2 routes" in least["routes"][0]["why"]
    assert [route["chosen"] for route in least["routes"]] == [True, False]


def test_limits_leave_out_what_does_not_keep_to_them(tmp_path: Path) -> None:
    answer = asked(tmp_path, constraints=[{"on": "walk", "op": "<=", "value": 600}])
    assert routes(answer) == ["L1"]
    assert "Your limit is" in answer["rejected"][0]["why"]


def test_a_conflict_is_minimal_and_says_what_to_allow(tmp_path: Path) -> None:
    limits = [
        {"on": "walk", "op": "<=", "value": 600},
        {"on": "time", "op": "<=", "value": 1080},
        {"on": "changes", "op": "<=", "value": 3},
    ]
    conflict = asked(tmp_path, constraints=limits)["conflict"]
    assert [sorted(each["on"] for each in one) for one in conflict["constraints"]] == [
        ["time", "walk"]
    ]
    relaxed = asked(tmp_path, constraints=conflict["then"]["constraints"])
    assert relaxed["conflict"] is None
    assert len(relaxed["routes"]) == 1


def test_an_unknown_price_keeps_to_no_limit(tmp_path: Path) -> None:
    conflict = asked(tmp_path, constraints=[{"on": "cost", "op": "<=", "value": 50}])["conflict"]
    assert "Changing the limits does not help" in conflict["relaxation"]


def test_one_gets_off_at_a_place_on_the_way(tmp_path: Path) -> None:
    (route,) = asked(tmp_path, via=[{"stop": "B"}])["routes"]
    ridden = [leg for leg in route["legs"] if leg["trip"]]
    assert [(leg["stop_from"], leg["stop_to"]) for leg in ridden] == [("A", "B"), ("B", "C")]
    times = [datetime.fromisoformat(leg[end]) for leg in ridden for end in ("departs", "arrives")]
    assert times == sorted(times)


def test_a_bicycle_spares_the_walk_to_the_line(tmp_path: Path) -> None:
    (route,) = asked(tmp_path, mode="bike_and_ride", to={"stop": "C"})["routes"]
    assert [leg["mode"] for leg in route["legs"]] == ["bicycle", "tram"]
    assert (route["mode"], route["walk_m"]) == ("bike_and_ride", 0)


def test_nobody_is_sent_to_park_where_no_garage_is_known(tmp_path: Path) -> None:
    answer = asked(tmp_path, mode="park_and_ride")
    assert answer["routes"] == []
    assert "no-garages" in {note["code"] for note in answer["notes"]}


@pytest.fixture(scope="module")
def of_all_modes(tmp_path_factory: pytest.TempPathFactory, data_pack: Path) -> dict[str, Any]:
    folder = Folder(tmp_path_factory.mktemp("all"))
    feed = zipped(folder.path / "line.zip", line())
    body = {"from": NORTH, "to": SOUTH, "mode": "all", "depart": DEPART, "alternatives": 20}
    body["walk"] = {"max_m": 2000.0}
    folder.write("ask.json", json.dumps(body))
    at_ms = round(datetime.fromisoformat("2014-08-05T08:00:00+02:00").timestamp() * 1000)
    return dict(decide.transit(folder.path / "ask.json", data_pack, [feed], [], at_ms))


def test_all_modes_are_weighed_together(of_all_modes: dict[str, Any]) -> None:
    modes = {route["mode"] for route in of_all_modes["routes"]}
    assert modes == {"car", "bicycle", "transit", "park_and_ride", "bike_and_ride"}
    assert sum(route["chosen"] for route in of_all_modes["routes"]) == 1


def test_one_parks_where_places_are_expected_and_walks_on_streets(
    of_all_modes: dict[str, Any],
) -> None:
    route = next(r for r in of_all_modes["routes"] if r["mode"] == "park_and_ride")
    drive, walk, ride, *_ = route["legs"]
    assert [leg["mode"] for leg in (drive, walk)] == ["car", "walk"]
    assert drive["park"]["free_expected"] > 0
    assert drive["park"]["price"]["per_hour"] > 0
    assert drive["arrives"] == walk["departs"] <= walk["arrives"] == ride["departs"]
    assert len(walk["geometry"]["coordinates"]) >= 2
    last = next(r for r in of_all_modes["routes"] if r["mode"] == "transit")["legs"][-1]
    assert last["mode"] == "walk"
    assert last["distance_m"] > 0
    assert len(last["geometry"]["coordinates"]) > 2
