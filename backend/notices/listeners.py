"""The wishes of the users whom some notices concern, and when these alerted them last."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, func, select

from citywise.backend.notices.attention import DEFAULT, Attention, Change, Standing, Wishes, decide
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import NoticeRow, WishesRow

LOG = logging.getLogger("citywise.notices")
Notice = dict[str, Any]
"""A row of `notices`."""
UNATTENDED: Mapping[str, Any] = {
    "alerted_ms": None,
    "alerted_criticality": None,
    "held_because": None,
    "due_ms": None,
    "snoozed_until_ms": None,
    "acknowledged_ms": None,
}
"""What a notice has of this that nobody has been told of."""
_Kind = tuple[str, str, str]
_Event = tuple[str, str]
"""A user, and the event that notices are about."""


class Listeners:
    """Some users as those who are to be alerted or left in peace.

    `from_ms`: the earliest stream time (Unix ms) about which they will be asked; `events`: ids
    of those that the notices may be about.
    """

    def __init__(
        self,
        connection: Connection,
        users: Iterable[str],
        from_ms: int,
        events: Collection[str] = (),
    ) -> None:
        users = set(users)
        self._wishes = wishes_of(connection, users)
        cooling = {user: wishes for user, wishes in self._wishes.items() if wishes.cool_down_s}
        self._last = _last_alerts(connection, cooling, from_ms)
        self._told = _open_by_user(connection, users, events)

    def wishes(self, user: str) -> Wishes:
        """What a user wishes."""
        return self._wishes.get(user, DEFAULT)

    def attend(self, notice: Notice, change: Change, now_ms: int) -> tuple[Notice, bool]:
        """A notice after a change at stream time `now_ms`, and whether it alerts its user."""
        attention = self.attention(notice, change, now_ms)
        if attention.alert:
            self._last[_kind(notice)] = now_ms
        attended = {**notice, **_noted(notice, attention, now_ms)}
        if notice["about_type"] == "event":
            told = self._told.setdefault((notice["user"], notice["about"]), {})
            told[notice["id"]] = 0 if change == "closed" else attended["alerted_criticality"] or 0
        return attended, attention.alert

    def attention(self, notice: Notice, change: Change, now_ms: int) -> Attention:
        """What `attend` would say, nothing being noted."""
        wishes = self._wishes.get(notice["user"], DEFAULT)
        last = self._last.get(_kind(notice)) if wishes.cool_down_s else None
        told = self._told.get((notice["user"], notice["about"]), {})
        by_others = max((told[one] for one in told if one != notice["id"]), default=0)
        return decide(wishes, Standing.of(notice), change, now_ms, last, by_others)


def wishes_of(connection: Connection, users: Iterable[str]) -> dict[str, Wishes]:
    """The wishes of those users who have said any."""
    found: dict[str, Wishes] = {}
    for some in chunks(users):
        query = select(WishesRow.user, WishesRow.body).where(WishesRow.user.in_(some))
        for user, body in connection.execute(query):
            found[user] = _read(user, body)
    return found


def _read(user: str, body: Mapping[str, Any]) -> Wishes:
    """Wishes as they are kept; those that cannot be read hold nothing back."""
    try:
        return Wishes.model_validate(body)
    except ValidationError as error:
        LOG.warning("the wishes of `%s` cannot be read: %s", user, error)
        return DEFAULT


def events_of(notices: Iterable[Mapping[str, Any]]) -> set[str]:
    """The ids of the events that some notices, or changes of notices, are about."""
    return {one["about"] for one in notices if one["about_type"] == "event"}


def open_about(connection: Connection, users: set[str], events: Collection[str]) -> list[Notice]:
    """The open notices to some users about some events, the oldest first."""
    return list(_open_about(connection, list(NoticeRow.__table__.columns), users, events))


def _open_about(
    connection: Connection,
    columns: Sequence[Any],
    users: Iterable[str],
    events: Collection[str],
) -> Iterator[dict[str, Any]]:
    row = NoticeRow
    about_event = (row.about_type == "event") & row.closed_ms.is_(None)
    for some_users in chunks(users if events else ()):
        for some in chunks(events):
            query = select(*columns).where(
                row.user.in_(some_users), row.about.in_(some), about_event
            )
            rows = connection.execute(query.order_by(row.opened_ms, row.id)).mappings()
            yield from map(dict, rows.all())


def _open_by_user(
    connection: Connection, users: set[str], events: Collection[str]
) -> dict[_Event, dict[str, int]]:
    """The criticality that open notices told their users of events, by the notices' ids."""
    found: dict[_Event, dict[str, int]] = {}
    row = NoticeRow
    columns = (row.id, row.user, row.about, row.alerted_criticality)
    for one in _open_about(connection, columns, users, events):
        told = one["alerted_criticality"] or 0
        found.setdefault((one["user"], one["about"]), {})[one["id"]] = told
    return found


def _last_alerts(
    connection: Connection, cooling: Mapping[str, Wishes], from_ms: int
) -> dict[_Kind, int]:
    """When users were last alerted to each kind of notice, as far back as it matters."""
    longest = max((wishes.cool_down_s for wishes in cooling.values()), default=0)
    row, found = NoticeRow, dict[_Kind, int]()
    for some in chunks(cooling):
        query = (
            select(row.user, row.app, row.kind, func.max(row.alerted_ms))
            .where(row.user.in_(some), row.alerted_ms > from_ms - longest * 1000)
            .group_by(row.user, row.app, row.kind)
        )
        for user, app, kind, ms in connection.execute(query):
            found[user, app, kind] = ms or 0
    return found


def _kind(notice: Notice) -> _Kind:
    return notice["user"], notice["app"], notice["kind"]


def _noted(notice: Notice, attention: Attention, now_ms: int) -> Notice:
    """The columns that an attention changes; an alert ends what its user had answered."""
    if not attention.alert:
        return {"held_because": attention.held_because, "due_ms": attention.due_ms}
    known = max(notice["alerted_criticality"] or 0, notice["criticality"])
    return {**UNATTENDED, "alerted_ms": now_ms, "alerted_criticality": known}
