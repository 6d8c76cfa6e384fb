"""What people ask a planner, read and checked with all faults at once (docs/api.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from citywise.apps.travel_planner.decisions import Constraint
from citywise.apps.travel_planner.decisions.bounds import bounds as exact_bounds
from citywise.apps.travel_planner.roads import Mode
from citywise.backend.app import CitywiseError, geometry, parameters, times

Criterion = Literal["time", "distance", "pollution", "cost", "walk"]
TravelBound = Literal["time", "distance", "pollution", "cost", "walk", "air"]
ParkingBound = Literal["walk", "cost", "time", "distance", "pollution", "free"]
Op = Literal["<", "<=", "=", ">=", ">"]
Bounds = tuple[float, float, float, float]
"""West, south, east and north end, degrees."""

MOST_ALTERNATIVES = 8
MOST_RADIUS_M = 10_000
MOST_STAY_MIN = 30 * 24 * 60
MOST_VALUE = 1_000_000.0
"""Of a limit."""
PAST_MS, FUTURE_MS = 60_000, 366 * 24 * 3_600_000
_MARGIN_DEG = 0.03
"""So far outside of its streets a point may still be meant for the city."""
_SAME_M = 1.0
OF_DRIVE = ("time", "distance", "pollution")


class RequestError(CitywiseError):
    """A request cannot be planned; `faults` have `path`, `message`, `code` and perhaps a
    `suggestion` (a value to write there instead)."""

    def __init__(self, faults: Sequence[Mapping[str, Any]]) -> None:
        super().__init__("; ".join(f"{fault['path']}: {fault['message']}" for fault in faults))
        self.faults = [dict(fault) for fault in faults]


@dataclass(frozen=True)
class Situation:
    """When and where one asks: stream time (Unix ms) and the ends of the city's streets."""

    now_ms: int
    bounds: Bounds


def _fault(code: str, message: str, **more: Any) -> PydanticCustomError:
    return PydanticCustomError("citywise", "{message}", {"message": message, "code": code, **more})


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )


class Spot(_Part):
    """A point, WGS84 degrees."""

    lat: float
    lon: float

    @model_validator(mode="after")
    def _in_the_city(self, info: ValidationInfo) -> Spot:
        if isinstance(info.context, Situation):
            _refuse_elsewhere(self, info.context.bounds)
        return self


def _refuse_elsewhere(spot: Spot, bounds: Bounds) -> None:
    if _is_within(spot.lon, spot.lat, bounds):
        return
    if _is_within(spot.lat, spot.lon, bounds):
        suggestion = {"lat": spot.lon, "lon": spot.lat}
        message = (
            f"found lat {spot.lat:g} and lon {spot.lon:g}: this looks like latitude and longitude "
            f'swapped; write {{"lat": {spot.lon:g}, "lon": {spot.lat:g}}}'
        )
        raise _fault("swapped", message, suggestion=suggestion)
    west, south, east, north = bounds
    raise _fault(
        "outside",
        f"found lat {spot.lat:g} and lon {spot.lon:g}, which is not in this city; expected lat "
        f"{south:.3f} to {north:.3f} and lon {west:.3f} to {east:.3f}",
    )


def _is_within(lon: float, lat: float, bounds: Bounds) -> bool:
    west, south, east, north = bounds
    margin = _MARGIN_DEG
    return west - margin <= lon <= east + margin and south - margin <= lat <= north + margin


def _instant(text: str | None, info: ValidationInfo) -> str | None:
    """A time in ISO 8601 with a zone, not past and at most a year ahead; in UTC."""
    if text is None:
        return None
    try:
        moment = times.parse_ms(text)
        times.iso(moment)  # In UTC it may lie in the year 10000.
    except (ValueError, OverflowError):
        raise _fault(
            "bad-time",
            f"found {text[:40]!r}, expected a time in ISO 8601 with a zone, such as "
            "2014-08-05T07:30:00Z, or null for now",
        ) from None
    if isinstance(info.context, Situation):
        _refuse_time(moment, info.context.now_ms)
    return times.iso(moment)


def _refuse_time(moment: int, now: int) -> None:
    if moment < now - PAST_MS:
        cure = f"write null for now, which is {times.iso(now)}, or a later time"
        message = f"{times.iso(moment)} is past; {cure}"
        raise _fault("past", message, suggestion=None)
    if moment > now + FUTURE_MS:
        message = (
            f"{times.iso(moment)} is more than a year from now; nothing is known of it. "
            f"Expected a time up to {times.iso(now + FUTURE_MS)}"
        )
        raise _fault("far-future", message)


Instant = Annotated[str | None, AfterValidator(_instant)]
Limit = Annotated[float, Field(ge=0, le=MOST_VALUE)]


