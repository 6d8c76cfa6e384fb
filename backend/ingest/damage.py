"""What of a log's segment can be read: its records, and the stretches between them that cannot.

A record is found again behind damage by its checksum, wherever it begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from citywise.backend.ingest import frames
from citywise.backend.ingest.frames import LogError, Record

_HELP = (
    "nothing is cut; stop the system and see what can be saved with `citywise log check` and "
    "`citywise log salvage` (docs/delivery.md, A damaged log)"
)
_LENGTHS = re.compile(rb"[\x00-\x0f]")
"""The highest byte of a record's length. Text has no such bytes, so there are few to try."""


class DamagedLogError(LogError):
    """Records that were durable cannot be read any more; the message says where."""


class Stretch(NamedTuple):
    """Bytes between two log positions that hold no readable record."""

    start: int
    end: int


def at(path: Path, position: int, behind: int) -> DamagedLogError:
    """The error for a segment that cannot be read from a position on: so many bytes of it,
    the damaged ones included."""
    where = f"{path}: damaged record at position {position}, {behind} bytes from there on"
    return DamagedLogError(f"{where}; {_HELP}")


def ended(path: Path, position: int, mark: int) -> DamagedLogError:
    """The error for a log that ends before its durable mark."""
    where = f"{path}: ends at position {position}, but was durable up to {mark}"
    return DamagedLogError(f"{where}; {_HELP}")


def walk(data: bytes, base: int, end: int) -> Iterator[Record | Stretch]:
    """Records and unreadable stretches of a segment that begins at `base`, up to `end`."""
    position, stop = 0, min(len(data), end - base)
    while position < stop:
        record = frames.record_at(data, position, stop)
        if record is None:
            found = _following(data, position, stop)
            yield Stretch(base + position, base + found)
            position = found
        else:
            yield Record(base + position, base + record.end, record.payload)
            position = record.end
    if base + stop < end:
        yield Stretch(base + stop, end)


def is_readable(data: bytes) -> bool:
    """Whether there is a whole record anywhere in the bytes."""
    return _following(data, -1, len(data)) < len(data)


def _following(data: bytes, position: int, stop: int) -> int:
    """Where the next whole record after a position begins; `stop` if there is none."""
    for found in _LENGTHS.finditer(data, position + 4, stop):
        start = found.start() - 3
        if frames.record_at(data, start, stop) is not None:
            return start
    return stop
