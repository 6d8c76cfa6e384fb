"""What a log record holds: accepted observations of one kind, a clock, or what stands.

Records are JSON, so that a person can read a log; times are Unix milliseconds:
- `{"k": kind, "r": received, "v": [[sensor, observed, {values}], …]}`,
- `{"k": "clock", "r": …, "now": …, "complete": …}`,
- `{"k": "standing", "r": …, "since": position, "v": [[subject, key, {body} or null, inlet id or
  null, heard], …]}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from backend.ingest import log
from backend.ingest.payloads import Clock, Observation
from backend.times import from_ms, to_ms

_INDEX_BITS = 16
_IDENTITY = ("sensor", "observed_at")
_STANDING = b'{"k":"standing"'
MOST_ROWS = 1 << _INDEX_BITS
"""Of one record."""


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
    where it is removed. Everything that stands at `position` is found from the log position
    `since` on: what the ingest does not hear again it appends again.
    """

    subject: str
    key: str
    body: Mapping[str, Any] | None
    position: int
    since: int = 0


LogEntry = Reading | ClockReading | Standing


class StandingRow(NamedTuple):
    """One row of a record of what stands: `body` is JSON; `inlet` the id of the row of the
    table `inlet` that it comes from; `heard_ms` when its user was last heard of."""

    subject: str
    key: str
    body: bytes | None
    inlet: int | None = None
    heard_ms: int | None = None


class StandingRecord(NamedTuple):
    """A record of what stands, not yet decoded into entries."""

    position: int
    received_ms: int
    since: int
    rows: list[list[Any]]
    """As `StandingRow`, with the body as a value."""


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


def encode_standing(rows: Sequence[StandingRow], received_ms: int, since: int) -> bytes:
    """A record of what stands from now on; at most `MOST_ROWS` rows."""
    values = [
        [r.subject, r.key, r.body and orjson.Fragment(r.body), r.inlet, r.heard_ms] for r in rows
    ]
    return orjson.dumps({"k": "standing", "r": received_ms, "since": since, "v": values})


def decode_standing(record: log.Record) -> StandingRecord | None:
    """What a record says to stand; None if it is of another kind."""
    if not record.payload.startswith(_STANDING):
        return None
    body: dict[str, Any] = orjson.loads(record.payload)
    return StandingRecord(record.position, body["r"], body["since"], body["v"])


def standing_since(folder: Path, end: int) -> int:
    """The log position from which on everything that stands at `end` is found.

    That is what a reader needs that begins at `end` and knows nothing.
    """
    bases = [base for base in log.segments(folder) if base < end]
    stop = end
    for base in reversed(bases):
        newest = None
        for record in log.read(folder, base, stop):
            newest = record if record.payload.startswith(_STANDING) else newest
        if newest and (found := decode_standing(newest)):
            return max(found.since, bases[0])
        stop = base
    return end


def read(location: Path | str, start: int, end: int) -> Iterator[LogEntry]:
    """Readings, clocks and what stands in a stretch of the log, in order of arrival.

    The location is the log's folder or its address (see `backend.ingest.log`).

    A reading's position orders it within its record: record position × 65,536 + index.
    """
    for record in log.read(location, start, end):
        yield from decode(record)


def read_standing(location: Path | str, start: int, end: int) -> Iterator[Standing]:
    """Only what stands of a stretch of the log: as `read`, without decoding the rest."""
    for record in log.read(location, start, end):
        if (found := decode_standing(record)) is not None:
            yield from _standing(found)


def item_position(record_position: int) -> int:
    """The position of the first reading of the record at a log position."""
    return record_position << _INDEX_BITS


def record_position(item_position: int) -> int:
    """The log position of the record that holds a reading."""
    return item_position >> _INDEX_BITS


def decode(record: log.Record) -> Iterator[LogEntry]:
    """What one record holds."""
    if (found := decode_standing(record)) is not None:
        yield from _standing(found)
        return
    body: dict[str, Any] = orjson.loads(record.payload)
    position = item_position(record.position)
    if body["k"] == "clock":
        yield ClockReading(body["now"], body["complete"], position)
        return
    for index, (sensor, observed, values) in enumerate(body["v"]):
        yield Reading(body["k"], sensor, observed, body["r"], values, position + index)


def _standing(record: StandingRecord) -> Iterator[Standing]:
    position = item_position(record.position)
    for index, (subject, key, body, *_) in enumerate(record.rows):
        yield Standing(subject, key, body, position + index, record.since)
