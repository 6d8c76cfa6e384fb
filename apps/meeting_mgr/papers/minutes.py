"""What happened in a meeting: who could do what when, the agenda, what was decided.

Made from the entries that were written as it happened; `minutes_page` and
`minutes_files` write it down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from citywise.apps.meeting_mgr.entries import (
    AbilityChanged,
    Acted,
    Entry,
    PresenceChanged,
    ProposalChanged,
    StateChanged,
)
from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    Ability,
    Attendee,
    Capability,
    Cause,
    Decision,
    Item,
    ItemState,
    Meeting,
    Person,
    Presence,
    Proposal,
    Reason,
)
from citywise.apps.meeting_mgr.papers.talk_time import Spoke, spoken
from citywise.apps.meeting_mgr.planned import meant
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import talk_time

SHORTEST_MS = 10_000
"""What is unknown for less than that, or the dwell time, when somebody comes is not told."""


class Ableness(NamedTuple):
    """How it is with one of somebody's abilities."""

    state: Ability
    because: tuple[Reason, ...] = ()


Told = TypeVar("Told", Ableness, Presence)


class Span(NamedTuple, Generic[Told]):
    """A time in which something of somebody stays the same."""

    from_ms: int
    until_ms: int
    told: Told


class Part(NamedTuple):
    """Somebody's part in the meeting, while it ran."""

    name: str
    required: bool | None
    """None: was not invited."""
    from_ms: int
    until_ms: int
    abilities: Mapping[Capability, Sequence[Span[Ableness]]]
    places: Sequence[Span[Presence]]


class Happened(NamedTuple):
    """An item as it was planned, and as it happened."""

    title: str
    speaker: str | None
    formerly: Sequence[str]
    """Who was to speak before it was handed over."""
    state: ItemState
    planned_ms: int | None
    """None: it came up during the meeting, or had been put off before."""
    planned_minutes: int | None
    began_ms: int | None
    ended_ms: int | None


class Proposed(NamedTuple):
    """A proposal, and what the host made of it."""

    at_ms: int
    proposal: Proposal
    answered_ms: int | None


class Decided(NamedTuple):
    """Something decided, under which item."""

    at_ms: int
    text: str
    item: str | None


class Minutes(NamedTuple):
    """All of it."""

    meeting: Meeting
    id: str
    began_ms: int
    """Where it has not begun: when it is planned."""
    ended_ms: int
    """Where it runs: now."""
    is_over: bool
    parts: Sequence[Part]
    absent: Sequence[Attendee]
    agenda: Sequence[Happened]
    proposals: Sequence[Proposed]
    decisions: Sequence[Decided]
    spoken: Sequence[Spoke] | None
    """How long who spoke; None: not all agree that it is said."""

    def named(self, cause: Cause) -> str | None:
        """Who a cause of a proposal is about."""
        return self.meeting.named(cause.person)


def made(
    record: MeetingRecord, people: Sequence[Person], entries: Sequence[Entry], now_ms: int
) -> Minutes:
    """The minutes of a meeting, up to now where it still runs."""
    meeting, happened = record.meeting, sorted(entries, key=lambda one: (one.at_ms, one.id))
    began_ms, ended_ms = _times(record, happened, now_ms)
    there = [one for one in people if _was_there(one, began_ms, ended_ms)]
    came = {one.attendee for one in there}
    return Minutes(
        meeting=meeting,
        id=record.id,
        began_ms=began_ms,
        ended_ms=ended_ms,
        is_over=record.state == "ended",
        parts=list(_parts(record, there, happened, began_ms, ended_ms)),
        absent=[one for one in meeting.attendees if one.id not in came],
        agenda=_agenda(record, happened),
        proposals=_proposals(record, happened),
        decisions=[Decided(one.at_ms, one.text, _title(meeting, one)) for one in meeting.decisions],
        spoken=spoken(meeting, people, happened, ended_ms)
        if talk_time.is_agreed(record, people)
        else None,
    )


def _times(record: MeetingRecord, entries: Iterable[Entry], now_ms: int) -> tuple[int, int]:
    """From the first start to the last end."""
    changes = [(one.at_ms, one.body.state) for one in entries if isinstance(one.body, StateChanged)]
    began = [at_ms for at_ms, state in changes if state == "running"]
    ended = [at_ms for at_ms, state in changes if state == "ended"]
    begin_ms = began[0] if began else record.meeting.starts_ms
    is_over = record.state == "ended" and ended
    return begin_ms, max(begin_ms, ended[-1] if is_over else now_ms)


# --- People --------------------------------------------------------------------------------------


def _parts(
    record: MeetingRecord,
    people: Sequence[Person],
    entries: Sequence[Entry],
    began_ms: int,
    ended_ms: int,
) -> Iterable[Part]:
    for person in sorted(people, key=lambda one: (one.joined_ms, one.id)):
        mine = [one for one in entries if one.person == person.id]
        from_ms = max(began_ms, person.joined_ms)
        until_ms = min(ended_ms, person.left_ms or ended_ms)
        yield _part(record.meeting, person, mine, from_ms, until_ms)


