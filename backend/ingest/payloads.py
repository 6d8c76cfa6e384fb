"""What travels over MQTT: places, observations and the source's clock (see docs/mqtt.md).

Every model refuses NaN and infinities in its fields, and times without a zone. An observation may
have fields that we do not know: devices add a battery's level or a signal's strength. Every other
model refuses them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from citywise.backend.times import to_ms

Kind = Literal["traffic", "parking", "weather", "air"]
KINDS: tuple[Kind, ...] = ("traffic", "parking", "weather", "air")

IDENTITY = ("sensor", "observed_at")
"""The fields of an observation that say which it is."""
IDENTIFIER = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$"
Identifier = Annotated[str, Field(pattern=IDENTIFIER)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Position = tuple[Annotated[float, Field(ge=-180, le=180)], Annotated[float, Field(ge=-90, le=90)]]
"""Longitude and latitude, WGS84."""
Line = Annotated[list[Position], Field(min_length=2, max_length=10_000)]


def _in_utc(time: datetime) -> datetime:
    """The time in UTC; only years in which a city can have been measured."""
    if 1970 <= time.year < 2100 and 1970 <= (found := time.astimezone(UTC)).year < 2100:
        return found
    raise ValueError("the year must be between 1970 and 2099")


UtcTime = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class Payload(BaseModel):
    """Base of all payloads: immutable, strict about fields and types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Observation(Payload):
    """One reading of one sensor; a sensor and an instant identify it.

    Fields that we do not know are in `model_extra`: for the operator, not for rules.
    """

    model_config = ConfigDict(extra="allow")

    sensor: Identifier
    observed_at: UtcTime

    @property
    def observed_ms(self) -> int:
        """Time of the reading in Unix milliseconds."""
        return to_ms(self.observed_at)


class TrafficObservation(Observation):
    """Vehicles on one road segment: average speed in km/h and count in the period."""

    speed_kmh: float = Field(ge=0, le=300)
    vehicle_count: int = Field(ge=0, le=100_000)


class ParkingObservation(Observation):
    """Occupied places and capacity of one garage; counts may exceed the capacity."""

    occupied: int = Field(ge=0, le=100_000)
    capacity: int = Field(gt=0, le=100_000)


class WeatherObservation(Observation):
    """Temperature in °C, humidity in %, wind in km/h; a missing value is null."""

    temperature_c: float | None = Field(default=None, ge=-60, le=60)
    humidity_pct: float | None = Field(default=None, ge=0, le=100)
    wind_kmh: float | None = Field(default=None, ge=0, le=400)


class AirObservation(Observation):
    """Air-quality index (0 good … 500) of five pollutants at one place; at least one is known."""

    ozone: int | None = Field(default=None, ge=0, le=500)
    particulate_matter: int | None = Field(default=None, ge=0, le=500)
    carbon_monoxide: int | None = Field(default=None, ge=0, le=500)
    sulfur_dioxide: int | None = Field(default=None, ge=0, le=500)
    nitrogen_dioxide: int | None = Field(default=None, ge=0, le=500)

    @model_validator(mode="after")
    def _tells_something(self) -> Self:
        if all(getattr(self, name) is None for name in POLLUTANTS):
            raise ValueError(f"none of {', '.join(f'`{name}`' for name in POLLUTANTS)} is given")
        return self


POLLUTANTS = tuple(name for name in AirObservation.model_fields if name not in IDENTITY)


OBSERVATIONS: dict[Kind, type[Observation]] = {
    "traffic": TrafficObservation,
    "parking": ParkingObservation,
    "weather": WeatherObservation,
    "air": AirObservation,
}


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
    """What a sensor watches: a road segment, a garage, a weather or an air station.

    `sensors` lists the kinds of observation that carry this place's id as `sensor`.
    """

    id: Identifier
    kind: Literal["road", "garage", "weather_station", "air_station"]
    name: Name
    geometry: Geometry
    sensors: Annotated[tuple[Kind, ...], Field(max_length=len(KINDS))]
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
