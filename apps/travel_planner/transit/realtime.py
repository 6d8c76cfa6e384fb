"""GTFS-Realtime messages as values: updates of trips, vehicles and alerts, as their bytes say.

Source: gtfs.org/documentation/realtime/reference. Nothing here knows a timetable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError
from google.transit import gtfs_realtime_pb2 as wire

from citywise.backend.app import CitywiseError

MOST_BYTES = 50_000_000
Translations = tuple[tuple[str, str], ...]
"""Language (BCP 47; may be empty) and text."""


class RealtimeError(CitywiseError):
    """Bytes are no GTFS-Realtime message."""


@dataclass(frozen=True, slots=True)
class Moment:
    """An arrival or a departure: Unix seconds, or seconds behind the timetable."""

    time: int | None
    delay: int | None


@dataclass(frozen=True, slots=True)
class StopUpdate:
    """A stop of a trip; `relationship` is `SCHEDULED`, `SKIPPED`, `NO_DATA` or `UNSCHEDULED`."""

    sequence: int | None
    stop: str
    relationship: str
    arrival: Moment | None
    departure: Moment | None
    assigned_stop: str = ""


@dataclass(frozen=True, slots=True)
class TripRef:
    """Which trip is meant; empty texts say nothing. `start_date` is YYYYMMDD."""

    trip: str
    route: str = ""
    start_date: str = ""
    start_time: str = ""
    relationship: str = "SCHEDULED"


@dataclass(frozen=True, slots=True)
class TripUpdate:
    """How a trip of one day runs; `delay` is the trip's own, seconds."""

    entity: str
    trip: TripRef
    stops: tuple[StopUpdate, ...]
    delay: int | None = None
    headsign: str = ""
    copy: TripRef | None = None
    """What a DUPLICATED trip is called, and when it starts."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a vehicle is: WGS84 degrees, metres per second, Unix seconds."""

    entity: str
    trip: TripRef | None
    vehicle: str
    label: str
    lat: float | None
    lon: float | None
    bearing: float | None
    speed: float | None
    stop: str
    time: int | None
    occupancy: str


@dataclass(frozen=True, slots=True)
class Informed:
    """Whom an alert is about: all that is not empty must fit."""

    agency: str
    route: str
    stop: str
    trip: TripRef | None
    route_type: int | None


@dataclass(frozen=True, slots=True)
class Alert:
    """What is to be told to riders; without periods it always holds. A period's ends are Unix
    seconds, None where it is open."""

    entity: str
    informed: tuple[Informed, ...]
    periods: tuple[tuple[int | None, int | None], ...]
    cause: str
    effect: str
    severity: str
    header: Translations
    description: Translations
    url: Translations


@dataclass(frozen=True)
class Message:
    """A whole message; `time` is its header's, Unix seconds."""

    time: int | None
    updates: tuple[TripUpdate, ...]
    positions: tuple[Position, ...]
    alerts: tuple[Alert, ...]
    deleted: tuple[str, ...] = ()
    """Entities that it takes back, where it is one of differences."""


def read(data: bytes) -> Message:
    """The values of a message; raises `RealtimeError`."""
    if len(data) > MOST_BYTES:
        raise RealtimeError(f"has {len(data)} bytes; expected at most {MOST_BYTES}")
    feed = wire.FeedMessage()
    try:
        feed.ParseFromString(data)
    except DecodeError as error:
        raise RealtimeError(f"is no GTFS-Realtime message ({error})") from None
    kept = [entity for entity in feed.entity if not entity.is_deleted]
    return Message(
        _number(feed.header, "timestamp"),
        tuple(_update(each.id, each.trip_update) for each in kept if each.HasField("trip_update")),
        tuple(_position(each.id, each.vehicle) for each in kept if each.HasField("vehicle")),
        tuple(_alert(each.id, each.alert) for each in kept if each.HasField("alert")),
        tuple(entity.id for entity in feed.entity if entity.is_deleted),
    )


_OF_TRIP = wire.TripDescriptor.ScheduleRelationship.Name
_OF_STOP = {
    number: name for name, number in wire.TripUpdate.StopTimeUpdate.ScheduleRelationship.items()
}


def _update(entity: str, update: Any) -> TripUpdate:
    more = update.trip_properties
    copy = None
    if update.HasField("trip_properties") and more.trip_id:
        copy = TripRef(more.trip_id, "", more.start_date, more.start_time)
    return TripUpdate(
        entity,
        _trip(update.trip),
        tuple(map(_stop, update.stop_time_update)),
        _number(update, "delay"),
        more.trip_headsign,
        copy,
    )


def _trip(trip: Any) -> TripRef:
    return TripRef(
        trip.trip_id,
        trip.route_id,
        trip.start_date,
        trip.start_time,
        _OF_TRIP(trip.schedule_relationship),
    )


def _stop(update: Any) -> StopUpdate:
    has = update.HasField
    return StopUpdate(
        update.stop_sequence if has("stop_sequence") else None,
        update.stop_id,
        _OF_STOP[update.schedule_relationship],
        _moment(update.arrival) if has("arrival") else None,
        _moment(update.departure) if has("departure") else None,
        update.stop_time_properties.assigned_stop_id if has("stop_time_properties") else "",
    )


def _moment(event: Any) -> Moment:
    time = event.time if event.HasField("time") else None
    return Moment(time, event.delay if event.HasField("delay") else None)


def _position(entity: str, vehicle: Any) -> Position:
    at = vehicle.position
    is_placed = vehicle.HasField("position")
    return Position(
        entity,
        _trip(vehicle.trip) if vehicle.HasField("trip") else None,
        vehicle.vehicle.id,
        vehicle.vehicle.label,
        at.latitude if is_placed else None,
        at.longitude if is_placed else None,
        _number(at, "bearing"),
        _number(at, "speed"),
        vehicle.stop_id,
        _number(vehicle, "timestamp"),
        _named(vehicle, "occupancy_status"),
    )


def _alert(entity: str, alert: Any) -> Alert:
    return Alert(
        entity,
        tuple(map(_informed, alert.informed_entity)),
        tuple((_number(each, "start"), _number(each, "end")) for each in alert.active_period),
        _named(alert, "cause"),
        _named(alert, "effect"),
        _named(alert, "severity_level"),
        tuple(_texts(alert.header_text)),
        tuple(_texts(alert.description_text)),
        tuple(_texts(alert.url)),
    )


def _informed(entity: Any) -> Informed:
    return Informed(
        entity.agency_id,
        entity.route_id,
        entity.stop_id,
        _trip(entity.trip) if entity.HasField("trip") else None,
        _number(entity, "route_type"),
    )


def _texts(translated: Any) -> Iterator[tuple[str, str]]:
    for each in translated.translation:
        yield each.language, each.text


def _number(message: Any, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


def _named(message: Any, name: str) -> str:
    """The name of a value of an enumeration; empty where nothing is said."""
    if not message.HasField(name):
        return ""
    kind = message.DESCRIPTOR.fields_by_name[name].enum_type
    return str(kind.values_by_number[getattr(message, name)].name)
