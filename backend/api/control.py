"""The stream clock over HTTP, and commands to the source over MQTT."""

from __future__ import annotations

import math
from typing import Any

import orjson
from flask import Blueprint, Response
from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session

from citywise.backend.api import access, identity, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.problems import ProblemError, bad_parameter
from citywise.backend.api.state import state
from citywise.backend.operations.sending import Message, NotSentError, send
from citywise.backend.people import audit
from citywise.backend.settings import Broker
from citywise.backend.store import clocks
from citywise.backend.store.models import AuditRow
from citywise.backend.times import iso

blueprint = Blueprint("control", __name__)

PACED = "clock.paced"
MAX_SPEED = 3600
MAX_SKIP_S = 7 * 24 * 3600


def publish(broker: Broker, command: dict[str, Any]) -> None:
    """Send one command to the source; raises `NotSentError` where the broker does not take it."""
    send(broker, [Message(f"{broker.prefix}/control/source", orjson.dumps(command))])


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
@access.city
def show_clock() -> Response:
    """Stream time, its speed and its source."""
    parameters.only()
    with Session(state().engine) as session:
        return as_json(clocks.read(session).as_json())


@blueprint.post("/clock")
@access.role("developer", "admin")
def command_clock() -> Response:
    """Pause, change the speed of, or skip ahead in a replay or simulation."""
    command = parse_command(parameters.json_object())
    city = state()
    with Session(city.engine) as session:
        clock = clocks.read(session)
    source = clock.source
    if source not in clocks.CONTROLLED:
        raise ProblemError(
            409,
            "clock-not-controllable",
            "Clock not controllable",
            f"time comes from {source!r}; only a replay or a simulation can be controlled",
        )
    try:
        publish(city.settings.broker, command)
    except NotSentError as error:
        raise ProblemError(
            503, "broker-unreachable", "Broker unreachable", f"the command was {error}"
        ) from error
    with city.engine.begin() as connection:
        action = PACED if "speed" in command else "clock.skipped"
        before = {"speed": clock.speed, "now": iso(clock.now_ms)}
        audit.record(connection, identity.own_id(), action, "clock", before, command)
    return as_json({"sent": command}, status=202)


@audit.undoable(PACED)
def _may_be_paced_as_before(connection: Connection, action: audit.Action) -> None:
    """What time has passed has passed; the speed there was is told by `pace_as_before`."""
    if clocks.read(connection).source not in clocks.CONTROLLED:
        raise audit.NotUndoableError("id", "time is not ours to control any more")
    row = AuditRow
    newer = (row.id > action.id, row.action == PACED, row.undone_ms.is_(None))
    if connection.scalar(select(func.count()).where(*newer)):
        raise audit.NotUndoableError("id", "another speed was set since")


def pace_as_before(action: audit.Action) -> None:
    """Tell the source the speed there was before an action that can be undone; outside the
    transaction that notes it, as a broker may take seconds."""
    if action.action != PACED or not action.is_undoable:
        return
    city = state()
    with city.engine.connect() as connection:
        _may_be_paced_as_before(connection, action)
    try:
        publish(city.settings.broker, {"speed": action.before["speed"]})
    except NotSentError as error:
        raise audit.NotUndoableError("id", f"the command was {error}") from None
