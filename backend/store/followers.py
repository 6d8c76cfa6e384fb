"""How far those have come who follow the log, or the announcements, each on its own."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from citywise.backend.store.models import FollowerRow
from citywise.backend.store.upsert import upsert


def position(connection: Connection, name: str, newest: int, oldest: int = 0) -> int | None:
    """After which byte of the log, or which announcement, to go on; None for who is new.

    Whoever was at what is not from `oldest` to `newest` followed another log, or those of another
    database, and is new here.
    """
    query = select(FollowerRow.position).where(FollowerRow.name == name)
    known = connection.scalar(query)
    return known if known is not None and oldest <= known <= newest else None


def keep(connection: Connection, name: str, position: int) -> None:
    """Note where to go on, in the transaction of what was done up to there."""
    upsert(connection, FollowerRow, [{"name": name, "position": position}])


def forget(connection: Connection, name: str) -> None:
    """Have somebody be new when they follow again."""
    connection.execute(delete(FollowerRow).where(FollowerRow.name == name))
