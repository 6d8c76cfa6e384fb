"""What is asked of journeys by public transport, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from citywise.apps.travel_planner.requests import RequestError, point_fault
from citywise.backend.api.body_faults import faults
from citywise.backend.times import parse_ms

MOST_ALTERNATIVES = 1_000
_NOT_YET = ("park_and_ride", "bike_and_ride", "all")
_POINT = 'expected {"lat": …, "lon": …} or {"stop": "stop_id"}'


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )


class End(_Part):
    """A position in degrees, or a stop or station."""

    lat: float | None = Field(default=None, ge=-90, le=90)
    lon: float | None = Field(default=None, ge=-180, le=180)
    stop: str | None = None


class WalkWish(_Part):
    """How far in all, and how fast."""

    max_m: float = Field(default=1000.0, ge=0, le=20_000)
    speed_ms: float = Field(default=1.33, ge=0.1, le=10)


class TransitRequest(_Part):
    """How to get from here to there by timetable."""

    start: End = Field(alias="from")
    to: End
    mode: Literal["transit"]
    depart: str | None = None
    arrive: str | None = None
    walk: WalkWish = WalkWish()
    alternatives: int = Field(default=3, ge=1, le=MOST_ALTERNATIVES)

    @field_validator("depart", "arrive")
    @classmethod
    def _is_a_time(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                parse_ms(text)
            except (ValueError, OverflowError):
                raise ValueError(
                    f"found {text[:40]!r}, expected a time in ISO 8601 with a zone"
                ) from None
        return text


def read(body: Mapping[str, Any]) -> TransitRequest:
    """A request's body; raises `RequestError` with all that is wrong, or is not offered."""
    mode = body.get("mode")
    if mode in _NOT_YET:
        raise point_fault("mode", "not-offered", f"`{mode}` is not offered yet; write `transit`")
    if mode in ("car", "bicycle", "walk", None):
        message = "with timetables alone only `transit` is answered; give --data for the others"
        raise point_fault("mode", "not-offered", message)
    for path in ("from", "to"):
        if not isinstance(body.get(path, {}), Mapping):
            raise point_fault(path, "bad-point", _POINT)
    for name in ("via", "constraints", "preferences"):
        if body.get(name):
            message = "is not offered for `transit` yet; leave it out"
            raise point_fault(name, "not-offered", message)
    known = {name: value for name, value in body.items() if name not in ("constraints", "via")}
    known = {name: value for name, value in known.items() if name != "preferences"}
    try:
        request = TransitRequest.model_validate(known)
    except ValidationError as error:
        names = [field.alias or name for name, field in TransitRequest.model_fields.items()]
        raise RequestError(faults(error, names)) from None
    for path, end in (("from", request.start), ("to", request.to)):
        if (end.stop is None) == (end.lat is None) or (end.lat is None) != (end.lon is None):
            raise point_fault(path, "bad-point", _POINT)
    if request.depart is not None and request.arrive is not None:
        raise point_fault("arrive", "contradiction", "give `depart` or `arrive`, not both")
    if request.start == request.to:
        raise point_fault("to", "same", "it is where you start; choose another place")
    return request
