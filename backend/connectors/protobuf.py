"""Protocol buffers as GTFS-Realtime uses them: the wire format, read by tables of fields.

A damaged entity costs itself, not the feed; fields that are not in a table are skipped.
Sources: Protocol Buffers, Encoding; gtfs-realtime.proto 2.0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_VARINT = 10
_MOST_DEPTH = 20


class WireError(ValueError):
    """Bytes are no message of protocol buffers."""


class Fields(NamedTuple):
    """What a field is called, what it holds, and whether it may come again."""

    name: str
    type: str
    """`text`, `number`, `signed`, `bool`, `float`, `double`, or a message."""
    repeated: bool = False


def _table(*rows: str) -> dict[int, Fields]:
    """Rows as `2 entity FeedEntity*`."""
    found = {}
    for row in rows:
        number, name, kind = row.split()
        found[int(number)] = Fields(name, kind.removesuffix("*"), kind.endswith("*"))
    return found


MESSAGES: Mapping[str, Mapping[int, Fields]] = {
    "FeedMessage": _table("1 header FeedHeader", "2 entity FeedEntity*"),
    "FeedHeader": _table(
        "1 gtfs_realtime_version text", "2 incrementality number", "3 timestamp number"
    ),
    "FeedEntity": _table(
        "1 id text", "2 is_deleted bool", "3 trip_update TripUpdate", "4 vehicle VehiclePosition",
        "5 alert Alert",
    ),
    "TripUpdate": _table(
        "1 trip TripDescriptor", "2 stop_time_update StopTimeUpdate*",
        "3 vehicle VehicleDescriptor", "4 timestamp number", "5 delay signed",
    ),
    "StopTimeUpdate": _table(
        "1 stop_sequence number", "2 arrival StopTimeEvent", "3 departure StopTimeEvent",
        "4 stop_id text", "5 schedule_relationship number",
    ),
    "StopTimeEvent": _table("1 delay signed", "2 time signed", "3 uncertainty signed"),
    "VehiclePosition": _table(
        "1 trip TripDescriptor", "2 position Position", "3 current_stop_sequence number",
        "4 current_status number", "5 timestamp number", "6 congestion_level number",
        "7 stop_id text", "8 vehicle VehicleDescriptor", "9 occupancy_status number",
        "10 occupancy_percentage number",
    ),
    "Position": _table(
        "1 latitude float", "2 longitude float", "3 bearing float", "4 odometer double",
        "5 speed float",
    ),
    "TripDescriptor": _table(
        "1 trip_id text", "2 start_time text", "3 start_date text",
        "4 schedule_relationship number", "5 route_id text", "6 direction_id number",
    ),
    "VehicleDescriptor": _table("1 id text", "2 label text", "3 license_plate text"),
    "Alert": _table(
        "1 active_period TimeRange*", "5 informed_entity EntitySelector*", "6 cause number",
        "7 effect number", "8 url TranslatedString", "10 header_text TranslatedString",
        "11 description_text TranslatedString", "14 severity_level number",
    ),
    "TimeRange": _table("1 start number", "2 end number"),
    "EntitySelector": _table(
        "1 agency_id text", "2 route_id text", "3 route_type signed", "4 trip TripDescriptor",
        "5 stop_id text", "6 direction_id number",
    ),
    "TranslatedString": _table("1 translation Translation*"),
    "Translation": _table("1 text text", "2 language text"),
}  # fmt: skip


def fields(body: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value of each field; raises `WireError` where one is cut off."""
    at = 0
    while at < len(body):
        tag, at = _varint(body, at)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if not 0 < number < 1 << 29:
            raise WireError(f"there is no field {number}")
        if wire == _VARINT:
            value, at = _varint(body, at)
        elif wire in (_FIXED64, _FIXED32):
            value, at = _slice(body, at, 8 if wire == _FIXED64 else 4)
        elif wire == _BYTES:
            length, at = _varint(body, at)
            value, at = _slice(body, at, length)
        else:
            raise WireError(f"field {number} has the wire type {wire}, which is none")
        yield number, wire, value


def _varint(body: bytes, at: int) -> tuple[int, int]:
    found = 0
    for place in range(_MOST_VARINT):
        if at + place >= len(body):
            raise WireError("a number is cut off")
        byte = body[at + place]
        found |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return found & (1 << 64) - 1, at + place + 1
    raise WireError("a number is too long")


def _slice(body: bytes, at: int, length: int) -> tuple[bytes, int]:
    if length > len(body) - at:
        raise WireError(f"{length} bytes are promised, {len(body) - at} are there")
    return body[at : at + length], at + length


def message(name: str, body: bytes, depth: int = 0) -> dict[str, Any]:
    """A message of a table as a dictionary; raises `WireError`."""
    if depth > _MOST_DEPTH:
        raise WireError("it nests too deep")
    table, found = MESSAGES[name], dict[str, Any]()
    for number, wire, value in fields(body):
        if (field := table.get(number)) is None:
            continue
        one = _value(field, wire, value, depth)
        if field.repeated:
            found.setdefault(field.name, []).append(one)
        else:
            found[field.name] = one
    return found


def _value(field: Fields, wire: int, value: Any, depth: int) -> Any:
    expected = {"float": _FIXED32, "double": _FIXED64, "number": _VARINT, "signed": _VARINT}
    if wire != expected.get(field.type, _VARINT if field.type == "bool" else _BYTES):
        raise WireError(f"`{field.name}` has the wire type {wire}")
    match field.type:
        case "text":
            return value.decode("utf-8", "replace")
        case "number":
            return value
        case "signed":
            return value - (1 << 64) if value >> 63 else value
        case "bool":
            return bool(value)
        case "float":
            return round(struct.unpack("<f", value)[0], 6)
        case "double":
            return struct.unpack("<d", value)[0]
    return message(field.type, value, depth + 1)
