"""The API's description agrees with the API."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from werkzeug.test import TestResponse

from citywise.backend.notices import book
from citywise.backend.store.models import TraceRow
from tests.api.server import REPOSITORY
from tests.api.templates import NOON_MS, change, install, jam_ahead
from tests.api.town import Town

WISH = {"app": "jam_watch", "template": "jam_ahead", "user": "alice"}
CONTEXT = "/api/v1/users/alice/context"
NOTICE = "alice.jam_ahead~jam_ahead~jam-1~20140805T120000Z"
ANNA = {"name": "Anna", "password": "three small boats at sea"}
POSITION = {"lat": 56.15, "lon": 10.2}


def document_of(app: Flask) -> dict[str, Any]:
    """The description that an application serves."""
    found = app.test_client().get("/api/v1/openapi.json").json
    assert isinstance(found, dict)
    return found


@pytest.fixture
def document(app: Flask) -> dict[str, Any]:
    return document_of(app)


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_every_route_and_method_is_described_and_nothing_else(
    app: Flask, document: dict[str, Any]
) -> None:
    served = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
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
        if re.sub(r"\{\w+_id\}", "{id}", path.removeprefix("/api/v1")) not in guide
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
    install(town, jam_ahead())
    with town.engine.begin() as connection:
        book.apply(connection, [change("opened"), change("opened", about="b", criticality=5)])
    measured = {"items": 3, "atoms": 1, "seconds": 0.25, "created_ms": NOON_MS}
    town.save(TraceRow(id=1, request="jam_watch/jam_ahead@1", t_ms=NOON_MS, **measured))


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
        ("/api/v1/history/readings", "/api/v1/history/readings?kind=traffic", 200),
        ("/api/v1/history/readings", "/api/v1/history/readings?kind=none", 404),
        ("/api/v1/history/events", "/api/v1/history/events", 200),
        ("/api/v1/history/moment", "/api/v1/history/moment?at=2014-08-05T11:59:00Z", 200),
        ("/api/v1/history/moment", "/api/v1/history/moment", 400),
        ("/api/v1/clock", "/api/v1/clock", 200),
        ("/api/v1/dead-letters", "/api/v1/dead-letters", 200),
        ("/api/v1/apps", "/api/v1/apps", 200),
        ("/api/v1/apps/{app}", "/api/v1/apps/jam_watch", 200),
        ("/api/v1/apps/{app}", "/api/v1/apps/none", 404),
        ("/api/v1/instances", "/api/v1/instances?user=alice", 200),
        ("/api/v1/instances/{instance_id}", "/api/v1/instances/mine", 200),
        ("/api/v1/users/{user}/context", CONTEXT, 200),
        ("/api/v1/notices", "/api/v1/notices?user=alice", 200),
        ("/api/v1/notices", "/api/v1/notices", 200),
        ("/api/v1/notices", "/api/v1/notices?limit=0", 400),
        ("/api/v1/me", "/api/v1/me", 200),
        ("/api/v1/webhooks", "/api/v1/webhooks", 200),
        ("/api/v1/webhooks/{webhook_id}", "/api/v1/webhooks/x", 404),
        ("/api/v1/webhooks/{webhook_id}/undelivered", "/api/v1/webhooks/x/undelivered", 404),
        ("/api/v1/me/consents", "/api/v1/me/consents", 200),
        ("/api/v1/me/logins", "/api/v1/me/logins", 200),
        ("/api/v1/me/two-factor", "/api/v1/me/two-factor", 200),
        ("/api/v1/me/tokens", "/api/v1/me/tokens", 200),
        ("/api/v1/me/export", "/api/v1/me/export", 200),
        ("/api/v1/me/wishes", "/api/v1/me/wishes", 200),
        ("/api/v1/accounts", "/api/v1/accounts", 200),
        ("/api/v1/audit", "/api/v1/audit", 200),
        ("/api/v1/notices/{notice_id}", f"/api/v1/notices/{NOTICE}", 200),
        ("/api/v1/traces", "/api/v1/traces", 200),
        ("/api/v1/traces/{trace_id}", "/api/v1/traces/1", 200),
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
    client.post("/api/v1/instances", json={**WISH, "id": "mine"})
    answer = client.get(address)
    assert answer.status_code == status
    assert_described(document, path, "get", answer)


@pytest.mark.parametrize(
    ("method", "path", "address", "body", "status"),
    [
        ("post", "/api/v1/instances", "/api/v1/instances", WISH, 201),
        ("post", "/api/v1/instances", "/api/v1/instances", {"app": 1}, 422),
        ("post", "/api/v1/instances/check", "/api/v1/instances/check", WISH, 200),
        ("put", "/api/v1/instances/{instance_id}", "/api/v1/instances/x", WISH, 201),
        ("delete", "/api/v1/instances/{instance_id}", "/api/v1/instances/none", None, 404),
        ("put", "/api/v1/users/{user}/context", CONTEXT, {"position": POSITION}, 202),
        ("patch", "/api/v1/users/{user}/context", CONTEXT, {"route": None}, 202),
        ("delete", "/api/v1/users/{user}/context", CONTEXT, None, 202),
        ("post", "/api/v1/accounts", "/api/v1/accounts", ANNA, 201),
        ("post", "/api/v1/accounts", "/api/v1/accounts", {**ANNA, "name": "Demo"}, 409),
        ("post", "/api/v1/login", "/api/v1/login", ANNA, 401),
        ("patch", "/api/v1/me", "/api/v1/me", {"name": "Me"}, 200),
        ("delete", "/api/v1/me", "/api/v1/me", {"confirm": "forget me"}, 202),
        ("put", "/api/v1/me/consents/{subject}", "/api/v1/me/consents/route", {"given": True}, 200),
        ("post", "/api/v1/me/tokens", "/api/v1/me/tokens", {"label": "x", "rights": ["all"]}, 201),
        ("delete", "/api/v1/me/tokens/{token_id}", "/api/v1/me/tokens/x", None, 404),
        ("delete", "/api/v1/me/logins/{login_id}", "/api/v1/me/logins/x", None, 404),
        ("patch", "/api/v1/accounts/{account_id}", "/api/v1/accounts/demo", {"roles": []}, 200),
        ("post", "/api/v1/webhooks", "/api/v1/webhooks", {"url": "https://192.0.2.1/"}, 422),
        ("post", "/api/v1/webhooks", "/api/v1/webhooks", {"url": "https://8.8.8.8/"}, 201),
        ("patch", "/api/v1/webhooks/{webhook_id}", "/api/v1/webhooks/x", {"label": "a"}, 404),
        ("delete", "/api/v1/webhooks/{webhook_id}", "/api/v1/webhooks/x", None, 404),
        ("post", "/api/v1/invitations", "/api/v1/invitations", {"roles": ["host"]}, 201),
        ("post", "/api/v1/audit/{action_id}/undo", "/api/v1/audit/9/undo", None, 404),
    ],
)
def test_what_is_sent_and_answered_has_the_shape_that_is_described(
    client: FlaskClient,
    town: Town,
    document: dict[str, Any],
    method: str,
    path: str,
    address: str,
    body: Any,
    status: int,
) -> None:
    install(town, jam_ahead())
    answer = client.open(address, method=method.upper(), json=body)
    assert answer.status_code == status
    assert_described(document, path, method, answer)
    if body is not None and status < 400:
        content = document["paths"][path][method]["requestBody"]["content"]["application/json"]
        validate_against(document, content["schema"], body)


def assert_described(document: Any, path: str, method: str, answer: TestResponse) -> None:
    described = document["paths"][path][method]["responses"][str(answer.status_code)]
    if "$ref" in described:
        described = document["components"]["responses"][described["$ref"].rsplit("/", 1)[1]]
    validate_against(document, described["content"][answer.mimetype]["schema"], answer.json)


def validate_against(document: Any, schema: Any, body: Any) -> None:
    whole = {"components": document["components"], **schema}
    Draft202012Validator(whole).validate(body)
