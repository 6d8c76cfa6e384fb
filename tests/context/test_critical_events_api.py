"""`POST /api/v1/context/critical_events` says what is critical now, and keeps nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from citywise.backend.machine import REPOSITORY
from citywise.backend.settings import Pipeline, RequestLimits
from citywise.backend.store.models import InletRow, InstanceRow, TemplateVersionRow
from tests.api.test_openapi import assert_described
from tests.api.town import Town

ADDRESS = "/api/v1/context/critical_events"
WAY = {"type": "route", "coordinates": [[10.2, 56.15], [10.2, 56.2]]}
HERE = {"lat": 56.15, "lon": 10.2}


def ask(client: FlaskClient, **question: Any) -> dict[str, tuple[int, int, int | None]]:
    """Criticality, rank and distance by event."""
    answer = client.post(ADDRESS, json={"interest": WAY, **question})
    assert answer.status_code == 200, answer.text
    return {
        each["event"]["id"]: (each["criticality"], each["rank"], each["distance_m"])
        for each in answer.json["events"]
    }


def test_critical_events_come_in_their_order_with_what_says_so(client: FlaskClient) -> None:
    answer = client.post(ADDRESS, json={"interest": WAY, "position": HERE})
    assert answer.json["now"] == "2014-08-05T12:00:00Z"
    first = answer.json["events"][0]
    assert first["event"]["id"] == "jam-30"
    assert first["event"]["place"]["name"] == "Road 30"
    assert {name: first[name] for name in ("criticality", "rank", "distance_m")} == {
        "criticality": 4,  # (2.33 + 5) / 2
        "rank": 1,
        "distance_m": pytest.approx(3340, abs=5),
    }
    assert any(atom.startswith('notice("me","critical_event",') for atom in first["why"])
    assert [each["event"]["id"] for each in answer.json["events"]] == ["jam-30", "jam-5"]


def test_weights_reorder_what_is_critical(client: FlaskClient) -> None:
    ranking = {"type": "linear", "weights": {"distance": 100, "level": 0}}
    found = ask(client, position=HERE, ranking=ranking)
    assert {name: rank for name, (_c, rank, _m) in found.items()} == {"jam-5": 1, "jam-30": 2}


def test_ordered_ranking_begins_with_what_is_first(client: FlaskClient) -> None:
    for first, best in (("distance", "jam-5"), ("level", "jam-30")):
        ranking = {"type": "ordered", "first": first}
        assert next(iter(ask(client, position=HERE, ranking=ranking))) == best


def test_what_is_asked_of_the_template_holds(client: FlaskClient) -> None:
    assert set(ask(client)) == {"jam-5", "jam-30"}
    assert set(ask(client, activity="Walking")) == set()
    assert set(ask(client, activity="DrivingCar")) == {"jam-5", "jam-30"}
    assert set(ask(client, categories=["ParkingFull"])) == set()
    assert set(ask(client, sources=["social"])) == set()
    assert set(ask(client, least_criticality=5)) == {"jam-30"}
    near = ask(client, position=HERE, horizon_km=0.6, least_criticality=3)
    assert set(near) == {"jam-30"}  # (1 + 5) / 2; jam-5: (1.29 + 1) / 2


def test_around_a_position_and_in_an_area(client: FlaskClient) -> None:
    garage = {"lat": 56.1493, "lon": 10.2062}
    assert set(ask(client, interest={"type": "around_me"}, position=garage)) == {"full"}
    area = {"center": garage, "radius_m": 500}
    found = ask(client, interest={"type": "area", "area": area, "radius_m": 200}, position=HERE)
    assert found == {"full": (3, 1, None)}  # farther than 200 m: (1 + 4) / 2


def test_nothing_that_is_sent_is_kept(client: FlaskClient, town: Town) -> None:
    ask(client, position=HERE)
    with Session(town.engine) as session:
        assert session.execute(select(InletRow)).all() == []
        assert session.execute(select(InstanceRow)).all() == []


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ({"interest": None}, {"interest"}),
        ({"interest": {"type": "somewhere"}}, {"interest"}),
        ({"interest": {"type": "around_me"}}, {"position"}),
        ({"interest": {**WAY, "radius_m": 5}}, {"interest.route.radius_m"}),
        (
            {"activity": "Flying", "sources": ["sensor", "rumour"], "categories": ["Jam"]},
            {"activity", "sources[1]", "categories[0]"},
        ),
        ({"horizon_km": 900, "least_criticality": 6}, {"horizon_km", "least_criticality"}),
        ({"interest": {"type": "area", "area": {}}}, {"interest.area"}),
        ({"ranking": {"type": "linear", "weights": {"distance": 101}}},
         {"ranking.linear.weights.distance"}),
        ({"colour": "red"}, {"colour"}),
    ],
)  # fmt: skip
def test_all_that_is_wrong_is_named(
    client: FlaskClient, question: dict[str, Any], paths: set[str]
) -> None:
    answer = client.post(ADDRESS, json={"interest": WAY, **question})
    assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    assert {fault["path"] for fault in answer.json["errors"]} == paths


def test_without_the_app_the_problem_says_so(client: FlaskClient, town: Town) -> None:
    with Session(town.engine) as session:
        session.execute(delete(TemplateVersionRow))
        session.commit()
    answer = client.post(ADDRESS, json={"interest": WAY})
    assert (answer.status_code, answer.json["title"]) == (503, "Not installed")
    assert "contextual_filtering/critical_events" in answer.json["detail"]


def test_the_example_of_the_document_is_answered(client: FlaskClient) -> None:
    document = (REPOSITORY / "docs" / "contextual-filtering.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", document, re.DOTALL)
    found = ask(client, **json.loads(example))
    # 0.7 · 4.56 + 0.3 · 1 = 3.49 and 0.7 · 2.33 + 0.3 · 5 = 3.13
    assert {name: (c, rank) for name, (c, rank, _m) in found.items()} == {
        "jam-5": (3, 1),
        "jam-30": (3, 2),
    }


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ({"interest": WAY}, 200),
        ({"interest": WAY, "position": HERE, "activity": "DrivingCar", "sources": ["sensor"]}, 200),
        ({"interest": {"type": "around_me", "radius_m": 50}, "position": HERE}, 200),
        ({"interest": WAY, "ranking": {"type": "ordered", "first": "level"}}, 200),
        ({"interest": WAY, "ranking": {"type": "linear", "weights": {"level": 3}}}, 200),
        ({"interest": WAY, "horizon_km": 99}, 422),
    ],
)
def test_questions_and_answers_are_as_described(
    client: FlaskClient, question: dict[str, Any], status: int
) -> None:
    document = client.get("/api/v1/openapi.json").json
    answer = client.post(ADDRESS, json=question)
    assert answer.status_code == status
    assert_described(document, ADDRESS, "post", answer)
    described = document["paths"][ADDRESS]["post"]["requestBody"]["content"]["application/json"]
    whole = {"components": document["components"], **described["schema"]}
    assert Draft202012Validator(whole).is_valid(question) == (status == 200)


def test_rules_that_want_more_than_is_allowed_are_stopped(app: Flask) -> None:
    web = app.extensions["citywise"]
    limits = RequestLimits(atoms=5)
    settings = web.settings.model_copy(update={"pipeline": Pipeline(limits=limits)})
    app.extensions["citywise"] = replace(web, settings=settings)
    answer = app.test_client().post(ADDRESS, json={"interest": WAY, "position": HERE})
    assert (answer.status_code, answer.json["type"]) == (503, "urn:citywise:problem:too-much")
    assert "more than 5 ground atoms" in answer.json["detail"]
