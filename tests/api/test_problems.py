"""Every error is a problem document."""

from __future__ import annotations

import logging

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.store.models import Base


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/nothing", 404),
        ("GET", "/assets/vendor/jquery/jquery.js", 404),
        ("GET", "/assets/vendor/leaflet/../../package.json", 404),
        ("GET", "/assets/x/%2e%2e/strings/en.json", 404),
        ("DELETE", "/api/v1/events", 405),
        ("POST", "/readyz", 405),
    ],
)
def test_errors_are_problem_documents(
    client: FlaskClient, method: str, address: str, status: int
) -> None:
    answer = client.open(address, method=method)
    assert answer.status_code == status
    assert answer.content_type == "application/problem+json"
    assert answer.json["status"] == status
    assert answer.json["instance"].startswith("/")
    assert {"type", "title", "detail"} <= answer.json.keys()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "depth"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b'{"a": NaN}', "unexpected character"),
        (b"[1]", "not a JSON object"),
        (b'{"a": [{"b\\u0000": 1}]}', "U+0000"),
    ],
    ids=["deep", "surrogate", "no UTF-8", "NaN", "list", "NUL"],
)
@pytest.mark.parametrize("address", ["/api/v1/instances", "/citypulse/contextual_events_request"])
def test_a_body_that_is_no_json_object_is_refused_with_the_reason(
    client: FlaskClient, address: str, body: bytes, why: str
) -> None:
    answer = client.post(address, data=body, content_type="application/json")
    assert (answer.status_code, answer.json["type"]) == (400, "urn:citywise:problem:bad-body")
    assert why in answer.json["detail"]


@pytest.mark.parametrize(
    ("address", "parameter"),
    [
        ("/api/v1/traces?request=a%00", "request"),
        ("/api/v1/notices?user=a&cursor=5~%00", "cursor"),
        ("/api/v1/notices/a%00", "notice_id"),
        ("/api/v1/events/a%00", "event_id"),
        ("/api/v1/instances/a%0a", "instance_id"),
        ("/api/v1/traces?%00=1", "\0"),
    ],
)
def test_control_characters_in_an_address_are_refused_before_the_database_is_asked(
    client: FlaskClient, address: str, parameter: str
) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer.json["parameter"]) == (400, parameter)
    assert "control character" in answer.json["detail"]


def test_a_refused_method_says_which_are_allowed(client: FlaskClient) -> None:
    assert "POST" in client.delete("/api/v1/clock").headers["Allow"]


def test_a_failure_of_ours_is_logged_and_tells_no_secrets(
    app: Flask, client: FlaskClient, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    Base.metadata.drop_all(engine)
    with caplog.at_level(logging.ERROR):
        answer = client.get("/api/v1/events")
    assert answer.status_code == 500
    assert answer.content_type == "application/problem+json"
    assert "table" not in answer.json["detail"]
    assert "no such table: " in caplog.text


def test_a_person_gets_a_page_and_a_program_a_problem(client: FlaskClient) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    page = client.get("/nothing", headers=browser)
    assert page.status_code == 404
    assert page.mimetype == "text/html"
    assert "Citywise" in page.text
    assert client.get("/api/v1/x", headers=browser).mimetype == "application/problem+json"
