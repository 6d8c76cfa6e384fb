"""What was kept under a field's former name, when a kind is installed in which it has another.

`was` in a kind's file says the former name, `was_unit` the unit (docs/kinds.md#change-a-field).
History and the latest readings go with the name, and are converted; what is kept under both names
of one sensor, as both were fields once, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, update

from citywise.backend.kinds.kind import Field, Kind
from citywise.backend.kinds.units import convert
from citywise.backend.store.models import (
    HistoryRollupRow,
    HistorySeriesRow,
    HistoryValueRow,
    ReadingRow,
)


def faults(before: Kind, after: Kind) -> Iterator[str]:
    """What keeps fields of a kind from being what they were called before."""
    for former, name in after.former.items():
        known, field = before.fields.get(former), after.fields[name]
        if known is None:
            continue  # it has been renamed before, or nothing was ever called so
        if known.is_number != field.is_number:
            is_what = f"`{former}` is {known.type}, `{name}` {field.type}"
            yield f"fields.{name}.was: {is_what}; remove `was`, or make both numbers"
        elif known.unit != field.former_unit:
            said = f"`{former}` is in {known.unit}" if known.unit else f"`{former}` has no unit"
            unit = f'write `was_unit = "{known.unit}"`' if known.unit else "remove `unit`"
            yield f"fields.{name}.was_unit: {said}; {unit}"


def migrate(connection: Connection, kind: Kind) -> None:
    """Let what is kept of fields follow their names; nothing where it has done so."""
    for former, name in kind.former.items():
        _history(connection, kind.kind, name, former, kind.fields[name])
    if kind.former:
        _latest(connection, kind)


def _history(connection: Connection, kind: str, name: str, former: str, field: Field) -> None:
    row = HistorySeriesRow
    query = select(row.sensor, row.id).where(row.kind == kind)
    there = set(connection.scalars(query.with_only_columns(row.sensor).where(row.field == name)))
    found = connection.execute(query.where(row.field == former)).all()
    for sensor, number in found:
        if sensor in there:
            continue
        connection.execute(update(row).where(row.id == number).values(field=name))
        if field.former_unit != field.unit:
            _convert(connection, number, field.former_unit or "1", field.unit or "1")


def _convert(connection: Connection, series: int, unit: str, wanted: str) -> None:
    begin = convert(Fraction(0), unit, wanted)
    factor, offset = float(convert(Fraction(1), unit, wanted) - begin), float(begin)
    raw, rolled = HistoryValueRow, HistoryRollupRow

    def turned(column: Any) -> ColumnElement[float]:
        found: ColumnElement[float] = column * factor + offset
        return found

    there = (raw.series == series, raw.value.is_not(None))
    connection.execute(update(raw).where(*there).values(value=turned(raw.value)))
    sums: Mapping[str, ColumnElement[float]] = {
        "low": turned(rolled.low),
        "high": turned(rolled.high),
        "total": rolled.total * factor + rolled.number * offset,
    }
    connection.execute(update(rolled).where(rolled.series == series).values(**sums))


def _latest(connection: Connection, kind: Kind) -> None:
    row = ReadingRow
    rows = connection.execute(select(row.place_id, row.body).where(row.kind == kind.kind)).all()
    for place, body in rows:
        told = kind.renamed(body)
        if told is not body:
            own = (row.kind == kind.kind, row.place_id == place)
            connection.execute(update(row).where(*own).values(body=told))
