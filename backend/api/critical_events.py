"""`POST /context/critical_events`: what is critical to somebody now, without telling who.

It asks once what an instance of the template `critical_events` asks all the time; nothing
that is sent is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response

from citywise.backend.api import access, limits, parameters, problems
from citywise.backend.api.answers import as_json
from citywise.backend.api.open_events import OpenEvents, template_now
from citywise.backend.api.state import state
from citywise.backend.context.critical import CriticalEvent
from citywise.backend.context.question import Question, faults
from citywise.backend.packs.values import BadValuesError
from citywise.backend.times import iso

blueprint = Blueprint("critical_events", __name__)


@blueprint.post("/context/critical_events")
@access.city
@limits.counted("expensive")
def show_critical_events() -> Response:
    """The open events that are critical, the most critical first."""
    parameters.only()
    question = parameters.body(Question)
    if question.interest.type == "around_me" and question.position is None:
        message = "nothing is around a position that is not told; send `lat` and `lon`"
        raise problems.invalid([{"path": "position", "message": message}])
    with state().engine.connect() as connection:
        template, city = template_now(connection), OpenEvents.read(connection)
    try:
        found = city.critical(template, question.values(), question.context())
    except BadValuesError as error:
        raise problems.invalid(list(faults(error))) from None
    shown = [_critical_json(each, city.objects[each.id]) for each in found]
    return as_json({"now": iso(city.now_ms), "events": shown})


def _critical_json(found: CriticalEvent, event: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "event": event,
        "criticality": found.criticality,
        "rank": found.rank,
        "distance_m": found.metres,
        "why": list(found.why),
    }
