"""Asking history: values or roll-ups of a kind, by place and time, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, func, select
from sqlalchemy.orm import aliased

from citywise.backend.history.spans import RAW, start_of
from citywise.backend.space.sphere import distance_m
from citywise.backend.store.models import (
    HistoryRollupRow,
    HistorySeriesRow,
    HistoryValueRow,
    PlaceRow,
)

MOST_NAMED = 500
"""Sensors that a question to the database names; of more all are read and sorted out here."""


@dataclass(frozen=True)
class Question:
    """What is asked: a kind's values in [`begin_ms`, `end_ms`) (Unix ms), of some sensors and
    fields (None: all), as measured (`RAW`) or rolled up by spans of so many seconds, the one
    in which `begin_ms` lies included."""

    kind: str
    begin_ms: int
    end_ms: int
    sensors: Sequence[str] | None = None
    fields: Sequence[str] | None = None
    span_s: int = RAW


class Point(NamedTuple):
    """A value, or the roll-up of a span; `at_ms` is its time, or when the span begins."""

    series: int
    sensor: str
    field: str
    at_ms: int
    value: float | str | None = None
    number: int = 1
    low: float = 0.0
    high: float = 0.0
    total: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of a span's values."""
        return self.total / self.number


def points(
    connection: Connection, asked: Question, most: int, after: tuple[int, int] | None = None
) -> Iterator[Point]:
    """At most so many points, series by series (by sensor and field), each in order of time.

    `after`: time and series of the last point of the page before.
    """
    series = _series(connection, asked)
    if after is not None:
        place = next((n for n, found in enumerate(series) if found[0] == after[1]), len(series))
        series = series[place:]
    for number, sensor, field in series:
        begin = asked.begin_ms if asked.span_s == RAW else start_of(asked.span_s, asked.begin_ms)
        if after is not None and after[1] == number:
            begin = max(begin, after[0] + 1)
        for point in _of_series(connection, asked, begin, (number, sensor, field), most):
            yield point
            most -= 1
        if most <= 0:
            return


def _of_series(
    connection: Connection, asked: Question, begin: int, series: tuple[int, str, str], most: int
) -> Iterator[Point]:
    number = series[0]
    if asked.span_s == RAW:
        raw = HistoryValueRow
        query = select(raw.at_ms, raw.value, raw.text).where(
            raw.series == number, raw.at_ms >= begin, raw.at_ms < asked.end_ms
        )
        for at_ms, value, text in connection.execute(query.order_by(raw.at_ms).limit(most)):
            yield Point(*series, at_ms, text if value is None else value)
        return
    row = HistoryRollupRow
    rolled = select(row.start_ms, row.number, row.low, row.high, row.total).where(
        row.series == number,
        row.span_s == asked.span_s,
        row.start_ms >= begin,
        row.start_ms < asked.end_ms,
    )
    for at_ms, count, low, high, total in connection.execute(
        rolled.order_by(row.start_ms).limit(most)
    ):
        yield Point(*series, at_ms, None, count, low, high, total)


def last_before(
    connection: Connection, kind: str, at_ms: int, since_ms: int, span_s: int = RAW
) -> Iterator[Point]:
    """The last point of each series of a kind from after `since_ms` to `at_ms` (Unix ms), by
    sensor and field."""
    series = HistorySeriesRow
    head = select(series.id, series.sensor, series.field).where(series.kind == kind)
    head = head.order_by(series.sensor, series.field)
    if span_s == RAW:
        raw, other = HistoryValueRow, aliased(HistoryValueRow)
        within = (other.at_ms > since_ms, other.at_ms <= at_ms)
        newest = select(func.max(other.at_ms)).where(other.series == series.id, *within)
        last = and_(raw.series == series.id, raw.at_ms == _of_each(newest))
        query = head.join(raw, last).add_columns(raw.at_ms, raw.value, raw.text)
        for number, sensor, field, at, value, text in connection.execute(query):
            yield Point(number, sensor, field, at, text if value is None else value)
        return
    row, other_row = HistoryRollupRow, aliased(HistoryRollupRow)
    begun = (other_row.span_s == span_s, other_row.start_ms > since_ms, other_row.start_ms <= at_ms)
    begin = select(func.max(other_row.start_ms)).where(other_row.series == series.id, *begun)
    latest = and_(row.series == series.id, row.span_s == span_s, row.start_ms == _of_each(begin))
    rolled = head.join(row, latest).add_columns(
        row.start_ms, row.number, row.low, row.high, row.total
    )
    for number, sensor, field, at, *numbers in connection.execute(rolled):
        yield Point(number, sensor, field, at, None, *numbers)


def _of_each(query: Any) -> Any:
    """A value of the query for each series."""
    return query.correlate(HistorySeriesRow).scalar_subquery()


def _series(connection: Connection, asked: Question) -> list[tuple[int, str, str]]:
    """The series that a question is about, by sensor and field."""
    row = HistorySeriesRow
    query = select(row.id, row.sensor, row.field).where(row.kind == asked.kind)
    sensors = None if asked.sensors is None else set(asked.sensors)
    if sensors is not None and len(sensors) <= MOST_NAMED:
        query = query.where(row.sensor.in_(sensors))
    if asked.fields is not None:
        query = query.where(row.field.in_(asked.fields))
    rows = connection.execute(query.order_by(row.sensor, row.field))
    return [(n, sensor, f) for n, sensor, f in rows if sensors is None or sensor in sensors]


def places_within(
    connection: Connection,
    box: tuple[float, float, float, float] | None = None,
    near: tuple[float, float, float] | None = None,
) -> list[str]:
    """The ids of places in a box (west, south, east, north), or whose middle is within so many
    metres of a point (lat, lon, metres)."""
    row = PlaceRow
    query = select(row.id, row.lat, row.lon).order_by(row.id)
    if box is not None:
        west, south, east, north = box
        query = query.where(row.lon.between(west, east), row.lat.between(south, north))
    found = connection.execute(query).all()
    if near is None:
        return [place.id for place in found]
    lat, lon, most = near
    return [p.id for p in found if distance_m(lat, lon, p.lat, p.lon) <= most]
