"""The invited, as far as they count for an agenda: who is there, and what they cannot do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    Attendee,
    Capability,
    Meeting,
    Person,
    Reason,
)
from citywise.apps.meeting_mgr.planned import MINUTE_MS

GRACE_MS = 3 * MINUTE_MS
"""So long after the start nobody counts as late."""
PATIENCE_MS = MINUTE_MS
"""So long after somebody has closed the page, or lost the net, no agenda is changed for it."""
HUSHED: tuple[Capability, ...] = ("speak", "share")
"""What nobody does in public while an item is sensitive (`user_reasoner.casp`: hushed)."""


@dataclass(frozen=True)
class Devices:
    """With what somebody is there; `present` is who joined with each."""

    present: tuple[Person, ...]

    def lacking(self) -> tuple[Capability, ...]:
        """What none of their devices lets them do, whatever the item."""
        return tuple(c for c in CAPABILITIES if self._all(_lacks(p, c) for p in self.present))

    def hushed(self) -> tuple[Capability, ...]:
        """What they could not do if the item were sensitive."""
        return tuple(
            c for c in HUSHED if self._all(_lacks(p, c) or _is_hushed(p, c) for p in self.present)
        )

    def because(self, capability: Capability) -> tuple[Reason, ...]:
        """Why they lack a capability, or would if the item were sensitive."""
        reasons = (reason for p in self.present for reason in _because(p, capability))
        return tuple(dict.fromkeys(reasons))

    def _all(self, each: Iterable[bool]) -> bool:
        return bool(self.present) and all(each)


@dataclass(frozen=True)
class Member(Devices):
    """Somebody invited, and the devices with which they are there."""

    attendee: Attendee
    is_away: bool
    """Whether they should be there by now, and are not."""
    is_overdue: bool
    """Whether they have been away for so long that they are not expected any more."""
    has_left: bool
    arrives_ms: int | None = None
    """When they are there, of who is on the way: until then with no device."""


def members(meeting: Meeting, people: Sequence[Person], now_ms: int) -> tuple[Member, ...]:
    """The invited in the meeting's order; `people` are all who joined, also those who left."""
    joined: dict[str, list[Person]] = {}
    for person in people:
        joined.setdefault(person.attendee or "", []).append(person)
    return tuple(_member(meeting, a, joined.get(a.id, ()), now_ms) for a in meeting.attendees)


def _member(meeting: Meeting, attendee: Attendee, joined: Sequence[Person], now_ms: int) -> Member:
    seated = tuple(person for person in joined if person.left_ms is None)
    present = tuple(person for person in seated if person.is_there)
    on_the_way = [one for one in seated if one.is_there or one.arrives_ms is not None]
    if (arrives_ms := _arrives_ms(on_the_way, now_ms)) is not None:
        return Member((), attendee, False, False, False, arrives_ms)
    gone_ms = max((person.left_ms or person.away_ms or 0 for person in joined), default=0)
    has_left = bool(joined) and not present
    due_ms = _began_ms(meeting) + GRACE_MS
    if seated:
        due_ms = max(due_ms, _expected_ms(seated) + PATIENCE_MS)
    elif has_left:
        due_ms = meeting.starts_ms
    is_away = not present and now_ms >= due_ms
    since_ms = max(meeting.starts_ms, gone_ms)
    patience_ms = meeting.rules.absence_minutes * MINUTE_MS
    is_overdue = is_away and now_ms >= since_ms + patience_ms
    return Member(present, attendee, is_away, is_overdue, has_left)


def _arrives_ms(present: Sequence[Person], now_ms: int) -> int | None:
    """When somebody arrives; None for who is there with any device that tells of no way."""
    ways = [person.arrives_ms for person in present if person.state.presence != "room"]
    ahead = [at_ms for at_ms in ways if at_ms is not None and at_ms > now_ms]
    return min(ahead) if ahead and len(ahead) == len(present) else None


def _expected_ms(seated: Sequence[Person]) -> int:
    """When those whose seats wait closed the last page, or were to arrive."""
    return max(max(one.away_ms or 0, one.arrives_ms or 0) for one in seated)


def _began_ms(meeting: Meeting) -> int:
    """When everybody should have been there: at the planned time, or later if it began later."""
    begun = [item.began_ms for item in meeting.agenda if item.began_ms is not None]
    return max(meeting.starts_ms, min(begun, default=meeting.starts_ms))


def _lacks(person: Person, capability: Capability) -> bool:
    """Whether an ability is off, and not just because the current item is sensitive."""
    ability = person.state.abilities.get(capability)
    return ability is not None and ability.state == "off" and ability.because != ("sensitive",)


def _is_hushed(person: Person, capability: Capability) -> bool:
    return person.state.surroundings == "public" and capability not in person.overrides


def _because(person: Person, capability: Capability) -> tuple[Reason, ...]:
    ability = person.state.abilities.get(capability)
    if ability is not None and _lacks(person, capability):
        return ability.because
    return ("sensitive",) if _is_hushed(person, capability) else ()
