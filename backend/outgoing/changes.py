"""Changes as they leave: announcements of the outbox, whatever kind they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, false, or_, select

from citywise.backend.notices.announcing import NOTICE
from citywise.backend.store.models import OutboxRow
from citywise.backend.times import iso

WITHDRAWN = "event.withdrawn"
"""Kind of the announcement that there was no such event after all."""


@dataclass(frozen=True)
class Change:
    """An announcement: `id` orders all of them, `user` is whose notice it is (None: an event)."""

    id: int
    kind: str
    t_ms: int
    body: Mapping[str, Any]
    created_ms: int
    user: str | None = None
    traceparent: str | None = None
    """The trace that it belongs to."""

    @property
    def is_over(self) -> bool:
        """Whether the event that it is about is open no more."""
        told = self.body.get("end") or self.body.get("withdrawn")
        return self.kind == WITHDRAWN or told is not None

    def to_json(self) -> dict[str, Any]:
        """The change as it is told to others."""
        subject = "notice" if self.user is not None else "event"
        return {"kind": self.kind, "t": iso(self.t_ms), subject: dict(self.body)}


def since(
    connection: Connection, position: int, most: int, user: str | None = None
) -> Sequence[Change]:
    """The changes of events after a position, in order, and the notices to a user."""
    row = OutboxRow
    of_events = row.user.is_(None) & (row.kind != NOTICE)
    of_user = false() if user is None else row.user == user
    told = (row.id, row.kind, row.t_ms, row.body, row.created_ms, row.user, row.traceparent)
    wanted = (
        select(*told).where(row.id > position, or_(of_events, of_user)).order_by(row.id).limit(most)
    )
    return [Change(*found) for found in connection.execute(wanted)]
