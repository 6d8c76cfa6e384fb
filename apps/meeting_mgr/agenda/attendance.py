"""Who can take part in an item of the agenda, and why not: as the meeting reasoner judges it
(docs/meeting-manager-agenda.md), of the agenda as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from citywise.apps.meeting_mgr.agenda.members import Devices, Member, members
from citywise.apps.meeting_mgr.busy import is_busy
from citywise.apps.meeting_mgr.model import Attendee, Capability, Item, Meeting, Person, Reason
from citywise.apps.meeting_mgr.planned import MINUTE_MS, Span

Hindrance = Reason | Literal["away", "busy", "arriving"]


class Lack(NamedTuple):
    """What somebody cannot do of what an item needs, and why; `away`: they are not there."""

    lacks: tuple[Capability, ...] = ()
    because: tuple[Hindrance, ...] = ()


class Attendance(NamedTuple):
    """Whether one of the invited can take part in an item."""

    attendee: Attendee
    can: bool
    lacks: tuple[Capability, ...]
    because: tuple[Hindrance, ...]
    arrives_ms: int | None = None
    """Of who is on the way: when they are there."""


def needed(item: Item, attendee: str | None) -> tuple[Capability, ...]:
    """What an item asks of one of the invited, or (None) of somebody else."""
    if item.type == "break":
        return ()
    return item.needs if attendee is not None and attendee == item.speaker else item.listeners


def lack_of(item: Item, me: Person) -> Lack:
    """What somebody lacks now for an item, by the device that they are there with."""
    return _missing(item, me.attendee, Devices((me,)))


def attending(
    meeting: Meeting, item: Item, span: Span, people: Sequence[Person], now_ms: int
) -> list[Attendance]:
    """Of all the invited whether they can take part in an item at a time; `people` are all who
    joined.

    Who lacks something now, or is away, is taken to be so for the rules' `absence_minutes`.
    """
    is_soon = span.starts_ms < now_ms + meeting.rules.absence_minutes * MINUTE_MS
    found = []
    for member in members(meeting, people, now_ms):
        lack = _lack(item, member) if is_soon else Lack()
        until_ms = span.ends_ms - MINUTE_MS + 1  # It may end less than a minute too late.
        has_no_time = item.type != "break" and is_busy(member.attendee, span.starts_ms, until_ms)
        arrives_ms = None if item.type == "break" else member.arrives_ms
        is_there = arrives_ms is None or span.starts_ms >= arrives_ms
        because = (
            *lack.because,
            *(() if is_there else ("arriving",)),
            *(("busy",) if has_no_time else ()),
        )
        attendance = Attendance(member.attendee, not because, lack.lacks, because, arrives_ms)
        found.append(attendance)
    return found


def _lack(item: Item, member: Member) -> Lack:
    if member.is_away and item.type != "break":
        return Lack((), ("away",))
    return _missing(item, member.attendee.id, member)


def _missing(item: Item, attendee: str | None, devices: Devices) -> Lack:
    missing = {*devices.lacking(), *(devices.hushed() if item.sensitive else ())}
    lacks = tuple(name for name in needed(item, attendee) if name in missing)
    because = (reason for name in lacks for reason in devices.because(name))
    return Lack(lacks, tuple(dict.fromkeys(because)))
