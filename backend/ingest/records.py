"""What a log record holds: accepted observations of one kind, a clock, or what stands.

Records are JSON, so that a person can read a log; times are Unix milliseconds:
- `{"k": kind, "r": received, "v": [[sensor, observed, {values}], …]}`; where a message had fields
  that we do not know, these come fourth; null in place of the values: the reading is withdrawn,
- `{"k": "clock", "r": …, "now": …, "complete": …}`,
- `{"k": "lost", "r": 0, "v": []}`, blanks in it: what it stands for could not be read any more,
- `{"k": "standing", "r": …, "since": position, "v": [[subject, key, {body} or null, inlet id or
  null, heard], …]}`; a row about one user is sealed: `[subject, id of a key, "box", inlet id or
  null, heard]` (see `seals`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from citywise.backend.ingest import log, seals
from citywise.backend.ingest.keyring import Keyring, beside
from citywise.backend.ingest.payloads import Clock
from citywise.backend.ingest.seals import Sealed
from citywise.backend.ingest.standing import CONTEXT
from citywise.backend.kinds import Observation
from citywise.backend.times import from_ms, to_ms

_INDEX_BITS = 16
_RECEIVED = re.compile(rb'\{"k":"[^"]{1,64}","r":(\d{1,15})[,}]')
_STANDING = b'{"k":"standing"'
_LOST = b'{"k":"lost","r":0,"v":[]}'
_AT_ONCE, _AT_ONCE_BYTES = 256, 1_000_000
_EXTRA_BYTES = 1000
"""Of one observation's fields that we do not know."""
MOST_ROWS = 1 << _INDEX_BITS
"""Of one record."""


@dataclass(slots=True)
class Reading:
    """One accepted observation, where it stands in the log, and its values.

    Nobody changes one; frozen it would take three times as long to make.
    """

    kind: str
    sensor: str
    observed_ms: int
    received_ms: int
    values: Mapping[str, str | float | int | None]
    position: int
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the message had besides: raw, for the operator."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """An observation that its sensor takes back. Another reading of the same kind, sensor and
    time corrects the one before; what the log says last of it counts."""

    kind: str
    sensor: str
    observed_ms: int
    received_ms: int
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


LogEntry = Reading | Withdrawal | ClockReading | Standing


class StandingRow(NamedTuple):
    """One row of a record of what stands: `body` is JSON; where it is about a user, it is a box,
    and `key` the id of the key to it. `inlet` is the id of the row of the table `inlet` that
    it comes from; `heard_ms` when its user was last heard of in this subject."""

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
    """As `StandingRow`, with the body as a value; a box is a text."""


def encode_readings(kind: str, received_ms: int, observations: list[Observation]) -> bytes:
    """A record of observations of one kind."""
    rows = [
        [o.sensor, o.observed_ms, None]
        if o.withdrawn
        else [o.sensor, o.observed_ms, o.values, *([bounded(o.extra)] if o.extra else ())]
        for o in observations
    ]
    return orjson.dumps({"k": kind, "r": received_ms, "v": rows})


def bounded(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that we do not know, as far as they are worth keeping: whatever a device sends beside
    its reading, the log does not grow by more than that."""
    kept: dict[str, Any] = {}
    left = _EXTRA_BYTES
    for name, value in extra.items():
        try:
            left -= len(orjson.dumps({name: value}))
        except TypeError:  # Deeper, or a larger number, than our JSON can say.
            continue
        if left < 0:
            break
        kept[name] = value
    return kept


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


def came_ms(location: Path | str, start: int, end: int) -> int | None:
    """When the first record of a stretch came in (Unix ms); None where there is none that says
    so."""
    try:
        first = next(log.read(location, start, end), None)
    except log.LogError:
        return None  # whoever needs the record tells of it
    found = _RECEIVED.match(first.payload) if first else None
    return int(found[1]) if found else None


def encode_lost(size: int) -> bytes:
    """A record of `size` bytes that says nothing, in place of one that is lost; longer where it
    would be shorter than any."""
    return b'{"k":"lost","r":0,"v":[' + b" " * (size - len(_LOST)) + b"]}"


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

    The location is the log's folder or its address (see `backend.ingest.log`). What is
    sealed is opened; where the key is gone, it is left out.

    A reading's position orders it within its record: record position × 65,536 + index.
    """
    for some in _portions(location, start, end):
        for record, standing in _opened(location, [(r, decode_standing(r)) for r in some]):
            yield from _standing(standing) if standing else decode(record)


def read_open(location: Path | str, start: int, end: int) -> Iterator[LogEntry]:
    """As `read`, without what stands, which may be people's and is not looked at."""
    for record in log.read(location, start, end):
        if decode_standing(record) is None:
            yield from decode(record)