def _was_there(person: Person, began_ms: int, ended_ms: int) -> bool:
    """Whether somebody was there while the meeting ran: some leave before it begins."""
    left_ms = ended_ms if person.left_ms is None else person.left_ms
    return max(began_ms, person.joined_ms) < min(ended_ms, left_ms)


def _part(
    meeting: Meeting, person: Person, mine: Sequence[Entry], from_ms: int, until_ms: int
) -> Part:
    attendee, unknown = meeting.attendee(person.attendee), Ableness("unknown")
    shortest_ms = max(meeting.rules.dwell_s * 1000, SHORTEST_MS)
    abilities = {
        name: _known_spans(_spans(_abilities(mine, name), unknown, from_ms, until_ms), shortest_ms)
        for name in CAPABILITIES
    }
    places = _spans(_places(mine), "unknown", from_ms, until_ms)
    required = None if attendee is None else attendee.required
    return Part(person.name, required, from_ms, until_ms, abilities, places)


def _known_spans(spans: Sequence[Span[Ableness]], shortest_ms: int) -> Sequence[Span[Ableness]]:
    """Spans without the moments at the beginning in which nothing was known yet."""
    for n, span in enumerate(spans):
        if span.told.state != "unknown" or span.until_ms - span.from_ms >= shortest_ms:
            return spans[n:]
    return spans


def _abilities(mine: Iterable[Entry], name: Capability) -> list[tuple[int, Ableness]]:
    return [
        (one.at_ms, Ableness(one.body.state, one.body.because))
        for one in mine
        if isinstance(one.body, AbilityChanged) and one.body.capability == name
    ]


def _places(mine: Iterable[Entry]) -> list[tuple[int, Presence]]:
    return [(one.at_ms, one.body.presence) for one in mine if isinstance(one.body, PresenceChanged)]


def _spans(
    changes: Sequence[tuple[int, Told]], first: Told, from_ms: int, until_ms: int
) -> list[Span[Told]]:
    """What holds when, from one change to the next; what stays the same is one span."""
    before = [told for at_ms, told in changes if at_ms <= from_ms]
    steps: list[tuple[int, Told]] = [(from_ms, before[-1] if before else first)]
    for at_ms, told in changes:
        if from_ms < at_ms < until_ms and told != steps[-1][1]:
            steps.append((at_ms, told))
    ends = [*(later for later, _ in steps[1:]), until_ms]
    return [
        Span(at_ms, end_ms, told)
        for (at_ms, told), end_ms in zip(steps, ends, strict=True)
        if at_ms < end_ms
    ]


# --- The agenda ----------------------------------------------------------------------------------


def _agenda(record: MeetingRecord, entries: Sequence[Entry]) -> list[Happened]:
    """In the order in which it happened; what did not come last."""
    planned = _planned(record)
    items = sorted(record.meeting.agenda, key=lambda one: (one.began_ms is None, one.began_ms or 0))
    return [
        _happened(record.meeting, one, planned.get(one.id), _formerly(record.meeting, one, entries))
        for one in items
    ]


def _formerly(meeting: Meeting, item: Item, entries: Sequence[Entry]) -> list[str]:
    """Who was to speak on an item before, if they are still invited; each once."""
    handed = [one.body for one in entries if isinstance(one.body, Acted)]
    former = [one.former for one in handed if one.item == item.id and one.former != item.speaker]
    names = (meeting.named(one) for one in former)
    return list(dict.fromkeys(name for name in names if name is not None))


def _happened(
    meeting: Meeting, item: Item, planned: tuple[int, int] | None, formerly: Sequence[str]
) -> Happened:
    at_ms, minutes = planned or (None, None)
    return Happened(
        title=item.title,
        speaker=meeting.named(item.speaker),
        formerly=formerly,
        state=item.state,
        planned_ms=at_ms,
        planned_minutes=minutes,
        began_ms=item.began_ms,
        ended_ms=item.ended_ms,
    )


def _planned(record: MeetingRecord) -> dict[str, tuple[int, int]]:
    """When each item was meant to begin and for how many minutes, before the first proposal
    that was accepted and stayed so."""
    first = record.first_accepted()
    agenda = record.meeting.agenda if first is None else first.before or ()
    times = None if first is None else first.before_times
    spans = meant(agenda, times[0] if times else record.meeting.starts_ms)
    return {one.id: (spans[one.id].starts_ms, one.minutes) for one in agenda if one.id in spans}


def _proposals(record: MeetingRecord, entries: Iterable[Entry]) -> list[Proposed]:
    answered: dict[int, int] = {}
    for one in entries:
        if isinstance(one.body, ProposalChanged) and one.body.answer != "open":
            answered[one.body.number] = one.at_ms
    return [Proposed(one.at_ms, one, answered.get(one.number)) for one in record.proposals]


def _title(meeting: Meeting, decided: Decision) -> str | None:
    """What the item is called now; of one that is removed, what it was called then."""
    titles = (one.title for one in meeting.agenda if one.id == decided.item)
    return next(titles, decided.title)
