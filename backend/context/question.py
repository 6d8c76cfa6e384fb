"""A question about what is critical, in our own terms, as values of the template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from citywise.backend.ingest.payloads import Line
from citywise.backend.ingest.standing import Entry, UserPosition
from citywise.backend.packs.values import BadValuesError

Metres = Annotated[int, Field(ge=10, le=1000, multiple_of=10)]
Weight = Annotated[int, Field(ge=0, le=100)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class OnRoute(_Part):
    """Along a way, from the position on if it is told."""

    type: Literal["route"]
    coordinates: Line
    radius_m: Metres = 100

    def values(self) -> dict[str, Any]:
        route = {"coordinates": [list(point) for point in self.coordinates]}
        return {"interest": "my_route", "route": route, "radius": self.radius_m}


class AroundMe(_Part):
    """Around the position, which must be told."""

    type: Literal["around_me"]
    radius_m: Metres = 100

    def values(self) -> dict[str, Any]:
        return {"interest": "around_me", "radius": self.radius_m}


class InArea(_Part):
    """Within a circle or a GeoJSON polygon; distances count up to `radius_m`."""

    type: Literal["area"]
    area: dict[str, JsonValue]
    radius_m: Metres = 100

    def values(self) -> dict[str, Any]:
        return {"interest": "area", "area": self.area, "radius": self.radius_m}


class Weights(_Part):
    """How much each factor counts."""

    distance: Weight = 50
    level: Weight = 50


class Linear(_Part):
    """The weighted mean of the factors."""

    type: Literal["linear"] = "linear"
    weights: Weights = Weights()

    def values(self) -> dict[str, Any]:
        weights = self.weights
        named = {"weight_distance": weights.distance, "weight_level": weights.level}
        return {"ranking": "linear", **named}


class Ordered(_Part):
    """The first factor, and the other among equals."""

    type: Literal["ordered"]
    first: Literal["distance", "level"] = "distance"

    def values(self) -> dict[str, Any]:
        return {"ranking": "ordered", "first": self.first}


class Question(_Part):
    """What is critical to whom."""

    interest: Annotated[OnRoute | AroundMe | InArea, Field(discriminator="type")]
    position: UserPosition | None = None
    activity: str | None = None
    sources: list[str] | None = Field(default=None, min_length=1)
    categories: list[str] | None = Field(default=None, min_length=1)
    ranking: Annotated[Linear | Ordered, Field(discriminator="type")] = Linear()
    horizon_km: float = 5
    least_criticality: int = 1

    def values(self) -> dict[str, Any]:
        """The values of the template that ask the same."""
        affecting = "my_activity" if self.activity else "anything"
        return {
            **self.interest.values(),
            **self.ranking.values(),
            "affecting": affecting,
            "activities": [self.activity] if self.activity else None,
            "sources": self.sources,
            "categories": self.categories,
            "horizon": self.horizon_km,
            "least_criticality": self.least_criticality,
        }

    def context(self) -> list[Entry]:
        """What is told of the user."""
        if self.position is None:
            return []
        return [Entry("position", "me", self.position.model_dump(mode="json"))]


_PATHS = {
    "radius": "interest.radius_m",
    "area": "interest.area",
    "route": "interest",
    "activities": "activity",
    "horizon": "horizon_km",
}
"""Where values of the template stand in a question under another name."""


def faults(error: BadValuesError) -> Iterator[dict[str, str]]:
    """What is wrong with the values, where it stands in the question."""
    for fault in error.faults:
        name, rest = re.split(r"(?=[.\[]|$)", fault.path, maxsplit=1)
        message = f"found {fault.found}, expected {fault.expected}; {fault.fix}"
        yield {"path": _PATHS.get(name, name + rest), "message": message}
