"""What people take along of their meetings, and what goes when they are forgotten or allow less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from citywise.apps.meeting_mgr import reminders, store
from citywise.apps.meeting_mgr.entries import Entry
from citywise.apps.meeting_mgr.model import Person, Sensor
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import arriving, consent
from citywise.apps.meeting_mgr.tables import MeetingPersonRow, MeetingRow
from citywise.backend.app import Settings, times
from citywise.backend.app import boxes as sealing

RESTS_ON: Mapping[str, tuple[Sensor, ...]] = {"position": ("distance", "speed")}
"""Which sensors tell of a kind of context (`backend.people.consents`)."""
_SECRET = {"secret"}


def export(connection: Connection, settings: Settings, user: str) -> list[dict[str, Any]]:
    """The meetings that a user hosts, and as whom they joined others', with what was concluded
    of them; times in ISO 8601."""
    return of(connection, store.boxes_of(settings), user)


def of(connection: Connection, boxes: sealing.Boxes, user: str) -> list[dict[str, Any]]:
    """As `export`, with what opens the boxes."""
    hosted = store.of_host(connection, boxes, user)
    joined = store.people_of_user(connection, boxes, user)
    return [
        *(_hosted(connection, boxes, record) for record in hosted),
        *(_joined(connection, boxes, person) for person in joined),
    ]


def withdrawn(connection: Connection, settings: Settings, user: str, subject: str) -> None:
    """Share nothing any more that tells of a kind of context whose use a user allows no longer,
    and keep nothing of it, also in meetings that the user has left."""
    boxes, sensors, now_ms = store.boxes_of(settings), RESTS_ON.get(subject, ()), times.wall_ms()
    for person in store.people_of_user(connection, boxes, user) if sensors else ():
        record = store.find(connection, boxes, person.meeting)
        if record is None:
            continue
        step = consent.withdraw(record, person, sensors, now_ms)
        store.write(connection, boxes, step)
        [person] = step.people
        if person.tells_arrival:  # It follows from where they are.
            store.write(connection, boxes, arriving.withdraw(record, person, now_ms))


def forgotten(connection: Connection, user: str) -> None:
    """Remove a user's meetings with all that others did in them, and the user from others'."""
    hosted = select(MeetingRow.id).where(MeetingRow.user == user)
    for meeting_id in connection.scalars(hosted).all():
        store.delete(connection, meeting_id)
    row = MeetingPersonRow
    joined = select(row.meeting, row.id).where(row.user == user)
    for meeting_id, person in connection.execute(joined).all():
        store.delete_person(connection, meeting_id, person)


def _hosted(connection: Connection, boxes: sealing.Boxes, record: MeetingRecord) -> dict[str, Any]:
    people = store.people_of(connection, boxes, record)
    return {
        "role": "host",
        "id": record.id,
        "reminder_minutes": _reminder(connection, record.id, record.user),
        "state": record.state,
        "created": times.iso_or_none(record.created_ms),
        "updated": times.iso_or_none(record.updated_ms),
        **_exported_value(record.meeting.model_dump(mode="json")),
        "proposals": [_exported_value(one.model_dump(mode="json")) for one in record.proposals],
        "people": [_exported_value(one.model_dump(mode="json", include=_CAME)) for one in people],
        "entries": [_entry(entry) for entry in store.entries_of(connection, boxes, record.id)],
    }


_CAME = {"name", "attendee", "joined_ms", "left_ms"}


def _joined(connection: Connection, boxes: sealing.Boxes, person: Person) -> dict[str, Any]:
    mine = store.entries_of(connection, boxes, person.meeting, person.id)
    entries = [_entry(entry) for entry in mine]
    return {
        "role": "participant",
        "reminder_minutes": _reminder(connection, person.meeting, person.user or ""),
        **_exported_value(person.model_dump(mode="json")),
        "entries": entries,
    }


def _reminder(connection: Connection, meeting: str, user: str) -> int | None:
    found = reminders.of(connection, meeting, user)
    return None if found is None else found.minutes


def _entry(entry: Entry) -> dict[str, Any]:
    told = {"at": times.iso_or_none(entry.at_ms), "person": entry.person}
    return told | _exported_value(entry.body.model_dump(mode="json"))


def _exported_value(body: Mapping[str, Any]) -> dict[str, Any]:
    """A value with its times (`…_ms`) in ISO 8601, and without secrets."""
    return dict(_exported_field(name, value) for name, value in body.items() if name not in _SECRET)


def _exported_field(name: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, Mapping):
        if name.endswith("_ms"):
            value = {f"{key}_ms": at for key, at in value.items()}
        return name.removesuffix("_ms"), _exported_value(value)
    if isinstance(value, list):
        return name, [_exported_value(one) if isinstance(one, Mapping) else one for one in value]
    return (
        (name.removesuffix("_ms"), times.iso_or_none(value))
        if name.endswith("_ms")
        else (name, value)
    )
