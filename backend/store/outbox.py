"""Writing the outbox, one transaction after the other."""

from __future__ import annotations

from sqlalchemy import Connection, false, func, select, update
from sqlalchemy.orm import Session

from citywise.backend.store.exclusion import exclude
from citywise.backend.store.models import OutboxRow as OutboxRow


def begin(connection: Connection) -> None:
    """Be the only one who announces, until the end of this transaction; before it reads what
    it changes.

    Who follows the outbox by its ids would miss what is committed after something younger
    has been; PostgreSQL gives the ids before the commit. SQLite has one writer, but only from
    its first writing statement on: hence one that writes nothing.
    """
    exclude(connection, "outbox", "")
    connection.execute(update(OutboxRow).where(false()).values(user=None))


def newest(connection: Connection | Session) -> int:
    """The id of the last announcement; 0 without any."""
    return connection.scalar(select(func.max(OutboxRow.id))) or 0
