"""Devices that do not speak MQTT post their readings."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine

from citywise.backend import handing, mqtt
from citywise.backend.api import observations
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.handing import NotHandedError, hand
from citywise.backend.people import accounts, tokens
from citywise.backend.people.scopes import Scope
from citywise.backend.settings import Broker, Settings
from tests.api.browsers import PASSWORD, Browser
from tests.api.town import soon

READING = {"sensor": "n1", "observed_at": "2026-05-04T09:00:00Z", "level": 64.5, "battery": 9}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(
        update={"people": settings.people.model_copy(update={"demo_user": False})}
    )


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    monkeypatch.setattr(
        observations, "hand", lambda _broker, topic, body: found.append((topic, json.loads(body)))
    )
    return found


def device(
    app: Flask, engine: Engine, right: str, *roles: str, scope: Scope | None = None
) -> Browser:
    with engine.begin() as connection:
        account = accounts.create(connection, "owner", PASSWORD, roles)
        token, secret = tokens.issue(connection, account.id, "meter", [right], scope=scope)
    return Browser.device(app, f"{token.id}.{secret}")


def test_a_reading_goes_to_the_broker_with_what_its_kind_does_not_know(
    app: Flask, engine: Engine, handed: list[Any]
) -> None:
    answer = device(app, engine, "sensors", "admin").post("/observations/noise", READING)
    assert (answer.status_code, answer.json) == (202, {"accepted": 1, "errors": []})
    assert handed == [("citywise/observations/noise", [READING])]


def test_of_a_list_those_at_fault_are_told_and_the_others_taken(
    app: Flask, engine: Engine, handed: list[Any]
) -> None:
    meter = device(app, engine, "sensors", "admin")
    told = [READING, {**READING, "level": 900}, 5, {**READING, "sensor": "n2"}]
    answer = meter.post("/observations/noise", told)
    assert answer.json["accepted"] == 2
    assert [error["path"] for error in answer.json["errors"]] == ["1.level", "2.body"]
    assert [one["sensor"] for one in handed[0][1]] == ["n1", "n2"]
    refused = meter.post("/observations/noise", [{**READING, "level": "loud"}])
    assert (refused.status_code, refused.json["errors"][0]["path"]) == (422, "0.level")
    assert meter.post("/observations/noise", []).status_code == 422
    assert meter.post("/observations/noise", [READING] * 1001).status_code == 422
    assert meter.post("/observations/smell", READING).status_code == 404
    assert len(handed) == 1


@pytest.mark.parametrize(
    ("right", "roles"), [("all", ("admin",)), ("notices", ("admin",)), ("sensors", ())]
)
def test_only_a_token_for_sensors_of_an_admin_may(
    app: Flask, engine: Engine, handed: list[Any], right: str, roles: tuple[str, ...]
) -> None:
    answer = device(app, engine, right, *roles).post("/observations/noise", READING)
    assert answer.status_code == 403
    assert handed == []


def test_a_token_with_a_scope_tells_only_of_what_it_names(
    app: Flask, engine: Engine, handed: list[Any]
) -> None:
    scope = Scope(kinds=("noise",), sensors=("n1*",))
    meter = device(app, engine, "sensors", "admin", scope=scope)
    answer = meter.post("/observations/noise", [READING, {**READING, "sensor": "n2"}])
    assert answer.json["accepted"] == 1
    assert [error["path"] for error in answer.json["errors"]] == ["1.sensor"]
    assert meter.post("/observations/noise", {**READING, "sensor": "n2"}).status_code == 422
    assert meter.post("/observations/climate", {**READING, "rain_mm": 1}).status_code == 403
    assert [one["sensor"] for one in handed[0][1]] == ["n1"]
    assert len(handed) == 1


def test_who_has_no_token_may_not(app: Flask, handed: list[Any]) -> None:
    assert Browser.of(app).post("/observations/noise", READING).status_code == 401


def test_a_broker_that_is_away_is_told(
    app: Flask, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_given: object) -> None:
        raise NotHandedError("not handed to the broker")

    monkeypatch.setattr(observations, "hand", away)
    answer = device(app, engine, "sensors", "admin").post("/observations/noise", READING)
    assert (answer.status_code, answer.json["detail"]) == (503, "not handed to the broker")


@pytest.fixture
def closed() -> Iterator[None]:
    yield
    handing.close()


@pytest.mark.usefixtures("closed")
def test_nobody_at_the_broker_is_an_error_that_names_it() -> None:
    with pytest.raises(NotHandedError, match=r"127\.0\.0\.1:9"):
        hand(Broker(embedded=False, port=9), "citywise/observations/noise", b"[]")


@pytest.mark.slow
@pytest.mark.usefixtures("closed")
def test_what_is_handed_over_arrives() -> None:
    broker, heard, arrived = EmbeddedBroker(), list[bytes](), threading.Event()
    at = Broker(embedded=False, port=broker.start())

    def listen(client: Any) -> None:
        client.on_connect = lambda c, *_: c.subscribe("citywise/#", 1)
        client.on_subscribe = lambda *_: arrived.set()
        client.on_message = lambda _c, _d, m: heard.append(bytes(m.payload))

    listener = mqtt.connect(at, "listener", prepare=listen)
    try:
        assert arrived.wait(60)
        for number in range(3):
            hand(at, "citywise/observations/noise", b"%d" % number)
        soon(lambda: heard == [b"0", b"1", b"2"])
    finally:
        handing.close()
        listener.disconnect()
        listener.loop_stop()
        broker.stop()
