"""What a log record holds: accepted observations of one kind, or a clock.

Records are JSON, so that a person can read a log: `{"k": kind, "r": received, "v": [[sensor,
observed, {values}], …]}` and `{"k": "clock", "r": …, "now": …, "complete": …, …}`; times are
Unix milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from backend.ingest import log
from backend.ingest.payloads import Clock, Observation
from backend.times import from_ms, to_ms

_INDEX_BITS = 16
_IDENTITY = ("sensor", "observed_at")


@dataclass(frozen=True, slots=True)
class Reading:
    """One accepted observation, where it stands in the log, and its values."""

    kind: str
    sensor: str
    observed_ms: int
    received_ms: int
    values: Mapping[str, str | float | int | None]
    position: int


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A source's clock as it stands in the log."""

    now_ms: int
    complete_ms: int
    position: int

    @property
    def clock(self) -> Clock:
        """The clock that was written."""
        return Clock(now=from_ms(self.now_ms), complete=from_ms(self.complete_ms))


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands from here in the log until it is replaced or removed.

    `subject` is `place`, `event`, `position`, `route`, `activity`, `preferences` or
    `instance`; `key` names one of them (for what a user does: the user); `body` is None
    where it is removed.
    """

    subject: str
    key: str
    body: Mapping[str, Any] | None
    position: int


def encode_readings(kind: str, received_ms: int, observations: list[Observation]) -> bytes:
    """A record of observations of one kind."""
    rows = [
        [o.sensor, o.observed_ms, {k: v for k, v in vars(o).items() if k not in _IDENTITY}]
        for o in observations
    ]
    return orjson.dumps({"k": kind, "r": received_ms, "v": rows})


def encode_clock(clock: Clock, received_ms: int) -> bytes:
    """A record of a clock."""
    times = {"now": to_ms(clock.now), "complete": to_ms(clock.complete)}
    return orjson.dumps({"k": "clock", "r": received_ms, **times})


def read(location: Path | str, start: int, end: int) -> Iterator[Reading | ClockReading]:
    """Readings and clocks of a stretch of the log, in order of arrival.

    The location is the log's folder or its address (see `backend.ingest.log`).

    A reading's position orders it within its record: record position × 65,536 + index.
    """
    for record in log.read(location, start, end):
        yield from decode(record)


def item_position(record_position: int) -> int:
    """The position of the first reading of the record at a log position."""
    return record_position << _INDEX_BITS


def record_position(item_position: int) -> int:
    """The log position of the record that holds a reading."""
    return item_position >> _INDEX_BITS


def decode(record: log.Record) -> Iterator[Reading | ClockReading]:
    """What one record holds."""
    body: dict[str, Any] = orjson.loads(record.payload)
    position = item_position(record.position)
    if body["k"] == "clock":
        yield ClockReading(body["now"], body["complete"], position)
        return
    for index, (sensor, observed, values) in enumerate(body["v"]):
        yield Reading(body["k"], sensor, observed, body["r"], values, position + index)
