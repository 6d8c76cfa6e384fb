"""Changing notices as the pipeline does, and reading what was announced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine, select

from citywise.backend.notices import book
from citywise.backend.notices.announcing import NOTICE, begin
from citywise.backend.notices.reminders import remind
from citywise.backend.store.models import NoticeRow, OutboxRow, WishesRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import parse_ms
from tests.api.templates import Change

NOON_MS = parse_ms("2014-08-05T12:00:00Z")
MINUTE = 60_000


def apply(engine: Engine, *changes: Change) -> int:
    """Book changes in one transaction."""
    with engine.begin() as connection:
        begin(connection)
        return book.apply(connection, changes)


def due(engine: Engine, now_ms: int) -> int:
    """Remind of what is due at a stream time (Unix ms)."""
    with engine.begin() as connection:
        return remind(connection, now_ms)


def announced(engine: Engine) -> list[dict[str, Any]]:
    """The announcements of notices, in order."""
    with engine.connect() as connection:
        query = select(OutboxRow.body).where(OutboxRow.kind == NOTICE).order_by(OutboxRow.id)
        return list(connection.scalars(query))


def alerts(engine: Engine) -> list[str]:
    """What alerted somebody: `change criticality`."""
    return [f"{one['change']} {one['criticality']}" for one in announced(engine) if one["alert"]]


def wish(engine: Engine, user: str = "alice", **wishes: Any) -> None:
    """Keep wishes as if they had always been so."""
    with engine.begin() as connection:
        upsert(connection, WishesRow, [{"user": user, "body": wishes, "updated_ms": 0}])


def row(engine: Engine, about: str = "jam-1") -> Mapping[str, Any]:
    """The row of the notice about something."""
    with engine.connect() as connection:
        query = select(NoticeRow.__table__).where(NoticeRow.about == about)
        return dict(connection.execute(query).mappings().one())
