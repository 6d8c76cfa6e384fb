"""Leaving nothing of what was deleted in the database's files.

SQLite's pages keep copies of rows that moved (in spite of `secure_delete`) until the file is
written anew, and its write-ahead log keeps pages until it is emptied. PostgreSQL keeps deleted
rows until they are vacuumed; its own write-ahead log and backups are out of our reach.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from citywise.backend.store.models import Base
from citywise.backend.times import local, wall_ms

LOG = logging.getLogger("citywise.privacy")
AT_ONCE_BYTES = 200_000_000
"""A file that is larger is written anew at night: nobody can write meanwhile, and SQLite
manages about 90 MB a second."""
NIGHT = range(2, 5)
"""Hours of the city's wall clock."""
_WAIT_MS = 500


def clean(engine: Engine) -> bool:
    """Clean the database's files now; False where somebody reads or writes, or it must wait for
    the night: try again later."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name != "sqlite":
            tables = ", ".join(f'"{name}"' for name in Base.metadata.tables)
            connection.execute(text(f"VACUUM {tables}"))
            return True
        patience = connection.execute(text("PRAGMA busy_timeout")).scalar_one()
        connection.execute(text(f"PRAGMA busy_timeout = {_WAIT_MS}"))
        try:
            return _is_quiet(connection) and _rewritten(connection)
        finally:
            connection.execute(text(f"PRAGMA busy_timeout = {patience}"))


def _is_quiet(connection: Connection) -> bool:
    """Whether the file is small enough, or it is night."""
    pages = connection.execute(text("PRAGMA page_count")).scalar_one()
    size = pages * connection.execute(text("PRAGMA page_size")).scalar_one()
    return size <= AT_ONCE_BYTES or local(wall_ms()).hour in NIGHT


def _rewritten(connection: Connection) -> bool:
    try:
        connection.execute(text("VACUUM"))
    except OperationalError:
        LOG.info("the database is in use; what was deleted is written over another time")
        return False
    busy, *_ = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
    return not busy
