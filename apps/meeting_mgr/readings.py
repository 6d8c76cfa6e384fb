"""What devices and rooms tell, checked, and the values of sensors in it."""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt
from typing import TypeVar

from pydantic import Field, ValidationError, model_validator

from citywise.apps.meeting_mgr.model import Room, Sensor, Value
from citywise.backend.app import CitywiseError, times

MAX_BYTES = 2_000
"""A reading with all there is takes some 300."""
EARTH_M = 6_371_000
VAGUE_M = 100
"""A position may be off by as much, or by its distance from the room, and still tells something."""


class BadReadingError(CitywiseError):
    """What was sent is no reading."""


class RoomValues(Value):
    """What sensors of a room measure; what is left out or null was not measured."""

    noise_db: float | None = Field(default=None, ge=-200, le=300)
    light_lux: float | None = Field(default=None, ge=0, le=1_000_000)


class Values(RoomValues):
    """What a device measures; what is left out or null was not measured."""

    proximity_cm: float | None = Field(default=None, ge=0, le=100_000)
    motion_ms2: float | None = Field(default=None, ge=0, le=10_000)
    speed_kmh: float | None = Field(default=None, ge=0, le=10_000)
    lat: float | None = Field(default=None, ge=-90, le=90)
    lon: float | None = Field(default=None, ge=-180, le=180)
    accuracy_m: float | None = Field(default=None, ge=0, le=100_000_000)
    visible: bool | None = None
    battery_pct: float | None = Field(default=None, ge=0, le=100)
    network_mbps: float | None = Field(default=None, ge=0, le=10_000_000)

    @model_validator(mode="after")
    def _is_somewhere(self) -> Values:
        if (self.lat is None) != (self.lon is None):
            raise ValueError("found one of `lat` and `lon`, expected both or none")
        return self


class Reading(Value):
    """What a device tells of itself at a time (ISO 8601 with a zone, by the device's clock:
    it orders readings and is believed in nothing else)."""

    at: times.Instant
    values: Values


class RoomReading(Value):
    """What a room's sensors tell."""

    at: times.Instant
    values: RoomValues


def reading(payload: bytes) -> Reading:
    """A device's message; raises `BadReadingError`."""
    return _checked(Reading, payload)


def room_reading(payload: bytes) -> RoomReading:
    """A message of a room's sensors; raises `BadReadingError`."""
    return _checked(RoomReading, payload)


def observed(told: Reading, room: Room) -> dict[Sensor, float]:
    """The values of a device's sensors, in the units of `model.SENSORS`.

    Of a position only its distance from the room remains, where the room's is known. One that
    may be off by more than that, and by more than `VAGUE_M`, tells nothing.
    """
    values = told.values
    found: dict[Sensor, float | None] = {
        "noise": values.noise_db,
        "light": values.light_lux,
        "proximity": values.proximity_cm,
        "motion": values.motion_ms2,
        "speed": values.speed_kmh,
        "distance": _distance_m(values, room),
        "visible": None if values.visible is None else float(values.visible),
        "battery": values.battery_pct,
        "network": values.network_mbps,
    }
    return {sensor: value for sensor, value in found.items() if value is not None}


def apart_m(one: Room, other: Room) -> float | None:
    """Metres between two rooms; None where the place of either is not known."""
    if one.lat is None or one.lon is None:
        return None
    return _away_m(one.lat, one.lon, other)


def observed_in_room(told: RoomReading) -> dict[Sensor, float]:
    """The values of a room's sensors that count for those in it."""
    found: dict[Sensor, float | None] = {
        "noise": told.values.noise_db,
        "light": told.values.light_lux,
    }
    return {sensor: value for sensor, value in found.items() if value is not None}


Told = TypeVar("Told", Reading, RoomReading)


def _checked(kind: type[Told], payload: bytes) -> Told:
    if len(payload) > MAX_BYTES:
        raise BadReadingError(f"found {len(payload):,} bytes, expected at most {MAX_BYTES:,}")
    try:
        return kind.model_validate_json(payload)
    except ValidationError as error:
        faults = "; ".join(_fault(fault["loc"], fault["msg"]) for fault in error.errors())
        raise BadReadingError(f"{faults}; see docs/meeting-manager-abilities.md") from None


def _fault(where: tuple[int | str, ...], what: str) -> str:
    return f"{'.'.join(map(str, where)) or 'the message'}: {what.removeprefix('Value error, ')}"


def _distance_m(values: Values, room: Room) -> float | None:
    """Metres from the room, where the position is good enough to tell."""
    if values.lat is None or values.lon is None:
        return None
    away = _away_m(values.lat, values.lon, room)
    return away if away is not None and (values.accuracy_m or 0) <= max(VAGUE_M, away) else None


def _away_m(at_lat: float, at_lon: float, room: Room) -> float | None:
    """Metres from a room, by the haversine: people may join from anywhere."""
    if room.lat is None or room.lon is None:
        return None
    lat, room_lat = radians(at_lat), radians(room.lat)
    east = sin(radians(at_lon - room.lon) / 2) ** 2 * cos(lat) * cos(room_lat)
    return 2 * EARTH_M * asin(sqrt(min(1.0, sin((lat - room_lat) / 2) ** 2 + east)))
