"""A database of PostgreSQL as files, and back: how its tables are made, their rows as COPY
writes them, and where their sequences stand.

The tables are taken as the database has them, those of apps included, and not as our classes
describe them, so that nothing depends on which apps are installed where it is restored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData, Table, inspect, text
from sqlalchemy.schema import CreateIndex, CreateTable

from citywise.backend.backup.errors import BackupError

TABLES = "tables.json"
_PIECE = 1 << 20


def save(connection: Connection, folder: Path) -> None:
    """Write all tables of the schema into files."""
    metadata = MetaData()
    metadata.reflect(connection)
    tables = [_saved(connection, table, folder) for table in metadata.sorted_tables]
    query = (
        "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = current_schema() "
        "AND last_value IS NOT NULL"
    )
    sequences = {str(name): int(value) for name, value in connection.execute(text(query))}
    said = {"tables": tables, "sequences": sequences}
    (folder / TABLES).write_text(json.dumps(said), encoding="utf-8")


def _saved(connection: Connection, table: Table, folder: Path) -> dict[str, Any]:
    made = str(CreateTable(table).compile(connection))
    indices = [str(CreateIndex(index).compile(connection)) for index in table.indexes]
    columns = [column.name for column in table.columns]
    driver: Any = connection.connection.driver_connection
    copying = f"COPY {_named(connection, table.name, columns)} TO STDOUT"
    path = folder / f"{table.name}.copy"
    with path.open("wb") as file, driver.cursor() as cursor, cursor.copy(copying) as rows:
        for piece in rows:
            file.write(piece)
    return {"name": table.name, "made": made, "indices": sorted(indices), "columns": columns}


def load(connection: Connection, folder: Path) -> None:
    """Make the tables in an empty schema and fill them; the caller commits."""
    if there := inspect(connection).get_table_names():
        raise BackupError(
            f"{connection.engine.url.render_as_string(hide_password=True)}: the database is not "
            f"empty (it has the table `{there[0]}`); name an empty one"
        )
    said = json.loads((folder / TABLES).read_text(encoding="utf-8"))
    driver: Any = connection.connection.driver_connection
    for table in said["tables"]:
        connection.exec_driver_sql(_literal(table["made"]))
        copying = f"COPY {_named(connection, table['name'], table['columns'])} FROM STDIN"
        path = folder / f"{table['name']}.copy"
        with path.open("rb") as file, driver.cursor() as cursor, cursor.copy(copying) as rows:
            while piece := file.read(_PIECE):
                rows.write(piece)
        for index in table["indices"]:
            connection.exec_driver_sql(_literal(index))
    for name, value in said["sequences"].items():
        quoted = connection.dialect.identifier_preparer.quote(name)
        setting = text("SELECT setval(CAST(:name AS regclass), :value)")
        connection.execute(setting, {"name": quoted, "value": value})


def _literal(statement: str) -> str:
    """A statement without parameters, for a driver that takes % for the sign of one."""
    return statement.replace("%", "%%")


def _named(connection: Connection, table: str, columns: list[str]) -> str:
    quote = connection.dialect.identifier_preparer.quote
    return f"{quote(table)} ({', '.join(map(quote, columns))})"
