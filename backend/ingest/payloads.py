"""What travels over MQTT beside observations: places and the source's clock (see docs/mqtt.md).

Every model refuses NaN and infinities in its fields, and times without a zone. A place may have
fields that its kind does not know, as an observation may (`backend.kinds`); the others refuse them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citywise.backend.kinds import Identifier, UtcTime
from citywise.backend.kinds.kind import NAME

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
KindName = Annotated[str, Field(pattern=NAME)]
MOST_SENSORS = 20
"""Kinds of observations at one place."""
Position = tuple[Annotated[float, Field(ge=-180, le=180)], Annotated[float, Field(ge=-90, le=90)]]
"""Longitude and latitude, WGS84."""
Line = Annotated[list[Position], Field(min_length=2, max_length=10_000)]


class Payload(BaseModel):
    """Base of all payloads: immutable, strict about fields and types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Point(Payload):
    """GeoJSON point, WGS84 (longitude, latitude)."""

    type: Literal["Point"] = "Point"
    coordinates: Position

    @property
    def middle(self) -> Position:
        """The point itself."""
        return self.coordinates


class LineString(Payload):
    """GeoJSON line, WGS84 (longitude, latitude)."""

    type: Literal["LineString"] = "LineString"
    coordinates: Line

    @property
    def middle(self) -> Position:
        """The middle of its middle piece."""
        before = (len(self.coordinates) - 1) // 2
        (x1, y1), (x2, y2) = self.coordinates[before : before + 2]
        return (x1 + x2) / 2, (y1 + y2) / 2


Geometry = Annotated[Point | LineString, Field(discriminator="type")]


class Price(Payload):
    """What a garage asks for: each hour begun, with a most for 24 hours."""

    per_hour: float = Field(ge=0, le=100_000)
    day_most: float | None = Field(default=None, ge=0, le=1_000_000)
    """The most that 24 hours cost."""
    free_minutes: float = Field(default=0, ge=0, le=1440)
    """The first minutes, for which nobody pays."""
    currency: str = Field(default="DKK", pattern=r"^[A-Z]{3}$")


class Place(Payload):
    """What a sensor watches: a road segment, a garage, a noise meter, or whatever `kind` says.

    `sensors` lists the kinds of observation that carry this place's id as `sensor`. What else its
    kind has, and what nobody knows, is in `model_extra`.
    """

    model_config = ConfigDict(extra="allow")

    id: Identifier
    kind: KindName
    name: Name
    geometry: Geometry
    sensors: Annotated[tuple[KindName, ...], Field(max_length=MOST_SENSORS)]
    length_m: float | None = Field(default=None, ge=0, le=1_000_000)
    free_flow_kmh: float | None = Field(default=None, ge=0.1, le=300)
    capacity: int | None = Field(default=None, gt=0, le=100_000)
    opening_hours: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """When it is open, in OpenStreetMap's syntax (`Mo-Fr 07:00-20:00`)."""
    price: Price | None = None
    """Of parking."""

    @property
    def middle(self) -> tuple[float, float]:
        """Longitude and latitude of a point on it: of a line, in its middle piece."""
        return self.geometry.middle

    def summary(self) -> dict[str, Any]:
        """What an event says of its place (docs/mqtt.md)."""
        lon, lat = self.middle
        return {"id": self.id, "kind": self.kind, "name": self.name, "lat": lat, "lon": lon}


class Clock(Payload):
    """A source's time: nothing it sends is later than `now`, and everything up to and
    including `complete` has been sent. `speed` is stream seconds per wall second
    (0: paused, null: as fast as it goes); `until` is where a recording ends."""

    now: UtcTime
    complete: UtcTime
    speed: float | None = Field(default=1.0, ge=0, le=100_000)
    start: UtcTime | None = None
    until: UtcTime | None = None
    source: Literal["replay", "simulation", "wall"] = "wall"
