"""Opening the database and bringing it to the newest schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

MIGRATIONS = Path(__file__).with_name("migrations")


def create_engine_for(url: str) -> Engine:
    """Open `url`; SQLite is set to write-ahead logging with full synchronisation.

    The pipeline tells Spark that a batch is done once its transaction is committed, so a
    committed transaction must survive a power cut: hence `synchronous=FULL`.
    """
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True)
    engine = create_engine(url, connect_args={"timeout": 15})

    @event.listens_for(engine, "connect")
    def _configure(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        # Who is forgotten must not be found in the pages that held them.
        cursor.execute("PRAGMA secure_delete=ON")
        cursor.close()

    return engine


def migrate(engine: Engine) -> None:
    """Create or upgrade the schema (Alembic, revision `head`)."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
