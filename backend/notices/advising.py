"""What an app's own code tells: notices of its own, and what it proposes to do about a notice.

In a transaction that has called `announcing.begin` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, func, select, update

from citywise.backend.notices import book, kept, same
from citywise.backend.notices.announcing import NOTICE as NOTICE
from citywise.backend.notices.announcing import News, announce
from citywise.backend.notices.listeners import UNATTENDED, Notice
from citywise.backend.store.models import NoticeRow, TemplateVersionRow

JUST_NOW_MS = 10_000
"""Whoever was alerted to a notice so short a time ago (stream time) is not alerted again."""


@dataclass(frozen=True)
class Own:
    """A notice that no rule concludes: of a kind with `by = "code"`, beside those of a template.

    `about` is the app's own id of what it is about, and `name` what people call that.
    """

    app: str
    template: str
    instance: str
    user: str
    kind: str
    about: str
    name: str
    criticality: int
    details: Mapping[str, Any] = field(default_factory=dict)


def tell(
    connection: Connection,
    own: Own,
    now_ms: int,
    change: Literal["opened", "updated", "closed"] = "opened",
) -> None:
    """Open, change or close a notice at stream time `now_ms`; it alerts its user as any does."""
    row = TemplateVersionRow
    known = (row.app == own.app) & (row.name == own.template)
    body = {
        "change": change,
        "app": own.app,
        "template": own.template,
        "version": connection.scalar(select(func.max(row.version)).where(known)) or 1,
        "instance": own.instance,
        "user": own.user,
        "notice": own.kind,
        "about": own.about,
        "about_type": "own",
        "about_name": own.name,
        "criticality": own.criticality,
        "details": dict(own.details),
    }
    book.apply(connection, [_Told(now_ms, body)])


def open_of(connection: Connection, instance: str) -> list[Notice]:
    """The open notices of an instance, by id, with all that the columns of `notices` say."""
    row = NoticeRow
    query = select(row.__table__).where(row.instance == instance, row.closed_ms.is_(None))
    return [dict(found) for found in connection.execute(query.order_by(row.id)).mappings()]


@dataclass(frozen=True)
class _Told:
    t_ms: int
    body: Mapping[str, Any]


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
