"""The API's description agrees with the API."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from tests.api.server import REPOSITORY
from tests.api.town import Town


@pytest.fixture
def document(client: FlaskClient) -> dict[str, Any]:
    found = client.get("/api/v1/openapi.json").json
    assert isinstance(found, dict)
    return found


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_every_route_and_method_is_described_and_nothing_else(
    app: Flask, document: dict[str, Any]
) -> None:
    served = {
        (rule.rule.replace("<", "{").replace(">", "}"), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/api/v1") or rule.endpoint.startswith("health.")
    }
    described = {(path, method) for path, item in document["paths"].items() for method in item}
    assert served == described


def test_the_guide_names_every_address(document: dict[str, Any]) -> None:
    guide = (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8")
    missing = {
        path
        for path in document["paths"]
        if path.removeprefix("/api/v1").replace("{event_id}", "{id}") not in guide
    }
    assert missing == set()


def filled(town: Town) -> None:
    town.running()
    town.road("100", length_m=500.0)
    town.garage("BRUUNS", "Bruuns")
    town.reading("traffic", "100", "2014-08-05T11:58:30Z", speed_kmh=42.5, vehicle_count=7)
    town.reading("weather", "w", "2014-08-05T11:58:30Z", temperature_c=None, wind_kmh=3.5)
    town.event("a", "100", "2014-08-05T06:00:00Z", "2014-08-05T07:00:00Z")
    town.event("b", "unheard", "2014-08-05T06:00:00Z")
    town.dead_letter(1, "not-json")


@pytest.mark.parametrize(
    ("path", "address", "status"),
    [
        ("/api/v1/events", "/api/v1/events?limit=1", 200),
        ("/api/v1/events", "/api/v1/events?limit=0", 400),
        ("/api/v1/events.geojson", "/api/v1/events.geojson", 200),
        ("/api/v1/events/{event_id}", "/api/v1/events/a", 200),
        ("/api/v1/events/{event_id}", "/api/v1/events/x", 404),
        ("/api/v1/places", "/api/v1/places", 200),
        ("/api/v1/readings", "/api/v1/readings", 200),
        ("/api/v1/clock", "/api/v1/clock", 200),
        ("/api/v1/dead-letters", "/api/v1/dead-letters", 200),
        ("/healthz", "/healthz", 200),
        ("/readyz", "/readyz", 200),
    ],
)
def test_answers_have_the_shape_that_is_described(
    client: FlaskClient,
    town: Town,
    document: dict[str, Any],
    path: str,
    address: str,
    status: int,
) -> None:
    filled(town)
    answer = client.get(address)
    assert answer.status_code == status
    described = document["paths"][path]["get"]["responses"][str(status)]
    if "$ref" in described:
        described = document["components"]["responses"][described["$ref"].rsplit("/", 1)[1]]
    schema = described["content"][answer.mimetype]["schema"]
    whole = {"components": document["components"], **schema}
    Draft202012Validator(whole).validate(answer.json)
