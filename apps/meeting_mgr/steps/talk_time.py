"""How long each spoke, in the minutes: only while all who have joined agree."""

from __future__ import annotations

from collections.abc import Collection

from citywise.apps.meeting_mgr.model import Person
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps.about import require_there


def agree(record: MeetingRecord, person: Person) -> Step:
    """Somebody agrees that the minutes say it (`talk_time`), also after the end. Raises
    `MeetingError` `not-asked` where the host does not ask for it."""
    require_there(person)
    if not record.meeting.rules.talk_time:
        detail = "The host of this meeting does not ask how long people speak."
        raise MeetingError("not-asked", detail)
    return _step(record, person, is_agreed=True)


def withdraw(record: MeetingRecord, person: Person) -> Step:
    """Somebody agrees no longer (`talk_time`): the minutes say it of nobody."""
    return _step(record, person, is_agreed=False)


def is_agreed(record: MeetingRecord, people: Collection[Person]) -> bool:
    """Whether the host asks for it, and all who have ever joined agree; who joined anew in the same
    browser, by their last word."""
    agreeing = [one for one in people if one.agrees_talk_time]
    known = {name for one in agreeing for name in (one.id, *one.formerly)}
    is_asked = record.meeting.rules.talk_time
    return is_asked and bool(people) and all(one.id in known for one in people)


def _step(record: MeetingRecord, person: Person, *, is_agreed: bool) -> Step:
    """No entry, and nobody is named: who does not agree shall not be found out by it."""
    after = person.model_copy(update={"agrees_talk_time": is_agreed})
    return Step(record, "talk_time", (after,), is_record_new=False)
