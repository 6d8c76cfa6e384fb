"""Long agendas: what is searched for near the order as it is, compared with all that there is."""

from __future__ import annotations

import time

import pytest

from citywise.apps.meeting_mgr.agenda import planning
from citywise.apps.meeting_mgr.agenda.giving_back import given_back
from citywise.apps.meeting_mgr.agenda.planning import Plan, Wish, plan, standing
from citywise.apps.meeting_mgr.agenda.problem import Problem, problem
from citywise.apps.meeting_mgr.agenda.proposing import _option
from tests.meeting_mgr.agendas import Asked, least_cost, random_meeting

PLENTY_S = 600.0
COMPARED = 60


@pytest.fixture(autouse=True)
def all_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few items are searched as many are."""
    monkeypatch.setattr(planning, "MOST_EXACT", 0)


def searched(rest: Problem, *wishes: Wish) -> Plan | None:
    return plan(rest, time.monotonic() + PLENTY_S, *wishes)


def asked(seed: int) -> tuple[Asked, Problem]:
    meeting, people, now_ms = random_meeting(seed, items=1 + seed % 8, invited=2 + seed % 5)
    return Asked(meeting, people, now_ms), problem(meeting, people, now_ms)


def test_of_few_items_nearly_always_the_best_is_found() -> None:
    """Where each item is shortened by all it can or not, and gets back what is not needed."""
    same = 0
    for seed in range(COMPARED):
        every, rest = asked(seed)
        found, least = searched(rest), least_cost(every)
        assert found is not None
        assert found.is_whole
        assert every.of(_option(rest, found, ())) == found.cost, seed
        found = given_back(rest, standing(rest), found)
        assert every.of(_option(rest, found, ())) == found.cost, seed
        assert found.cost[:2] >= least[:2], seed
        same += found.cost[:2] == least[:2]
    assert same >= COMPARED - 2


@pytest.mark.parametrize("seed", range(12))
def test_of_many_items_what_is_found_is_allowed_and_costs_what_it_says(seed: int) -> None:
    meeting, people, now_ms = random_meeting(seed, items=14, invited=9)
    every, rest = Asked(meeting, people, now_ms), problem(meeting, people, now_ms)
    stands, found = standing(rest), searched(rest)
    assert found is not None
    assert every.of(_option(rest, found, ())) == found.cost
    assert not stands.is_possible or found.cost <= stands.cost


@pytest.mark.parametrize("seed", range(20))
def test_what_is_not_wished_is_not_done(seed: int) -> None:
    _every, rest = asked(seed)
    best = searched(rest)
    assert best is not None
    for wish in ("unmoved", "unshortened", "all_placed"):
        found = searched(rest, wish)
        if found is None:
            assert wish == "all_placed"
            continue
        assert found.cost >= best.cost
        assert wish != "unmoved" or found.order == tuple(sorted(found.order))
        assert wish != "unshortened" or not found.shortened
        assert wish != "all_placed" or found.put_off <= rest.returning


def test_it_ends_when_its_time_is_over_and_says_so() -> None:
    _every, rest = asked(7)
    stands = standing(rest)
    assert not stands.is_possible or any(stands.cost)
    found = plan(rest, time.monotonic(), stands=stands)
    assert found is None or not found.is_whole
