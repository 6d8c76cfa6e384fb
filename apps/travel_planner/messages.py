"""CityPulse's reasoning requests, and answers in their format (docs/travel-planner.md).

What they got wrong is decided here: priorities, names of quantities, the radius, MAXIMIZE,
full garages. Answers are JSON texts within JSON, as theirs are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, ValidationError

from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.requests import (
    FUTURE_MS,
    PAST_MS,
    ParkingRequest,
    RequestError,
    Situation,
    TravelRequest,
    point_fault,
    read,
)
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.disturbances import OpenEvent
from citywise.backend.app import parameters, times
from citywise.backend.context.alignment import UnknownNameError, our_event_type
from citywise.backend.context.messages import (
    FunctionalDetails,
    Message,
    Place,
    ReasoningRequest,
    Scalar,
)
from citywise.backend.packs.ontology import local_name

ALTERNATIVES = 5
_QUANTITIES = {
    "TIME": "time",
    "TRAVEL_TIME": "time",
    "DISTANCE": "distance",
    "POLLUTION": "pollution",
    "COST": "cost",
    "WALK": "walk",
    "WALKING_DISTANCE": "walk",
}
"""Their names; constraints on POLLUTION are on the mean index, as theirs were."""
_OPERATORS: Mapping[str, str] = {
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "LESS_THAN_OR_EQUAL_TO": "<=",
    "EQUAL": "=",
    "EQUALS": "=",
    "GREATER_THAN_OR_EQUAL": ">=",
    "GREATER_THAN_OR_EQUAL_TO": ">=",
    "GREATER_THAN": ">",
}
_OPERATIONS = {"MINIMIZE": "minimise", "MAXIMIZE": "maximise"}
_IN = "functionalDetails"
_PARAMETERS = f"{_IN}.functionalParameters"
_PATHS = {
    "from": f"{_PARAMETERS}.STARTING_POINT",
    "to": f"{_PARAMETERS}.ENDING_POINT",
    "mode": f"{_PARAMETERS}.TRANSPORTATION_TYPE",
    "depart": f"{_PARAMETERS}.STARTING_DATETIME",
    "arrive": f"{_PARAMETERS}.STARTING_DATETIME",
    "destination": f"{_PARAMETERS}.POINT_OF_INTEREST",
    "radius_m": f"{_PARAMETERS}.DISTANCE_RANGE",
    "stay_minutes": f"{_PARAMETERS}.TIME_OF_STAY",
    "constraints": f"{_IN}.functionalConstraints",
    "preferences": f"{_IN}.functionalPreferences",
}
"""Where in their message stands what our request calls so."""
_LAST_MS = 253_402_300_799_000.0
"""The end of the year 9999."""
Json = dict[str, Any]


class FunctionalConstraint(Message):
    """A limit."""

    name: str
    operator: str
    value: Scalar


class FunctionalConstraints(Message):
    """Their list, within an object of the same name."""

    functional_constraints: tuple[FunctionalConstraint, ...] = ()


class FunctionalPreference(Message):
    """A wish; that of order 1 matters most."""

    operation: str
    value: str
    order: int = 1


class FunctionalPreferences(Message):
    """Their list, within an object of the same name."""

    functional_preferences: tuple[FunctionalPreference, ...] = ()


class PlanDetails(FunctionalDetails):
    """What is asked."""

    functional_constraints: FunctionalConstraints = FunctionalConstraints()
    functional_preferences: FunctionalPreferences = FunctionalPreferences()


class PlanRequest(ReasoningRequest):
    """Where to go, or where to park."""

    ar_type: Literal["TRAVEL_PLANNER", "PARKING_SPACES"]
    functional_details: PlanDetails


class Category(Message):
    """Their name for a type of events."""

    category_name: str


class ReportedEvent(Message):
    """An event because of which the way is to be found anew."""

    event_id: str
    event_category: Category
    event_level: Annotated[int, Field(ge=0, le=5)] = 1
    event_place: Place


class ReRouteRequest(Message):
    """A request again, now that something has happened."""

    type: Literal["ReRouteReasoningRequest"]
    r_request: PlanRequest
    event: ReportedEvent


def answered(
    body: Mapping[str, Any], planner: Planner, conditions: Conditions
) -> tuple[Json, list[str]]:
    """The answer to a message, and what to say of it; raises `RequestError`."""
    notes: list[str] = []
    if "rRequest" in body or body.get("type") == "ReRouteReasoningRequest":
        message = _read(ReRouteRequest, body)
        request, conditions = message.r_request, conditions.including(_event(message, conditions))
    else:
        request = _read(PlanRequest, body)
    situation = planner.situation(conditions)
    try:
        if request.ar_type == "TRAVEL_PLANNER":
            travel = read(TravelRequest, _travel(request, situation, notes), situation)
            plan = planner.travel(travel, conditions)
            answers = [_route(number, each) for number, each in enumerate(plan["routes"], 1)]
        else:
            parking = read(ParkingRequest, _parking(request, situation, notes), situation)
            plan = planner.parking(parking, conditions)
            answers = [_space(each) for each in plan["garages"]]
    except RequestError as error:
        raise RequestError([_theirs(fault) for fault in error.faults]) from None
    notes += [plan["conflict"]["relaxation"]] if plan["conflict"] else []
    return {"answers": [orjson.dumps(each).decode() for each in answers]}, notes


# --- Reading -----------------------------------------------------------------------------


def _read(model: type[Any], body: Mapping[str, Any]) -> Any:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise RequestError(
            [
                {**words, "code": fault["type"].replace("_", "-")}
                for fault, words in zip(
                    error.errors(include_url=False), parameters.faults(error, ()), strict=True
                )
            ]
        ) from None


def _travel(request: PlanRequest, situation: Situation, notes: list[str]) -> Json:
    return {
        "from": _point(request, "STARTING_POINT", situation, notes),
        "to": _point(request, "ENDING_POINT", situation, notes),
        "mode": _mode(request),
        "depart": _instant(request, situation, notes),
        "alternatives": ALTERNATIVES,
        **_wanted(request, pollution="air", distance="distance"),
    }


def _parking(request: PlanRequest, situation: Situation, notes: list[str]) -> Json:
    start = request.parameter("STARTING_POINT") is not None
    stay, radius = _number(request, "TIME_OF_STAY"), _number(request, "DISTANCE_RANGE")
    return {
        "destination": _point(request, "POINT_OF_INTEREST", situation, notes),
        "from": _point(request, "STARTING_POINT", situation, notes) if start else None,
        "arrive": _instant(request, situation, notes),
        **({} if stay is None else {"stay_minutes": round(stay)}),
        **({} if radius is None else {"radius_m": radius}),
        **_wanted(request, pollution="pollution", distance="walk"),
    }


def _point(request: PlanRequest, name: str, situation: Situation, notes: list[str]) -> Json:
    """`10.2 56.1`, longitude first; exchanged where only that is in the city."""
    text = request.parameter(name)
    try:
        lon, lat = map(float, (text or "").replace(",", " ").split())
    except ValueError:
        found = "nothing" if text is None else f"`{text[:40]}`"
        message = f'found {found}, expected longitude and latitude, as in "10.2039 56.1629"'
        raise point_fault(_path_of(name), "bad-point", message) from None
    west, south, east, north = situation.bounds
    if not (west - 1 <= lon <= east + 1) and south - 1 <= lon <= north + 1:
        notes.append(f"{name}: latitude and longitude were exchanged; they were exchanged back")
        lon, lat = lat, lon
    return {"lat": lat, "lon": lon}


def _path_of(name: str) -> str:
    """Our name for a parameter."""
    return next((ours for ours, theirs in _PATHS.items() if theirs.endswith(f".{name}")), name)


def _mode(request: PlanRequest) -> str:
    text = request.parameter("TRANSPORTATION_TYPE") or "car"
    return {"bike": "bicycle", "walking": "walk", "foot": "walk"}.get(text.lower(), text.lower())


def _instant(request: PlanRequest, situation: Situation, notes: list[str]) -> str | None:
    """The time that is asked for; now where that is out of reach, which is said."""
    moment = _number(request, "STARTING_DATETIME")
    if moment is None:
        return None
    now = situation.now_ms
    past, far = moment < now - PAST_MS, moment > now + FUTURE_MS
    if past or far:
        text = times.iso(round(min(max(moment, 0.0), _LAST_MS)))
        wrong = "past" if past else "more than a year from now"
        notes.append(f"STARTING_DATETIME: {text} is {wrong}; planned for {times.iso(now)}")
    return None if past or far or moment <= now else times.iso(round(moment))


def _number(request: PlanRequest, name: str) -> float | None:
    text = request.parameter(name)
    try:
        value = None if text is None else float(text)
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        message = f"found `{(text or '')[:40]}`, expected a number"
        raise point_fault(_path_of(name), "bad-number", message)
    return value


def _wanted(request: PlanRequest, pollution: str, distance: str) -> Json:
    """Limits, and wishes in their order; `pollution` and `distance` are what limits call so."""
    details = request.functional_details
    faults: list[Json] = []
    limits: list[Json] = []
    for number, limit in enumerate(details.functional_constraints.functional_constraints):
        path = f"constraints.{number}"
        on = _known(limit.name, _QUANTITIES, f"{path}.name", faults)
        on = {"pollution": pollution, "distance": distance}.get(on, on)
        op = _known(limit.operator, _OPERATORS, f"{path}.operator", faults)
        limits.append({"on": on, "op": op, "value": _limit(limit.value, f"{path}.value", faults)})
    wishes: list[Json] = []
    given = list(details.functional_preferences.functional_preferences)
    for number, wish in sorted(enumerate(given), key=lambda each: each[1].order):
        path = f"preferences.{number}"
        way = _known(wish.operation, _OPERATIONS, f"{path}.operation", faults)
        on = _known(wish.value, _QUANTITIES, f"{path}.value", faults)
        wishes.append({way: distance if on == "distance" else on})
    if faults:
        raise RequestError(faults)
    return {"constraints": limits, "preferences": wishes}


def _known(name: str, known: Mapping[str, str], path: str, faults: list[Json]) -> str:
    found = known.get(name.strip().upper().replace(" ", "_"))
    if found is None:
        guess = parameters.did_you_mean(name.upper(), known, f"expected one of {', '.join(known)}")
        faults.append({"path": path, "message": f"found `{name[:40]}`; {guess}", "code": "unknown"})
    return found or ""


def _limit(value: object, path: str, faults: list[Json]) -> float:
    try:
        return float(str(value))
    except ValueError:
        message = f"found `{str(value)[:40]}`, expected a number"
        faults.append({"path": path, "message": message, "code": "bad-number"})
        return 0.0


def _theirs(fault: Mapping[str, Any]) -> Json:
    """A fault where it stands in their message."""
    first, dot, rest = str(fault["path"]).partition(".")
    return {**fault, "path": f"{_PATHS.get(first, first)}{dot}{rest}"}


def _event(message: ReRouteRequest, conditions: Conditions) -> OpenEvent:
    """The event that was reported, as one of the city's own."""
    event = message.event
    points = [(each.longitude, each.latitude) for each in event.event_place.points]
    point = {"type": "Point", "coordinates": list(points[0])}
    line = {"type": "LineString", "coordinates": [list(each) for each in points]}
    return OpenEvent(
        id=event.event_id,
        type=_type(event.event_category.category_name),
        level=max(event.event_level, 1),
        place="",
        lon=points[0][0],
        lat=points[0][1],
        start_ms=conditions.now_ms,
        geometry=point if len(points) == 1 else line,
    )


def _type(name: str) -> str:
    """Our type of events for theirs."""
    try:
        return local_name(our_event_type(name))
    except UnknownNameError as error:
        path = "event.eventCategory.categoryName"
        raise point_fault(path, "unknown", str(error)) from None


# --- Answering ---------------------------------------------------------------------------


def _route(number: int, route: Json) -> Json:
    line = route["geometry"]["coordinates"]
    return {
        "id": number,
        "route": [{"longitude": lon, "latitude": lat} for lon, lat in line],
        "length": round(route["distance_m"]),
        "number_of_seconds": round(route["time_s"]),
        "arType": "TRAVEL_PLANNER",
    }


def _space(garage: Json) -> Json:
    return {
        "position": {"longitude": garage["lon"], "latitude": garage["lat"]},
        "availablePS": garage["free"],
        "walking_distance": round(garage["walk_m"]),
        "arType": "PARKING_SPACES",
    }
