"""The page of the planners: travel and parking, on one map."""

from __future__ import annotations

from flask import Blueprint, Response, request

from citywise.apps.travel_planner import pool, streets
from citywise.apps.travel_planner.roads import cityfiles
from citywise.apps.travel_planner.roads.network import NetworkError
from citywise.backend.app import access, aside, page, problems, state

blueprint = Blueprint("plan_page", __name__)


@blueprint.get("/plan")
@access.city
def show_plan() -> Response:
    """Both planners; `?for=parking` opens that one, and the rest of the query is the request.

    Who opens it will ask soon: the planners get ready.
    """
    pool.soon(state().settings)
    return page("plan", has_map=True, section="plan")


@blueprint.get("/plan/streets.json")
@access.city
def show_streets() -> Response:
    """The streets below the map; empty where there is no road network."""
    file = cityfiles.network_file(state().settings)
    try:
        packed = aside(lambda: streets.packed(file))
    except NetworkError as error:
        raise problems.not_found(f"road network: {error}") from error
    answer = Response(packed, content_type="application/json")
    answer.headers["Content-Encoding"] = "gzip"
    answer.headers["Cache-Control"] = "no-cache"
    answer.add_etag()
    answer.make_conditional(request)
    return answer
