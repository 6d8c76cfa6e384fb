"""Observations that devices post which do not speak MQTT; they go on as if they had."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
from flask import Blueprint, Response
from pydantic import ValidationError

from citywise.backend.api import access, identity, limits, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.body_faults import faults
from citywise.backend.api.problems import ProblemError, fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.handing import NotHandedError, hand
from citywise.backend.kinds import IDENTITY, Reader

blueprint = Blueprint("observations", __name__)
MOST = 1000
"""Observations in one body."""


@blueprint.post("/observations/<kind>")
@access.role("admin", right="sensors")
@limits.counted("observations")
def post_observations(kind: str) -> Response:
    """Hand one observation, or a list of them, to the broker: those that are not at fault."""
    parameters.only()
    known = state().kinds()
    if kind not in known:
        raise not_found(f"kind {kind!r}")
    scope = identity.principal().scope
    if scope is not None and not scope.tells(kind):
        detail = f"the token is not for the kind {kind!r}"
        raise ProblemError(403, "not-allowed", "Not allowed", detail)
    told = parameters.json_body()
    several = told if isinstance(told, list) else [told]
    if not 1 <= len(several) <= MOST:
        message = f"found {len(several)} observations, expected 1 to {MOST}"
        raise invalid([fault("body", message)])
    allowed = partial(scope.tells, kind) if scope is not None else _anybody
    sound, errors = _told_apart(known.reader(kind), several, isinstance(told, list), allowed)
    if not sound:
        raise invalid(errors)
    broker = state().settings.broker
    topic = f"{broker.prefix}/observations/{kind}"
    try:
        aside(lambda: hand(broker, topic, orjson.dumps(sound)))
    except NotHandedError as error:
        raise ProblemError(503, "unavailable", "Not available", str(error)) from None
    return as_json({"accepted": len(sound), "errors": errors}, 202)


def _told_apart(
    reader: Reader, several: list[Any], is_list: bool, allowed: Callable[[str], bool]
) -> tuple[list[Any], list[dict[str, str]]]:
    """The observations that are sound, and all that is wrong with the others, and where."""
    sound: list[Any] = []
    errors: list[dict[str, str]] = []
    for index, one in enumerate(several):
        before = f"{index}." if is_list else ""
        try:
            sensor = reader.one(orjson.dumps(one)).sensor
        except ValidationError as error:
            for each in faults(error, IDENTITY):
                errors.append({**each, "path": f"{before}{each['path']}"})
            continue
        if allowed(sensor):
            sound.append(one)
        else:
            errors.append(fault(f"{before}sensor", f"the token is not for the sensor {sensor!r}"))
    return sound, errors


def _anybody(_sensor: str) -> bool:
    return True
