"""What people say of their repeating trips over HTTP, and how these are shown."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from citywise.apps.travel_planner.repeat_times import Pattern
from citywise.apps.travel_planner.repeats import Repeat
from citywise.apps.travel_planner.requests import TravelRequest
from citywise.apps.travel_planner.requests import read as read_travel
from citywise.apps.travel_planner.transit import request as transit_request
from citywise.apps.travel_planner.trips import Body
from citywise.backend.app import times

MOST_DAYS = 366
_OF_A_TIME = ("depart", "arrive", "within_min", "alternatives")
"""What of a plan's request is about one day."""


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"found {text[:20]!r}, expected a day as in 2026-05-04") from None


Day = Annotated[str, AfterValidator(_day)]
Clock = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
Days = Annotated[list[Day], Field(max_length=MOST_DAYS)]
Weekdays = Annotated[list[Annotated[int, Field(ge=1, le=7)]], Field(max_length=7)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Telling(_Body):
    """When its user wants to hear of a trip; null: not then."""

    evening: Clock | None = "20:00"
    before_min: int | None = Field(default=60, ge=1, le=720)
    underway: bool = True


class ChangedRepeat(_Body):
    """What is to be of a repeating trip; what is absent stays as it is."""

    name: str | None = Field(default=None, min_length=1, max_length=80)
    plan: str | None = Field(default=None, max_length=64)
    """A plan that was answered a while ago at most: its request is taken."""
    request: dict[str, Any] | None = None
    """As `POST /plans/travel` takes it; a time in it does not count."""
    at: Clock | None = None
    by: Literal["depart", "arrive"] | None = None
    weekdays: Weekdays | None = None
    dates: Days | None = None
    skipped: Days | None = None
    until: Day | None = None
    paused: bool | None = None
    tell: Telling | None = None

    @model_validator(mode="after")
    def _says_one(self) -> ChangedRepeat:
        if self.plan is not None and self.request is not None:
            raise ValueError("expected one of `plan` and `request`")
        if self.weekdays and self.dates:
            raise ValueError("expected `weekdays` or `dates`, not both")
        return self


class NewRepeat(ChangedRepeat):
    """A new repeating trip."""

    at: Clock

    @model_validator(mode="after")
    def _is_whole(self) -> NewRepeat:
        if self.plan is None and self.request is None:
            raise ValueError("expected `plan` or `request`")
        if not self.weekdays and not self.dates:
            raise ValueError("expected `weekdays` (1 is Monday) or `dates`")
        return self


def pattern_of(body: ChangedRepeat, before: Pattern | None = None) -> Pattern:
    """The days and times of a trip after a change."""
    said = body.model_dump(exclude_unset=True, exclude={"name", "plan", "request", "tell"})
    if said.get("weekdays"):
        said["dates"] = []
    elif said.get("dates"):
        said["weekdays"] = []
    for name in ("weekdays", "dates", "skipped"):
        if name in said:
            said[name] = tuple(sorted(set(said[name] or ())))
    # Null is what a field may be, or else what it usually is.
    said = {name: value for name, value in said.items() if value is not None or name == "until"}
    if body.tell is not None:
        said |= body.tell.model_dump()
    kept = {} if before is None else vars(before)
    return Pattern(**{**kept, **said})


def request_of(told: Body) -> dict[str, Any]:
    """A request without its time; raises `RequestError` with all that is wrong with it."""
    body = {name: value for name, value in told.items() if name not in _OF_A_TIME}
    if transit_request.is_timetabled(body):
        read: BaseModel = transit_request.read(body)
    else:
        read = read_travel(TravelRequest, body, None)
    whole = read.model_dump(mode="json", by_alias=True)
    return {name: value for name, value in whole.items() if name not in _OF_A_TIME}


def repeat_object(repeat: Repeat) -> dict[str, Any]:
    """A repeating trip as the API shows it; what can be changed stands as it is sent."""
    content = repeat.content
    pattern, course = content.pattern, content.course
    following = None
    if course.day is not None and repeat.due_ms is not None:
        following = {
            "day": course.day,
            "departs": times.iso_or_none(course.departs_ms),
            "arrives": times.iso_or_none(course.arrives_ms),
            "looks": times.iso(repeat.due_ms),
        }
    return {
        "id": repeat.id,
        "name": content.name,
        "request": content.request,
        "at": pattern.at,
        "by": pattern.by,
        "weekdays": list(pattern.weekdays),
        "dates": list(pattern.dates),
        "skipped": list(pattern.skipped),
        "until": pattern.until,
        "paused": pattern.paused,
        "tell": {
            "evening": pattern.evening,
            "before_min": pattern.before_min,
            "underway": pattern.underway,
        },
        "next": following,
        "told": content.told,
        "created": times.iso(repeat.created_ms),
        "updated": times.iso(repeat.updated_ms),
    }
