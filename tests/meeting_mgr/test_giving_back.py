"""Items of long agendas are shortened by no more than is needed, in the order that was found."""

from __future__ import annotations

import time
from itertools import accumulate, product
from random import Random

import pytest

from citywise.apps.meeting_mgr.agenda.giving_back import given_back, restored
from citywise.apps.meeting_mgr.agenda.planning import Plan, places, plan, standing
from citywise.apps.meeting_mgr.agenda.problem import Problem, problem
from citywise.apps.meeting_mgr.model import Item
from tests.meeting_mgr.agendas import random_meeting
from tests.meeting_mgr.three import NOW, joined, meeting

PLENTY_S = 60.0


def tried(cuts: list[int], slack: list[int]) -> tuple[int, int]:
    """The fewest items that stay shortened, and the fewest minutes, by trying all."""
    every = product(*(range(cut + 1) for cut in cuts))
    possible = (
        each
        for each in every
        if all(gone <= most for gone, most in zip(accumulate(each), slack, strict=True))
    )
    return min(left(cuts, each) for each in possible)


def left(cuts: list[int], back: list[int] | tuple[int, ...]) -> tuple[int, int]:
    gone = [cut - more for cut, more in zip(cuts, back, strict=True)]
    return sum(each > 0 for each in gone), sum(gone)


@pytest.mark.parametrize("seed", range(150))
def test_no_other_way_leaves_fewer_items_shortened_or_by_less(seed: int) -> None:
    random = Random(seed)
    cuts = [random.choice([0, 1, 2, 3, 5]) for _ in range(random.randint(1, 5))]
    slack = [random.randint(0, 1 + sum(cuts)) for _ in cuts]
    back = restored(cuts, slack)
    assert all(0 <= more <= cut for more, cut in zip(back, cuts, strict=True))
    assert all(gone <= most for gone, most in zip(accumulate(back), slack, strict=True))
    assert left(cuts, back) == tried(cuts, slack)


def planned(rest: Problem) -> Plan:
    found = plan(rest, time.monotonic() + 0.2, patience_s=PLENTY_S)
    assert found is not None
    return found


def test_a_long_agenda_is_shortened_by_the_minutes_that_are_too_many() -> None:
    items = [Item(id=f"i{n}", title="Any", minutes=10, least_minutes=4) for n in range(12)]
    about = meeting(*items, minutes=113)
    rest, every = problem(about, joined(), NOW), range(len(items))
    least = Plan(
        order=tuple(every),
        minutes=(4,) * len(items),
        put_off=frozenset(),
        shortened=frozenset(every),
        cost=(0, 0, 12, 72, 0, 0),
        is_best=False,
        is_whole=False,
        misses=frozenset(),
    )
    found = given_back(rest, standing(rest), least)
    assert sum(found.minutes) == 112
    assert sorted(found.minutes) == [4, 8, *[10] * 10]
    assert found.cost[2:4] == (2, 8)
    assert found.shortened == {i for i, n in zip(found.order, found.minutes, strict=True) if n < 10}


@pytest.mark.parametrize("seed", range(12))
def test_nobody_misses_more_than_before(seed: int) -> None:
    about, people, now_ms = random_meeting(seed, items=12, invited=6)
    rest = problem(about, people, now_ms)
    before = planned(rest)
    after = given_back(rest, standing(rest), before)
    assert (after.order, after.put_off) == (before.order, before.put_off)
    assert after.cost <= before.cost
    assert after.misses <= before.misses
    assert sum(after.minutes) <= rest.until_end
    for (i, _begins, minutes), less in zip(places(after), before.minutes, strict=True):
        assert less <= minutes <= rest.items[i].minutes
