"""Telling in the outbox what happened to notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert

from citywise.backend.notices.listeners import Notice
from citywise.backend.notices.objects import attention_object, notice_object
from citywise.backend.notices.wording import wordings
from citywise.backend.store.models import OutboxRow
from citywise.backend.store.outbox import begin as begin
from citywise.backend.times import wall_ms

NOTICE = "notice"
"""Kind of the announcements, and of the pipeline's rows."""


class News(NamedTuple):
    """What happened to a notice, the notice after it, and whether it alerts its user.

    `change`: `opened`, `updated`, `closed`, `reminded`, `acknowledged` or `snoozed`.
    `t_ms`: when, in stream time (Unix ms).
    """

    change: str
    notice: Notice
    alert: bool
    t_ms: int


def announce(connection: Connection, news: Sequence[News]) -> None:
    """Announce news to the users of the notices, in the transaction of the change."""
    if not news:
        return
    spoken = wordings(connection, (one.notice for one in news))
    created = wall_ms()
    rows = [
        {
            "t_ms": one.t_ms,
            "kind": NOTICE,
            "body": notice_object(one.notice, spoken(one.notice), change=one.change)
            | attention_object(one.notice)
            | {"alert": one.alert},
            "created_ms": created,
            "user": one.notice["user"],
        }
        for one in news
    ]
    connection.execute(insert(OutboxRow), rows)
