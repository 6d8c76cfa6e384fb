"""Reading and writing what notices say of their users' attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, select, update

from citywise.backend.notices.listeners import UNATTENDED, Notice
from citywise.backend.store.models import NoticeRow

_TABLE = NoticeRow.__table__


def one(connection: Connection, notice: str) -> Notice:
    """The row of a notice, which must exist."""
    query = select(_TABLE).where(NoticeRow.id == notice)
    return dict(connection.execute(query).mappings().one())


def still_open(connection: Connection, wanted: ColumnElement[bool], most: int) -> list[Notice]:
    """Up to `most` open notices, the first due first."""
    query = (
        select(_TABLE)
        .where(wanted, NoticeRow.closed_ms.is_(None))
        .order_by(NoticeRow.due_ms, NoticeRow.id)
        .limit(most)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def save(connection: Connection, notices: Sequence[Notice]) -> None:
    """Write what changed of their users' attention."""
    if not notices:
        return
    changed: dict[str, Any] = {name: bindparam(f"new_{name}") for name in UNATTENDED}
    rows = [
        {"which": notice["id"], **{f"new_{name}": notice[name] for name in UNATTENDED}}
        for notice in notices
    ]
    statement = update(NoticeRow).where(_TABLE.c.id == bindparam("which")).values(changed)
    connection.execute(statement, rows)
