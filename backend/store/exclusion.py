"""One transaction after the other, where there is no row that both would change."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

CONTEXT_OF = "context"
"""What is told of a user: what is told last is to reach the log last."""


def exclude(connection: Connection, kind: str, key: str) -> None:
    """Wait for the end of every other transaction that has asked for the same here, and let
    the next wait for the end of this one.

    SQLite lets no two transactions write at a time, and needs no more.
    """
    if connection.dialect.name == "postgresql":
        number = func.hashtextextended(f"{kind}/{key}", 0)
        connection.execute(select(func.pg_advisory_xact_lock(number)))
