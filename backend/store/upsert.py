"""`INSERT … ON CONFLICT` for the databases we support."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, Table, func
from sqlalchemy.orm import DeclarativeBase


def upsert(
    connection: Connection,
    table: type[DeclarativeBase] | Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    keys: Sequence[str] | None = None,
    update: bool = True,
    add: Collection[str] = (),
    least: Collection[str] = (),
    most: Collection[str] = (),
    newest: str | None = None,
) -> None:
    """Insert rows; one that exists by `keys` (default: the primary key) is updated, the numbers
    in the columns `add` being added to those that are there, those in `least` and `most` kept if
    they are less or more, or left as it is with `update=False`, or where the column `newest` says
    that it is newer."""
    if not rows:
        return
    insert = _insert_of(connection)(table)
    columns = table.columns if isinstance(table, Table) else table.__table__.columns
    names = list(keys or (c.name for c in columns if c.primary_key))
    is_sqlite = connection.dialect.name == "sqlite"
    lesser, greater = (func.min, func.max) if is_sqlite else (func.least, func.greatest)
    values: dict[str, Any] = {}
    for name in rows[0].keys() - set(names):
        told, known = insert.excluded[name], columns[name]
        if name in add:
            told = known + told
        elif name in least:
            told = lesser(known, told)
        elif name in most:
            told = greater(known, told)
        values[name] = told
    if update and values:
        if_not_older = newest and columns[newest] <= insert.excluded[newest]
        statement = insert.on_conflict_do_update(
            index_elements=names, set_=values, where=if_not_older
        )
    else:
        statement = insert.on_conflict_do_nothing(index_elements=names)
    connection.execute(statement, list(rows))


def _insert_of(connection: Connection) -> Any:
    """What makes an `INSERT` of the database's own kind, which alone is loaded."""
    return import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert
