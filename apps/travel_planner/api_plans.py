"""Plans and named places over HTTP: asked of processes that plan (`pool`)."""

from __future__ import annotations

import math
from typing import Any

from flask import Blueprint, Response, request

from citywise.apps.travel_planner import pool
from citywise.apps.travel_planner.kept_plans import kept
from citywise.apps.travel_planner.replies import Reply
from citywise.apps.travel_planner.roads.basemap import Basemap
from citywise.apps.travel_planner.roads.cityfiles import BASEMAP, NETWORK
from citywise.apps.travel_planner.roads.network import RoadNetwork
from citywise.backend.app import access, limits, parameters, problems, state

blueprint = Blueprint("plans", __name__)
MOST_FOUND = 20
MOST_TEXT = 100
MOST_DEPARTURES = 200
MOST_MINUTES = 120


@blueprint.post("/plans/travel")
@access.city
@limits.counted("plans")
def plan_travel() -> Response:
    """Plan a journey."""
    return _planned("travel")


@blueprint.post("/plans/parking")
@access.city
@limits.counted("plans")
def plan_parking() -> Response:
    """Plan where to park."""
    return _planned("parking")


@blueprint.get("/stops/<path:stop_id>/departures")
@access.city
@limits.counted("search")
def list_departures(stop_id: str) -> Response:
    """The next departures of a stop or station."""
    parameters.only("from", "minutes", "limit", "lang")
    body = {
        "stop": stop_id,
        "from_ms": _instant("from"),
        "minutes": parameters.integer("minutes", 60, 1, 24 * 60),
        "limit": parameters.integer("limit", 20, 1, MOST_DEPARTURES),
    }
    return _answer(ask("departures", body, parameters.language()))


@blueprint.get("/stops.geojson")
@access.city
@limits.counted("search")
def list_stops() -> Response:
    """The stops and stations of the timetables, as GeoJSON."""
    parameters.only()
    answer = _answer(ask("stops", {}))
    answer.content_type = "application/geo+json"
    return answer


@blueprint.get("/reachable.geojson")
@access.city
@limits.counted("search")
def show_reachable() -> Response:
    """Where one can be by line and on foot within some minutes, as GeoJSON."""
    parameters.only("lat", "lon", "from", "minutes")
    body = {
        **_position(),
        "from_ms": _instant("from"),
        "minutes": parameters.integer("minutes", 30, 1, MOST_MINUTES),
    }
    answer = _answer(ask("reachable", body))
    answer.content_type = "application/geo+json"
    answer.headers["Cache-Control"] = "no-store"
    return answer


@blueprint.get("/plans/<plan>")
@access.city
def show_plan(plan: str) -> Response:
    """A plan that was answered within the last half hour, by whoever knows its id."""
    parameters.only()
    body = kept().body(plan)
    if body is None:
        raise problems.not_found("such plan (any more); plan again")
    return _private(body)


@blueprint.get("/places/search")
@access.city
@limits.counted("search")
def search_places() -> Response:
    """Named places by the beginnings of their words, those near a position first."""
    parameters.only("q", "lat", "lon", "limit")
    text = _text("q")
    where = {"lat": _degrees("lat", 90), "lon": _degrees("lon", 180)}
    if (where["lat"] is None) != (where["lon"] is None):
        raise problems.bad_parameter("lat", "name both `lat` and `lon`, or neither")
    limit = parameters.integer("limit", 8, 1, MOST_FOUND)
    return _answer(ask("search", {"q": text, "limit": limit, **where}))


@blueprint.get("/places/nearest")
@access.city
@limits.counted("search")
def nearest_place() -> Response:
    """The named place that best says where a position is."""
    parameters.only("lat", "lon")
    return _answer(ask("nearest", _position()))


@blueprint.get("/expected")
@access.city
@limits.counted("search")
def show_expected() -> Response:
    """How fast roads and how full garages are expected to be at a time, or usually are."""
    parameters.only("at", "usual")
    at_ms = _instant("at")
    if at_ms is None:
        raise problems.bad_parameter("at", "name a time")
    body = {"at_ms": at_ms, "usual": bool(parameters.boolean("usual"))}
    return _answer(ask("expected", body))