class Bound(_Part):
    """What a quantity of every answer must be."""

    on: TravelBound
    op: Op
    value: Limit


class ParkingLimit(_Part):
    """What a quantity of every garage must be."""

    on: ParkingBound
    op: Op
    value: Limit


class Preference(_Part):
    """One quantity that should be as small, or as large, as can be."""

    minimise: Criterion | None = None
    maximise: Criterion | None = None

    @model_validator(mode="after")
    def _says_one(self) -> Preference:
        return _one(self)

    @property
    def on(self) -> str:
        return str(self.minimise or self.maximise)

    @property
    def direction(self) -> Literal["minimise", "maximise"]:
        return "minimise" if self.minimise else "maximise"


class ParkingPreference(Preference):
    """As `Preference`, of garages."""

    minimise: ParkingBound | None = None  # type: ignore[assignment]
    maximise: ParkingBound | None = None  # type: ignore[assignment]


SomePreference = TypeVar("SomePreference", bound=Preference)
SomeBound = TypeVar("SomeBound", Bound, ParkingLimit)


def _one(preference: SomePreference) -> SomePreference:
    if (preference.minimise is None) == (preference.maximise is None):
        raise _fault(
            "bad-preference",
            'expected one of `minimise` and `maximise`, as in {"minimise": "time"}',
        )
    return preference


def each_once(preferences: list[SomePreference]) -> list[SomePreference]:
    """No quantity twice: neither the same wish again, nor its contrary."""
    seen: dict[str, Preference] = {}
    for preference in preferences:
        before = seen.setdefault(preference.on, preference)
        if before is not preference and before.direction != preference.direction:
            message = f"`{preference.on}` is to be both least and most; leave one of them out"
            raise _fault("contradiction", message)
        if before is not preference:
            raise _fault("twice", f"`{preference.on}` stands there twice; leave one of them out")
    return preferences


def no_contradiction(bounds: list[SomeBound]) -> list[SomeBound]:
    """No limit twice, and no two of one quantity that nothing can keep to."""
    for one, other in combinations(bounds, 2):
        texts = [f"{each.on} {each.op} {each.value:g}" for each in (one, other)]
        if one == other:
            raise _fault("twice", f"`{texts[0]}` stands there twice; leave one of them out")
        if one.on == other.on and _exclude(one, other):
            raise _fault(
                "contradiction",
                f"`{texts[0]}` and `{texts[1]}` exclude each other: no {one.on} keeps to both; "
                "leave one of them out, or move its value",
            )
    return bounds


def _exclude(one: SomeBound, other: SomeBound) -> bool:
    """Whether no value meets two limits."""
    least, most = -math.inf, math.inf
    for limit in (one, other):
        for op, bound in exact_bounds(Constraint(limit.on, limit.op, limit.value)):
            least = max(least, {">=": bound, ">": bound + 1}.get(op, -math.inf))
            most = min(most, {"<=": bound, "<": bound - 1}.get(op, math.inf))
    return least > most


Preferences = Annotated[list[Preference], Field(max_length=5), AfterValidator(each_once)]
Constraints = Annotated[list[Bound], Field(max_length=12), AfterValidator(no_contradiction)]


