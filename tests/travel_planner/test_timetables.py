"""Public transport in a running planner: imported timetables, plans, boards, real time."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import shapely
from flask import Flask
from flask.testing import FlaskClient
from shapely.geometry import shape

from citywise.apps.travel_planner.transit.kept import Kept, take_feed, take_realtime
from citywise.backend.settings import Settings
from tests.command import Folder
from tests.transit.networks import clock, zipped
from tests.transit.oracle import Told, Update
from tests.transit.updates import written
from tests.travel_planner.conftest import HOME, WORK
from tests.travel_planner.test_plans_api import TRAVEL, valid

JOURNEY = {"from": HOME, "to": WORK, "mode": "transit", "walk": {"max_m": 2000.0}}
DAY = "20260504"


def line(path: Path, minutes: int = 12) -> Path:
    """A bus from home to work every twenty minutes of 4 May 2026, by a station of two stops."""
    trips: list[list[object]] = [["route_id", "service_id", "trip_id"]]
    calls: list[list[object]] = [
        ["trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence"]
    ]
    for number in range(30):
        trips.append(["5A", "s", f"t{number}"])
        for at, stop in enumerate(("home", "works")):
            time = clock(600 + number * 20 + at * minutes)
            calls.append([f"t{number}", time, time, stop, at])
    return zipped(
        path,
        {
            "agency.txt": [["agency_id", "agency_timezone"], ["a", "Europe/Copenhagen"]],
            "stops.txt": [
                ["stop_id", "stop_name", "stop_lat", "stop_lon", "location_type", "parent_station"],
                ["S", "Home", HOME["lat"], HOME["lon"], 1, ""],
                ["home", "Home A", HOME["lat"], HOME["lon"], 0, "S"],
                ["works", "Works", WORK["lat"], WORK["lon"], 0, ""],
            ],
            "routes.txt": [["route_id", "route_short_name", "route_type"], ["5A", "5A", 3]],
            "trips.txt": trips,
            "stop_times.txt": calls,
            "calendar_dates.txt": [["service_id", "date", "exception_type"], ["s", DAY, 1]],
        },
    )


@pytest.fixture
def with_line(planning: FlaskClient, settings: Settings, tmp_path: Path) -> FlaskClient:
    """The planner of a town with that bus; it is 10:00 there."""
    list(take_feed(line(tmp_path / "line.zip"), settings.city_dir))
    return planning


@pytest.mark.thorough
def test_a_journey_by_bus_is_planned_and_kept(with_line: FlaskClient, app: Flask) -> None:
    answer = with_line.post(TRAVEL, json=JOURNEY)
    assert answer.status_code == 200, answer.text
    valid(app, "JourneyPlan", answer.json)
    legs = answer.json["routes"][0]["legs"]
    assert [leg["mode"] for leg in legs if leg["trip"]] == ["bus"]
    assert with_line.get(f"/api/v1/plans/{answer.json['plan']}").data == answer.data


def test_all_modes_are_planned_beside_each_other(with_line: FlaskClient, app: Flask) -> None:
    answer = with_line.post(
        f"{TRAVEL}?lang=da", json={**JOURNEY, "mode": "all", "alternatives": 9}
    ).json
    valid(app, "JourneyPlan", answer)
    assert {"car", "bicycle", "transit"} <= {route["mode"] for route in answer["routes"]}
    assert any("fremme" in route["why"] for route in answer["routes"])


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"to": {"stop": "moon"}}, "to"),
        ({"via": [5]}, "via"),
        ({"mode": "boat"}, "mode"),
        ({"arrive": "soon"}, "arrive"),
        ({"walk": {"max_m": 20_000}}, "walk.max_m"),
    ],
)
def test_faults_are_told_with_their_place(
    with_line: FlaskClient, change: dict[str, Any], path: str
) -> None:
    answer = with_line.post(TRAVEL, json={**JOURNEY, **change})
    assert answer.status_code == 422
    assert answer.json["errors"][0]["path"].startswith(path)


def test_without_a_timetable_it_is_said_how_to_import_one(
    planning: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citywise.apps.travel_planner.transit.town.SOURCE", "another")
    answer = planning.post(TRAVEL, json=JOURNEY)
    assert (answer.status_code, "citywise city import" in answer.text) == (422, True)
    assert planning.get("/api/v1/stops/home/departures").status_code == 404
    assert planning.get("/api/v1/stops.geojson").status_code == 404


def test_the_simulated_town_has_lines_some_of_which_are_late(planning: FlaskClient) -> None:
    """A third of its trips is."""
    answer = planning.post(TRAVEL, json={**JOURNEY, "alternatives": 9}).json
    legs = [leg for route in answer["routes"] for leg in route["legs"] if leg["trip"]]
    assert {leg["mode"] for leg in legs} <= {"bus", "tram"}
    assert legs
    board = planning.get(f"/api/v1/stops/{legs[0]['stop_from']}/departures?minutes=120").json
    late = [each["departs"] > each["planned"] for each in board["departures"]]
    assert 0.1 < sum(late) / len(late) < 0.7


def test_a_station_has_a_board_with_live_times(
    with_line: FlaskClient, app: Flask, settings: Settings, tmp_path: Path
) -> None:
    ten = int(datetime.fromisoformat("2026-05-04T10:00:00+02:00").timestamp())
    changes = [
        Update("t0", DAY, stops=(Told(0, "home", departure=(None, 240)),)),
        Update("t1", DAY, "CANCELED"),
    ]
    list(take_realtime(written(tmp_path / "now.pb", changes, ten), settings.city_dir))
    answer = with_line.get("/api/v1/stops/S/departures?minutes=50")
    assert answer.status_code == 200, answer.text
    valid(app, "Departures", answer.json)
    told = [(d["departs"][11:16], d["realtime"]) for d in answer.json["departures"]]
    assert told == [("10:04", "updated"), ("10:20", "cancelled"), ("10:40", "scheduled")]
    assert answer.json["departures"][0]["headsign"] == "Works"
    assert with_line.get("/api/v1/stops/moon/departures").status_code == 404
    found = json.loads(with_line.get("/api/v1/stops.geojson").data)
    valid(app, "Stops", found)
    assert ("S", "Home") in [(each["id"], each["properties"]["name"]) for each in found["features"]]
    for stop in found["features"]:
        assert with_line.get(f"/api/v1/stops/{stop['id']}/departures").status_code == 200
    assert with_line.get("/api/v1/stops/S/departures?minutes=0").status_code == 400


def test_an_hour_of_departures_is_planned(with_line: FlaskClient, app: Flask) -> None:
    answer = with_line.post(TRAVEL, json={**JOURNEY, "within_min": 60, "alternatives": 9}).json
    valid(app, "JourneyPlan", answer)
    told = sorted(route["departs"][11:16] for route in answer["routes"] if route["changes"] == 0)
    assert told == ["10:00", "10:20", "10:40", "11:00"]
    fault = with_line.post(TRAVEL, json={**JOURNEY, "within_min": 181})
    assert (fault.status_code, fault.json["errors"][0]["path"]) == (422, "within_min")


def test_where_one_can_be_is_a_layer_of_the_map(with_line: FlaskClient, app: Flask) -> None:
    where = f"/api/v1/reachable.geojson?lat={HOME['lat']}&lon={HOME['lon']}"
    answer = with_line.get(f"{where}&minutes=15")
    assert answer.status_code == 200, answer.text
    found = json.loads(answer.data)
    valid(app, "Reachable", found)
    area, *stops = found["features"]
    told = [(each["id"], each["properties"]["arrives"][11:16]) for each in stops]
    assert told == [("works", "10:12")]
    assert shapely.contains_xy(shape(area["geometry"]), WORK["lon"], WORK["lat"])
    assert len(json.loads(with_line.get(f"{where}&minutes=11").data)["features"]) == 1
    assert with_line.get(f"{where}&minutes=121").status_code == 400
    assert with_line.get("/api/v1/reachable.geojson?lat=1").status_code == 400
    for far in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        assert with_line.get(f"{where}&from={far}").status_code == 400
        assert with_line.get(f"/api/v1/stops/S/departures?from={far}").status_code == 400


def test_the_old_timetable_stays_in_use_where_the_new_one_is_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    city = tmp_path / "city"
    list(take_feed(line(tmp_path / "line.zip"), city))
    kept = Kept(city, None)
    first = kept.transit(0)
    assert first is not None
    (city / "timetables" / "line.zip").write_bytes(b"broken")
    kept.transit(0)
    assert kept._loading is not None
    kept._loading.join()
    assert kept.transit(0) is first
    assert "a timetable is not used" in caplog.text


def test_an_import_is_told_by_content_and_changes_nothing_if_it_fails(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    line(tmp_path / "bus.zip")
    done = folder.run("city", "import", "bus.zip", "--into", "town")
    assert (done.returncode, "trips\t30, 60 stop times" in done.stdout) == (0, True)
    assert "2026-05-04 to 2026-05-04" in done.stdout
    kept = tmp_path / "town" / "timetables" / "bus.zip"
    before = kept.read_bytes()
    folder.write("bus.zip", "no archive")
    refused = folder.run("city", "import", "bus.zip", "--into", "town")
    assert (refused.returncode, "is no zip archive" in refused.stderr) == (1, True)
    assert kept.read_bytes() == before
    assert [path.name for path in kept.parent.iterdir()] == ["bus.zip"]
    written(tmp_path / "now.pb", [Update("t1", DAY, "CANCELED")])
    live = folder.run("city", "import", "now.pb", "--into", "town")
    assert (live.returncode, "updates\t1 of trips" in live.stdout) == (0, True)