def read_standing(location: Path | str, start: int, end: int) -> Iterator[Standing]:
    """Only what stands of a stretch of the log: as `read`, without decoding the rest."""
    for some in _portions(location, start, end):
        for _record, standing in _opened(location, [(r, decode_standing(r)) for r in some]):
            if standing:
                yield from _standing(standing)


def read_personal(
    folder: Path, start: int, end: int, user: str
) -> Iterator[tuple[int, str, str, Mapping[str, Any] | None]]:
    """What a stretch of the log says of one user that is sealed: when it came (Unix ms),
    subject, key and body (None: removed). Nobody else's is opened."""
    key = Keyring(beside(folder)).key_of(user)
    for some in _portions(folder, start, end) if key else ():
        assert key is not None
        mine = [r for r in some if key.id.encode() in r.payload]
        found = [(r, record) for r in mine if (record := decode_standing(r))]
        for _record, standing in found:
            standing.rows[:] = [row for row in standing.rows if row[1] == key.id]
        for _record, opened in _opened(folder, found):
            assert opened is not None
            for subject, name, body, _inlet, heard in opened.rows:
                yield heard or opened.received_ms, subject, name, body


def context_of(folder: Path, user: str) -> dict[str, Mapping[str, Any]]:
    """What is known of a user now, by subject (of `standing.CONTEXT`); no other's is opened."""
    end = log.durable_end(folder)
    found: dict[str, Mapping[str, Any] | None] = {}
    for _at, subject, key, body in read_personal(folder, standing_since(folder, end), end, user):
        if key == user and subject in CONTEXT:
            found[subject] = body
    return {subject: body for subject, body in found.items() if body is not None}


def forgettings(location: Path | str) -> int:
    """How many users have been forgotten, as far as this process knows."""
    return seals.at(location).forgettings()


def _portions(location: Path | str, start: int, end: int) -> Iterator[list[log.Record]]:
    """Records some at a time: keys are looked up for many at once."""
    some: list[log.Record] = []
    for record in log.read(location, start, end):
        some.append(record)
        if len(some) == _AT_ONCE or record.end - some[0].position >= _AT_ONCE_BYTES:
            yield some
            some = []
    yield some


_Found = Sequence[tuple[log.Record, StandingRecord | None]]


def _opened(location: Path | str, found: _Found) -> _Found:
    """Records with their sealed rows opened; a row that no key opens becomes empty."""
    rows = [row for _record, standing in found if standing for row in standing.rows]
    sealed = [(row, box) for row in rows if (box := Sealed.of(row))]
    if sealed:
        texts = seals.at(location).open([box for _row, box in sealed])
        for (row, _box), text in zip(sealed, texts, strict=True):
            if text is None:
                row.clear()
            else:
                row[1:3] = orjson.loads(text)
    return found


def item_position(record_position: int) -> int:
    """The position of the first reading of the record at a log position."""
    return record_position << _INDEX_BITS


def record_position(item_position: int) -> int:
    """The log position of the record that holds a reading."""
    return item_position >> _INDEX_BITS


def decode(record: log.Record) -> Iterator[LogEntry]:
    """What one record holds, but what is sealed (see `read`)."""
    if (found := decode_standing(record)) is not None:
        yield from _standing(found)
        return
    body: dict[str, Any] = orjson.loads(record.payload)
    position = item_position(record.position)
    if body["k"] == "clock":
        yield ClockReading(body["now"], body["complete"], position)
        return
    for index, (sensor, observed, values, *extra) in enumerate(body["v"]):
        if values is None:
            yield Withdrawal(body["k"], sensor, observed, body["r"], position + index)
            continue
        yield Reading(body["k"], sensor, observed, body["r"], values, position + index, *extra)


def _standing(record: StandingRecord) -> Iterator[Standing]:
    position = item_position(record.position)
    for index, row in enumerate(record.rows):
        if row and not Sealed.of(row):
            subject, key, body, *_ = row
            yield Standing(subject, key, body, position + index, record.since)
