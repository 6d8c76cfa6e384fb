"""GTFS-Realtime 2: alerts as events; positions where a kind of the city has them.

An alert names stops, routes or an agency, never coordinates: give the timetable (`stops.txt` in
GTFS's .zip) before it, and alerts at stops are events there. Trips belong to public transport.
Feeds are protocol buffers, or the JSON that some servers give. Source: gtfs-realtime.proto 2.0.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from citywise.backend.connectors import protobuf, times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Desk, Draft
from citywise.backend.connectors.events import event, level
from citywise.backend.connectors.found import Event, Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import Position, line, position
from citywise.backend.connectors.message import MOST_BYTES, Json, Message, as_json

_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_CAUSES = {6: "ACCIDENT"}
_LEVELS = {1: "UNKNOWN_SEVERITY", 2: "INFO", 3: "WARNING", 4: "SEVERE"}
_POSITION = {
    "speed": "m/s",
    "odometer": "m",
    "bearing": "deg",
    "latitude": "deg",
    "longitude": "deg",
}
_MOST_STOPS = 500_000
_MOST_NAMED = 1_000


class GtfsRealtime(Connector):
    """See the module."""

    name = "gtfs-rt"
    title = (
        "GTFS-Realtime 2: alerts and positions (the timetable's .zip first tells where stops are)"
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._stops: dict[str, Position] = {}

    def things(self, message: Message) -> Finds:
        body = message.checked().body
        if body[:4] == b"PK\x03\x04":
            self._stops |= _stops(body, message.within)
            return
        entities = _of_json(message) if body.lstrip()[:1] == b"{" else _of_protobuf(body)
        for told in entities:
            if isinstance(told, Fault):
                yield refused(told)
                continue
            try:
                yield from self._entity(told, message.at_ms)
            except Fault as fault:
                yield refused(fault)

    def _entity(self, told: Json, at_ms: int | None) -> Finds:
        if told["is_deleted"].value is True:
            yield Event(self.desk.event(told["id"].name, told.at), None)
        elif told["alert"].is_object:
            yield self._alert(told, told["alert"], at_ms)
        elif told["vehicle"].is_object:
            yield from self._vehicle(told, told["vehicle"], at_ms)
        else:
            yield Unknown("TripUpdate" if told["trip_update"].is_object else "entity", told.at)

    def _alert(self, told: Json, alert: Json, at_ms: int | None) -> Event:
        spans = [
            (_moment(one["start"], told), _moment(one["end"], told))
            for one in alert["active_period"]
        ]
        starts = [start for start, _end in spans if start is not None]
        ends = [end for _start, end in spans if end is not None]
        named = [one["stop_id"].name for one in alert["informed_entity"]][:_MOST_NAMED]
        where = [self._stops[name] for name in named if name in self._stops]
        cause = _named(alert["cause"], _CAUSES)
        return event(
            self.desk, told["id"].name, told.at,
            type_name="Accident" if cause == "ACCIDENT" else "TransportationEvent",
            severity=level(_named(alert["severity_level"], _LEVELS)),
            geometry=line(where, told.at) if where else None,
            start_ms=min(starts, default=at_ms),
            end_ms=max(ends) if ends and len(ends) == len(spans) else None, now_ms=at_ms,
            name=_text(alert["header_text"]) or _text(alert["description_text"]),
        )  # fmt: skip

    def _vehicle(self, told: Json, vehicle: Json, at_ms: int | None) -> Finds:
        where = vehicle["position"]
        if where.is_object:
            position(where["longitude"].value, where["latitude"].value, told.at)
        foreign = vehicle["vehicle"]["id"].name or told["id"].name
        observed = _moment(vehicle["timestamp"], told)
        sensor = self.desk.sensor(foreign, told.at)
        draft = Draft(self.desk, sensor, at_ms if observed is None else observed, told.at)
        for name, value in where.items():
            draft.other(name, _exact(value.value), told.at, _POSITION.get(name))
        for name in ("trip_id", "route_id"):
            draft.other(name, vehicle["trip"][name].value, told.at)
        for name in ("stop_id", "occupancy_percentage"):
            draft.other(name, vehicle[name].value, told.at)
        yield from draft.finish("VehiclePosition")


def _of_protobuf(body: bytes) -> Iterator[Json | Fault]:
    """The entities of a feed; what is damaged is a fault of its own."""
    has_header, count = False, 0
    try:
        for number, _wire, value in protobuf.fields(body):
            if number == 1 and isinstance(value, bytes):
                has_header = True
            elif number == 2 and isinstance(value, bytes):
                count += 1
                yield _entity(value, count)
    except protobuf.WireError as error:
        yield Fault("protobuf", "", f"found no feed of GTFS-Realtime: {error}")
    else:
        if not has_header:
            yield Fault("protobuf", "", "found no feed of GTFS-Realtime: it has no header")


def _entity(value: bytes, count: int) -> Json | Fault:
    try:
        found = protobuf.entity(value)
    except protobuf.WireError as error:
        return Fault(
            "protobuf", f"entity {_id(value) or f'number {count}'}", f"it is damaged: {error}"
        )
    return Json(found, f"entity {found.get('id') or f'number {count}'}")


def _id(value: bytes) -> str | None:
    """The id of an entity that is damaged behind it."""
    try:
        for number, _wire, told in protobuf.fields(value):
            if number == 1 and isinstance(told, bytes):
                return told.decode("utf-8", "replace")
    except protobuf.WireError:
        pass
    return None


def _of_json(message: Message) -> Iterator[Json | Fault]:
    whole = Json(_snaked(as_json(message).value), message.within)
    if not whole["header"].is_object:
        yield Fault(
            "value", whole["header"].at, "found no header, expected a feed of GTFS-Realtime"
        )
    yield from whole["entity"]


def _snaked(value: Any) -> Any:
    """JSON of protocol buffers with the names of their fields."""
    if isinstance(value, dict):
        return {_CAMEL.sub(r"_\1", key).lower(): _snaked(one) for key, one in value.items()}
    return [_snaked(one) for one in value] if isinstance(value, list) else value


def _moment(told: Json, entity: Json) -> int | None:
    """A time in seconds; 0 is none (fields of protocol buffers that were not set)."""
    if told.value in (None, 0, "0", ""):
        return None
    return times.instant(told.value, entity.at)


def _named(told: Json, names: dict[int, str]) -> str:
    return told.text or names.get(told.value if isinstance(told.value, int) else -1, "")


def _text(told: Json) -> str | None:
    """A translated text: in English, else the first."""
    found = [(one["language"].text or "", one["text"].text) for one in told["translation"]]
    english = [text for language, text in found if language.startswith("en")]
    return next(iter([*english, *(text for _language, text in found)]), None)


def _exact(value: Any) -> Any:
    return str(value) if isinstance(value, float) else value


def _stops(body: bytes, at: str) -> dict[str, Position]:
    """Where the stops of a timetable are."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            name = next(
                (n for n in archive.namelist() if n.rpartition("/")[2] == "stops.txt"), None
            )
            if name is None or archive.getinfo(name).file_size > MOST_BYTES:
                raise Fault("value", at, "found no stops.txt that can be read in the .zip")
            text = archive.read(name).decode("utf-8-sig", "replace")
    except Fault:
        raise
    except Exception as error:  # noqa: BLE001 - zlib and its like have errors of their own
        raise Fault("value", at, f"found no .zip that can be read: {error}") from None
    found: dict[str, Position] = {}
    for row in csv.DictReader(io.StringIO(text)):
        try:
            found[row["stop_id"]] = position(row["stop_lon"], row["stop_lat"], at)
        except (Fault, KeyError):  # a stop without coordinates
            continue
        if len(found) >= _MOST_STOPS:
            break
    return found
