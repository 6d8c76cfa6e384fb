"""A meeting as it is kept, and what a step changes of it."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from citywise.apps.meeting_mgr.entries import Entry
from citywise.apps.meeting_mgr.model import (
    PERSON_ID,
    Meeting,
    MeetingState,
    Person,
    Proposal,
    Sensor,
)
from citywise.backend.app import CitywiseError, people

Change = Literal[
    "created",
    "edited",
    "shown",
    "started",
    "item",
    "extended",
    "ended",
    "cancelled",
    "restored",
    "link",
    "decided",
    "gone",
    "joined",
    "left",
    "removed",
    "away",
    "back",
    "sharing",
    "says",
    "hand",
    "muted",
    "presenting",
    "asked",
    "handed_over",
    "overridden",
    "abilities",
    "presence",
    "arrival",
    "talk_time",
    "proposed",
    "accepted",
    "declined",
    "undone",
    "outdated",
]
"""What has changed, as it is announced; `shown`: all see what the others can do from now on;
`gone`: there is no such meeting any more."""


class MeetingError(CitywiseError):
    """Something that is not possible as the meeting stands now; `code` says what in a word."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class FaultError(MeetingError):
    """Something in what was given that is not possible at all; `field` says where it is, as
    `agenda.2.speaker`."""

    def __init__(self, code: str, field: str, detail: str) -> None:
        super().__init__(code, detail)
        self.field = field


class MeetingRecord(NamedTuple):
    """A meeting with what is kept beside it; `user` is the host's account."""

    id: str
    user: str
    state: MeetingState
    version: int
    """Grows with every change of the meeting, not with those of its proposals."""
    meeting: Meeting
    proposals: tuple[Proposal, ...]
    """Oldest first."""
    join_key: str
    created_ms: int
    updated_ms: int

    def with_meeting(self, now_ms: int, **changes: Any) -> MeetingRecord:
        """The record of a meeting with other fields (of `Meeting`) from wall time `now_ms` on.

        Where agenda or times are others, what was proposed for the old ones is outdated.
        """
        meeting = self.meeting.model_copy(update=changes)
        proposals = self.proposals
        if meeting.planned() != self.meeting.planned():
            proposals = outdated(proposals)
        return self._replace(
            meeting=meeting, proposals=proposals, version=self.version + 1, updated_ms=now_ms
        )

    def first_accepted(self) -> Proposal | None:
        """The first proposal that was accepted and stayed so: it knows what was planned before."""
        accepted = (one for one in self.proposals if one.answer == "accepted")
        return next((one for one in accepted if one.before is not None), None)


def outdated(proposals: tuple[Proposal, ...]) -> tuple[Proposal, ...]:
    """Proposals of which none is open any more."""
    return tuple(
        one.model_copy(update={"answer": "outdated"}) if one.answer == "open" else one
        for one in proposals
    )


class Step(NamedTuple):
    """What is made of a meeting at once: to be written together (`store.write`)."""

    record: MeetingRecord
    change: Change
    people: tuple[Person, ...] = ()
    """Those who have changed."""
    entries: tuple[Entry, ...] = ()
    person: str | None = None
    """Whom it is about, if anybody."""
    is_record_new: bool = True
    """Whether the record itself has changed."""
    forgets: frozenset[Sensor] = frozenset()
    """What rests on these sensors goes from the person's earlier entries (`sharing.remaining`)."""


def new_meeting_id() -> str:
    """An id for a new meeting: 96 random bits and more."""
    return f"m-{people.secret.random_text()}"


def new_person_id() -> str:
    """An id for who joins, known to nobody outside the meeting."""
    return f"p-{people.secret.random_text()}"


def is_person_id(text: str) -> bool:
    """Whether an id may be one of who joined."""
    return re.fullmatch(PERSON_ID, text) is not None
