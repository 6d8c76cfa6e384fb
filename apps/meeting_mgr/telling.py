"""Telling in the outbox that meetings have changed: never what, nor who somebody is.

A meeting's host hears what is told to one channel, each of the others what is told to their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Connection, String, cast, delete, insert, or_, select

from citywise.apps.meeting_mgr.model import APP
from citywise.apps.meeting_mgr.record import Change, Step
from citywise.apps.meeting_mgr.tables import MeetingPersonRow
from citywise.backend.app import clocks, outbox, people, times

MEETING = "meeting"
"""Kind of the announcements, and what boxes are sealed for."""
Audience = Literal["host", "person", "all"]
"""The host alone; and the person whom it is about; and everybody who is there."""
AUDIENCES: Mapping[Change, Audience] = {
    "created": "host",
    "edited": "all",
    "shown": "all",
    "started": "all",
    "item": "all",
    "extended": "all",
    "ended": "all",
    "cancelled": "all",
    "restored": "all",
    "link": "all",
    "decided": "host",
    "gone": "all",
    "joined": "all",
    "left": "all",
    "removed": "all",
    "away": "all",
    "back": "all",
    "sharing": "person",
    "says": "person",
    "hand": "person",
    "muted": "person",
    "presenting": "person",
    "asked": "person",
    "handed_over": "all",
    "overridden": "person",
    "abilities": "person",
    "presence": "all",
    "arrival": "all",
    "talk_time": "all",
    "proposed": "host",
    "accepted": "all",
    "declined": "host",
    "undone": "all",
    "outdated": "host",
}


def host_channel(meeting_id: str) -> str:
    """The channel of a meeting's host."""
    return people.ids.channel(APP, f"host-{meeting_id}")


def person_channel(person_id: str) -> str:
    """The channel of somebody who takes part."""
    return people.ids.channel(APP, person_id)


def open_to(connection: Connection, names: Collection[str]) -> set[str]:
    """Those of some channels whose people take part still."""
    row = MeetingPersonRow
    there = select(row.id).where(row.id.in_(names), row.secret.is_not(None))
    return set(connection.scalars(there))


def audience(step: Step) -> Audience:
    """Who is told of a step; of abilities everybody, where the host shows them to all."""
    if step.change in ("abilities", "sharing", "overridden"):
        return "all" if step.record.meeting.rules.show_abilities_to_all else "person"
    return AUDIENCES[step.change]


def tell(connection: Connection, steps: Sequence[Step]) -> None:
    """Announce steps to whom they concern."""
    to_all = {step.record.id for step in steps if audience(step) == "all"}
    present = _present(connection, to_all)
    rows = []
    for step in steps:
        to = [host_channel(step.record.id), *present.get(step.record.id, ())]
        if step.person is not None and audience(step) != "host":
            to.append(person_channel(step.person))
        rows += _rows(step.record.id, step.change, step.person, to)
    _write(connection, rows)


def announce(
    connection: Connection,
    meeting_id: str,
    change: Change,
    person: str | None = None,
    *,
    to: Iterable[str],
) -> None:
    """Tell channels that something has changed."""
    _write(connection, _rows(meeting_id, change, person, to))


def tell_gone(connection: Connection, meeting_id: str) -> None:
    """Tell everybody that there is no such meeting any more; what they were told before goes."""
    present = _present(connection, [meeting_id]).get(meeting_id, [])
    channels = [host_channel(meeting_id), *present]
    connection.execute(delete(outbox.OutboxRow).where(outbox.OutboxRow.user.in_(channels)))
    announce(connection, meeting_id, "gone", to=channels)


def tell_removed(connection: Connection, meeting_id: str, person_id: str) -> None:
    """Tell everybody in a meeting that somebody left who is forgotten; what mentions them goes."""
    mentions = cast(outbox.OutboxRow.body, String).contains(person_id)
    own = person_channel(person_id)
    mine = or_(outbox.OutboxRow.user == own, (outbox.OutboxRow.kind == MEETING) & mentions)
    connection.execute(delete(outbox.OutboxRow).where(mine))
    present = _present(connection, [meeting_id]).get(meeting_id, [])
    announce(connection, meeting_id, "left", to=[host_channel(meeting_id), *present, own])


def _present(connection: Connection, meetings: Collection[str]) -> dict[str, list[str]]:
    """The channels of those who are in meetings now."""
    found: dict[str, list[str]] = {}
    there = (MeetingPersonRow.meeting.in_(meetings), MeetingPersonRow.secret.is_not(None))
    query = select(MeetingPersonRow.meeting, MeetingPersonRow.id).where(*there)
    for meeting, person in connection.execute(query) if meetings else ():
        found.setdefault(meeting, []).append(person_channel(person))
    return found


def _rows(
    meeting_id: str, change: Change, person: str | None, to: Iterable[str]
) -> list[dict[str, Any]]:
    body = {"meeting": meeting_id, "change": change, "person": person}
    return [{"kind": MEETING, "body": body, "user": user} for user in dict.fromkeys(to)]


def _write(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        when = {"t_ms": clocks.read(connection).now_ms, "created_ms": times.wall_ms()}
        connection.execute(insert(outbox.OutboxRow), [row | when for row in rows])
