"""Meetings in the database: rows ⇄ values, in boxes that the host's key opens.

Every writer calls `backend.store.outbox.begin` first, reads, makes a step and writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from secrets import compare_digest
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, RowMapping, Select, bindparam, func, insert, select, update
from sqlalchemy import delete as remove

from citywise.apps.meeting_mgr.entries import BODY, Entry
from citywise.apps.meeting_mgr.model import Meeting, Person, Proposal
from citywise.apps.meeting_mgr.planned import MINUTE_MS
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import repeating
from citywise.apps.meeting_mgr.steps.sharing import remaining
from citywise.apps.meeting_mgr.tables import (
    MeetingEntryRow,
    MeetingPersonRow,
    MeetingRow,
    ReminderRow,
)
from citywise.apps.meeting_mgr.telling import MEETING, tell, tell_gone, tell_removed
from citywise.backend.app import Settings
from citywise.backend.app import boxes as sealing
from citywise.backend.app import people as accounts

KEPT_DAYS = 90
"""So long a meeting is kept after it was ended or cancelled, or should have been."""
MOST_MEETINGS = 500
"""Of one host, those that are over included."""
MOST_ENTRIES = 20_000
"""So many entries about its people a meeting keeps, the last ones (`trim_entries`)."""
_PROPOSALS = TypeAdapter(tuple[Proposal, ...])
_PLAIN = tuple(name for name in MeetingRecord._fields if name not in ("meeting", "proposals"))
_OVER = ("ended", "cancelled")
_DAY_MS = 86_400_000
_MEETINGS, _PEOPLE = select(MeetingRow.__table__), select(MeetingPersonRow.__table__)


def boxes_of(settings: Settings) -> sealing.Boxes:
    """The boxes of a system's meetings, as this process opens them."""
    return sealing.boxes_for(settings, MEETING)


# --- Reading -------------------------------------------------------------------------------------


def find(connection: Connection, boxes: sealing.Boxes, meeting_id: str) -> MeetingRecord | None:
    """The meeting of an id; None where there is none (any more)."""
    found = _records(connection, boxes, _MEETINGS.where(MeetingRow.id == meeting_id))
    return next(iter(found), None)


def of_host(connection: Connection, boxes: sealing.Boxes, user: str) -> list[MeetingRecord]:
    """The meetings of a host, the latest to start first."""
    found = _records(connection, boxes, _MEETINGS.where(MeetingRow.user == user))
    return _latest_first(found)


def listed_of_host(connection: Connection, boxes: sealing.Boxes, user: str) -> list[MeetingRecord]:
    """As `of_host`, without their proposals, which are not opened."""
    return _latest_first(_listed(connection, boxes, _MEETINGS.where(MeetingRow.user == user)))


def count_of_host(connection: Connection, user: str) -> int:
    """How many meetings of a host are kept; none is opened."""
    query = select(func.count()).where(MeetingRow.user == user)
    return connection.scalar(query) or 0


def people_of(connection: Connection, boxes: sealing.Boxes, record: MeetingRecord) -> list[Person]:
    """Everybody who has joined a meeting, also who has left, in the order in which they did."""
    found = _people(connection, boxes, _PEOPLE.where(MeetingPersonRow.meeting == record.id))
    return sorted(found, key=lambda person: (person.joined_ms, person.id))


def people(connection: Connection, boxes: sealing.Boxes, ids: Collection[str]) -> list[Person]:
    """Those of some ids who have joined a meeting, in no order."""
    return _people(connection, boxes, _PEOPLE.where(MeetingPersonRow.id.in_(ids)))


def person_by_secret(
    connection: Connection, boxes: sealing.Boxes, record: MeetingRecord, person_id: str, secret: str
) -> Person | None:
    """Who is in a meeting and shows their secret; None for everybody else."""
    mine = (MeetingPersonRow.id == person_id, MeetingPersonRow.meeting == record.id)
    kept = connection.scalar(select(MeetingPersonRow.secret).where(*mine))
    if kept is None or not compare_digest(kept, accounts.secret.digest(secret)):
        return None
    return next(iter(_people(connection, boxes, _PEOPLE.where(*mine))), None)


def people_of_user(connection: Connection, boxes: sealing.Boxes, user: str) -> list[Person]:
    """As whom an account has joined meetings, the latest first."""
    found = _people(connection, boxes, _PEOPLE.where(MeetingPersonRow.user == user))
    return sorted(found, key=lambda person: (-person.joined_ms, person.id))


