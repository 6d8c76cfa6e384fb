"""Notices to a user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import Connection, Select, and_, or_, select

from citywise.backend.api import access, identity, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.state import state
from citywise.backend.notices import book
from citywise.backend.notices.objects import attention_object, notice_object
from citywise.backend.notices.wording import wordings
from citywise.backend.store import clocks, outbox
from citywise.backend.store.models import NoticeRow
from citywise.backend.times import iso

blueprint = Blueprint("notices", __name__)

MAX_NOTICES = 1000
_NAMES = ("user", "instance", "open", "held", "from", "until", "limit", "cursor", "lang")
Query = Select[Any]


def worded(connection: Connection, notices: Sequence[book.Notice]) -> list[dict[str, Any]]:
    """The objects of some rows of `notices`, in the language asked for."""
    language, spoken = parameters.language(), wordings(connection, notices)
    return [
        notice_object(notice, spoken(notice), language) | attention_object(notice)
        for notice in notices
    ]


def _after(query: Query, opened: int, notice: str) -> Query:
    same = and_(NoticeRow.opened_ms == opened, NoticeRow.id > notice)
    return query.where(or_(NoticeRow.opened_ms < opened, same))


def _filtered(query: Query) -> Query:
    """Apply the filters; a notice overlaps [from, until] if any instant of it lies inside."""
    begin, end = parameters.span()
    if begin is not None:
        query = query.where(or_(NoticeRow.closed_ms.is_(None), NoticeRow.closed_ms >= begin))
    if end is not None:
        query = query.where(NoticeRow.opened_ms <= end)
    closed, is_open = NoticeRow.closed_ms, parameters.boolean("open")
    if is_open is not None:
        query = query.where(closed.is_(None) if is_open else closed.is_not(None))
    held = parameters.boolean("held")
    if held is not None:
        because = NoticeRow.held_because
        query = query.where(because.is_not(None) if held else because.is_(None))
    instance = parameters.identifier("instance")
    return query if instance is None else query.where(NoticeRow.instance == instance)


@blueprint.get("/notices")
@access.person(right="notices", session=True)
def list_notices() -> Response:
    """The notices to a user (the asker, if none is named), newest first."""
    parameters.only(*_NAMES)
    limit = parameters.integer("limit", 100, 1, MAX_NOTICES) or 100
    user = identity.whose(request.args.get("user"))
    query = _filtered(select(NoticeRow.__table__).where(NoticeRow.user == user))
    cursor = parameters.cursor()
    if cursor:
        query = _after(query, *cursor)
    query = query.order_by(NoticeRow.opened_ms.desc(), NoticeRow.id).limit(limit + 1)
    with state().engine.connect() as connection:
        # Read first, so that a change between the two statements is announced, not missed.
        position = outbox.newest(connection)
        now = iso(clocks.read(connection).now_ms)
        rows = connection.execute(query).mappings().all()
        notices = worded(connection, [dict(row) for row in rows[:limit]])
    last = rows[limit - 1] if len(rows) > limit else None
    following = f"{last['opened_ms']}~{last['id']}" if last else None
    return as_json({"now": now, "notices": notices, "position": position, "next": following})


@blueprint.get("/notices/<path:notice_id>")
@access.person(right="notices", session=True)
def show_notice(notice_id: str) -> Response:
    """One notice, with the ground atoms behind it."""
    parameters.only("lang")
    with state().engine.connect() as connection:
        row = own(connection, notice_id)
        (notice,) = worded(connection, [row])
    return as_json({**notice, "why": row["why"]})


def own(connection: Connection, notice_id: str) -> book.Notice:
    """The row of a notice to who asks, or to whom they may act for; raises a 404 for all
    others."""
    query = select(NoticeRow.__table__).where(NoticeRow.id == notice_id)
    row = connection.execute(query).mappings().one_or_none()
    identity.refuse_other(None if row is None else row["user"], f"notice {notice_id!r}")
    assert row is not None
    return dict(row)
