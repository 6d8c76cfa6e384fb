"""The host is told of each item who can take part in it: as the rules that plan have it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from citywise.apps.meeting_mgr.agenda.attendance import Lack, attending, lack_of
from citywise.apps.meeting_mgr.agenda.planning import standing
from citywise.apps.meeting_mgr.agenda.problem import Problem, problem
from citywise.apps.meeting_mgr.busy import is_busy
from citywise.apps.meeting_mgr.model import CAPABILITIES, Attendee, Busy, Item, Meeting, Person
from citywise.apps.meeting_mgr.planned import meant
from tests.meeting_mgr.agendas import off, person, random_meeting

Found = tuple[str, str, str]
"""Somebody, an item, and why they cannot take part: a capability, `away`, `arriving` or `busy`."""


def by_rules(rest: Problem) -> set[Found]:
    """Who cannot take part in what as the agenda stands, as the meeting reasoner concludes."""
    misses = standing(rest).misses
    return {(rest.members[u].attendee.id, rest.items[i].id, why) for u, i, why in misses}


def shown(meeting: Meeting, people: list[Person], now_ms: int, rest: Problem) -> Iterator[Found]:
    """The same as it is shown."""
    spans = meant(rest.items, rest.first_ms)
    for item in rest.open_items:
        for one in attending(meeting, item, spans[item.id], people, now_ms):
            assert one.can == (not one.because)
            reasons = {*one.lacks, *one.because} & {*CAPABILITIES, "away", "arriving", "busy"}
            yield from ((one.attendee.id, item.id, why) for why in reasons)
            assert one.can == (not reasons)


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_who_can_attend_is_shown_as_the_rules_conclude_it(start: int) -> None:
    several = 0
    for seed in range(start, start + 20):
        meeting, people, now_ms = random_meeting(seed, items=1 + seed % 8, invited=2 + seed % 5)
        rest = problem(meeting, people, now_ms)
        found = set(shown(meeting, people, now_ms, rest))
        assert found == by_rules(rest), seed
        several += len(found)
    assert several > 20


@pytest.mark.parametrize(
    ("from_ms", "until_ms", "expected"),
    [(10, 20, True), (5, 10, False), (20, 25, False), (19, 25, True), (0, 11, True)],
)
def test_who_is_busy_has_no_time_for_what_overlaps(
    from_ms: int, until_ms: int, expected: bool
) -> None:
    ann = Attendee(id="a1", name="Ann", busy=(Busy(from_ms=10, until_ms=20),))
    assert is_busy(ann, from_ms, until_ms) == expected
    none = ann.model_copy(update={"busy": (Busy(from_ms=15, until_ms=15),)})
    assert not is_busy(none, from_ms, until_ms)


def test_a_guest_is_asked_what_listeners_are_whatever_the_speaker_is_called() -> None:
    item = Item(id="i1", title="Any", speaker="a0", listeners=("listen",), minutes=5)
    guest = person(0, None, state={"abilities": off("speak")})
    assert lack_of(item, guest) == Lack()
    assert lack_of(item, person(0, "a0", state=guest.state)) == Lack(("speak",), ("noise",))
