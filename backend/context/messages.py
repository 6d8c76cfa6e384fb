"""The messages that CityPulse's clients send and get (docs/contextual-filtering.md).

Places and answers are JSON texts within JSON. What messages hold beyond what is known here
is passed over, as their own readers did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from citywise.backend.errors import CitywiseError
from citywise.backend.packs.values import show

MOST_POINTS = 10_000


class MessageError(CitywiseError):
    """A message says nothing that can be done; `faults` are its `path`s and `message`s."""

    def __init__(self, *faults: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{f['path']}: {f['message']}" for f in faults))
        self.faults = faults


def fault(path: str, message: str) -> MessageError:
    """What is wrong with one field."""
    return MessageError({"path": path, "message": message})


def _unwrapped(value: object) -> object:
    """A JSON text as what it says."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise ValueError(
            f"expected a JSON object, or one as text; this is no JSON: {error}"
        ) from None


def _inner(value: object) -> object:
    """`{"value": x}` and plain `x` are the same."""
    return value["value"] if isinstance(value, dict) and set(value) == {"value"} else value


class Message(BaseModel):
    """Base of all messages and their parts."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="ignore", frozen=True, allow_inf_nan=False
    )


class Coordinate(Message):
    """A point, WGS84."""

    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)


Line = Annotated[list[Coordinate], Field(min_length=2, max_length=MOST_POINTS)]
Ring = Annotated[list[Coordinate], Field(min_length=3, max_length=MOST_POINTS)]
Scalar = Annotated[str | int | float, BeforeValidator(_inner)]


class PlaceOfInterest(Message):
    """A point, a route or an area (a polygon); `type` says which."""

    type: Literal["POINT", "ROUTE", "AREA"]
    point: Coordinate | None = None
    route: Line | None = None
    area: Ring | None = Field(
        default=None, validation_alias=AliasChoices("area", "polygon", "coordinates")
    )

    @model_validator(mode="before")
    @classmethod
    def _has_a_type(cls, value: object) -> object:
        """A place that does not say what it is is what it holds."""
        if isinstance(value, dict) and "type" not in value:
            held = [kind for kind in ("point", "route", "area") if kind in value]
            return {**value, "type": held[0].upper()} if len(held) == 1 else value
        return value

    @model_validator(mode="after")
    def _holds_what_it_says(self) -> PlaceOfInterest:
        if getattr(self, self.type.lower()) is None:
            raise ValueError(f"a place of type {self.type} needs `{self.type.lower()}`")
        return self

    @property
    def points(self) -> list[Coordinate]:
        """Its point, or those of its route or of the border of its area."""
        held = getattr(self, self.type.lower())
        return [held] if isinstance(held, Coordinate) else list(held)

    def with_points(self, points: list[Coordinate]) -> PlaceOfInterest:
        """The same place elsewhere."""
        held = points[0] if self.type == "POINT" else points
        return self.model_copy(update={self.type.lower(): held})


Place = Annotated[PlaceOfInterest, BeforeValidator(_unwrapped)]


class FilteringFactor(Message):
    """What events must be like; one of the values is enough."""

    name: Literal["EVENT_SOURCE", "EVENT_CATEGORY", "ACTIVITY"]
    values: list[Scalar] = Field(max_length=20)


class RankingElement(Message):
    """How much a factor counts."""

    name: Literal["DISTANCE", "EVENT_LEVEL"]
    value: Annotated[float, BeforeValidator(_inner), Field(ge=0)]


class RankingFactor(Message):
    """How criticality is found: by weights (LINEAR), or by the most important factor, the one
    with the smallest value, and the next among equals (ORDERED)."""

    type: Literal["LINEAR", "ORDERED"] = "LINEAR"
    ranking_elements: list[RankingElement] = Field(min_length=1, max_length=2)

    @model_validator(mode="after")
    def _names_each_once(self) -> RankingFactor:
        names = [element.name for element in self.ranking_elements]
        if len(set(names)) < len(names):
            raise ValueError(f"{names[0]} stands there twice; name each factor once")
        return self


class ContextualEventRequest(Message):
    """Tell me of events that are critical to me."""

    message_type: Literal["ContextualEventRequest"]
    place: Place
    filtering_factors: list[FilteringFactor] = []
    ranking_factor: RankingFactor | None = None


class UserGPSCoordinate(Message):
    """I am here now."""

    message_type: Literal["UserGPSCoordinate"]
    user_coordinate: Coordinate


class Parameter(Message):
    """A parameter of a reasoning request."""

    name: str
    value: Scalar


class FunctionalParameters(Message):
    """The list of parameters, within an object of the same name."""

    functional_parameters: list[Parameter] = []


class FunctionalDetails(Message):
    """What a reasoning request asks; of it only the parameters matter here."""

    functional_parameters: FunctionalParameters = FunctionalParameters()


class ReasoningRequest(Message):
    """What the user asked decision support for."""

    functional_details: FunctionalDetails = FunctionalDetails()

    def parameter(self, name: str) -> str | None:
        """A parameter's value as text."""
        parameters = self.functional_details.functional_parameters.functional_parameters
        return next((str(p.value) for p in parameters if p.name == name), None)


class Answer(Message):
    """What the user chose: a route, or the position of a place to park."""

    route: Line | None = None
    position: Coordinate | None = None

    @model_validator(mode="after")
    def _is_a_place(self) -> Answer:
        if (self.route is None) == (self.position is None):
            raise ValueError("expected either `route` or `position`")
        return self


class ChosenAnswer(Message):
    """The old way to ask: a reasoning request and the answer that the user chose."""

    reasoning_request: ReasoningRequest
    answer: Annotated[Answer, BeforeValidator(_unwrapped)]


_KINDS: dict[str, type[ContextualEventRequest | UserGPSCoordinate]] = {
    "ContextualEventRequest": ContextualEventRequest,
    "UserGPSCoordinate": UserGPSCoordinate,
}


def read(body: Mapping[str, Any]) -> ContextualEventRequest | UserGPSCoordinate | ChosenAnswer:
    """The message that a JSON object is; raises `MessageError` with all that is wrong."""
    kind: type[ContextualEventRequest | UserGPSCoordinate | ChosenAnswer] | None
    kind = _KINDS.get(str(body.get("messageType")))
    if kind is None and "messageType" not in body and "answer" in body:
        kind = ChosenAnswer
    if kind is None:
        known = " or ".join(_KINDS)
        found = show(body["messageType"]) if "messageType" in body else "nothing"
        raise fault(
            "messageType",
            f"found {found}, expected {known}, or none and a `reasoningRequest` with an `answer`",
        )
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise MessageError(*map(_described_fault, error.errors(include_url=False))) from None


def _described_fault(found: Any) -> dict[str, str]:
    path = ".".join(map(str, found["loc"])) or "body"
    message = str(found["msg"]).removeprefix("Value error, ")
    said = found["type"] in ("missing", "value_error")
    return {
        "path": path,
        "message": message if said else f"found {show(found['input'])}: {message}",
    }