class TravelRequest(_Part):
    """How to get from here to there; mode null: by any."""

    start: Spot = Field(alias="from")
    to: Spot
    mode: Literal["car", "bicycle", "walk"] | None = None
    depart: Instant = None
    arrive: Instant = None
    constraints: Constraints = []
    preferences: Preferences = []
    alternatives: int = Field(default=3, ge=1, le=MOST_ALTERNATIVES)

    @field_validator("to")
    @classmethod
    def _goes_somewhere(cls, to: Spot, info: ValidationInfo) -> Spot:
        start = info.data.get("start")
        if (
            isinstance(start, Spot)
            and geometry.apart_m(start.lon, start.lat, to.lon, to.lat) < _SAME_M
        ):
            raise _fault("same", "it is where you start; choose another place")
        return to

    @field_validator("arrive")
    @classmethod
    def _is_of_one_time(cls, arrive: str | None, info: ValidationInfo) -> str | None:
        if arrive is not None and info.data.get("depart") is not None:
            raise _fault("contradiction", "give `depart` or `arrive`, not both")
        return arrive

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that are candidates."""
        return (Mode(self.mode),) if self.mode else tuple(Mode)

    @property
    def depart_ms(self) -> int | None:
        """Unix ms; None: now, or as `arrive_ms` wants it."""
        return None if self.depart is None else times.parse_ms(self.depart)

    @property
    def arrive_ms(self) -> int | None:
        """By when to be there, Unix ms; None: as `depart_ms` wants it."""
        return None if self.arrive is None else times.parse_ms(self.arrive)


class ParkingRequest(_Part):
    """Where to leave a car near a place, for how long."""

    destination: Spot
    start: Spot | None = Field(default=None, alias="from")
    arrive: Instant = None
    stay_minutes: int = Field(default=60, ge=1, le=MOST_STAY_MIN)
    radius_m: float = Field(default=1000, ge=1, le=MOST_RADIUS_M)
    constraints: Annotated[
        list[ParkingLimit], Field(max_length=12), AfterValidator(no_contradiction)
    ] = []
    preferences: Annotated[
        list[ParkingPreference], Field(max_length=6), AfterValidator(each_once)
    ] = []

    @field_validator("constraints", "preferences")
    @classmethod
    def _drive_is_known(cls, wishes: list[Any], info: ValidationInfo) -> list[Any]:
        for wish in wishes:
            if wish.on in OF_DRIVE and info.data.get("start", wish) is None:
                message = f"`{wish.on}` is that of the drive; say where you drive `from`"
                raise _fault("no-drive", message)
        return wishes

    @property
    def arrive_ms(self) -> int | None:
        """Unix ms; None: as soon as can be."""
        return None if self.arrive is None else times.parse_ms(self.arrive)


Request = TypeVar("Request", bound=BaseModel)


def read(model: type[Request], body: Mapping[str, Any], situation: Situation | None) -> Request:
    """A body as a request; raises `RequestError` with all that is wrong.

    Without a situation neither times nor places are compared with the city's.
    """
    try:
        return model.model_validate(dict(body), context=situation)
    except ValidationError as error:
        raise RequestError(list(_faults(error, model))) from None


def _faults(error: ValidationError, model: type[BaseModel]) -> Iterator[dict[str, Any]]:
    names = [field.alias or name for name, field in model.model_fields.items()]
    found = error.errors(include_url=False)
    for fault, words in zip(found, parameters.faults(error, names), strict=True):
        context = fault.get("ctx", {})
        known = fault["type"] == "citywise"
        message = context["message"] if known else _corrected(fault, words["message"])
        code = context["code"] if known else fault["type"].replace("_", "-")
        suggestion = {"suggestion": context["suggestion"]} if "suggestion" in context else {}
        yield {"path": words["path"], "message": message, "code": code, **suggestion}


_WITHIN = {
    "via": ("lat", "lon", "stop"),
    "from": ("lat", "lon"),
    "to": ("lat", "lon"),
    "destination": ("lat", "lon"),
}
_OF_LISTS = {"constraints": ("on", "op", "value"), "preferences": ("minimise", "maximise")}
_POINT = 'a point, as in {"lat": 56.15, "lon": 10.2}'
_FORMS = {
    "from": _POINT,
    "to": _POINT,
    "destination": _POINT,
    "via": f"a list of places, each {_POINT}",
    "constraints": 'a limit, as in {"on": "time", "op": "<=", "value": 900}',
    "preferences": 'a wish, as in {"minimise": "time"}',
}
_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "list_type": "a list",
    "string_type": "a time in ISO 8601 with a zone, such as 2014-08-05T07:30:00Z, or null for now",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
}


def _corrected(fault: Any, message: str) -> str:
    """The same in words for who wrote it, if they are not."""
    where, kind, found = fault["loc"], fault["type"], fault.get("input")
    if kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**fault.get("ctx", {}))
        return f"found {parameters.show(found)}, expected {expected}{_unquoted(kind, found)}"
    if kind in ("model_type", "model_attributes_type", "dict_type") and where[0] in _FORMS:
        return f"found {parameters.show(found)}, expected {_FORMS[str(where[0])]}"
    if kind == "too_long":
        most = fault["ctx"]["max_length"]
        return f"found {fault['ctx']['actual_length']} of them, expected at most {most}"
    if kind != "extra_forbidden" or len(where) < 2:
        return message
    known = {**_WITHIN, **_OF_LISTS}.get(str(where[0]), ())
    return (
        f"there is no such field; {parameters.did_you_mean(str(where[-1]), known, 'leave it out')}"
    )


def _unquoted(kind: str, found: object) -> str:
    """How to write a number that stands in quotes."""
    try:
        written = f"{float(found):g}" if isinstance(found, str) else ""
    except ValueError:
        return ""
    is_number = kind in ("int_type", "float_type") and written
    return f"; write {written} without quotes" if is_number else ""


def point_fault(path: str, code: str, message: str, **more: Any) -> RequestError:
    """One thing that is wrong with a request, found while planning."""
    return RequestError([{"path": path, "message": message, "code": code, **more}])
