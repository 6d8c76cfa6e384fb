"""Protocol buffers as GTFS-Realtime uses them: a feed taken apart, so that a damaged entity costs
itself and not the feed. Entities are read by the bindings that public transport uses, too.

Source: Protocol Buffers, Encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_VARINT = 10


class WireError(ValueError):
    """Bytes are no message of protocol buffers."""


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


def entity(body: bytes) -> dict[str, Any]:
    """A `FeedEntity` as a dictionary of the fields that are set; raises `WireError`."""
    from google.protobuf.json_format import Error, MessageToDict
    from google.protobuf.message import DecodeError
    from google.transit import gtfs_realtime_pb2 as wire

    found = wire.FeedEntity()
    try:
        found.ParseFromString(body)
        told: dict[str, Any] = MessageToDict(
            found, preserving_proto_field_name=True, use_integers_for_enums=True
        )
    except (DecodeError, Error, UnicodeDecodeError) as error:
        raise WireError(f"it is no `FeedEntity` ({error})") from None
    return told
