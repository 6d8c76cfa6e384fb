"""What users say to notices: seen, later, never again; each once, and each can be undone.

All of it in a transaction that has called `announcing.begin` first.
"""

from __future__ import annotations

from sqlalchemy import Connection

from citywise.backend.errors import CitywiseError
from citywise.backend.notices import kept
from citywise.backend.notices.announcing import News, announce
from citywise.backend.notices.attention import FOR_GOOD, FOR_NOW, Wishes
from citywise.backend.notices.listeners import Listeners, Notice, events_of
from citywise.backend.store.models import NoticeRow, WishesRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import iso, wall_ms

LONGEST_SNOOZE_MS = 30 * 86_400_000
_MOST_OPEN = 10_000


class NoticeOverError(CitywiseError):
    """A notice that is closed cannot be put off."""


def acknowledge(connection: Connection, notice: str, now_ms: int) -> Notice:
    """Note at stream time `now_ms` that a user has seen a notice: no more alerts, unless it
    becomes more critical than it is. The notice must exist."""
    row = kept.one(connection, notice)
    known = max(row["alerted_criticality"] or 0, row["criticality"])
    if row["acknowledged_ms"] is not None and row["alerted_criticality"] == known:
        return row
    seen = {**row, "acknowledged_ms": now_ms, "alerted_criticality": known}
    return _announced(connection, "acknowledged", seen, now_ms)


def unacknowledge(connection: Connection, notice: str, now_ms: int) -> Notice:
    """Take that back: what alerts were owed are owed again."""
    row = kept.one(connection, notice)
    if row["acknowledged_ms"] is None:
        return row
    known = None if row["alerted_ms"] is None else row["alerted_criticality"]
    unseen = {**row, "acknowledged_ms": None, "alerted_criticality": known}
    return _announced(connection, "updated", _with_attention(connection, unseen, now_ms), now_ms)


def snooze(connection: Connection, notice: str, until_ms: int, now_ms: int) -> Notice:
    """Put a notice off until `until_ms` (stream time): then it alerts again, if it is still
    open. Raises `NoticeOverError` if it is not."""
    row = kept.one(connection, notice)
    if row["closed_ms"] is not None:
        over = iso(row["closed_ms"])
        raise NoticeOverError(f"notice {notice!r} was closed at {over}; there is nothing to snooze")
    if row["snoozed_until_ms"] == until_ms:
        return row
    later = {**row, "snoozed_until_ms": until_ms, "acknowledged_ms": None, "due_ms": None}
    return _announced(connection, "snoozed", _with_attention(connection, later, now_ms), now_ms)


def wake(connection: Connection, notice: str, now_ms: int) -> Notice:
    """Take that back: the notice is as if it had not been put off."""
    row = kept.one(connection, notice)
    if row["snoozed_until_ms"] is None:
        return row
    awake = {**row, "snoozed_until_ms": None, "due_ms": None, "held_because": None}
    return _announced(connection, "updated", _with_attention(connection, awake, now_ms), now_ms)


def wish(connection: Connection, user: str, wishes: Wishes, now_ms: int) -> None:
    """Keep a user's wishes, and hold the open notices back by them from now on.

    Alerts that were promised for later and that nothing holds any more come now; what never
    was to come does not, as who changes wishes sees the notices before them.
    """
    body = wishes.model_dump(mode="json", by_alias=True)
    upsert(connection, WishesRow, [{"user": user, "body": body, "updated_ms": wall_ms()}])
    open_ones = kept.still_open(connection, NoticeRow.user == user, _MOST_OPEN)
    listeners = Listeners(connection, [user], now_ms, events_of(open_ones))
    changed = [(row, _reconsidered(listeners, row, now_ms)) for row in open_ones]
    kept.save(connection, [after for before, after in changed if after != before])


def _reconsidered(listeners: Listeners, row: Notice, now_ms: int) -> Notice:
    """A notice under new wishes."""
    attention = listeners.attention(row, "updated", now_ms)
    if row["held_because"] in FOR_GOOD and attention.held_because not in FOR_GOOD:
        # Whoever lets it through sees it before them: what it is now is no news any more.
        known = max(row["alerted_criticality"] or 0, row["criticality"])
        row = {**row, "alerted_criticality": known}
        attention = listeners.attention(row, "updated", now_ms)
    promised = row["held_because"] in FOR_NOW or row["snoozed_until_ms"] is not None
    comes_now = attention.alert and (promised or row["due_ms"] is not None)
    due = now_ms if comes_now else attention.due_ms
    return {**row, "held_because": attention.held_because, "due_ms": due}


def _with_attention(connection: Connection, row: Notice, now_ms: int) -> Notice:
    """A notice as its user's wishes hold it; what nothing holds is due at once."""
    if row["closed_ms"] is not None:
        return row
    listeners = Listeners(connection, [row["user"]], now_ms, events_of([row]))
    attention = listeners.attention(row, "updated", now_ms)
    due = now_ms if attention.alert else attention.due_ms
    return {**row, "held_because": attention.held_because, "due_ms": due}


def _announced(connection: Connection, change: str, row: Notice, now_ms: int) -> Notice:
    """Keep it, and tell the user's other pages and devices; nobody is alerted."""
    kept.save(connection, [row])
    announce(connection, [News(change, row, alert=False, t_ms=now_ms)])
    return row
