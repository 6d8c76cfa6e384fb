"""A private city shows nothing to who is not logged in but the way in."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.api import access
from citywise.backend.api.app import create_app
from citywise.backend.people import accounts, tokens
from citywise.backend.settings import People, Settings
from tests.api.town import NOON, Town

DOORS = {
    "/log-in", "/sign-up", "/offline", "/service-worker.js", "/manifest.webmanifest",
    "/favicon.ico", "/assets/vendor/<library>/<path:path>", "/assets/<digest>/<path:path>",
    "/assets/apps/<app>/<digest>/<path:path>", "/api/v1/login", "/api/v1/accounts", "/api/v1/me",
    "/healthz", "/readyz", "/sign-in", "/sign-in/done", "/meet/<meeting_id>",
    "/meetings.webmanifest", "/api/v1/login/passkey", "/assets/texts/<app>/<digest>/<language>.js",
    "/mail", "/reset", "/unsubscribe/<secret>", "/api/v1/mail/verified", "/api/v1/password-reset",
}  # fmt: skip
"""All that is open: none of it tells anything of the city."""


@pytest.fixture
def app(settings: Settings, engine: Engine) -> Flask:
    private = settings.model_copy(update={"people": People(private=True, rate_limits=False)})
    return create_app(private, engine)


@pytest.fixture
def outside(app: Flask) -> FlaskClient:
    return app.test_client()


def filled(rule: str) -> str:
    return re.sub(r"<[^>]*>", "x1", re.sub(r"<int:[^>]*>", "1", rule))


def test_every_address_is_shut_but_the_way_in(app: Flask, outside: FlaskClient) -> None:
    opened = set()
    for rule in app.url_map.iter_rules():
        declared = access.of(app, rule.endpoint)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            answer = outside.open(filled(rule.rule), method=method, json={})
            if declared.is_door:
                opened.add(rule.rule)
            elif declared.kind == "key":
                assert answer.status_code in (404, 405, 413, 415, 422), (rule.rule, answer.text)
            else:
                assert answer.status_code in (401, 303), (method, rule.rule, answer.text)
    assert opened == DOORS


def test_a_browser_is_led_to_log_in_and_back(outside: FlaskClient) -> None:
    answer = outside.get("/list?type=TrafficJam", headers={"Accept": "text/html"})
    assert answer.status_code == 303
    assert answer.location == "/log-in?next=%2Flist%3Ftype%3DTrafficJam"
    assert outside.get("/log-in", headers={"Accept": "text/html"}).status_code == 200


def test_who_is_logged_in_and_a_device_with_a_token_see_the_city(
    app: Flask, engine: Engine, outside: FlaskClient, town: Town
) -> None:
    town.road("r1")
    town.event("e1", "r1", NOON)
    with engine.begin() as connection:
        anna = accounts.create(connection, "Anna", "a pass word", ["user"])
        token, secret = tokens.issue(connection, anna.id, "sign", ["context"])
    assert outside.get("/api/v1/events").status_code == 401
    bearer = {"Authorization": f"Bearer {token.id}.{secret}"}
    assert outside.get("/api/v1/events", headers=bearer).status_code == 200
    assert outside.get("/api/v1/events", headers={"Authorization": "Bearer x.y"}).status_code == 401
    inside = app.test_client()
    welcome = inside.post("/api/v1/login", json={"name": "Anna", "password": "a pass word"})
    assert welcome.status_code == 200
    assert len(inside.get("/api/v1/events").json["events"]) == 1
    assert inside.get("/").status_code == 200
