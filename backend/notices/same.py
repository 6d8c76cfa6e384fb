"""One notice for each event and person, whichever of their alerts it came from.

Several instances may open a notice about one event to the same person. The one that alerted
last stands for all; the others are held back as `same-event`. When it closes, another that is
still open stands for it, without an alert: its user knows.

All of it in a transaction that has called `announcing.begin` first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from citywise.backend.notices import kept
from citywise.backend.notices.announcing import News, announce
from citywise.backend.notices.attention import FOR_GOOD, SAME_EVENT
from citywise.backend.notices.listeners import UNATTENDED, Notice, events_of, open_about


def settle(connection: Connection, news: Sequence[News]) -> None:
    """After these changes were written: leave one notice for each event and person, and announce
    what that changes of the others."""
    concerned = [
        one
        for one in news
        if one.notice["about_type"] == "event" and (one.alert or one.change == "closed")
    ]
    if not concerned:
        return
    events = events_of(one.notice for one in concerned)
    groups: dict[tuple[str, str], list[Notice]] = {}
    for notice in open_about(connection, {one.notice["user"] for one in concerned}, events):
        groups.setdefault((notice["user"], notice["about"]), []).append(notice)
    last = {(one.notice["user"], one.notice["about"]): one for one in concerned}
    settled = [
        News("updated", notice, alert=False, t_ms=one.t_ms)
        for about, one in last.items()
        for notice in _settled(one, groups.get(about, []))
    ]
    kept.save(connection, [one.notice for one in settled])
    announce(connection, settled)


def _settled(one: News, others: Sequence[Notice]) -> Iterator[Notice]:
    """What changes of the open notices about an event after one of them alerted or closed."""
    if one.alert and one.notice["closed_ms"] is None:
        yield from (held(other) for other in others if _is_shown_beside(other, one.notice))
        return
    copies = [other for other in others if other["held_because"] == SAME_EVENT]
    if copies and len(copies) == len(others):
        yield stands(max(copies, key=lambda copy: int(copy["criticality"])), one.notice)


def front(connection: Connection, notice: Notice, now_ms: int) -> Notice:
    """Let an open notice stand for its event at stream time `now_ms` (Unix ms), in place of the
    one that did; the notice is returned, not written."""
    if notice["held_because"] != SAME_EVENT:
        return notice
    others = open_about(connection, {notice["user"]}, {notice["about"]})
    shown = [other for other in others if _is_shown_beside(other, notice)]
    after = [held(other) for other in shown]
    kept.save(connection, after)
    announce(connection, [News("updated", other, alert=False, t_ms=now_ms) for other in after])
    return stands(notice, shown[0]) if shown else {**notice, "held_because": None}


def held(notice: Notice) -> Notice:
    """A notice for which another stands."""
    return {**notice, "held_because": SAME_EVENT, "due_ms": None, "snoozed_until_ms": None}


def stands(notice: Notice, instead_of: Notice) -> Notice:
    """A notice that stands for the event from now on: what its user did with the one before
    holds for it."""
    known = max(instead_of["alerted_criticality"] or 0, notice["criticality"])
    return {
        **notice,
        **{name: instead_of[name] for name in UNATTENDED},
        "held_because": None,
        "due_ms": None,
        "alerted_criticality": known,
    }


def _is_shown_beside(other: Notice, notice: Notice) -> bool:
    because = other["held_because"]
    return bool(other["id"] != notice["id"]) and because not in (*FOR_GOOD, SAME_EVENT)