def joined_by(connection: Connection, boxes: sealing.Boxes, user: str) -> list[MeetingRecord]:
    """The meetings in which an account takes part, the latest to start first; without their
    proposals."""
    there = {one.meeting for one in people_of_user(connection, boxes, user) if one.left_ms is None}
    return _latest_first(_listed(connection, boxes, _MEETINGS.where(MeetingRow.id.in_(there))))


def entries_of(
    connection: Connection, boxes: sealing.Boxes, meeting_id: str, person: str | None = None
) -> list[Entry]:
    """What happened in a meeting (to somebody), oldest first."""
    return opened(boxes, sealed_entries(connection, meeting_id, person))


def sealed_entries(
    connection: Connection, meeting_id: str, person: str | None = None
) -> Sequence[Row[Any]]:
    """The same, for `opened`: that takes long where there are many."""
    query = select(MeetingEntryRow.__table__).where(MeetingEntryRow.meeting == meeting_id)
    if person is not None:
        query = query.where(MeetingEntryRow.person == person)
    return connection.execute(query.order_by(MeetingEntryRow.id)).all()


def newest_entries(
    connection: Connection, boxes: sealing.Boxes, meeting_id: str, before: int | None, most: int
) -> list[Entry]:
    """The last of what happened in a meeting (before the entry of an id), newest first."""
    query = select(MeetingEntryRow.__table__).where(MeetingEntryRow.meeting == meeting_id)
    if before is not None:
        query = query.where(MeetingEntryRow.id < before)
    newest = query.order_by(MeetingEntryRow.id.desc()).limit(most)
    return opened(boxes, connection.execute(newest).all())


def _latest_first(found: list[MeetingRecord]) -> list[MeetingRecord]:
    return sorted(found, key=lambda record: (-record.meeting.starts_ms, record.id))


def opened(boxes: sealing.Boxes, rows: Sequence[Row[Any]]) -> list[Entry]:
    """The entries of rows, but those that nobody can open any more."""
    texts = boxes.open([row.box for row in rows])
    return [
        Entry(row.at_ms, BODY.validate_json(text), row.person, row.id)
        for row, text in zip(rows, texts, strict=True)
        if text is not None
    ]


def _records(
    connection: Connection, boxes: sealing.Boxes, query: Select[Any]
) -> list[MeetingRecord]:
    rows = connection.execute(query).mappings().all()
    texts = boxes.open([row[name] for row in rows for name in ("box", "proposals")])
    pairs = zip(rows, texts[::2], texts[1::2], strict=True)
    return [
        _record(row, meeting, _PROPOSALS.validate_json(proposals))
        for row, meeting, proposals in pairs
        if meeting is not None and proposals is not None
    ]


def _listed(
    connection: Connection, boxes: sealing.Boxes, query: Select[Any]
) -> list[MeetingRecord]:
    rows = connection.execute(query).mappings().all()
    texts = boxes.open([row["box"] for row in rows])
    pairs = zip(rows, texts, strict=True)
    return [_record(row, meeting, ()) for row, meeting in pairs if meeting is not None]


def _record(row: RowMapping, meeting: bytes, proposals: tuple[Proposal, ...]) -> MeetingRecord:
    plain = {name: row[name] for name in _PLAIN}
    opened = Meeting.model_validate_json(meeting)
    return MeetingRecord(**plain, meeting=opened, proposals=proposals)


def _people(connection: Connection, boxes: sealing.Boxes, query: Select[Any]) -> list[Person]:
    texts = boxes.open([row.box for row in connection.execute(query)])
    return [Person.model_validate_json(text) for text in texts if text is not None]


def to_follow(connection: Connection, now_ms: int, most: int) -> Sequence[tuple[str, str]]:
    """Meetings after which the next of their series is to be made by now, and their hosts."""
    row = MeetingRow
    due = select(row.id, row.user).where(row.next_ms <= now_ms).order_by(row.next_ms).limit(most)
    return [(found.id, found.user) for found in connection.execute(due)]


def pages(connection: Connection) -> dict[str, int]:
    """When a page was last known to be open (wall time, Unix ms), of those who take part and have
    opened one."""
    row = MeetingPersonRow
    query = select(row.id, row.page_ms).where(row.secret.is_not(None), row.page_ms.is_not(None))
    return {found.id: found.page_ms for found in connection.execute(query)}