@blueprint.get("/points.geojson")
@access.city
def list_points() -> Response:
    """Named places of some kinds, or all, as GeoJSON."""
    parameters.only("kind")
    answer = _answer(ask("points", {"kinds": parameters.choices("kind")}))
    answer.content_type = "application/geo+json"
    return answer


@blueprint.get("/basemap.geojson")
@access.city
def show_basemap() -> Response:
    """What the map shows below the streets: water, green, rails, names of quarters; and
    whose data the streets and all of it are."""
    parameters.only()
    folder = state().settings.city_dir
    whose = RoadNetwork.licence_of(folder / NETWORK)
    ground = Basemap.load(folder / BASEMAP).geojson(licence=whose)
    answer = Response(ground, content_type="application/geo+json")
    answer.headers["Cache-Control"] = "public, max-age=300"
    return answer


def ask(what: str, body: dict[str, Any], language: str = "en") -> Reply:
    """What a planner answers; raises a problem where it cannot."""
    reply = pool.of(state().settings).ask({"do": what, "body": body, "language": language})
    if reply.status == 422:
        raise problems.invalid(reply.more["faults"])
    if reply.status == 404:
        raise problems.ProblemError(404, "not-found", "Not found", reply.more["detail"])
    if reply.status != 200:
        raise _problem(reply)
    return reply


def _problem(reply: Reply) -> problems.ProblemError:
    told = reply.more
    found = problems.ProblemError(reply.status, told["slug"], told["title"], told["detail"])
    found.headers["Retry-After"] = "5"
    return found


def _planned(what: str) -> Response:
    parameters.only("lang")
    body = parameters.json_object()
    try:
        reply = ask(what, body, parameters.language())
    except problems.ProblemError as problem:
        if problem.status == 503:
            _refuse_ill_formed(what, body)
        raise
    kept().keep(reply.more["plan"], reply.body)
    return _private(reply.body)


def _refuse_ill_formed(what: str, body: dict[str, Any]) -> None:
    """A problem if a request could not be planned anywhere: better told than that none can."""
    from citywise.apps.travel_planner import requests
    from citywise.apps.travel_planner.transit import request as transit_request

    try:
        if what == "travel" and transit_request.is_timetabled(body):
            transit_request.read(body)
        elif what == "travel":
            requests.read(requests.TravelRequest, body, None)
        else:
            requests.read(requests.ParkingRequest, body, None)
    except requests.RequestError as error:
        raise problems.invalid(error.faults) from None


def _private(body: bytes) -> Response:
    """A plan says where somebody goes: no cache keeps it."""
    answer = Response(body, content_type="application/json")
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _answer(reply: Reply) -> Response:
    answer = Response(reply.body, content_type="application/json")
    answer.headers["Cache-Control"] = "no-cache"
    return answer


def _text(name: str) -> str:
    text = request.args.get(name, "").strip()
    if not 1 <= len(text) <= MOST_TEXT:
        raise problems.bad_parameter(name, f"expected 1 to {MOST_TEXT} characters to look for")
    return text


def _instant(name: str) -> int | None:
    """The time that a request names, Unix ms; None: none."""
    from citywise.apps.travel_planner.transit.request import FIRST_S, LAST_S

    found_ms = parameters.instant(name)
    if found_ms is not None and not FIRST_S * 1000 <= found_ms <= LAST_S * 1000:
        raise problems.bad_parameter(name, "expected a time in the years 1971 to 2199")
    return found_ms


def _position() -> dict[str, float]:
    """The position that a request names."""
    where = {"lat": _degrees("lat", 90), "lon": _degrees("lon", 180)}
    for name, value in where.items():
        if value is None:
            raise problems.bad_parameter(name, "expected a position; name `lat` and `lon`")
    return {name: value for name, value in where.items() if value is not None}


def _degrees(name: str, most: float) -> float | None:
    text = request.args.get(name)
    try:
        value = None if text is None else float(text)
    except ValueError:
        value = math.nan
    if value is not None and not abs(value) <= most:
        raise problems.bad_parameter(name, f"{text!r} is not a number from -{most} to {most}")
    return value
