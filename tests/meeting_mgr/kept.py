"""Meetings in a database, changed as the web changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Engine, select

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.model import AbilityState, Capability, Person, Room, Rules, Sensor
from citywise.apps.meeting_mgr.process.inbox import Heard
from citywise.apps.meeting_mgr.record import MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import consent, running, taking_part
from citywise.apps.meeting_mgr.steps.drafts import AttendeeDraft, Changes, ItemDraft
from citywise.apps.meeting_mgr.steps.editing import create
from citywise.apps.meeting_mgr.telling import person_channel
from citywise.apps.meeting_mgr.topics import Source
from citywise.backend.settings import Settings
from citywise.backend.store.models import OutboxRow
from citywise.backend.store.outbox import begin
from citywise.backend.times import iso

HOST = "u-" + "h" * 20
NOW_MS = 1_800_000_000_000
QUICK = Rules(dwell_s=0)
"""Rules by which a reading changes an ability at once."""


@dataclass(frozen=True)
class Kept:
    """The meetings of a system."""

    engine: Engine
    settings: Settings

    def make(self, rules: Rules = QUICK, room: str | None = None, now_ms: int = NOW_MS) -> str:
        """A meeting that runs, with an agenda of two items; returns its id."""
        changes = Changes(
            title="Business Meeting",
            room=Room(name="Room B", sensors=room),
            starts_ms=now_ms,
            ends_ms=now_ms + 3_600_000,
            attendees=(AttendeeDraft(name="Bob"), AttendeeDraft(name="Charlie")),
            agenda=(ItemDraft(title="Figures", minutes=25), ItemDraft(title="Plans", minutes=30)),
            rules=rules,
        )
        made = create(HOST, changes, now_ms)
        self._write(made)
        self.change(made.record.id, lambda record: running.start(record, now_ms))
        return made.record.id

    def join(
        self,
        meeting: str,
        *sharing: Sensor,
        name: str = "Bob",
        attendee: str | None = None,
        now_ms: int = NOW_MS,
    ) -> str:
        """Somebody joins and shares; returns their id."""
        record = self.record(meeting)
        there = self.people(meeting)
        step = taking_part.join(record, name, attendee, None, now_ms, there=there)
        with self.engine.begin() as connection:
            begin(connection)
            store.join(connection, self._boxes, step)
        self.share(meeting, step.people[0].id, *sharing, now_ms=now_ms)
        return step.people[0].id

    def share(self, meeting: str, person: str, *sharing: Sensor, now_ms: int = NOW_MS) -> None:
        self.change_person(
            meeting, person, lambda record, one: consent.share(record, one, sharing, now_ms)
        )

    def leave(self, meeting: str, person: str, now_ms: int = NOW_MS) -> None:
        self.change_person(
            meeting, person, lambda record, one: taking_part.leave(record, one, now_ms)
        )

    def change(self, meeting: str, how: Callable[[MeetingRecord], Step]) -> None:
        self._write(how(self.record(meeting)))

    def change_person(
        self, meeting: str, person: str, how: Callable[[MeetingRecord, Person], Step]
    ) -> None:
        self._write(how(self.record(meeting), self.person(meeting, person)))

    def record(self, meeting: str) -> MeetingRecord:
        with self.engine.connect() as connection:
            found = store.find(connection, self._boxes, meeting)
        assert found is not None
        return found

    def people(self, meeting: str) -> list[Person]:
        record = self.record(meeting)
        with self.engine.connect() as connection:
            return store.people_of(connection, self._boxes, record)

    def person(self, meeting: str, person: str) -> Person:
        return next(one for one in self.people(meeting) if one.id == person)

    def abilities(self, meeting: str, person: str) -> Mapping[Capability, AbilityState]:
        return self.person(meeting, person).state.abilities

    def able(self, meeting: str, person: str, capability: Capability = "speak") -> str | None:
        found = self.abilities(meeting, person).get(capability)
        return None if found is None else found.state

    def entries(self, meeting: str, person: str | None = None) -> list[dict[str, Any]]:
        """What is written of a meeting, or of one of its people, oldest first."""
        with self.engine.connect() as connection:
            found = store.entries_of(connection, self._boxes, meeting, person)
        return [one.body.model_dump() for one in found]

    def told_to(self, person: str) -> list[str]:
        """The changes that somebody was told of, oldest first."""
        return self.told(person_channel(person))

    def told(self, channel: str) -> list[str]:
        """The changes that a channel was told of, oldest first."""
        query = select(OutboxRow.body).where(OutboxRow.user == channel).order_by(OutboxRow.id)
        with self.engine.connect() as connection:
            return [body["change"] for body in connection.scalars(query)]

    @property
    def _boxes(self) -> Any:
        return store.boxes_of(self.settings)

    def _write(self, step: Step) -> None:
        with self.engine.begin() as connection:
            begin(connection)
            store.write(connection, self._boxes, step)


def payload(at_ms: int, **values: float | bool) -> bytes:
    """A reading as a phone sends it."""
    return orjson.dumps({"at": iso(at_ms), "values": values})


def heard(meeting: str | None, source: str, at_ms: int = NOW_MS, **values: float | bool) -> Heard:
    """A reading as it comes out of the inbox; of a room's sensors where `meeting` is None."""
    return Heard(Source(meeting, source), payload(at_ms, **values), at_ms)
