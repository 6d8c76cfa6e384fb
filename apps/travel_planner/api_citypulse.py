"""`/citypulse/reasoning_request`: plans for CityPulse's clients, in their format."""

from __future__ import annotations

from flask import Blueprint, Response

from citywise.apps.travel_planner.api_plans import ask
from citywise.backend.app import access, limits, parameters

blueprint = Blueprint("citypulse_plans", __name__, url_prefix="/citypulse")


@blueprint.post("/reasoning_request")
@access.city
@limits.counted("plans")
def reasoning_request() -> Response:
    """Answer a reasoning request, or one to find the way anew because of an event."""
    parameters.only()
    reply = ask("citypulse", parameters.json_object())
    answer = Response(reply.body, content_type="application/json")
    answer.headers["Cache-Control"] = "no-store"
    if note := reply.more.get("note"):
        answer.headers["Citypulse-Note"] = note.encode("ascii", "replace").decode()
    return answer
