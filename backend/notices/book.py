"""Committing changes of notices, and announcing them, in the pipeline's transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from sqlalchemy import Connection, delete, or_, select

from citywise.backend.notices import kept, same
from citywise.backend.notices.announcing import NOTICE, News, announce
from citywise.backend.notices.attention import Change
from citywise.backend.notices.listeners import UNATTENDED, Listeners, Notice, events_of
from citywise.backend.notices.names import Names
from citywise.backend.packs.notices import named
from citywise.backend.people import accounts
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import EventRow, NoticeRow, longest
from citywise.backend.store.upsert import upsert

__all__ = ["NOTICE", "Notice", "apply", "end", "end_others", "notices_of", "take_back", "trim"]

_COPIED = ("app", "template", "version", "instance", "user", "about_type", "criticality")
_BOUNDED = {"kind": "notice", "about": "about"}
"""Columns that rules fill, by what changes call them."""
_ENDED_AT_ONCE = 1_000
WITHDRAWN = "withdrawn"
"""Why a notice is closed whose event turned out never to have been."""
_News = tuple[str, Notice]
"""`opened`, `updated`, `closed` or `refreshed` (only its details), and the notice after it."""
_Identity = tuple[str | int, ...]


class NoticeChange(Protocol):
    """A row of the pipeline: the stream time of the evaluation (Unix ms) and what changed,
    as `backend.packs.notices` makes it."""

    @property
    def t_ms(self) -> int: ...

    @property
    def body(self) -> Mapping[str, Any]: ...


def apply(connection: Connection, rows: Iterable[NoticeChange]) -> int:
    """Apply changes in order of their times and announce what is new in them, in a transaction
    that has called `announcing.begin` first.

    Returns how many were news. A change that has been applied before is none, but for what
    closes and opens again at one time: who repeats whole batches must know them
    (`backend.pipeline.results` does). A body may carry `about_name`, `lat` and `lon`
    of what it is about; else they are looked up.
    """
    ordered = sorted(rows, key=lambda row: row.t_ms)  # at equal times as they came
    changes = _of_existing(connection, ordered)
    if not changes:
        return 0
    changes = _taken_back(connection, changes)
    amended = _amended(connection, changes)
    known = _Known(connection, changes)
    names = Names(connection, [row.body for row in changes])
    users, events = {row.body["user"] for row in changes}, events_of(row.body for row in changes)
    listeners = Listeners(connection, users, changes[0].t_ms, events)
    news = [
        _heard(known, listeners, row.t_ms, *found)
        for row in changes
        if (found := _after(known, row, names, amended)) is not None
    ]
    upsert(connection, NoticeRow, list({one.notice["id"]: one.notice for one in news}.values()))
    told = [one for one in news if one.change != "refreshed"]
    announce(connection, told)
    same.settle(connection, told)
    return len(told)


def take_back(connection: Connection, events: Mapping[str, Sequence[Any]], t_ms: int) -> None:
    """Take the notices about events back that turned out never to have been, with the readings
    that say so; what is open still its template closes. The transaction has called
    `announcing.begin`."""
    row = NoticeRow
    over = row.closed_ms.is_not(None) & row.taken_back.is_(None) & (row.about_type == "event")
    found: list[Notice] = []
    for some in chunks(events):
        query = select(row.__table__).where(row.about.in_(some), over)
        found += [dict(one) for one in connection.execute(query).mappings()]
    told = [{**one, "closed_because": WITHDRAWN, **_because(events[one["about"]])} for one in found]
    upsert(connection, NoticeRow, told)
    announce(connection, [News("closed", one, alert=False, t_ms=t_ms) for one in told])


def notices_of(connection: Connection, changes: Sequence[Mapping[str, Any]]) -> list[Notice]:
    """The notices that changes would open, as rows; nothing is written."""
    names = Names(connection, changes)
    return [_new(body["t_ms"], body, names) for body in changes]


def trim(connection: Connection, before_ms: int) -> None:
    """Remove notices that were closed before `before_ms` (stream time, Unix ms)."""
    connection.execute(delete(NoticeRow).where(NoticeRow.closed_ms < before_ms))


def end_others(connection: Connection, running: Collection[str]) -> None:
    """Close the open notices of template versions (`app/template@version`) that run no more,
    and announce that: nobody else will. The transaction has called `announcing.begin`."""
    row = NoticeRow
    columns = (row.app, row.template, row.version)
    still_open = select(*columns).where(row.closed_ms.is_(None)).distinct()
    for app, template, version in connection.execute(still_open).all():
        name = f"{app}/{template}@{version}"
        if name not in running:
            end(connection, name)


def end(connection: Connection, request: str) -> None:
    """Close the open notices of a template version (`app/template@version`), of which nobody
    knows any more whether they hold, and announce that; see `end_others`."""
    row = NoticeRow
    app, _slash, rest = request.partition("/")
    template, _at, version = rest.partition("@")
    of_it = (row.app == app) & (row.template == template) & (row.version == int(version))
    while ended := kept.still_open(connection, of_it, _ENDED_AT_ONCE):
        _end(connection, ended)


def _end(connection: Connection, notices: Sequence[Notice]) -> None:
    """Close notices when they were last heard of."""
    over = {"closed_because": "removed", "held_because": None, "due_ms": None}
    ended = [{**notice, "closed_ms": notice["updated_ms"], **over} for notice in notices]
    upsert(connection, NoticeRow, ended)
    told = [News("closed", notice, alert=False, t_ms=notice["closed_ms"]) for notice in ended]
    announce(connection, told)
    same.settle(connection, told)


@dataclass(frozen=True)
class _TakenBack:
    """A change that closes a notice for which there was no reason."""

    t_ms: int
    body: Mapping[str, Any]


def _because(causes: Sequence[Any]) -> dict[str, Any]:
    return {"taken_back": list(causes) or None}


def _taken_back(connection: Connection, changes: Sequence[NoticeChange]) -> list[NoticeChange]:
    """The changes, of which those that close notices about withdrawn events say so."""
    ended = {
        row.body["about"]
        for row in changes
        if row.body["change"] == "closed" and row.body["about_type"] == "event"
    }
    gone: dict[str, Any] = {}
    for some in chunks(ended):
        query = select(EventRow.id, EventRow.revised).where(
            EventRow.id.in_(some), EventRow.withdrawn_ms.is_not(None)
        )
        gone |= {
            event: (revised or {}).get("because", ())
            for event, revised in connection.execute(query)
        }
    if not gone:
        return list(changes)
    return [
        _TakenBack(
            row.t_ms,
            {**row.body, "closed_because": WITHDRAWN, **_because(gone[row.body["about"]])},
        )
        if row.body["change"] == "closed" and row.body["about"] in gone
        else row
        for row in changes
    ]


def _amended(connection: Connection, changes: Sequence[NoticeChange]) -> dict[str, Any]:
    """The readings that corrected events at last, of those by which notices are amended."""
    events = {
        row.body["about"]
        for row in changes
        if row.body["about_type"] == "event" and {"amended", "taken_back"} & row.body.keys()
    }
    found: dict[str, Any] = {}
    for some in chunks(events):
        query = select(EventRow.id, EventRow.revised).where(EventRow.id.in_(some))
        revised = ((event, one) for event, one in connection.execute(query) if one)
        found |= {event: one["because"] for event, one in revised}
    return found


class _Known:
    """The notices that changes may be about, by what tells the open ones apart."""

    def __init__(self, connection: Connection, changes: Sequence[NoticeChange]) -> None:
        self._notices: dict[_Identity, Notice] = {}
        self._ids: set[str] = set()
        recent = or_(NoticeRow.closed_ms.is_(None), NoticeRow.closed_ms >= changes[0].t_ms)
        for some in chunks(row.body["instance"] for row in changes):
            query = select(NoticeRow.__table__).where(NoticeRow.instance.in_(some), recent)
            for row in connection.execute(query.order_by(NoticeRow.updated_ms)).mappings():
                self.keep(dict(row))

    def latest(self, row: NoticeChange) -> Notice | None:
        """The newest notice that a change may go on with."""
        body = row.body
        bounded = {name: _bounded(name, body[key]) for name, key in _BOUNDED.items()}
        return self._notices.get(_identity({**body, **bounded}))

    def has(self, notice: Notice) -> bool:
        """Whether there has been this very notice."""
        return notice["id"] in self._ids

    def keep(self, notice: Notice) -> Notice:
        """Remember a notice as it is now."""
        self._notices[_identity(notice)] = notice
        self._ids.add(notice["id"])
        return notice


def _of_existing(connection: Connection, changes: Sequence[NoticeChange]) -> list[NoticeChange]:
    """The changes without those to people who are forgotten."""
    gone = accounts.gone(connection, {row.body["user"] for row in changes})
    return [row for row in changes if row.body["user"] not in gone]


def _heard(known: _Known, listeners: Listeners, t_ms: int, change: str, notice: Notice) -> News:
    """What a change is to its user."""
    if change == "refreshed":
        return News(change, notice, alert=False, t_ms=t_ms)
    attended, alert = listeners.attend(notice, cast("Change", change), t_ms)
    return News(change, known.keep(attended), alert, t_ms)


def _identity(notice: Mapping[str, Any]) -> _Identity:
    names = ("instance", "template", "version", "kind", "about_type", "about")
    return tuple(notice[name] for name in names)


def _after(
    known: _Known, row: NoticeChange, names: Names, amended: Mapping[str, Any]
) -> _News | None:
    """The notice after a change; None where the change is none or has been applied."""
    notice, closes = known.latest(row), row.body["change"] == "closed"
    if notice is not None and row.t_ms < notice["updated_ms"]:
        return None
    if notice is not None and notice["closed_ms"] is None:
        changed = _changed(notice, row, amended.get(row.body["about"], ()))
        news = "closed" if closes else "updated"
        if row.body["change"] == "refreshed":
            news = "refreshed"
        return None if changed is None else (news, known.keep(changed))
    begins = row.body["change"] not in ("closed", "refreshed")
    opened = _new(row.t_ms, row.body, names) if begins else None
    return None if opened is None or known.has(opened) else ("opened", known.keep(opened))


def _changed(notice: Notice, row: NoticeChange, because: Sequence[Any]) -> Notice | None:
    """A notice after a change; `because` are the readings that corrected its event at last."""
    changed = {**notice, **_told_fields(row.t_ms, row.body)}
    if row.body["change"] == "refreshed":
        changed |= {name: notice[name] for name in ("amended", "late_ms")}
    elif changed["amended"] is not None:
        known = changed["amended"]["because"] or list(because)
        changed["amended"] = {"was": notice["criticality"], "because": known} if known else None
    elif changed["taken_back"] == []:
        changed["taken_back"] = list(because) or None
    if row.body["change"] == "closed":
        # What ended has no details any more; they stay as they were.
        changed |= {name: changed[name] or notice[name] for name in ("details", "why")}
    same = all(changed[name] == notice[name] for name in ("criticality", "details", "closed_ms"))
    return None if same else changed


def _new(t_ms: int, change: Mapping[str, Any], names: Names) -> Notice:
    body, name = named(dict(change), t_ms), names.of(change)
    return {
        **{key: body[key] for key in _COPIED},
        "id": _bounded("id", body["id"]),
        **{name: _bounded(name, body[key]) for name, key in _BOUNDED.items()},
        "about_name": name.text,
        "about_lat": name.lat,
        "about_lon": name.lon,
        "opened_ms": t_ms,
        **_told_fields(t_ms, body),
        "amended": None,  # There was nothing before.
        **UNATTENDED,
        "advice": None,
    }


def _told_fields(t_ms: int, body: Mapping[str, Any]) -> Notice:
    """What every change says anew."""
    closed = body["change"] == "closed"
    because = body.get("closed_because")
    return {
        "criticality": body["criticality"],
        "details": dict(body["details"]),
        "why": list(body.get("why") or ()),
        "updated_ms": t_ms,
        "closed_ms": t_ms if closed else None,
        "closed_because": _bounded("closed_because", because) if closed and because else None,
        "taken_back": body.get("taken_back") if closed else None,
        "amended": None if closed else body.get("amended"),
        "late_ms": body.get("late_ms"),
    }


def _bounded(column: str, text: str) -> str:
    """`text` cut to what the column holds; a digest keeps cut texts apart."""
    most = longest(NoticeRow, column)
    if len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[: most - 17]}~{digest}"
