"""What travels over MQTT beside observations: places and the source's clock (see docs/mqtt.md).

Every model refuses NaN and infinities in its fields, and times without a zone. A place may have
fields that its kind does not know, as an observation may (`backend.kinds`); the others refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from citywise.backend.kinds import Identifier, UtcTime
from citywise.backend.kinds.kind import NAME

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
KindName = Annotated[str, Field(pattern=NAME)]
MOST_SENSORS = 20
"""Kinds of observations at one place."""
Position = tuple[Annotated[float, Field(ge=-180, le=180)], Annotated[float, Field(ge=-90, le=90)]]
"""Longitude and latitude, WGS84."""
Line = Annotated[list[Position], Field(min_length=2, max_length=10_000)]
Ring = Annotated[list[Position], Field(min_length=4, max_length=20_000)]
Rings = Annotated[list[Ring], Field(min_length=1, max_length=1_000)]
"""Of one area: the outer ring, then its holes."""
MOST_PARTS = 2_000
"""Points, lines or areas of one place."""


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
    """GeoJSON line, WGS84 (longitude, latitude); one that is closed is the outline of an area."""

    type: Literal["LineString"] = "LineString"
    coordinates: Line

    @property
    def middle(self) -> Position:
        """The middle of its middle piece; of an outline a point inside."""
        if is_outline(self.coordinates):
            from shapely import Polygon, make_valid  # Most lines are open.

            inside = make_valid(Polygon(self.coordinates)).point_on_surface()
            return inside.x, inside.y
        before = (len(self.coordinates) - 1) // 2
        (x1, y1), (x2, y2) = self.coordinates[before : before + 2]
        return (x1 + x2) / 2, (y1 + y2) / 2


def is_outline(coordinates: Sequence[Sequence[float]]) -> bool:
    """Whether a line ends where it begins, and goes around something on the way."""
    return coordinates[0] == coordinates[-1] and len({tuple(pair) for pair in coordinates}) > 2


Geometry = Annotated[Point | LineString, Field(discriminator="type")]
"""Where an event is."""


class _Drawn(Payload):
    """A geometry of several points, lines or rings."""

    type: str
    coordinates: Sequence[Any]

    @property
    def middle(self) -> Position:
        """A point on it; of an area one that is inside."""
        found = self._shape.point_on_surface()
        return found.x, found.y

    @property
    def _shape(self) -> Any:
        from shapely.geometry import shape  # Most places are points and lines.

        return shape({"type": self.type, "coordinates": self.coordinates})


class _Area(_Drawn):
    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        several = [self.coordinates] if self.type == "Polygon" else self.coordinates
        for rings in several:
            for ring in rings:
                if ring[0] != ring[-1]:
                    raise ValueError("a ring ends where it begins: repeat its first point")
        from shapely import is_valid_reason

        if not (drawn := self._shape).is_valid:
            said = is_valid_reason(drawn).replace("[", " at [")
            raise ValueError(f"{said}: rings may not cross themselves or others")
        return self


class Polygon(_Area):
    """GeoJSON area, WGS84; sides are straight in longitude and latitude."""

    type: Literal["Polygon"] = "Polygon"
    coordinates: Rings


class MultiPolygon(_Area):
    """GeoJSON area of several parts, which do not overlap."""

    type: Literal["MultiPolygon"] = "MultiPolygon"
    coordinates: Annotated[list[Rings], Field(min_length=1, max_length=MOST_PARTS)]


class MultiPoint(_Drawn):
    """Several GeoJSON points."""

    type: Literal["MultiPoint"] = "MultiPoint"
    coordinates: Annotated[list[Position], Field(min_length=1, max_length=MOST_PARTS)]


class MultiLineString(_Drawn):
    """Several GeoJSON lines."""

    type: Literal["MultiLineString"] = "MultiLineString"
    coordinates: Annotated[list[Line], Field(min_length=1, max_length=MOST_PARTS)]


PlaceGeometry = Annotated[
    Point | LineString | Polygon | MultiPoint | MultiLineString | MultiPolygon,
    Field(discriminator="type"),
]
"""Where a place is."""
PLACE_GEOMETRY: TypeAdapter[Any] = TypeAdapter(PlaceGeometry)


def middle_of(geometry: Mapping[str, Any]) -> Position:
    """A point on a checked geometry, as of its class."""
    found: Position = PLACE_GEOMETRY.validate_python(geometry, strict=False).middle
    return found


def of_event(geometry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where an event at a place is: on its line, else at a point of it."""
    if geometry["type"] in ("Point", "LineString"):
        return geometry
    return {"type": "Point", "coordinates": list(middle_of(geometry))}


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
    geometry: PlaceGeometry
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
