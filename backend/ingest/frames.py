"""How a record stands in the log: length, checksum, payload, one after the other."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from citywise.backend.errors import CitywiseError

_HEADER = struct.Struct("<II")
OVERHEAD = _HEADER.size


class LogError(CitywiseError):
    """The log cannot be read or written; the message names the file or address, and the
    position."""


class Record(NamedTuple):
    """A record: its position, the position after it, and its bytes."""

    position: int
    end: int
    payload: bytes


class Source(Protocol):
    """What records are read from: an open segment, or a stretch that comes over the network."""

    def read(self, size: int, /) -> bytes:
        """The next `size` bytes, fewer only at the end."""


def pack(payloads: Sequence[bytes]) -> bytes:
    """The bytes of records with these payloads."""
    return b"".join(_HEADER.pack(len(p), zlib.crc32(p)) + p for p in payloads)


def size(payload: bytes) -> int:
    """The bytes that a record with this payload takes in the log."""
    return _HEADER.size + len(payload)


def scan(source: Source, start: int, end: int | None = None) -> Iterator[Record]:
    """Whole, undamaged records of a source that stands at position `start`.

    Stops at the first that is neither, or at position `end`. None is empty: the zeros that a
    crash leaves in a file would be such records.
    """
    position = start
    while end is None or position < end:
        header = source.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return
        length, checksum = _HEADER.unpack(header)
        payload = source.read(length)
        if not payload or len(payload) < length or zlib.crc32(payload) != checksum:
            return
        after = position + _HEADER.size + length
        yield Record(position, after, payload)
        position = after


def record_at(data: bytes, start: int, end: int) -> Record | None:
    """The whole, undamaged record that begins at `start` of some bytes and ends by `end`."""
    if start + _HEADER.size > end:
        return None
    length, checksum = _HEADER.unpack_from(data, start)
    first = start + _HEADER.size
    after = first + length
    if not length or after > end or zlib.crc32(memoryview(data)[first:after]) != checksum:
        return None
    return Record(start, after, data[first:after])
