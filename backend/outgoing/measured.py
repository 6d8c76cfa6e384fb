"""Readings as changes that leave: one after the other, as the log has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citywise.backend.ingest import log, records
from citywise.backend.ingest.records import Reading, Withdrawal

_MOST_BYTES = 100_000
"""Of the log that is read in one go."""


@dataclass(frozen=True)
class Measured:
    """A reading: `id` is its position in the log, which orders all of them."""

    id: int
    kind: str
    sensor: str
    at_ms: int
    values: Mapping[str, Any]
    created_ms: int


def since(location: Path, position: int, kinds: Collection[str]) -> tuple[list[Measured], int]:
    """The readings of some kinds that stand in the log from a position on, and up to where it was
    read. What the log has no more, or cannot be read, is left out."""
    told, stop = told_since(location, position, kinds, _MOST_BYTES)
    found = [
        Measured(e.position, e.kind, e.sensor, e.observed_ms, e.values, e.received_ms)
        for e in told
        if isinstance(e, Reading)
    ]
    return found, stop


def told_since(
    location: Path, position: int, kinds: Collection[str], most_bytes: int
) -> tuple[list[Reading | Withdrawal], int]:
    """What sensors have told or taken back, in the next so many bytes of the log; as `since`."""
    end = log.durable_end(location)
    bases = log.segments(location)
    start = max(position, bases[0]) if bases else end
    if start >= end:
        return [], end
    try:
        stop = log.limit(location, start, end, most_bytes)
        told = list(records.read_open(location, start, stop))
    except log.LogError:
        return [], log.next_base(location, start, end)
    found = [e for e in told if isinstance(e, Reading | Withdrawal) and e.kind in kinds]
    return found, stop
