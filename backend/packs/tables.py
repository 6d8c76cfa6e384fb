"""The tables of apps: made and upgraded by the app's own migrations, and removed with the app.

An app's migrations are functions, the first of which makes version 1 of its tables from nothing,
the second version 2 from that, and so on. Each is given Alembic's operations. What they made is
noted in the database, so that a person's rows can be exported and removed, and the tables be
dropped, also where the app itself is broken or gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    Table,
    delete,
    false,
    inspect,
    select,
    update,
)

from citywise.backend.errors import CitywiseError
from citywise.backend.packs import broken
from citywise.backend.store.exclusion import exclude
from citywise.backend.store.models import AppTablesRow, Base
from citywise.backend.store.upsert import upsert

if TYPE_CHECKING:
    from alembic.operations import Operations

LOG = logging.getLogger("citywise.apps")
Migration = Callable[["Operations"], object]
"""Brings an app's tables from the version before to the next."""


class TablesError(CitywiseError):
    """The tables of an app cannot be made, upgraded, used or removed; says what to change."""


@dataclass(frozen=True)
class Tables:
    """The tables of an app, each called `<app>_…`."""

    migrations: Sequence[Migration]
    """In order; a released one never changes. Each does its work in one transaction."""
    personal: Mapping[str, str] = field(default_factory=dict)
    """Tables whose rows are about a person: name → the column with the account's id. Such rows are
    exported with a person's data, and removed when the person is forgotten."""
    exported: bool = True
    """False: `Parts.export` says in the app's own way what these rows hold."""


@dataclass(frozen=True)
class Noted:
    """What the database knows of an app's tables."""

    app: str
    version: int
    tables: Sequence[str]
    personal: Mapping[str, str]
    exported: bool
    error: str | None
    """Why the last upgrade failed."""


def upgrade(engine: Engine, apps: Mapping[str, Tables | None]) -> None:
    """Bring the tables of apps to their newest version; whoever starts the system does it once.
    An app whose migration fails keeps the version it has, and is noted as broken."""
    for app, tables in apps.items():
        if tables is None:
            continue
        try:
            with engine.begin() as connection:
                _upgrade(connection, app, tables)
            broken.mended(app, "tables")
        except (Exception, SystemExit) as error:  # noqa: BLE001
            broken.note(app, "tables", error)
            with engine.begin() as connection:
                _note_error(connection, app, broken.reason_of(error))


def why_unusable(connection: Connection, app: str, tables: Tables | None) -> str | None:
    """Why an app cannot work with its tables as they are; None: it can."""
    if tables is None:
        return None
    noted = find(connection, app)
    if noted is not None and noted.error is not None:
        return noted.error
    version = noted.version if noted else 0
    if version == len(tables.migrations):
        return None
    return (
        f"its tables are of version {version}, but it needs {len(tables.migrations)}; start the "
        "system again, which upgrades them"
    )


def find(connection: Connection, app: str) -> Noted | None:
    """What is known of an app's tables, if it has any."""
    return next((noted for noted in known(connection) if noted.app == app), None)


def known(connection: Connection) -> list[Noted]:
    """What is known of the tables of all apps there are or were."""
    rows = connection.execute(select(AppTablesRow.__table__).order_by(AppTablesRow.app))
    return [Noted(**row) for row in rows.mappings()]


def rows_of(connection: Connection, user: str) -> Iterator[tuple[str, Table, Any]]:
    """The tables of apps that say something about people: app, table and the condition that its
    rows are a user's."""
    there = set(inspect(connection).get_table_names())
    for noted in known(connection):
        for name, column in noted.personal.items():
            if name in there:  # nobody may have dropped it by hand
                table = Table(name, MetaData(), autoload_with=connection, resolve_fks=False)
                yield noted.app, table, table.c[column] == user


def forget(connection: Connection, user: str) -> None:
    """Remove the rows of a user from the tables of all apps."""
    for _app, table, is_theirs in rows_of(connection, user):
        connection.execute(delete(table).where(is_theirs))


def remove(connection: Connection, app: str) -> Sequence[str]:
    """Drop the tables of an app, and forget that it had any; the names of what was dropped."""
    noted = find(connection, app)
    if noted is None:
        return ()
    _begin(connection, app)
    there = set(inspect(connection).get_table_names())
    doomed = MetaData()
    for name in there.intersection(noted.tables):
        Table(name, doomed, autoload_with=connection, resolve_fks=False)
    doomed.drop_all(connection, checkfirst=False)
    connection.execute(delete(AppTablesRow).where(AppTablesRow.app == app))
    return sorted(doomed.tables)


def _upgrade(connection: Connection, app: str, tables: Tables) -> None:
    from alembic.migration import MigrationContext  # Only whoever starts the system needs it.
    from alembic.operations import Operations

    _begin(connection, app)
    noted = find(connection, app)
    version = noted.version if noted else 0
    newest = len(tables.migrations)
    if version > newest:
        raise TablesError(
            f"its tables are of version {version}, made by a newer version of the app; this one "
            f"knows {newest}: install the newer one again, or restore a backup"
        )
    before = set(inspect(connection).get_table_names())
    operations = Operations(MigrationContext.configure(connection))
    for number, migrate in enumerate(tables.migrations[version:], version + 1):
        LOG.info("app `%s`: its tables become version %d", app, number)
        migrate(operations)
    now = set(inspect(connection).get_table_names())
    own = {*(noted.tables if noted else ()), *(now - before)} & now
    _refuse_strange(connection, app, before, now, own)
    _refuse_lacking(connection, tables.personal, own)
    values = {"app": app, "version": newest, "tables": sorted(own), "error": None}
    about = {"personal": dict(tables.personal), "exported": tables.exported}
    upsert(connection, AppTablesRow, [values | about])


def _begin(connection: Connection, app: str) -> None:
    """Begin a transaction that tables are made in: SQLite begins none for that alone."""
    exclude(connection, "tables", app)
    connection.execute(update(AppTablesRow).where(false()).values(version=0))


def _refuse_strange(
    connection: Connection, app: str, before: set[str], now: set[str], own: set[str]
) -> None:
    """Raise `TablesError` where a migration made or dropped what is not the app's."""
    for name in sorted(own):
        if not name.startswith(f"{app}_"):
            raise TablesError(f"a migration makes the table `{name}`; call it `{app}_{name}`")
    others = {name for noted in known(connection) if noted.app != app for name in noted.tables}
    for name in sorted((before - now) & (others | Base.metadata.tables.keys())):
        raise TablesError(f"a migration drops the table `{name}`, which is not the app's; keep it")


def _refuse_lacking(connection: Connection, personal: Mapping[str, str], own: set[str]) -> None:
    for name, column in personal.items():
        if name not in own:
            listed = ", ".join(sorted(own)) or "none"
            raise TablesError(f"`personal` names the table `{name}`, but its tables are: {listed}")
        there = [found["name"] for found in inspect(connection).get_columns(name)]
        if column not in there:
            raise TablesError(
                f"`personal`: the table `{name}` has no column `{column}`, but {', '.join(there)}"
            )


def _note_error(connection: Connection, app: str, error: str) -> None:
    row = {"app": app, "version": 0, "tables": [], "personal": {}, "exported": True, "error": error}
    upsert(connection, AppTablesRow, [row], update=False)
    changed = update(AppTablesRow).where(AppTablesRow.app == app)
    connection.execute(changed.values(error=error))
