"""The kinds that a running system has, in its database: every process reads them there."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, func, select

from citywise.backend.kinds import migrating
from citywise.backend.kinds.kind import Kind, PlaceKind
from citywise.backend.kinds.registry import Kinds, builtin, name_of, of_json
from citywise.backend.store.models import KindRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.kinds")
OPERATOR = "operator"
"""Origin of kinds that are made in the operator's page; others come from files."""
_FILES = "files"


class KnownKinds:
    """Kinds as the database has them, read again when they have changed."""

    def __init__(self) -> None:
        self._stamp: tuple[Any, ...] | None = None
        self._kinds = Kinds()

    def read(self, connection: Connection) -> Kinds:
        """The kinds as they are now."""
        stamp = _stamp(connection)
        if stamp != self._stamp:
            self._kinds, self._stamp = read(connection), stamp
        return self._kinds


def read(connection: Connection) -> Kinds:
    """The kinds that are installed, those that an operator made last; where none was ever
    installed, those that come with Citywise."""
    rows = connection.execute(select(KindRow.body).order_by(KindRow.origin, KindRow.id)).all()
    return Kinds().with_kinds(*(of_json(row.body) for row in rows)) if rows else builtin()


def install(engine: Engine, kinds: Kinds) -> Kinds:
    """Install the kinds of files in place of those that were; returns all there are.

    What an operator made stays, and counts where a file has the same name.
    """
    every: list[Kind | PlaceKind] = [*kinds.values(), *kinds.places.values()]
    wanted = {_id(kind): kind for kind in every}
    with engine.begin() as connection:
        rows = {row.id: row for row in connection.execute(select(KindRow.__table__))}
        made = {name for name, row in rows.items() if row.origin == OPERATOR}
        gone = rows.keys() - wanted.keys() - made
        if gone:
            connection.execute(delete(KindRow).where(KindRow.id.in_(gone)))
        others = [kind for name, kind in wanted.items() if name not in made]
        more = [kind for kind in others if _follows(rows, kind)]
        upsert(connection, KindRow, [r for k in more if (r := _row(rows, k, _FILES))])
        for kind in more:
            if isinstance(kind, Kind):
                migrating.migrate(connection, kind)
        return read(connection)


def with_made(engine: Engine, kinds: Kinds) -> Kinds:
    """Kinds of files, and those that operators made."""
    made = select(KindRow.body).where(KindRow.origin == OPERATOR)
    with engine.connect() as connection:
        return kinds.with_kinds(*(of_json(row.body) for row in connection.execute(made)))


def put(connection: Connection, kind: Kind | PlaceKind) -> None:
    """Make or change a kind as an operator does."""
    upsert(connection, KindRow, [_row({}, kind, OPERATOR)])
    if isinstance(kind, Kind):
        migrating.migrate(connection, kind)


def add(connection: Connection, kind: Kind | PlaceKind) -> None:
    """Install the kind of one more file."""
    upsert(connection, KindRow, [_row({}, kind, _FILES)])


def remove(connection: Connection, form: str, name: str) -> bool:
    """Remove a kind that an operator made; False where there is none."""
    wanted = (KindRow.id == f"{form}/{name}") & (KindRow.origin == OPERATOR)
    return bool(connection.execute(delete(KindRow).where(wanted)).rowcount)


def origins(connection: Connection) -> dict[str, str]:
    """Who made each kind, by form and name (`kind/noise`)."""
    return {row.id: row.origin for row in connection.execute(select(KindRow.id, KindRow.origin))}


def _follows(rows: Mapping[str, Row[Any]], kind: Kind | PlaceKind) -> bool:
    """Whether the fields of a file's kind can have been what it says they were; else it stays as
    it was installed, and why is written to the log."""
    before = rows.get(_id(kind))
    known = of_json(before.body) if before is not None else kind
    if not isinstance(kind, Kind) or not isinstance(known, Kind):
        return True
    found = list(migrating.faults(known, kind))
    for message in found:
        LOG.warning("kind `%s` stays as it was: %s", kind.kind, message)
    return not found


_STAMP = select(func.count(KindRow.id), func.max(KindRow.changed_ms), func.sum(KindRow.version))
"""Made once: most answers of the web ask it."""


def _stamp(connection: Connection) -> tuple[Any, ...]:
    return tuple(connection.execute(_STAMP).one())


def _row(rows: Mapping[str, Row[Any]], kind: Kind | PlaceKind, origin: str) -> dict[str, Any]:
    """The row of a kind; empty where it is there already, as it is."""
    body = kind.model_dump(mode="json", exclude_defaults=True)
    before = rows.get(_id(kind))
    if before is not None and (before.body, before.origin) == (body, origin):
        return {}
    return {
        "id": _id(kind),
        "version": kind.version,
        "body": body,
        "origin": origin,
        "changed_ms": wall_ms(),
    }


def _id(kind: Kind | PlaceKind) -> str:
    return f"{'kind' if isinstance(kind, Kind) else 'place'}/{name_of(kind)}"
