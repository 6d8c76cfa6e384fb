"""Meetings with which something failed are looked at again, after ever longer."""

from __future__ import annotations

from citywise.apps.meeting_mgr.process.aside import FIRST_S, FORGOTTEN_S, LONGEST_S, Aside

BAD, OTHER = "m-bad", "m-other"


def fails(aside: Aside, now_s: float) -> float:
    """When a meeting that fails now is looked at again."""
    aside.put(BAD, now_s)
    rest_s = next(rest for rest in range(1, 1_000) if aside.due(now_s + rest))
    return now_s + rest_s


def test_a_meeting_is_looked_at_again_once_when_its_time_has_come() -> None:
    aside = Aside()
    aside.put(BAD, 100)
    aside.put(OTHER, 100.5)
    assert aside.due(100) == set()
    assert aside.due(100 + FIRST_S) == {BAD}
    assert aside.due(110) == {OTHER}
    assert aside.due(200) == set()


def test_what_fails_again_and_again_rests_twice_as_long_each_time_up_to_a_minute() -> None:
    aside, at_s, rests = Aside(), 0.0, []
    for _ in range(8):
        again_s = fails(aside, at_s)
        rests.append(again_s - at_s)
        at_s = again_s
    assert rests == [1, 2, 4, 8, 16, 32, LONGEST_S, LONGEST_S]


def test_what_has_been_well_for_long_begins_anew() -> None:
    aside = Aside()
    at_s = fails(aside, fails(aside, 0))
    assert fails(aside, at_s + 1) - at_s - 1 == 4 * FIRST_S
    late_s = at_s + 1 + 4 * FIRST_S + FORGOTTEN_S + 1
    assert fails(aside, late_s) - late_s == FIRST_S
