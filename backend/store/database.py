"""Opening the database and bringing it to the newest schema."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from citywise.backend import own_files


def create_engine_for(url: str) -> Engine:
    """Open `url`; SQLite is set to write-ahead logging with full synchronisation.

    The pipeline tells Spark that a batch is done once its transaction is committed, so a
    committed transaction must survive a power cut: hence `synchronous=FULL`.
    """
    place = make_url(url)
    if place.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True)
    engine = create_engine(url, connect_args={"timeout": 15})

    @event.listens_for(engine, "do_connect")
    def _keep_from_others(*_: object) -> None:
        # SQLite makes its other files as readable as this one.
        file = Path(place.database or ":memory:")
        if not file.exists() and file.parent.is_dir() and str(file) != ":memory:":
            own_files.create(file)

    @event.listens_for(engine, "connect")
    def _configure(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        # After a flood the log of writes does not stay as large as it was.
        cursor.execute("PRAGMA journal_size_limit=64000000")
        cursor.execute("PRAGMA foreign_keys=ON")
        # Who is forgotten must not be found in the pages that held them.
        cursor.execute("PRAGMA secure_delete=ON")
        cursor.close()

    return engine


def migrate(database: Engine | Connection) -> None:
    """Create or upgrade the schema (Alembic, revision `head`); of a connection the caller
    commits. Raises `NewerDatabaseError`."""
    if isinstance(database, Engine):
        with database.begin() as connection:
            migrate(connection)
        return
    # Only whoever starts the system needs them.
    from alembic import command

    from citywise.backend.store import schema

    shown = database.engine.url.render_as_string(hide_password=True)
    schema.refuse_newer(schema.revision_of(database), shown)
    command.upgrade(schema.config_of(database), "head")
