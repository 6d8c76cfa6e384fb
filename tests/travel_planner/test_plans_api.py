"""Plans and named places over HTTP."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from sqlalchemy import Engine

from citywise.apps.travel_planner import pool
from citywise.apps.travel_planner.kept_plans import KeptPlans
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.worker import Desk
from citywise.backend.layers import taking
from citywise.backend.layers.reading import read
from citywise.backend.settings import Settings
from tests.api.town import Town
from tests.layers.files import SCHOOL, collection, feature
from tests.travel_planner.conftest import HOME, NOW, WORK, InProcess

TRAVEL, PARKING = "/api/v1/plans/travel", "/api/v1/plans/parking"
JOURNEY = {"from": HOME, "to": WORK, "mode": "car"}
ERRAND = {"destination": WORK, "from": HOME, "radius_m": 800}


def valid(app: Flask, name: str, body: Any) -> None:
    """The answer is as the document describes it."""
    document = app.test_client().get("/api/v1/openapi.json").json
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    Draft202012Validator(schema).validate(body)


def test_a_journey_is_planned_and_kept_under_its_id(planning: FlaskClient, app: Flask) -> None:
    answer = planning.post(TRAVEL, json=JOURNEY)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    valid(app, "TravelPlan", answer.json)
    assert answer.json["now"] == NOW
    assert answer.json["request"] == {
        **JOURNEY,
        "depart": None,
        "constraints": [],
        "preferences": [],
        "alternatives": 3,
    }
    again = planning.get(f"/api/v1/plans/{answer.json['plan']}")
    assert (again.data, again.headers["Cache-Control"]) == (answer.data, "no-store")


def test_the_described_examples_are_requests_of_the_described_form(app: Flask) -> None:
    document = app.test_client().get("/api/v1/openapi.json").json
    for path, name in ((TRAVEL, "TravelRequest"), (PARKING, "ParkingRequest")):
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        valid(app, name, body["example"])


def test_parking_offers_what_is_free_by_the_live_counts(planning: FlaskClient, app: Flask) -> None:
    answer = planning.post(PARKING, json=ERRAND)
    assert answer.status_code == 200, answer.text
    valid(app, "ParkingPlan", answer.json)
    (near,) = answer.json["garages"]
    (full,) = answer.json["rejected"]
    assert (near["id"], near["free"], near["data_age_s"], near["cost"]) == ("NEAR", 60, 600, 20)
    assert (full["id"], full["why"]) == ("FULL", "Full: 100 of 100 places are taken.")


def test_what_is_live_is_planned_with_at_once(
    planning: FlaskClient, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citywise.apps.travel_planner.worker.REFRESH_S", 0)
    assert len(planning.post(PARKING, json=ERRAND).json["garages"]) == 1
    town.reading("parking", "NEAR", "2026-05-04T07:59:00Z", occupied=100, capacity=100)
    assert planning.post(PARKING, json=ERRAND).json["garages"] == []


def test_sentences_are_in_the_language_asked_for(planning: FlaskClient) -> None:
    answer = planning.post(f"{TRAVEL}?lang=da", json=JOURNEY)
    assert "hurtigste" in answer.json["routes"][0]["why"]


def test_a_plan_nobody_keeps_is_not_found(planning: FlaskClient) -> None:
    answer = planning.get("/api/v1/plans/pl_nothing")
    assert (answer.status_code, answer.content_type) == (404, "application/problem+json")
    assert "plan again" in answer.json["detail"]


def test_kept_plans_are_forgotten_after_their_time_and_beyond_their_number() -> None:
    now = [0.0]
    kept = KeptPlans(seconds=10, most=2, most_bytes=100, clock=lambda: now[0])
    for name in ("a", "b", "c"):
        kept.keep(name, b'{"x":1}')
    assert [kept.find(name) for name in ("a", "b")] == [None, {"x": 1}]
    now[0] = 11
    assert kept.body("c") is None
    kept.keep("large", b"x" * 101)
    assert kept.body("large") is None


def test_places_are_found_by_name_and_by_position(planning: FlaskClient, app: Flask) -> None:
    found = planning.get("/api/v1/places/search?q=vest&limit=3&lat=56.15&lon=10.2")
    valid(app, "FoundPlaces", found.json)
    assert 1 <= len(found.json["found"]) <= 3
    assert all("vest" in place["name"].lower() for place in found.json["found"])
    place = found.json["found"][0]
    near = planning.get(f"/api/v1/places/nearest?lat={place['lat']}&lon={place['lon']}")
    valid(app, "FoundPlace", near.json["found"])
    nowhere = planning.get("/api/v1/places/nearest?lat=0&lon=0")
    assert nowhere.json == {"found": None}


def test_named_points_are_listed_by_kind(planning: FlaskClient, app: Flask) -> None:
    points = planning.get("/api/v1/points.geojson?kind=venue,place")
    assert points.content_type == "application/geo+json"
    valid(app, "NamedPoints", points.json)
    kinds = {feature["properties"]["kind"] for feature in points.json["features"]}
    assert kinds <= {"venue", "place"}
    assert kinds


@pytest.mark.parametrize(
    ("address", "parameter"),
    [
        ("places/search", "q"),
        ("places/search?q=%20", "q"),
        (f"places/search?q={'x' * 101}", "q"),
        ("places/search?q=x&lat=56", "lat"),
        ("places/search?q=x&limit=0", "limit"),
        ("places/nearest?lat=56", "lon"),
        ("places/nearest?lat=nan&lon=10", "lat"),
        ("places/nearest?lat=91&lon=10", "lat"),
    ],
)
def test_bad_parameters_are_named(planning: FlaskClient, address: str, parameter: str) -> None:
    answer = planning.get(f"/api/v1/{address}")
    assert (answer.status_code, answer.json["parameter"]) == (400, parameter)


def test_without_a_city_the_problem_says_what_to_do(client: FlaskClient) -> None:
    """No process is started for that; what is wrong with a request is told all the same."""
    for address, body in ((TRAVEL, JOURNEY), (PARKING, ERRAND)):
        answer = client.post(address, json=body)
        assert (answer.status_code, answer.json["type"]) == (503, "urn:citywise:problem:no-network")
        assert "citywise city import" in answer.json["detail"]
        wrong = client.post(address, json={**body, "mood": 1})
        assert (wrong.status_code, wrong.json["errors"][0]["path"]) == (422, "mood")
    assert client.get("/api/v1/places/search?q=x").status_code == 503


@pytest.mark.usefixtures("town")
def test_places_of_a_citys_own_layers_are_found_by_all_their_names(
    planning: FlaskClient, planner: Planner, engine: Engine, settings: Settings
) -> None:
    own = copy.copy(planner)  # The names of its city change, and all tests have the same.
    pool.use(settings, InProcess(Desk(settings, engine, own)))
    content = collection(feature("a", name="Zebra School", navn="Zebraskolen"))
    with engine.begin() as connection:
        taking.take(connection, read(SCHOOL, content, "s"), content, "s")
    for text in ("zebra school", "zebraskolen"):
        answer = planning.get(f"/api/v1/places/search?q={text}")
        assert answer.status_code == 200, answer.text
        found = [(each["id"], each["kind"]) for each in answer.get_json()["found"]]
        assert found == [("school.a", "place")]


def test_what_is_expected_and_what_is_usual_have_one_address(
    planning: FlaskClient, app: Flask
) -> None:
    at = "2026-05-04T10:00:00Z"
    answer = planning.get(f"/api/v1/expected?at={at}")
    assert answer.status_code == 200, answer.text
    valid(app, "Expected", answer.json)
    assert (answer.json["at"], answer.json["usual"]) == (at, False)
    assert answer.json["garages"]["NEAR"]["free"] == 60
    usual = planning.get(f"/api/v1/expected?at={at}&usual=true").json
    valid(app, "Expected", usual)
    assert (usual["usual"], usual["garages"]) == (True, {})  # nothing is learned yet
    for query in ("", "at=soon", "at=1066-10-14T09:00:00Z", f"at={at}&usual=often"):
        assert planning.get(f"/api/v1/expected?{query}").status_code == 400
