"""The rules of `meeting_reasoner.casp` over what is left of an agenda."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Literal

from citywise.apps.meeting_mgr import RULES
from citywise.apps.meeting_mgr.agenda.problem import Problem, least_minutes
from citywise.apps.meeting_mgr.agenda.searching import CUT, OFF, Search
from citywise.reasoning import Request, WindowFacts, parse_file
from citywise.reasoning.engines.clingo.solver import AnytimeEngine, Found, SolverEngine

MOST_EXACT = 10
"""Of so many items the best plan of all is found; of more, a good one."""
Wish = Literal["unmoved", "unshortened", "all_placed"]
"""What a plan may be asked to do without."""


@dataclass(frozen=True)
class Plan:
    """A way to go on; items are positions in `Problem.items`."""

    order: tuple[int, ...]
    """Items that take place."""
    minutes: tuple[int, ...]
    """How long each of them takes."""
    put_off: frozenset[int]
    shortened: frozenset[int]
    cost: tuple[int, ...]
    is_best: bool
    is_whole: bool
    """Whether the search for it was not cut short by time: what it puts off can be compared."""
    misses: frozenset[tuple[int, int]]
    """Members who still cannot attend, and what."""

    @property
    def way(self) -> tuple[object, ...]:
        """What it does, whatever it costs."""
        return self.order, self.minutes, self.put_off


@dataclass(frozen=True)
class Standing:
    """How the agenda as it stands would go; members and items are positions."""

    cost: tuple[int, ...]
    misses: tuple[tuple[int, int, str], ...]
    """Who cannot attend what, and why: a capability, `away`, `arriving` or `busy`."""
    too_early: tuple[int, ...]
    """Items that come before what they depend on, or depend on what has been put off."""
    too_late: tuple[int, ...]
    """Items that end after the meeting."""
    speechless: tuple[int, ...]
    """Items whose speaker cannot attend."""
    cannot_come: tuple[tuple[int, str], ...]
    """Required members without whom there is to be no meeting, and why."""
    absent: tuple[tuple[int, int, int, int], ...]
    """Who could not attend what from which minute until which."""
    barred: tuple[int, ...]
    """Items that were put off and whose speakers could not attend them now."""

    @property
    def is_possible(self) -> bool:
        """Whether it may stay as it is."""
        return not (self.too_early or self.too_late or self.speechless)


def standing(problem: Problem) -> Standing:
    """What is wrong with an agenda as it stands."""
    engine = SolverEngine(meeting_reasoner())
    (answer,) = engine.answer_sets(WindowFacts(problem.facts("kept")))
    read = told(answer.atoms)
    return Standing(
        cost=answer.cost,
        misses=tuple(sorted((int(u), int(i), why) for u, i, why in read["misses"])),
        too_early=_items(read["too_early"]),
        too_late=_items(read["too_late"]),
        speechless=_items(read["speechless"]),
        cannot_come=tuple(sorted((int(u), why) for u, why in read["cannot_come"])),
        absent=tuple((int(u), int(i), int(f), int(t)) for u, i, f, t in read["hindered"]),
        barred=_items(read["barred"]),
    )


def plan(
    problem: Problem,
    until_s: float,
    *wishes: Wish,
    patience_s: float = 0,
    stands: Standing | None = None,
) -> Plan | None:
    """The best plan that is found until a time of `time.monotonic()`; None: none was.

    Of few items it is the best of all. With many it is a good one (`searching`), and those that
    are shortened lose all they can do without (`giving_back`); `stands` is how the agenda stands,
    if that is known. A plan that is better than that is worth `patience_s` seconds more. Raises
    `LimitError` if none at all was found of few items then either.
    """
    if len(problem.items) > MOST_EXACT:
        return _searched(problem, stands or standing(problem), until_s, patience_s, wishes)
    engine = AnytimeEngine(meeting_reasoner())
    left_s = max(0.0, until_s - time.monotonic())
    below = stands.cost if stands is not None and stands.is_possible else None
    found = engine.best(WindowFacts(problem.facts(*wishes)), left_s, patience_s, below)
    return None if found is None else _plan(problem, found)


def _searched(
    problem: Problem,
    stands: Standing,
    until_s: float,
    patience_s: float,
    wishes: Sequence[Wish],
) -> Plan | None:
    search = Search(problem, stands.absent, stands.barred, wishes)
    way, is_whole = search.best(until_s, patience_s)
    if way is None:
        return None
    items = problem.items
    order = tuple(int(i) for i in way.order if way.does[i] != OFF)
    shortened = frozenset(i for i in order if way.does[i] == CUT)
    plan = Plan(
        order=order,
        minutes=tuple(
            least_minutes(items[i]) if i in shortened else items[i].minutes for i in order
        ),
        put_off=frozenset(range(len(items))) - set(order),
        shortened=shortened,
        cost=(),
        is_best=False,
        is_whole=is_whole,
        misses=frozenset(),
    )
    found = counted(problem, stands, plan)
    return replace(found, is_best=not any(found.cost))


def places(plan: Plan) -> list[tuple[int, int, int]]:
    """The items of a plan, from which minute on, and for how many."""
    found, begins = [], 0
    for i, minutes in zip(plan.order, plan.minutes, strict=True):
        found.append((i, begins, minutes))
        begins += minutes
    return found


def counted(problem: Problem, stands: Standing, plan: Plan) -> Plan:
    """A plan with who misses what, and its costs, as they are."""
    at = {i: (begins, begins + minutes) for i, begins, minutes in places(plan)}
    misses = frozenset(
        (u, i)
        for u, i, from_minute, until in stands.absent
        if i in at and at[i][0] < until and from_minute < at[i][1]
    )
    required = sum(problem.members[u].attendee.required for u, _i in misses)
    off = sum(problem.items[i].minutes for i in plan.put_off)
    cut = sum(problem.items[i].minutes for i in plan.order) - sum(plan.minutes)
    swaps = sum(i > j for i, j in combinations(plan.order, 2))
    cost = (off, required, len(plan.shortened), cut, len(misses) - required, swaps)
    return replace(plan, misses=misses, cost=cost)


@cache
def meeting_reasoner() -> Request:
    """The rules, read once."""
    return parse_file(RULES / "meeting_reasoner.casp")


def _plan(problem: Problem, found: Found) -> Plan:
    read = told(found.answer.atoms)
    put_off = frozenset(_items(read["put_off"]))
    behind = [int(later) for _sooner, later in read["comes_before"]]
    order = sorted(set(range(len(problem.items))) - put_off, key=behind.count)
    minutes = [item.minutes for item in problem.items]
    for item, part in read["cut"]:
        minutes[int(item)] -= problem.parts[int(item)][int(part)]
    return Plan(
        order=tuple(order),
        minutes=tuple(minutes[i] for i in order),
        put_off=put_off,
        shortened=frozenset(_items(read["cut"])),
        cost=found.answer.cost,
        is_best=found.is_best,
        is_whole=found.is_best,
        misses=frozenset((int(u), int(i)) for u, i, _why in read["misses"]),
    )


def told(atoms: Iterable[str]) -> defaultdict[str, list[Sequence[str]]]:
    """The arguments of atoms by predicate; none has brackets of its own."""
    found: defaultdict[str, list[Sequence[str]]] = defaultdict(list)
    for atom in atoms:
        name, _bracket, arguments = atom.rstrip(")").partition("(")
        found[name].append(arguments.split(","))
    return found


def _items(rows: Iterable[Sequence[str]]) -> tuple[int, ...]:
    return tuple(sorted({int(first) for first, *_others in rows}))
