"""Writing history: follow the log, keep each value once, and roll it up. What the log says last of
a sensor's instant counts: a value that is corrected or withdrawn changes its roll-ups, too.

Values, roll-ups and the position in the log are written in one transaction, so that a crash
neither loses nor doubles any. What a source replays is there already and changes nothing.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, delete, func, select, update

from citywise.backend.history.keeping import Kept, kept
from citywise.backend.history.spans import DAY_S, FIVE_MINUTES_S, HOUR_S, RAW, end_of, start_of
from citywise.backend.ingest import log, records
from citywise.backend.ingest.records import Reading, Withdrawal
from citywise.backend.kinds import Kinds
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.settings import History
from citywise.backend.store import clocks, followers
from citywise.backend.store.models import (
    HistoryRollupRow,
    HistorySeriesRow,
    HistoryValueRow,
)
from citywise.backend.store.upsert import upsert

LOG = logging.getLogger("citywise.history")
FOLLOWER = "history"
MOST_BYTES = 60_000
"""Of the log in one transaction: about 1,000 readings, so that others who write wait little."""
_Key = tuple[str, str, str]


class _Value(NamedTuple):
    """A value of a series (kind, sensor, field) at an instant; without number and text: there is
    none."""

    key: _Key
    at_ms: int
    number: float | None
    text: str | None

    @property
    def is_none(self) -> bool:
        """Whether there is no value."""
        return self.number is None and self.text is None


class HistoryWriter:
    """Follows the log at a folder; `step` does one portion."""

    def __init__(self, engine: Engine, location: Path, settings: History) -> None:
        self._engine, self._location, self._settings = engine, location, settings
        self._known = KnownKinds()
        self._series: dict[_Key, list[int]] = {}
        """Of each series its id, and the time of its newest value."""

    def step(self) -> bool:
        """Write what comes next in the log; False if there is nothing new."""
        end = log.durable_end(self._location)
        start = self._begin(end)
        if start >= end:
            return False
        try:
            stop = log.limit(self._location, start, end, MOST_BYTES)
            told = records.read_open(self._location, start, stop)
            readings = [entry for entry in told if isinstance(entry, Reading | Withdrawal)]
        except log.LogError as error:
            stop = log.next_base(self._location, start, end)
            LOG.warning("history lacks the log from %d to %d: %s", start, stop, error)
            readings = []
        try:
            with self._engine.begin() as connection:
                self._write(connection, readings)
                followers.keep(connection, FOLLOWER, stop)
        except Exception:
            self._series.clear()  # what is remembered was not committed
            raise
        return True

    def _begin(self, end: int) -> int:
        """Where to go on: where it ended, or at the log's begin if it is another log by now."""
        bases = log.segments(self._location)
        first = bases[0] if bases else end
        with self._engine.connect() as connection:
            known = followers.position(connection, FOLLOWER, end, first)
        return first if known is None else known

    # -- one transaction --------------------------------------------------------------

    def _write(self, connection: Connection, told: Iterable[Reading | Withdrawal]) -> None:
        kinds = self._known.read(connection)
        now_ms = clocks.read(connection).now_ms
        how_long = {name: kept(kind, self._settings) for name, kind in kinds.items()}
        values = {(v.key, v.at_ms): v for one in told for v in _values(one, kinds)}
        if not values:
            return
        self._know(connection, {value.key for value in values.values() if not value.is_none})
        new, changed = self._new(connection, list(values.values()), how_long, now_ms)
        _keep(connection, new, self._series, how_long)
        _roll_up(connection, new, self._series)
        self._advance(connection, new)
        for value in changed:
            oldest = how_long[value.key[0]].since(RAW, now_ms)
            _revise(connection, self._series[value.key][0], value, oldest)

    def _know(self, connection: Connection, keys: set[_Key]) -> None:
        """Have the ids of series, and make those that are new."""
        row = HistorySeriesRow
        if not self._series:
            for found in connection.execute(select(row.__table__)):
                key = found.kind, found.sensor, found.field
                self._series[key] = [found.id, found.newest_ms]
        fresh = sorted(keys - self._series.keys())
        if not fresh:
            return
        rows = [{"kind": k, "sensor": s, "field": f, "newest_ms": -1} for k, s, f in fresh]
        upsert(connection, row, rows, keys=("kind", "sensor", "field"), update=False)
        for kind, sensor in {(key[0], key[1]) for key in fresh}:
            query = select(row.field, row.id, row.newest_ms)
            query = query.where(row.kind == kind, row.sensor == sensor)
            for field, number, newest_ms in connection.execute(query):
                self._series.setdefault((kind, sensor, field), [number, newest_ms])

    def _new(
        self,
        connection: Connection,
        values: list[_Value],
        how_long: Mapping[str, Kept],
        now_ms: int,
    ) -> tuple[list[_Value], list[_Value]]:
        """Those that are not there yet, and those that are there otherwise: of what is earlier than
        a series' newest, as far back as values are kept."""
        late: dict[int, list[_Value]] = defaultdict(list)
        found: list[_Value] = []
        for value in values:
            if value.key not in self._series:
                continue  # nothing was ever known of it
            number, newest = self._series[value.key]
            if value.at_ms > newest:
                if not value.is_none:
                    found.append(value)
            elif value.at_ms >= how_long[value.key[0]].since(RAW, now_ms):
                late[number].append(value)
        row = HistoryValueRow
        changed: list[_Value] = []
        for number, some in late.items():
            first, last = min(v.at_ms for v in some), max(v.at_ms for v in some)
            query = select(row.at_ms, row.value, row.text)
            query = query.where(row.series == number, row.at_ms.between(first, last))
            there = {at: (value, text) for at, value, text in connection.execute(query)}
            for value in some:
                known = there.get(value.at_ms, (None, None))
                if known == (value.number, value.text):
                    continue
                (found if value.at_ms not in there else changed).append(value)
        return found, changed

    def _advance(self, connection: Connection, new: Iterable[_Value]) -> None:
        moved: dict[int, int] = {}
        for value in new:
            entry = self._series[value.key]
            if value.at_ms > entry[1]:
                entry[1] = moved[entry[0]] = value.at_ms
        if moved:
            row = HistorySeriesRow.__table__
            query = update(HistorySeriesRow).where(row.c.id == bindparam("number"))
            connection.execute(
                query.values(newest_ms=bindparam("newest")),
                [{"number": number, "newest": newest} for number, newest in moved.items()],
                execution_options={"synchronize_session": False},
            )


