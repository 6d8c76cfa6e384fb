"""`INSERT … ON CONFLICT` for the databases we support."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from citywise.backend.store.models import Base

_INSERTS: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def upsert(
    connection: Connection,
    table: type[Base] | Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    keys: Sequence[str] | None = None,
    update: bool = True,
    add: Collection[str] = (),
) -> None:
    """Insert rows; one that exists by `keys` (default: the primary key) is updated, the numbers
    in the columns `add` being added to those that are there, or left as it is with
    `update=False`."""
    if not rows:
        return
    insert = _INSERTS[connection.dialect.name](table)
    columns = table.columns if isinstance(table, Table) else table.__table__.columns
    names = list(keys or (c.name for c in columns if c.primary_key))
    values = {
        k: columns[k] + insert.excluded[k] if k in add else insert.excluded[k]
        for k in rows[0]
        if k not in names
    }
    if update and values:
        statement = insert.on_conflict_do_update(index_elements=names, set_=values)
    else:
        statement = insert.on_conflict_do_nothing(index_elements=names)
    connection.execute(statement, list(rows))