# --- Writing -------------------------------------------------------------------------------------


def write(connection: Connection, boxes: sealing.Boxes, step: Step) -> None:
    """Write a step and announce it. Raises `MeetingError` `gone` where there is no such meeting
    any more, and `BoxError`."""
    write_all(connection, boxes, [step])


def write_all(connection: Connection, boxes: sealing.Boxes, steps: Sequence[Step]) -> None:
    """Write steps, of which each has changed another meeting or other people, in few
    statements; otherwise as `write`."""
    for step in steps:
        if step.is_record_new:
            _save_record(connection, boxes, step)
    _save_people(connection, boxes, steps)
    for step in steps:
        if step.forgets:
            _forget_entries(connection, boxes, step)
    _add_entries(connection, boxes, steps)
    tell(connection, steps)


def join(connection: Connection, boxes: sealing.Boxes, step: Step) -> str:
    """Write a step of `taking_part.join`; returns the secret of who joined."""
    [person], secret = step.people, accounts.secret.new_secret()
    row = {
        "id": person.id,
        "meeting": person.meeting,
        "user": person.user,
        "secret": accounts.secret.digest(secret),
        "broker_hash": accounts.secret.broker_hash(secret),
        "box": "",
    }
    connection.execute(insert(MeetingPersonRow), [row])
    write(connection, boxes, step)
    return secret


def see_pages(connection: Connection, people: Collection[str], now_ms: int) -> None:
    """Note that pages of some people are open."""
    seen = update(MeetingPersonRow).where(MeetingPersonRow.id.in_(people))
    connection.execute(seen.values(page_ms=now_ms))


def give_broker_secret(connection: Connection, person_id: str) -> str:
    """A fresh secret for somebody's readings at the broker; earlier ones are void."""
    secret = accounts.secret.new_secret()
    given = update(MeetingPersonRow).where(MeetingPersonRow.id == person_id)
    connection.execute(given.values(broker_hash=accounts.secret.broker_hash(secret)))
    return secret


def _row(boxes: sealing.Boxes, record: MeetingRecord) -> dict[str, Any]:
    meeting = record.meeting.model_dump_json().encode()
    box, proposals = boxes.close(
        [(record.user, meeting), (record.user, _PROPOSALS.dump_json(record.proposals))]
    )
    plain = {name: getattr(record, name) for name in _PLAIN}
    next_ms = repeating.due_ms(record)
    return {**plain, "box": box, "proposals": proposals, "next_ms": next_ms}


def _save_record(connection: Connection, boxes: sealing.Boxes, step: Step) -> None:
    row = _row(boxes, step.record)
    if step.change == "created":
        connection.execute(insert(MeetingRow), [row])
        return
    saved = update(MeetingRow).where(MeetingRow.id == step.record.id)
    if not connection.execute(saved.values(row)).rowcount:
        raise MeetingError("gone", "There is no such meeting any more.")
    renew_reminders(connection, step.record)


def renew_reminders(connection: Connection, record: MeetingRecord) -> None:
    """Have those who want it reminded of a meeting as it is planned now; of a start that they were
    reminded of, not again."""
    row = ReminderRow
    chosen = select(row.user, row.minutes, row.told_ms).where(row.meeting == record.id)
    starts_ms = record.meeting.starts_ms
    for user, minutes, told_ms in connection.execute(chosen).all():
        is_told = record.state != "planned" or told_ms == starts_ms
        due_ms = None if is_told else starts_ms - minutes * MINUTE_MS
        mine = (row.meeting == record.id, row.user == user)
        connection.execute(update(row).where(*mine).values(due_ms=due_ms))


def _save_people(connection: Connection, boxes: sealing.Boxes, steps: Sequence[Step]) -> None:
    people = [(step.record, person) for step in steps for person in step.people]
    if not people:
        return
    sealed = boxes.close(
        [(record.user, person.model_dump_json().encode()) for record, person in people]
    )
    rows = [
        {"who": person.id, "new_box": box}
        for (_record, person), box in zip(people, sealed, strict=True)
    ]
    saved = update(MeetingPersonRow).where(MeetingPersonRow.__table__.c.id == bindparam("who"))
    connection.execute(saved.values(box=bindparam("new_box")), rows)
    _let_out(connection, [person.id for _record, person in people if person.left_ms is not None])


