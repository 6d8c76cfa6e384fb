"""A transaction in which a meeting is kept, and changed step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.orm import DeclarativeBase

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.model import Hook, Person
from citywise.apps.meeting_mgr.record import MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import consent, taking_part
from citywise.apps.meeting_mgr.telling import host_channel
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from citywise.backend.store.models import OutboxRow
from citywise.backend.store.outbox import begin
from tests.meeting_mgr.made import MEETING_ID, NOISY, NOW_MS, record, state

LATER_MS = NOW_MS + 60_000
HOST = host_channel(MEETING_ID)
HOOK = Hook(url="https://example.org/hook", secret="verysecretverysecret")


class Stored(NamedTuple):
    """A transaction in which a meeting is stored."""

    connection: Connection
    boxes: Boxes

    def write(self, step: Step) -> MeetingRecord:
        store.write(self.connection, self.boxes, step)
        return step.record

    def made(self, user: str = "u-host", **more: Any) -> MeetingRecord:
        return self.write(Step(record(user=user, **more), "created"))

    def joined(
        self, found: MeetingRecord, attendee: str = "a2", user: str | None = None
    ) -> tuple[Person, str]:
        step = taking_part.join(found, None, attendee, user, NOW_MS)
        return step.people[0], store.join(self.connection, self.boxes, step)

    def found(self) -> MeetingRecord:
        there = store.find(self.connection, self.boxes, MEETING_ID)
        assert there is not None
        return there

    def people(self) -> list[Person]:
        return store.people_of(self.connection, self.boxes, self.found())

    def told(self) -> list[tuple[str | None, str, str | None]]:
        """What has been announced: to whom, what, of whom."""
        query = select(OutboxRow).where(OutboxRow.kind == "meeting").order_by(OutboxRow.id)
        rows = self.connection.execute(query).all()
        return [(row.user, row.body["change"], row.body["person"]) for row in rows]

    def count(self, row: type[DeclarativeBase]) -> int:
        return self.connection.scalar(select(func.count()).select_from(row)) or 0


@pytest.fixture
def stored(engine: Engine, settings: Settings) -> Iterator[Stored]:
    with engine.begin() as connection:
        begin(connection)
        yield Stored(connection, store.boxes_of(settings))


def shared_noise(stored: Stored, user: str | None = None) -> Person:
    """Bob, who shares the noise around him and where he is, and was where it was loud."""
    found = stored.made()
    bob, _ = stored.joined(found, user=user)
    stored.write(consent.share(found, bob, ("noise", "distance"), NOW_MS))
    for told in (
        state({"noise": "in", "distance": "in"}, presence="room"),
        state({"noise": "out", "distance": "in"}, NOISY, presence="room"),
        state({"noise": "in", "distance": "in"}, presence="room"),
    ):
        stored.write(taking_part.concluded(found, stored.people()[0], told, LATER_MS))
    return stored.people()[0]
