"""`citywise decide travel|parking`: one decision on recorded data, as it was known then."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import orjson

from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.requests import (
    ParkingRequest,
    RequestError,
    Situation,
    TravelRequest,
    read,
)
from citywise.apps.travel_planner.roads import City, Gazetteer, aarhus
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.recorded import recorded
from citywise.backend.app import CitywiseError
from citywise.backend.city.aarhus import Pack

Request = TypeVar("Request", TravelRequest, ParkingRequest)


class DecideError(CitywiseError):
    """A request's file cannot be answered; names the file, the field and what to write."""


def travel(request: Path, data: Path, at_ms: int | None) -> Mapping[str, Any]:
    """The answer to a journey's request in a file, by what was known at a time (Unix ms; None:
    where the data end)."""
    return _decided(TravelRequest, Planner.travel, request, data, at_ms)


def parking(request: Path, data: Path, at_ms: int | None) -> Mapping[str, Any]:
    """The answer to a request for parking, likewise."""
    return _decided(ParkingRequest, Planner.parking, request, data, at_ms)


def transit(
    request: Path,
    data: Path | None,
    feeds: Sequence[Path],
    realtime: Sequence[Path],
    at_ms: int | None,
) -> Mapping[str, Any]:
    """The answer to a journey's request in a file by timetables (GTFS archives) and what is
    known of the day (GTFS-Realtime), on the streets of the data or without; by default it departs
    at a time (Unix ms; None: on the first day of service)."""
    from citywise.apps.travel_planner.transit.decide import transit as planned
    from citywise.apps.travel_planner.transit.request import is_timetabled
    from citywise.apps.travel_planner.transit.roads import Around

    body = _body(request)
    if data is not None and not is_timetabled(body):
        return travel(request, data, at_ms)

    def around(now_ms: int) -> Around:
        assert data is not None
        planner = Planner(City(aarhus.network(data), Gazetteer(())))
        return Around(planner, recorded(data, planner.city.network, now_ms))

    try:
        return planned(body, feeds, at_ms, realtime, None if data is None else around)
    except RequestError as error:
        raise _faulty(request, error) from None


def _decided(
    model: type[Request],
    plan: Callable[[Planner, Request, Conditions], dict[str, Any]],
    file: Path,
    data: Path,
    at_ms: int | None,
) -> Mapping[str, Any]:
    body = _body(file)
    _read(model, body, None, file)  # what is wrong whatever the data say, before they are read
    planner = Planner(City(aarhus.network(data), Gazetteer(())))
    conditions = recorded(data, planner.city.network, at_ms or Pack(data).span()[1])
    request = _read(model, body, planner.situation(conditions), file)
    try:
        return plan(planner, request, conditions)
    except RequestError as error:
        raise _faulty(file, error) from None


def _read(
    model: type[Request], body: Mapping[str, Any], situation: Situation | None, file: Path
) -> Request:
    try:
        return read(model, body, situation)
    except RequestError as error:
        raise _faulty(file, error) from None


def _faulty(file: Path, error: RequestError) -> DecideError:
    faults = (f"{file}: {each['path']}: {each['message']}" for each in error.faults)
    return DecideError("\n".join(faults))


def _body(file: Path) -> Mapping[str, Any]:
    """What a file asks, which must be a JSON object."""
    try:
        body = orjson.loads(file.read_bytes().removeprefix(BOM_UTF8))
    except OSError as error:
        raise DecideError(f"{file}: cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise DecideError(f"{file}: {message}; expected a JSON object") from None
    if not isinstance(body, dict):
        raise DecideError(
            f"{file}: found no JSON object; expected one as in docs/travel-planner.md"
        )
    return body