def _values(told: Reading | Withdrawal, kinds: Kinds) -> Iterable[_Value]:
    """What is told of the fields that the kind knows; nothing of those of a withdrawn reading."""
    kind = kinds.get(told.kind)
    if kind is None:
        return
    values = kind.renamed(told.values) if isinstance(told, Reading) else {}
    for name, field in kind.fields.items():
        key, value = (told.kind, told.sensor, name), values.get(name)
        if value is None:
            yield _Value(key, told.observed_ms, None, None)
        elif field.is_number or isinstance(value, bool):
            yield _Value(key, told.observed_ms, float(value), None)
        else:
            yield _Value(key, told.observed_ms, None, str(value))


def _revise(connection: Connection, number: int, value: _Value, oldest_ms: int) -> None:
    """Put a value in place of the one that is there, or take that away; roll up anew what it was
    part of, where all values of that time are still kept."""
    raw, rolled = HistoryValueRow, HistoryRollupRow
    there = (raw.series == number, raw.at_ms == value.at_ms)
    if value.is_none:
        connection.execute(delete(raw).where(*there))
    else:
        new = {"value": value.number, "text": value.text}
        connection.execute(update(raw).where(*there).values(new))
    for span_s in (FIVE_MINUTES_S, HOUR_S, DAY_S):
        begin = start_of(span_s, value.at_ms)
        if begin < oldest_ms:
            continue
        sums = select(func.count(), func.min(raw.value), func.max(raw.value), func.sum(raw.value))
        within = (raw.at_ms >= begin, raw.at_ms < end_of(span_s, begin))
        query = sums.where(raw.series == number, raw.value.is_not(None), *within)
        count, low, high, total = connection.execute(query).one()
        key = {"series": number, "span_s": span_s, "start_ms": begin}
        if count:
            row = {**key, "number": count, "low": low, "high": high, "total": total}
            upsert(connection, rolled, [row])
        else:
            connection.execute(delete(rolled).filter_by(**key))


def _keep(
    connection: Connection,
    values: Iterable[_Value],
    series: Mapping[_Key, list[int]],
    how_long: Mapping[str, Kept],
) -> None:
    rows: list[dict[str, Any]] = [
        {"series": series[v.key][0], "at_ms": v.at_ms, "value": v.number, "text": v.text}
        for v in values
        if how_long[v.key[0]].by_span[RAW]
    ]
    upsert(connection, HistoryValueRow, rows, update=False)


def _roll_up(
    connection: Connection, values: Iterable[_Value], series: Mapping[_Key, list[int]]
) -> None:
    sums: dict[tuple[int, int, int], list[float]] = {}
    for value in values:
        number = value.number
        if number is None:
            continue
        for span_s in (FIVE_MINUTES_S, HOUR_S, DAY_S):
            key = series[value.key][0], span_s, start_of(span_s, value.at_ms)
            known = sums.get(key)
            if known is None:
                sums[key] = [1, number, number, number]
            else:
                known[0] += 1
                known[1], known[2] = min(known[1], number), max(known[2], number)
                known[3] += number
    rows = [
        {
            "series": key[0], "span_s": key[1], "start_ms": key[2],
            "number": found[0], "low": found[1], "high": found[2], "total": found[3],
        }
        for key, found in sorted(sums.items())
    ]  # fmt: skip
    upsert(
        connection, HistoryRollupRow, rows, add=("number", "total"), least=("low",), most=("high",)
    )
