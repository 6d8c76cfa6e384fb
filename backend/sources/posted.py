"""What others post for a source: kept in the database until its connector has read it.

Whoever is answered with a success is not asked again, so a message is kept first.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Row, delete, func, insert, select

from citywise.backend.store.models import PostedRow
from citywise.backend.times import wall_ms

MOST_WAITING = 1_000
"""Of one source; whoever posts more is to come again later."""
PAGE = 100


def put(connection: Connection, source: str, body: bytes) -> bool:
    """Keep a message; False where too many wait."""
    waiting = select(func.count()).where(PostedRow.source == source)
    if (connection.scalar(waiting) or 0) >= MOST_WAITING:
        return False
    row = {"source": source, "body": body, "received_ms": wall_ms()}
    connection.execute(insert(PostedRow), [row])
    return True


def waiting(connection: Connection, source: str) -> list[Row[tuple[int, bytes, int]]]:
    """The oldest messages of a source: number, body, and when it came (Unix ms)."""
    row = PostedRow
    query = select(row.id, row.body, row.received_ms).where(row.source == source)
    return list(connection.execute(query.order_by(row.id).limit(PAGE)))


def drop(connection: Connection, numbers: Sequence[int]) -> None:
    """Forget messages that have been read."""
    connection.execute(delete(PostedRow).where(PostedRow.id.in_(numbers)))
