"""Stream time, and commands to the source over a real broker."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from typing import Any

import paho.mqtt.client as paho
import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend import mqtt
from citywise.backend.api import control
from citywise.backend.api.app import create_app
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.settings import Broker, Settings
from tests.api.town import Town
from tests.ports import nobody_at


def test_the_clock_is_the_sources(client: FlaskClient, town: Town) -> None:
    town.running(now="2014-08-05T12:00:00.250Z", speed=60)
    assert client.get("/api/v1/clock").json == {
        "now": "2014-08-05T12:00:00.250Z",
        "speed": 60,
        "source": "replay",
        "start": "2014-08-05T00:00:00Z",
        "until": "2014-08-06T00:00:00Z",
        "controllable": True,
        "catching_up_s": None,
    }


def test_the_clock_says_how_far_answers_are_behind_while_the_pipeline_lives(
    client: FlaskClient, town: Town
) -> None:
    town.running()
    town.alter("pipeline", catching_up_s=95)
    assert client.get("/api/v1/clock").json["catching_up_s"] == 95
    town.alter("pipeline", ended=True)
    assert client.get("/api/v1/clock").json["catching_up_s"] is None


def test_without_an_ingest_the_clock_is_the_wall(client: FlaskClient) -> None:
    clock = client.get("/api/v1/clock").json
    assert (clock["source"], clock["controllable"], clock["speed"]) == ("wall", False, 1)


def test_a_real_citys_time_cannot_be_controlled(client: FlaskClient, town: Town) -> None:
    town.running(source="wall")
    answer = client.post("/api/v1/clock", json={"speed": 0})
    assert answer.status_code == 409
    assert answer.json["type"] == "urn:citywise:problem:clock-not-controllable"


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({}, "speed"),
        ({"speed": "fast"}, "speed"),
        ({"speed": True}, "speed"),
        ({"speed": -1}, "speed"),
        ({"speed": 3601}, "speed"),
        ({"speed": 1, "skip_s": 5}, "speed"),
        ({"skip_s": 0}, "skip_s"),
        ({"skip_s": None}, "skip_s"),
        ({"skip_s": 10**9}, "skip_s"),
        ({"sped": 5}, "sped"),
    ],
)
def test_a_bad_command_is_refused_and_named(
    client: FlaskClient, town: Town, body: dict[str, Any], parameter: str
) -> None:
    town.running()
    answer = client.post("/api/v1/clock", json=body)
    assert answer.status_code == 400
    assert answer.json["parameter"] == parameter


@pytest.mark.parametrize(
    ("data", "content_type", "status"),
    [
        (b"[]", "application/json", 400),
        (b"{", "application/json", 400),
        (b'{"speed": NaN}', "application/json", 400),
        (b"speed=1", "application/x-www-form-urlencoded", 415),
        (b"x" * 1_100_000, "application/json", 413),
    ],
)
def test_a_body_that_is_no_command_is_refused(
    client: FlaskClient, town: Town, data: bytes, content_type: str, status: int
) -> None:
    town.running()
    answer = client.post("/api/v1/clock", data=data, content_type=content_type)
    assert answer.status_code == status
    assert answer.content_type == "application/problem+json"


@pytest.fixture
def broker() -> Iterator[Broker]:
    embedded = EmbeddedBroker()
    port = embedded.start()
    yield Broker(embedded=False, port=port, prefix="testtown")
    embedded.stop()


@pytest.mark.slow
def test_commands_reach_the_sources_topic(
    broker: Broker, settings: Settings, engine: Engine, town: Town
) -> None:
    town.running()
    client = create_app(settings.model_copy(update={"broker": broker}), engine).test_client()
    received: queue.Queue[Any] = queue.Queue()
    ready = threading.Event()

    def prepare(source: paho.Client) -> None:
        def subscribe(*_: object) -> None:
            source.subscribe("testtown/control/source", qos=1)

        source.on_connect = subscribe
        source.on_subscribe = lambda *_: ready.set()
        source.on_message = lambda _c, _d, message: received.put(json.loads(message.payload))

    source = mqtt.connect(broker, "source", prepare=prepare)
    assert ready.wait(120)
    commands: list[dict[str, Any]] = [{"speed": 0}, {"speed": None}, {"skip_s": 900}]
    try:
        for command in commands:
            answer = client.post("/api/v1/clock", json=command)
            assert answer.status_code == 202, answer.text
            assert received.get(timeout=120) == command
    finally:
        source.disconnect()
        source.loop_stop()


def test_a_speed_is_brought_back_unless_another_was_set_since(
    client: FlaskClient, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no transaction waits for the broker, as nobody else could write meanwhile."""
    told: list[dict[str, Any]] = []

    def tell(_broker: Broker, command: dict[str, Any]) -> None:
        town.heartbeat("other")  # writes, or fails after a while
        told.append(command)

    monkeypatch.setattr(control, "publish", tell)
    town.running(speed=1.0)
    for speed in (4, 8):
        assert client.post("/api/v1/clock", json={"speed": speed}).status_code == 202
    actions = client.get("/api/v1/audit").json["actions"]
    newer, older = (f"/api/v1/audit/{action['id']}/undo" for action in actions)
    assert client.post(older).status_code == 409
    assert client.post(newer).status_code == 200
    assert client.post(newer).status_code == 409
    assert told == [{"speed": 4}, {"speed": 8}, {"speed": 1.0}]


def test_a_broker_that_is_away_is_a_problem_for_the_caller(
    settings: Settings, engine: Engine, town: Town
) -> None:
    town.running()
    with nobody_at() as port:
        broker = Broker(embedded=False, port=port)
        client = create_app(settings.model_copy(update={"broker": broker}), engine).test_client()
        answer = client.post("/api/v1/clock", json={"speed": 0})
    assert answer.status_code == 503
    assert answer.json["type"] == "urn:citywise:problem:broker-unreachable"
