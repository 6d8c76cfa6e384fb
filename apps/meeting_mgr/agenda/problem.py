"""What is left of an agenda, and who could not attend what, as facts for the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from citywise.apps.meeting_mgr.agenda.members import Member, members
from citywise.apps.meeting_mgr.busy import merged
from citywise.apps.meeting_mgr.model import Item, ItemId, Meeting, Person
from citywise.apps.meeting_mgr.planned import MINUTE_MS

MOST_TIMES = 48
"""So many different times at which somebody's time begins or ends are told apart: each is a sum
for every item."""


@dataclass(frozen=True)
class Problem:
    """The open items of a meeting at a time; the rules know items and members by position,
    and times as whole minutes from `first_ms`: clingo keeps every term that it ever saw."""

    items: tuple[Item, ...]
    """Open, or to be taken up again, in the order of the agenda."""
    members: tuple[Member, ...]
    current: Item | None
    first_ms: int
    """When the first of the items can begin."""
    ends_ms: int
    lasts_ms: int
    """Until when what is so now is taken to be so."""
    never: frozenset[ItemId]
    """Items that the host has put off."""

    @cached_property
    def open_items(self) -> tuple[Item, ...]:
        """The items that are to take place as things stand."""
        return tuple(item for item in self.items if item.state == "open")

    @cached_property
    def returning(self) -> frozenset[int]:
        """The other items: a proposal has put them off."""
        return frozenset(i for i, item in enumerate(self.items) if item.state == "put_off")

    @cached_property
    def minutes(self) -> int:
        """What the items take in full."""
        return sum(item.minutes for item in self.items)

    @cached_property
    def until_end(self) -> int:
        """Minutes until the meeting's end; one that has begun counts, so that a few seconds
        cost no item."""
        return max(0, -((self.first_ms - self.ends_ms) // MINUTE_MS))

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """By which minutes each item can be shortened: sums of some of these are possible."""
        return tuple(tuple(parts(item)) for item in self.items)

    def facts(self, *wishes: str) -> str:
        """Everything the rules need, one `atom.` a line; `wishes` are `kept` and the like."""
        ahead = sum(item.minutes for item in self.open_items)
        times = (
            f"available({min(self.minutes, self.until_end)})",
            f"ahead({min(ahead, self.until_end)})",
        )
        every = [*wishes, *times, *self._agenda(), *self._people()]
        return "".join(f"{fact}.\n" for fact in every)

    def _agenda(self) -> Iterator[str]:
        places = {item.id: place for place, item in enumerate(self.items)}
        speakers = {member.attendee.id: u for u, member in enumerate(self.members)}
        for i, item in enumerate(self.items):
            yield f"agenda_order({i},{i})"
            yield f"takes({i},{item.minutes})"
            yield f"at_least({i},{least_minutes(item)})"
            yield from (f"part({i},{k},{part})" for k, part in enumerate(self.parts[i]))
            if item.speaker in speakers:
                yield f"agenda_speaker({i},{speakers[item.speaker]})"
            yield from (f"needs({i},{capability})" for capability in item.needs)
            yield from (f"listeners({i},{capability})" for capability in item.listeners)
            yield from (f"{mark}({i})" for mark in self._marks(item))
            yield from (f"after({i},{places[other]})" for other in item.after if other in places)

    def _marks(self, item: Item) -> Iterator[str]:
        if item.sensitive:
            yield "sensitive"
        if item.type == "break":
            yield "recess"
        if item.state == "put_off":
            yield "return"
        if self.never.intersection(item.after):
            yield "after_nothing"

    def _people(self) -> Iterator[str]:
        lasts = self._minute(self.lasts_ms)
        for u, member in enumerate(self.members):
            yield f"attendee({u})"
            if lasts:
                yield f"lasts({u},{lasts})"
            if member.attendee.required:
                yield f"required({u})"
            if member.is_away:
                yield f"away({u})"
            if member.is_overdue:
                yield f"overdue({u})"
            yield from (f"lacking({u},{capability})" for capability in member.lacking())
            yield from (f"hushed({u},{capability})" for capability in member.hushed())
            yield from (f"busy({u},{f},{t})" for f, t in self._calendars[u])
            if arrives := self._arrivals[u]:
                yield f"arrives({u},{arrives})"

    @cached_property
    def _step(self) -> int:
        """The minutes to which times of members are rounded: more than one where these are more
        than the solver can look at soon."""
        exact = [time for member in self.members for span in self._busy(member) for time in span]
        exact += [self._arrives(member) for member in self.members]
        return 1 if len({*exact}) <= MOST_TIMES else -(-self.minutes // MOST_TIMES)

    @cached_property
    def _calendars(self) -> list[list[tuple[int, int]]]:
        """When each member is busy, in minutes."""
        return [
            sorted({_rounded(span, self._step, self.minutes) for span in self._busy(member)})
            for member in self.members
        ]

    @cached_property
    def _arrivals(self) -> list[int]:
        """In how many minutes each member arrives; 0 for who is not on the way."""
        return [
            _rounded((0, self._arrives(member)), self._step, self.minutes)[1]
            for member in self.members
        ]

    def _arrives(self, member: Member) -> int:
        return 0 if member.arrives_ms is None else self._minute(member.arrives_ms)

    def _busy(self, member: Member) -> Iterator[tuple[int, int]]:
        """When a member is busy while items may take place, in minutes; an item may end less
        than a minute after it has begun."""
        for busy in merged(member.attendee.busy):
            begins, ends = self._minute(busy.from_ms), self._minute(busy.until_ms)
            if ends > 0 and begins < self.minutes:
                yield begins, ends

    def _minute(self, ms: int) -> int:
        """The first whole minute that is not before a time; 0 and `minutes` are the bounds."""
        return max(0, min(self.minutes, -((self.first_ms - ms) // MINUTE_MS)))


def after(rest: Problem, order: Sequence[int], minutes: Sequence[int]) -> tuple[Problem, list[int]]:
    """What is left to be planned at the same time where these items take place, so long each, and
    the others are put off; and which position each of its items had before."""
    taking = dict(zip(order, minutes, strict=True))
    off = sorted(set(range(len(rest.items))) - set(order), key=lambda i: (i in rest.returning, i))
    placed = {"state": "open", "returns": False}
    items = (
        *(rest.items[i].model_copy(update={**placed, "minutes": n}) for i, n in taking.items()),
        *(rest.items[i].model_copy(update={"state": "put_off", "returns": True}) for i in off),
    )
    return replace(rest, items=items), [*order, *off]


def problem(meeting: Meeting, people: Sequence[Person], now_ms: int) -> Problem:
    """What is to be planned at `now_ms`: the current item stays first with what is left of it."""
    current = meeting.current()
    items = tuple(item for item in meeting.agenda if item.state == "open" or _returns(item))
    ids = {item.id for item in items}
    return Problem(
        items=items,
        members=members(meeting, people, now_ms),
        current=current,
        first_ms=_first_ms(meeting, current, now_ms),
        ends_ms=meeting.ends_ms,
        lasts_ms=now_ms + meeting.rules.absence_minutes * MINUTE_MS,
        never=frozenset(
            item.id for item in meeting.agenda if item.state == "put_off" and item.id not in ids
        ),
    )


def has_begun(meeting: Meeting) -> bool:
    """Whether an item of the agenda has begun."""
    return any(item.state in ("current", "done") for item in meeting.agenda)


def least_minutes(item: Item) -> int:
    """What an item takes at least."""
    return min(item.minutes, item.least_minutes or item.minutes)


def parts(item: Item) -> list[int]:
    """Minutes by which an item can be shortened: sums of some of these are all that is possible,
    from one minute to as many as it can do without."""
    spare, found = item.minutes - least_minutes(item), []
    while spare:
        found.append((spare + 1) // 2)
        spare //= 2
    return found


def _returns(item: Item) -> bool:
    return item.state == "put_off" and item.returns


def _rounded(span: tuple[int, int], step: int, most: int) -> tuple[int, int]:
    """A span that holds another, in whole steps."""
    return span[0] // step * step, min(most, -(-span[1] // step) * step)


def _first_ms(meeting: Meeting, current: Item | None, now_ms: int) -> int:
    if current is not None:
        begun_ms = now_ms if current.began_ms is None else current.began_ms
        return max(now_ms, begun_ms + current.minutes * MINUTE_MS)
    return now_ms if has_begun(meeting) else max(now_ms, meeting.starts_ms)
