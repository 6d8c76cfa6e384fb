"""What is asked of journeys by public transport, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from citywise.apps.travel_planner.requests import (
    Bound,
    Preference,
    each_once,
    no_contradiction,
    point_fault,
)
from citywise.apps.travel_planner.requests import read as read_as
from citywise.backend.app import times

MOST_ALTERNATIVES = 1_000
MOST_VIA = 5
FIRST_S, LAST_S = 31_536_000, 7_258_118_400
"""Times that can be asked about: the years 1971 to 2199, Unix seconds."""
MOST_WITHIN_MIN = 180
"""The longest range of departures."""
TransitMode = Literal["transit", "park_and_ride", "bike_and_ride", "all"]
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


Criterion = Literal["time", "distance", "pollution", "cost", "walk", "changes"]


class JourneyBound(Bound):
    """What a quantity of every journey must be."""

    on: Criterion  # type: ignore[assignment]


class JourneyPreference(Preference):
    """One quantity of journeys that should be as small, or as large, as can be."""

    minimise: Criterion | None = None  # type: ignore[assignment]
    maximise: Criterion | None = None  # type: ignore[assignment]


class TransitRequest(_Part):
    """How to get from here to there by timetable."""

    start: End = Field(alias="from")
    to: End
    via: Annotated[list[End], Field(max_length=MOST_VIA)] = []
    mode: TransitMode
    depart: str | None = None
    arrive: str | None = None
    within_min: int | None = Field(default=None, ge=1, le=MOST_WITHIN_MIN)
    walk: WalkWish = WalkWish()
    constraints: Annotated[
        list[JourneyBound], Field(max_length=12), AfterValidator(no_contradiction)
    ] = []
    preferences: Annotated[
        list[JourneyPreference], Field(max_length=6), AfterValidator(each_once)
    ] = []
    alternatives: int = Field(default=3, ge=1, le=MOST_ALTERNATIVES)

    @field_validator("depart", "arrive")
    @classmethod
    def _is_a_time(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                times.parse_ms(text)
            except (ValueError, OverflowError):
                raise ValueError(
                    f"found {text[:40]!r}, expected a time in ISO 8601 with a zone"
                ) from None
        return text

    @property
    def times(self) -> tuple[str, ...]:
        """Which ends of a journey count: the one that is not given, of a range both."""
        both = ("departure", "arrival") if self.arrive is not None else ("arrival", "departure")
        return both if self.within_min is not None else both[:1]

    @property
    def places(self) -> list[tuple[str, End]]:
        """All places that the journey goes along, by where they are in the request."""
        on_the_way = [(f"via[{number}]", end) for number, end in enumerate(self.via)]
        return [("from", self.start), *on_the_way, ("to", self.to)]


def is_timetabled(body: Mapping[str, Any]) -> bool:
    """Whether a request is about public transport."""
    return body.get("mode") in get_args(TransitMode)


def read(body: Mapping[str, Any]) -> TransitRequest:
    """A request's body; raises `RequestError` with all that is wrong with it."""
    if not is_timetabled(body):
        modes = ", ".join(f"`{mode}`" for mode in get_args(TransitMode))
        found = f"found {str(body.get('mode'))[:40]!r}, expected {modes}"
        message = f"{found}; give streets (--data) for other modes"
        raise point_fault("mode", "not-offered", message)
    for path in ("from", "to"):
        if not isinstance(body.get(path, {}), Mapping):
            raise point_fault(path, "bad-point", _POINT)
    request = read_as(TransitRequest, body, None)
    for path, end in request.places:
        if (end.stop is None) == (end.lat is None) or (end.lat is None) != (end.lon is None):
            raise point_fault(path, "bad-point", _POINT)
    if request.depart is not None and request.arrive is not None:
        raise point_fault("arrive", "contradiction", "give `depart` or `arrive`, not both")
    for (_, one), (path, other) in pairwise(request.places):
        if one == other:
            where = "you start" if path == "to" and not request.via else "you come from"
            raise point_fault(path, "same", f"it is where {where}; choose another place")
    return request
