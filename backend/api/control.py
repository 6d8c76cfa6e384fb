"""The stream clock over HTTP, and commands to the source over MQTT."""

from __future__ import annotations

import math
import uuid
from typing import Any

import orjson
from flask import Blueprint, Response
from sqlalchemy.orm import Session

from backend import mqtt
from backend.api import clocks, parameters
from backend.api.answers import as_json
from backend.api.problems import ProblemError, bad_parameter
from backend.api.state import state
from backend.settings import Broker

blueprint = Blueprint("control", __name__)

MAX_SPEED = 3600
MAX_SKIP_S = 7 * 24 * 3600
SEND_TIMEOUT_S = 3.0


def publish(broker: Broker, command: dict[str, Any]) -> None:
    """Send one command to the source and wait until the broker has it.

    Raises `OSError`, `RuntimeError` or `BrokerRefusedError` when the broker does not take it
    in time. A connection for each command: they are rare, and none has to be kept alive
    between them.
    """
    client = mqtt.connect(broker, f"web-{uuid.uuid4().hex[:12]}")
    try:
        sent = client.publish(f"{broker.prefix}/control/source", orjson.dumps(command), qos=1)
        sent.wait_for_publish(SEND_TIMEOUT_S)
        if not sent.is_published():
            raise RuntimeError(f"no acknowledgement within {SEND_TIMEOUT_S:g} s")
    finally:
        client.disconnect()
        client.loop_stop()


def _number(name: str, value: Any, lowest: float, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise bad_parameter(name, f"{value!r} is not a number")
    if not lowest <= value <= highest:
        raise bad_parameter(name, f"{value!r} is not between {lowest:g} and {highest:g}")
    return value


def parse_command(body: dict[str, Any]) -> dict[str, Any]:
    """`{"speed": n|null}` or `{"skip_s": n}`, checked; anything else is a problem."""
    if set(body) == {"speed"}:
        speed = body["speed"]
        return {"speed": None if speed is None else _number("speed", speed, 0, MAX_SPEED)}
    if set(body) == {"skip_s"}:
        return {"skip_s": _number("skip_s", body["skip_s"], 1, MAX_SKIP_S)}
    name = next((key for key in body if key not in {"speed", "skip_s"}), "speed")
    raise bad_parameter(name, 'send either {"speed": number or null} or {"skip_s": seconds}')


@blueprint.get("/clock")
def show_clock() -> Response:
    """Stream time, its speed and its source."""
    parameters.only()
    with Session(state().engine) as session:
        return as_json(clocks.read(session).as_json())


@blueprint.post("/clock")
def command_clock() -> Response:
    """Pause, change the speed of, or skip ahead in a replay or simulation."""
    command = parse_command(parameters.json_object())
    city = state()
    with Session(city.engine) as session:
        source = clocks.read(session).source
    if source not in clocks.CONTROLLED:
        raise ProblemError(
            409,
            "clock-not-controllable",
            "Clock not controllable",
            f"time comes from {source!r}; only a replay or a simulation can be controlled",
        )
    try:
        publish(city.settings.broker, command)
    except (OSError, RuntimeError, ValueError, mqtt.BrokerRefusedError) as error:
        raise ProblemError(
            503,
            "broker-unreachable",
            "Broker unreachable",
            f"the command could not be handed to the broker: {error}; try again",
        ) from error
    return as_json({"sent": command}, status=202)
