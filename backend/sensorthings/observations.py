"""Observations: the values of history, found by series and time in the database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from citywise.backend.sensorthings.filters import Expression, OptionError
from citywise.backend.sensorthings.model import City, Entity
from citywise.backend.sensorthings.options import Options
from citywise.backend.store.models import HistoryValueRow
from citywise.backend.times import iso, to_ms

MOST_LOOKED_AT = 100_000
"""Values that one question may have looked at."""
_MOST_ORDERED = 200
"""Datastreams whose Observations are put in one order."""
_ID = re.compile(r"(\d{1,15})\.(-?\d{1,15})")
_TIMES = ("phenomenonTime", "resultTime")
_MIRRORED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge", "eq": "eq"}
Fits = Callable[[Entity], bool]
Rows = Select[int, int, float | None, str | None]


def one(connection: Connection, city: City, identity: str) -> Entity | None:
    """The Observation of an id."""
    match = _ID.fullmatch(identity)
    row = HistoryValueRow
    if match is None or int(match[1]) not in city.series:
        return None
    wanted = (row.series == int(match[1]), row.at_ms == int(match[2]))
    found = connection.execute(_ROWS.where(*wanted)).one_or_none()
    return None if found is None else _entity(found, city)


def page(
    connection: Connection, city: City, series: Sequence[int], options: Options, fits: Fits
) -> tuple[list[Entity], int | None, bool]:
    """A page of the Observations of some Datastreams, how many there are where that is asked, and
    whether there is more. `fits`: whether one passes the filter."""
    query = _within(_ROWS.where(HistoryValueRow.series.in_(series)), options.filter)
    is_plain = _is_of_time(options.filter)
    ordered = _ordered(query, options, len(series))
    if is_plain:
        total = None
        if options.count:
            total = connection.scalar(select(func.count()).select_from(query.subquery())) or 0
        rows = connection.execute(ordered.offset(options.skip).limit(options.top + 1)).all()
        found = [_entity(row, city) for row in rows]
        return found[: options.top], total, len(found) > options.top
    matching = (e for e in _looked_at(connection, city, ordered) if fits(e))
    if options.count:
        every = list(matching)
        end = options.skip + options.top
        return every[options.skip : end], len(every), len(every) > end
    found = []
    for index, entity in enumerate(matching):
        if index >= options.skip:
            found.append(entity)
        if len(found) > options.top:
            break
    return found[: options.top], None, len(found) > options.top


_ROWS = select(
    HistoryValueRow.series, HistoryValueRow.at_ms, HistoryValueRow.value, HistoryValueRow.text
)


def _looked_at(connection: Connection, city: City, query: Rows) -> Iterator[Entity]:
    for number, row in enumerate(connection.execute(query.limit(MOST_LOOKED_AT + 1))):
        if number == MOST_LOOKED_AT:
            raise OptionError(
                f"$filter: more than {MOST_LOOKED_AT} Observations would have to be looked at; "
                "ask one Datastream, or a shorter phenomenonTime"
            )
        yield _entity(row, city)


def _ordered(query: Rows, options: Options, count: int) -> Rows:
    """In the order that is asked for: of time, or of result within one Datastream."""
    row = HistoryValueRow
    columns: list[Any] = []
    for expression, descends in options.order:
        name = expression.parts[0] if expression.name == "path" else ""
        column = {"result": row.value, **dict.fromkeys(_TIMES, row.at_ms)}.get(str(name))
        if column is None or len(expression.parts) > 1:
            if name in ("id", "@iot.id"):
                continue
            raise OptionError("$orderby: Observations are ordered by phenomenonTime or result")
        columns.append(column.desc() if descends else column.asc())
    if columns and count > _MOST_ORDERED:
        raise OptionError(f"$orderby: {count} Datastreams are too many; ask one")
    return query.order_by(*columns, row.series, row.at_ms)


def _within(query: Rows, expression: Expression | None) -> Rows:
    """With the bounds of time that a filter says, so that the database finds them."""
    for name, moment in _bounds(expression):
        at = HistoryValueRow.at_ms
        told = {"gt": at > moment, "ge": at >= moment, "lt": at < moment, "le": at <= moment}
        query = query.where(told.get(name, at == moment))
    return query


def _bounds(expression: Expression | None) -> Iterator[tuple[str, int]]:
    if expression is None:
        return
    if expression.name == "and":
        for part in expression.parts:
            yield from _bounds(part)
    elif expression.name in _MIRRORED:
        left, right = expression.parts
        name = expression.name
        if right.name == "path":
            left, right, name = right, left, _MIRRORED[name]
        if left.parts[:1] and left.name == "path" and left.parts in [(t,) for t in _TIMES]:
            moment = right.parts[0] if right.name == "literal" else None
            if isinstance(moment, datetime):
                yield name, to_ms(moment)


def _is_of_time(expression: Expression | None) -> bool:
    """Whether the bounds of time are all that a filter says."""
    if expression is None:
        return True
    if expression.name == "and":
        return all(map(_is_of_time, expression.parts))
    return bool(list(_bounds(expression)))


def _entity(row: Row[int, int, float | None, str | None], city: City) -> Entity:
    moment = iso(row.at_ms)
    result = row.text if row.value is None else city.typed(row.series, row.value)
    body = {"phenomenonTime": moment, "resultTime": moment, "result": result}
    return Entity("Observations", f"{row.series}.{row.at_ms}", {**body, "@series": row.series})
