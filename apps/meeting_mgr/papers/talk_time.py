"""How long each was the speaker of what was going on, from what was written as it happened.

Nobody is listened to: what counts is the time from the beginning to the end of items, for whoever
was their speaker, while they had joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from citywise.apps.meeting_mgr.entries import Acted, Entry, ItemChanged
from citywise.apps.meeting_mgr.model import Meeting, Person


class Spoke(NamedTuple):
    """For how long somebody was the speaker, and of which items."""

    name: str
    length_ms: int
    items: Sequence[str]


class _Turn(NamedTuple):
    """A time in which an item was going on and somebody was its speaker."""

    attendee: str
    item: str
    from_ms: int
    until_ms: int


def spoken(
    meeting: Meeting, people: Sequence[Person], entries: Sequence[Entry], ended_ms: int
) -> list[Spoke]:
    """Of each of the invited who took part and was the speaker of an item, in the order of their
    first; `entries` in the order of time."""
    turns: dict[str, list[_Turn]] = {}
    for turn in _turns(meeting, entries, ended_ms):
        for there in _while_there(turn, people, ended_ms):
            turns.setdefault(turn.attendee, []).append(there)
    return [_spoke(meeting, mine) for mine in turns.values()]


def _spoke(meeting: Meeting, mine: Sequence[_Turn]) -> Spoke:
    length_ms = sum(one.until_ms - one.from_ms for one in mine)
    titles = {item.id: item.title for item in meeting.agenda}
    items = dict.fromkeys(one.item for one in mine)
    return Spoke(meeting.named(mine[0].attendee) or "", length_ms, [titles[one] for one in items])


def _turns(meeting: Meeting, entries: Sequence[Entry], ended_ms: int) -> Iterator[_Turn]:
    """Each time in which an item with a speaker was going on; breaks have none."""
    spoken_on = {item.id: item.speaker for item in meeting.agenda if item.type != "break"}
    for item, from_ms, until_ms in _going_on(entries, ended_ms):
        if item not in spoken_on:
            continue
        at_ms = from_ms
        for handed_ms, former in _handed(item, entries):
            yield from _turn(meeting, former, item, at_ms, min(handed_ms, until_ms))
            at_ms = max(at_ms, handed_ms)
        yield from _turn(meeting, spoken_on[item], item, at_ms, until_ms)


def _turn(
    meeting: Meeting, attendee: str | None, item: str, from_ms: int, until_ms: int
) -> Iterator[_Turn]:
    if attendee is not None and meeting.attendee(attendee) is not None and from_ms < until_ms:
        yield _Turn(attendee, item, from_ms, until_ms)


def _going_on(entries: Sequence[Entry], ended_ms: int) -> Iterator[tuple[str, int, int]]:
    """Which item was the current one from when to when: at most one at a time."""
    current: tuple[str, int] | None = None
    for entry in entries:
        if not isinstance(entry.body, ItemChanged):
            continue
        is_begun = entry.body.state == "current"
        if current is not None and (is_begun or entry.body.item == current[0]):
            yield *current, entry.at_ms
            current = None
        if is_begun:
            current = entry.body.item, entry.at_ms
    if current is not None:
        yield *current, ended_ms


def _handed(item: str, entries: Sequence[Entry]) -> Iterator[tuple[int, str | None]]:
    """When an item was handed over, and who was to speak until then."""
    for one in entries:
        if isinstance(one.body, Acted) and one.body.do == "hand_over" and one.body.item == item:
            yield one.at_ms, one.body.former


def _while_there(turn: _Turn, people: Sequence[Person], ended_ms: int) -> Iterator[_Turn]:
    """What of a turn its speaker had joined for, with any device; no moment twice."""
    seats = [
        (one.joined_ms, ended_ms if one.left_ms is None else one.left_ms)
        for one in people
        if one.attendee == turn.attendee
    ]
    at_ms = turn.from_ms
    for joined_ms, left_ms in sorted(seats):
        begin_ms, end_ms = max(at_ms, joined_ms), min(turn.until_ms, left_ms)
        if begin_ms < end_ms:
            yield turn._replace(from_ms=begin_ms, until_ms=end_ms)
            at_ms = end_ms
