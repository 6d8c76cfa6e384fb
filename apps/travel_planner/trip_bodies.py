"""What people say of their trips over HTTP, checked with all faults at once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from citywise.apps.travel_planner.trips import Position
from citywise.backend.app import times

LONGEST_SNOOZE_MIN = 240


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ToldPosition(_Body):
    """Where somebody is, as their device says it: degrees, metres, km/h."""

    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)
    at: Annotated[int, BeforeValidator(times.instant_ms)] | None = None
    """By the device's clock: what is not later than the last is out of order."""
    heading: float | None = Field(default=None, ge=0, le=360)
    accuracy_m: float | None = Field(default=None, ge=0, le=100_000)
    speed_kmh: float | None = Field(default=None, ge=0, le=1000)

    def position(self, now_ms: int) -> Position:
        """As it is kept, heard of at stream time `now_ms`."""
        told = {name: getattr(self, name) for name in ("heading", "accuracy_m", "speed_kmh")}
        return Position(self.lat, self.lon, now_ms, self.at, **told)


class NewTrip(_Body):
    """A plan to follow, or a trip that ended to go on with."""

    plan: str | None = Field(default=None, max_length=64)
    choice: str | None = Field(default=None, max_length=64)
    """The id of one of the plan's routes or garages; the chosen one where it is left out."""
    position: ToldPosition | None = None
    to_name: str | None = Field(default=None, min_length=1, max_length=200)
    """What its user calls the destination of a journey; else it is called by its street."""
    resume: str | None = Field(default=None, max_length=64)
    """The id of a trip that ended."""

    @model_validator(mode="after")
    def _says_which(self) -> NewTrip:
        if (self.plan is None) == (self.resume is None):
            raise ValueError("expected one of `plan` and `resume`")
        return self


class Answer(_Body):
    """What somebody says to a proposal."""

    answer: Literal["accept", "decline", "snooze", "undo"]
    minutes: float = Field(default=10, gt=0, le=LONGEST_SNOOZE_MIN)
    """Of stream time, for `snooze`."""
    number: int | None = Field(default=None, ge=1)
    """Which proposal is meant: `accept` has to say."""
    option: int = Field(default=0, ge=0, le=9)
    """Of a journey by line: which of the `others` beside the proposal is accepted, from 1."""

    @model_validator(mode="after")
    def _says_what_is_accepted(self) -> Answer:
        if self.answer == "accept" and self.number is None:
            raise ValueError("`accept` needs the `number` of the proposal that was shown")
        return self