def _let_out(connection: Connection, people: Sequence[str]) -> None:
    """Whatever those who have left show is void from now on."""
    if people:
        gone = update(MeetingPersonRow).where(MeetingPersonRow.id.in_(people))
        connection.execute(gone.values(secret=None, broker_hash=""))


def _add_entries(connection: Connection, boxes: sealing.Boxes, steps: Sequence[Step]) -> None:
    found = [(step.record, entry) for step in steps for entry in step.entries]
    if not found:
        return
    sealed = boxes.close([(record.user, BODY.dump_json(entry.body)) for record, entry in found])
    people = {entry.person for _record, entry in found if entry.person is not None}
    query = select(MeetingPersonRow.id, MeetingPersonRow.user)
    who = connection.execute(query.where(MeetingPersonRow.id.in_(people)))
    users = {row.id: row.user for row in who}
    rows = [
        {
            "meeting": record.id,
            "person": entry.person,
            "user": users.get(entry.person or ""),
            "at_ms": entry.at_ms,
            "box": box,
        }
        for (record, entry), box in zip(found, sealed, strict=True)
    ]
    connection.execute(insert(MeetingEntryRow), rows)


def _forget_entries(connection: Connection, boxes: sealing.Boxes, step: Step) -> None:
    """Take out of somebody's earlier entries what sensors told that are to be forgotten."""
    [person] = step.people
    before = [
        entry
        for name in (*person.formerly, person.id)
        for entry in entries_of(connection, boxes, step.record.id, name)
    ]
    after = {entry.id: entry for entry in remaining(before, step.forgets)}
    gone = [entry.id for entry in before if entry.id not in after]
    connection.execute(remove(MeetingEntryRow).where(MeetingEntryRow.id.in_(gone)))
    other = [after[one.id] for one in before if one.id in after and after[one.id] != one]
    sealed = boxes.close([(step.record.user, BODY.dump_json(entry.body)) for entry in other])
    for entry, box in zip(other, sealed, strict=True):
        rewritten = update(MeetingEntryRow).where(MeetingEntryRow.id == entry.id)
        connection.execute(rewritten.values(box=box))


# --- Removing ------------------------------------------------------------------------------------


def delete(connection: Connection, meeting_id: str) -> None:
    """Remove a meeting and everything of it, and tell who is in it (`gone`)."""
    tell_gone(connection, meeting_id)
    connection.execute(remove(MeetingEntryRow).where(MeetingEntryRow.meeting == meeting_id))
    connection.execute(remove(MeetingPersonRow).where(MeetingPersonRow.meeting == meeting_id))
    connection.execute(remove(ReminderRow).where(ReminderRow.meeting == meeting_id))
    connection.execute(remove(MeetingRow).where(MeetingRow.id == meeting_id))


def delete_person(connection: Connection, meeting_id: str, person_id: str) -> None:
    """Remove whatever mentions somebody who joined a meeting; the others hear that somebody
    left."""
    connection.execute(remove(MeetingEntryRow).where(MeetingEntryRow.person == person_id))
    connection.execute(remove(MeetingPersonRow).where(MeetingPersonRow.id == person_id))
    tell_removed(connection, meeting_id, person_id)


def trim_entries(connection: Connection, meeting_id: str) -> None:
    """Remove the oldest entries about people beyond `MOST_ENTRIES`; what became of the meeting,
    its agenda and its proposals stays."""
    mine = (MeetingEntryRow.meeting == meeting_id, MeetingEntryRow.person.is_not(None))
    ids = select(MeetingEntryRow.id).where(*mine).order_by(MeetingEntryRow.id.desc())
    first_gone = connection.scalar(ids.offset(MOST_ENTRIES).limit(1))
    if first_gone is not None:
        connection.execute(remove(MeetingEntryRow).where(*mine, MeetingEntryRow.id <= first_gone))


def trim(connection: Connection, boxes: sealing.Boxes, now_ms: int) -> int:
    """Remove meetings that have been over, cancelled or past for `KEPT_DAYS`, and those of then
    that nobody can open any more; returns how many."""
    before_ms = now_ms - KEPT_DAYS * _DAY_MS
    untouched = MeetingRow.updated_ms < before_ms
    still = {
        one.id
        for one in _records(connection, boxes, _MEETINGS.where(untouched))
        if one.state not in _OVER and one.meeting.ends_ms >= before_ms
    }
    old = set(connection.scalars(select(MeetingRow.id).where(untouched))) - still
    for meeting_id in sorted(old):
        delete(connection, meeting_id)
    return len(old)
