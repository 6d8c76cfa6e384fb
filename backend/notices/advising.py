"""What an app's own code proposes to do about a notice: beside the notice, until it is withdrawn.

In a transaction that has called `announcing.begin` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select, update

from citywise.backend.notices import kept, same
from citywise.backend.notices.announcing import News, announce
from citywise.backend.notices.listeners import UNATTENDED, Notice
from citywise.backend.store.models import NoticeRow

JUST_NOW_MS = 10_000
"""Whoever was alerted to a notice so short a time ago (stream time) is not alerted again."""


def advise(
    connection: Connection,
    notice: str,
    advice: Mapping[str, Any] | None,
    now_ms: int,
    *,
    quietly: bool = False,
) -> bool:
    """Let a notice propose something: `{"text", "texts": {language: text}, "url", …}`, and what
    more its app's pages know to read; None takes it back.

    It is announced as an update at stream time `now_ms`, which alerts the user only to advice
    that is new (what only says the same in other figures is given `quietly`), if nothing holds
    the notice back and it has not alerted just now. Returns whether anything changed: a notice
    that is closed or gone, or says so already, is left. Of several notices of one event the one
    with advice stands for all.
    """
    query = select(NoticeRow.id).where(NoticeRow.id == notice, NoticeRow.closed_ms.is_(None))
    if connection.scalar(query) is None:
        return False
    row = kept.one(connection, notice)
    if row["advice"] == advice:
        return False
    if advice is not None:
        row = same.front(connection, row, now_ms)
    advised = {**row, "advice": None if advice is None else dict(advice)}
    alert = advice is not None and not quietly and _may_alert(row, now_ms)
    if alert:
        advised["alerted_ms"] = now_ms
    changed = {name: advised[name] for name in ("advice", *UNATTENDED)}
    connection.execute(update(NoticeRow).where(NoticeRow.id == notice).values(changed))
    announce(connection, [News("updated", advised, alert=alert, t_ms=now_ms)])
    return True


def _may_alert(row: Notice, now_ms: int) -> bool:
    """Whether its user wants to hear of a notice, and has not only just done so."""
    silent = ("held_because", "snoozed_until_ms", "acknowledged_ms")
    alerted = row["alerted_ms"]
    told = alerted is None or now_ms - alerted >= JUST_NOW_MS
    return told and all(row[name] is None for name in silent)
