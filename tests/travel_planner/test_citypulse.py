"""`/citypulse/reasoning_request` takes and gives CityPulse's messages; what of their defects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from citywise.apps.travel_planner.messages import answered
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.requests import RequestError
from tests.travel_planner.conftest import HOME, NOW_MS, WORK, breathed, calm, garage

ADDRESS = "/citypulse/reasoning_request"
Json = dict[str, Any]


def point(place: Json) -> str:
    return f"{place['lon']} {place['lat']}"


def message(kind: str, parameters: Json, limits: Any = (), wishes: Any = ()) -> Json:
    """A message as the samples are: lists within objects of the same name."""
    details = {
        "functionalParameters": [{"name": n, "value": str(v)} for n, v in parameters.items()],
        "functionalConstraints": [
            {"name": name, "operator": operator, "value": str(value)}
            for name, operator, value in limits
        ],
        "functionalPreferences": [
            {"operation": operation, "value": value, "order": order}
            for operation, value, order in wishes
        ],
    }
    nested = {name: {name: found} for name, found in details.items()}
    return {"arType": kind, "functionalDetails": nested, "user": {}}


def journey(limits: Any = (), wishes: Any = (), **more: Any) -> Json:
    parameters = {
        "STARTING_POINT": point(HOME),
        "ENDING_POINT": point(WORK),
        "TRANSPORTATION_TYPE": "car",
        "STARTING_DATETIME": NOW_MS,
        **more,
    }
    return message("TRAVEL_PLANNER", parameters, limits, wishes)


def errand(limits: Any = (), wishes: Any = (), **more: Any) -> Json:
    parameters = {"POINT_OF_INTEREST": point(WORK), "DISTANCE_RANGE": 1000, "TIME_OF_STAY": 100}
    return message("PARKING_SPACES", {**parameters, **more}, limits, wishes)


def told(answer: TestResponse) -> list[Json]:
    """The answers, each of which is a JSON text."""
    assert answer.status_code == 200, answer.text
    found: Json = answer.get_json()
    assert list(found) == ["answers"]
    return [orjson.loads(each) for each in found["answers"]]


def asked(planner: Planner, body: Json, garages: Any = ()) -> tuple[list[Json], list[str]]:
    answers, notes = answered(body, planner, calm(planner.city, garages))
    return [orjson.loads(each) for each in answers["answers"]], notes


# --- The form ----------------------------------------------------------------------------


def test_a_journey_is_answered_with_numbered_routes(planning: FlaskClient) -> None:
    answer = planning.post(ADDRESS, json=journey())
    first, *_ = found = told(answer)
    assert "Citypulse-Note" not in answer.headers
    assert [each["id"] for each in found] == list(range(1, len(found) + 1))
    assert set(first) == {"id", "route", "length", "number_of_seconds", "arType"}
    assert first["arType"] == "TRAVEL_PLANNER"
    assert set(first["route"][0]) == {"longitude", "latitude"}
    assert isinstance(first["length"], int)


def test_parking_is_answered_with_positions_free_places_and_the_walk(
    planning: FlaskClient,
) -> None:
    (space,) = told(planning.post(ADDRESS, json=errand()))
    assert set(space) == {"position", "availablePS", "walking_distance", "arType"}
    assert (space["availablePS"], space["arType"]) == (60, "PARKING_SPACES")
    assert space["position"] == {"longitude": 10.206, "latitude": 56.1605}


def test_a_reroute_counts_the_event_that_is_reported(planner: Planner) -> None:
    before, _ = asked(planner, journey())
    middle = before[0]["route"][len(before[0]["route"]) // 2]
    event = {
        "eventId": "http://purl.oclc.org/NET/UNIS/sao/sao#1",
        "eventCategory": {"categoryName": "http://purl.oclc.org/NET/UNIS/sao/ec#TrafficJam"},
        "eventLevel": 5,
        "eventPlace": orjson.dumps({"type": "POINT", "point": middle}).decode(),
    }
    reroute = {"type": "ReRouteReasoningRequest", "rRequest": journey(), "event": event}
    after, _ = asked(planner, reroute)
    assert after[0]["number_of_seconds"] > before[0]["number_of_seconds"]
    assert asked(planner, journey())[0] == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("reasoning_request_travel_planner", 1),
        ("reasoning_request_parking_spaces", 0),
        ("reroute_reasoning_request", 1),
    ],
)
def test_the_samples_are_accepted(aarhus: Planner, data_pack: Path, name: str, count: int) -> None:
    """The journeys want air below 135; there are no garages where only the air is measured."""
    file = data_pack / "citypulse" / "messages" / f"{name}.json"
    body = orjson.loads(file.read_bytes())
    answers, notes = answered(body, aarhus, breathed(aarhus.city))
    assert bool(answers["answers"]) == bool(count)
    assert [note[:17] for note in notes] == ["STARTING_DATETIME"]


def test_pollution_is_limited_by_the_mean_index(planner: Planner) -> None:
    conditions = breathed(planner.city, 90, 90)
    for limit, count in ((89, 0), (91, 1)):
        body = journey(limits=[("POLLUTION", "LESS_THAN", limit)])
        answers, _ = answered(body, planner, conditions)
        assert bool(answers["answers"]) == bool(count)


# --- Their defects -----------------------------------------------------------------------


def test_the_wish_of_order_1_matters_most(planner: Planner) -> None:
    garages = [
        garage("near", WORK["lon"] + 0.001, WORK["lat"], taken=90, per_hour=30),
        garage("cheap", WORK["lon"] - 0.006, WORK["lat"], taken=10, per_hour=5),
    ]
    for first, second, free in (("COST", "WALK", 90), ("WALK", "COST", 10)):
        wishes = [("MINIMIZE", second, 2), ("MINIMIZE", first, 1)]
        found, _ = asked(planner, errand(wishes=wishes), garages)
        assert found[0]["availablePS"] == free


def test_time_has_two_names_and_maximize_is_honoured(planner: Planner) -> None:
    for name in ("TIME", "TRAVEL_TIME", "travel_time"):
        fast, _ = asked(planner, journey(wishes=[("MINIMIZE", name, 1)]))
        slow, _ = asked(planner, journey(wishes=[("MAXIMIZE", name, 1)]))
        assert fast[0]["number_of_seconds"] < slow[0]["number_of_seconds"]
        seconds = fast[0]["number_of_seconds"] - 5
        none, notes = asked(planner, journey(limits=[(name, "LESS_THAN", seconds)]))
        assert none == []
        assert "With time" in notes[-1]


def test_the_radius_filters_and_full_garages_are_not_offered(planner: Planner) -> None:
    garages = [
        garage("near", WORK["lon"] + 0.001, WORK["lat"]),
        garage("full", WORK["lon"] - 0.001, WORK["lat"], taken=100),
        garage("far", WORK["lon"], WORK["lat"] - 0.006, taken=1),
    ]
    found = {
        metres: [
            each["availablePS"]
            for each in asked(planner, errand(DISTANCE_RANGE=metres), garages)[0]
        ]
        for metres in (50, 300)
    }
    assert found == {50: [], 300: [60]}


def test_the_price_is_that_of_the_stay(planner: Planner) -> None:
    garages = [garage("it", WORK["lon"], WORK["lat"], per_hour=20)]
    limit = [("COST", "LESS_THAN", 50)]
    assert asked(planner, errand(limit, TIME_OF_STAY=100), garages)[0]
    assert asked(planner, errand(limit, TIME_OF_STAY=190), garages)[0] == []


def test_a_time_that_is_past_is_now_and_said(planning: FlaskClient) -> None:
    answer = planning.post(ADDRESS, json=journey(STARTING_DATETIME=1434110314540))
    assert told(answer)
    assert answer.headers["Citypulse-Note"] == (
        "STARTING_DATETIME: 2015-06-12T11:58:34.540Z is past; planned for 2026-05-04T08:00:00Z"
    )


def test_a_time_more_than_a_year_ahead_is_now_and_said(planner: Planner) -> None:
    """The samples of parking are of 2016, and recorded days of 2014."""
    later = NOW_MS + 400 * 24 * 3_600_000
    garages = [garage("it", WORK["lon"], WORK["lat"])]
    for moment in (later, 1e300):
        found, notes = asked(planner, errand(STARTING_DATETIME=moment), garages)
        assert found
        assert "is more than a year from now; planned for 2026-05-04T08:00:00Z" in notes[0]


def test_points_in_the_other_order_are_exchanged_and_said(planner: Planner) -> None:
    there = f"{WORK['lat']} {WORK['lon']}"
    found, notes = asked(planner, journey(ENDING_POINT=there))
    assert found == asked(planner, journey())[0]
    assert notes == [
        "ENDING_POINT: latitude and longitude were exchanged; they were exchanged back"
    ]


@pytest.mark.parametrize(
    ("body", "path", "said"),
    [
        ({**journey(), "arType": "X"}, "arType", "TRAVEL_PLANNER"),
        (journey(STARTING_POINT="here"), "STARTING_POINT", "expected longitude and latitude"),
        (journey(ENDING_POINT="2 48"), "ENDING_POINT", "not in this city"),
        (journey(TRANSPORTATION_TYPE="boat"), "TRANSPORTATION_TYPE", "'walk'"),
        (journey(STARTING_DATETIME="soon"), "STARTING_DATETIME", "expected a number"),
        (journey([("SPEED", "LESS_THAN", 1)]), "functionalConstraints.0.name", "expected one of"),
        (journey([("TIME", "LESS", 1)]), "functionalConstraints.0.operator", "LESS_THAN"),
        (journey([("TIME", "LESS_THAN", "x")]), "functionalConstraints.0.value", "a number"),
        (journey(wishes=[("MINIMISE", "TIME", 1)]), "functionalPreferences.0", "did you mean"),
        (errand(DISTANCE_RANGE=-4), "DISTANCE_RANGE", "expected at least 1"),
        (errand([("TIME", "LESS_THAN", 100)]), "functionalConstraints", "drive"),
    ],
)
def test_what_is_wrong_is_named_as_it_stands_in_the_message(
    planner: Planner, body: Json, path: str, said: str
) -> None:
    with pytest.raises(RequestError) as raised:
        asked(planner, body)
    (fault,) = raised.value.faults
    assert path in fault["path"]
    assert said in fault["message"]
