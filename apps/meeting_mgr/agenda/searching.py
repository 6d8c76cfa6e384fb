"""A good way to go on with a long agenda, in a fraction of a second: from one order to a better
one, until none near it is better, and again from a little beside the best.

What is forbidden and what it costs is what `meeting_reasoner.casp` says; who could not attend what
and when, the rules themselves have told (`Standing`). Of more than some ten items the solver
finds plans that are far from the best, for seconds. Iterated local search, after Lourenço, Martin
and Stützle 2003; what takes place in an order, and how long, is computed exactly.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from citywise.apps.meeting_mgr.agenda.problem import Problem, least_minutes

Ints = npt.NDArray[np.int64]
Costs = tuple[int, int, int]

OFF, WHOLE, CUT = 0, 1, 2
"""What an item does: it is put off, takes place, or takes place and is shortened."""
_LONGEST = 3
"""So many items in a row are moved together."""
_ROUNDS = 20
"""So often it begins anew beside the best without anything better, before that is the result."""
_SHAKEN = 2, 5
_BITS = 14
"""For any number of minutes, of people who miss something, or of what is forbidden."""
_MASK = (1 << _BITS) - 1
_ALLOWED = 1 << 2 * _BITS
"""Less than this is the first of the costs of what is not forbidden."""


@dataclass(frozen=True)
class Way:
    """An order of all items, by position in the agenda, and what each of them does; of many ways
    a row each."""

    order: Ints
    does: Ints


class Search:
    """The best way that is found."""

    def __init__(
        self,
        problem: Problem,
        absent: Sequence[tuple[int, int, int, int]],
        barred: Sequence[int],
        wishes: Sequence[str],
    ) -> None:
        """`absent` are members who could not attend an item from one minute until another;
        `barred` items cannot be taken up again."""
        items, size = problem.items, len(problem.items)
        self._every = np.arange(size)
        full = np.array([item.minutes for item in items])
        least = np.array([least_minutes(item) for item in items])
        self._takes = np.stack([0 * full, full, least], 1)
        self._available = min(problem.minutes, problem.until_end)
        self._returns = np.array([i in problem.returning for i in range(size)])
        places = {item.id: i for i, item in enumerate(items)}
        self._after = [
            (i, places[j]) for i, one in enumerate(items) for j in one.after if j in places
        ]
        never = [bool(problem.never.intersection(item.after)) for item in items]
        self._is_order_fixed = "unmoved" in wishes
        self._may_go = self._returns | ("all_placed" not in wishes)
        self._may_cut = (least < full) & ("unshortened" not in wishes)
        nothing = 0 * full
        self._first = np.stack([full << _BITS, nothing, nothing], 1)
        self._first[never, 1:] += _ALLOWED
        self._first[list(barred), 1:] += _ALLOWED
        less = full - least
        self._then = np.stack([nothing, nothing, (1 << 2 * _BITS) + (less << _BITS)], 1)
        self._missed = self._misses(problem, absent)
        self._random = np.random.default_rng(size)

    def _misses(self, problem: Problem, absent: Sequence[tuple[int, int, int, int]]) -> Ints:
        """Who misses an item, by item, what it does, and the minute at which it begins: whether
        its speaker does, how many required people, and how many others, as one number."""
        begins = np.arange(problem.minutes + 1)
        found = np.zeros((len(problem.items), 3, len(begins)), np.int64)
        spans: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for u, i, from_minute, until in absent:
            spans[u, i].append((from_minute, until))
        for (u, i), each in spans.items():
            who = problem.members[u].attendee
            is_speaker = problem.items[i].speaker == who.id
            one = (is_speaker << 3 * _BITS) + (1 << _BITS if who.required else 1)
            for does in (WHOLE, CUT):
                ends = begins + self._takes[i, does]
                misses = [(begins < until) & (ends > since) for since, until in each]
                found[i, does] += one * np.logical_or.reduce(misses)
        return found

    def best(self, until_s: float, patience_s: float) -> tuple[Way | None, bool]:
        """The best that is allowed, if any was found, and whether time did not cut the search
        short: until `until_s` by `time.monotonic()`; the first that is better than all near it is
        waited for, `patience_s` seconds more."""
        as_it_is = Way(self._every, np.where(self._returns, OFF, WHOLE))
        best, cost = self._down(as_it_is, until_s + patience_s)
        rounds = 0
        while rounds < _ROUNDS and any(cost) and time.monotonic() < until_s:
            found, its_cost = self._down(self._shaken(best), until_s)
            rounds = 0 if its_cost < cost else rounds + 1
            if its_cost <= cost:
                best, cost = found, its_cost
        is_whole = rounds == _ROUNDS or not any(cost)
        if cost[0] >= _ALLOWED:
            nothing = Way(self._every, np.where(self._may_go, OFF, WHOLE))
            best, cost = self._least([best, nothing])
        return (best if cost[0] < _ALLOWED else None), is_whole

    def _down(self, way: Way, until_s: float) -> tuple[Way, Costs]:
        """From a way to a better one beside it, until none is better."""
        way, cost = self._least([way, *self._chosen(way)])
        while time.monotonic() < until_s:
            for near in self._nearer_first(way):
                found, its_cost = self._least(near)
                if its_cost < cost:
                    way, cost = found, its_cost
                    break
            else:
                break
        return way, cost

    def _least(self, ways: Sequence[Way]) -> tuple[Way, Costs]:
        """The first of those that cost least."""
        orders = np.concatenate([np.atleast_2d(each.order) for each in ways])
        does = np.concatenate([np.atleast_2d(each.does) for each in ways])
        first, then = self._costs(orders, does)
        least = np.flatnonzero(first == first.min())
        least = least[then[least] == then[least].min()]
        swapped = self._swapped(orders[least], does[least])
        n = int(least[swapped.argmin()])
        return Way(orders[n], does[n]), (int(first[n]), int(then[n]), int(swapped.min()))

    def _shaken(self, way: Way) -> Way:
        """A few steps at random away from it."""
        for _ in range(self._random.integers(*_SHAKEN)):
            near = self._near(way)
            each = near[int(self._random.integers(len(near)))]
            n = int(self._random.integers(len(each.order)))
            way = Way(each.order[n], each.does[n])
        return way

    # --- What is near ---

    def _nearer_first(self, way: Way) -> Iterator[list[Way]]:
        """What is near, the cheaper to look at first."""
        yield self._near(way)
        yield self._chosen(way)
        if not self._is_order_fixed:
            orders = way.order[_moves(len(way.order), 2, _LONGEST)]
            yield [Way(orders, np.tile(way.does, (len(orders), 1)))]

    def _near(self, way: Way) -> list[Way]:
        """All ways that are one step from a way: where an item is, whether it takes place or is
        shortened, or which one is instead of another; the way itself is one of them."""
        return [*self._elsewhere(way), self._otherwise(way)]

    def _elsewhere(self, way: Way) -> Iterator[Way]:
        if self._is_order_fixed:
            return
        orders = way.order[_moves(len(way.order), 1, 1)]
        yield Way(orders, np.tile(way.does, (len(orders), 1)))
        for i in np.flatnonzero(way.does == OFF):
            (at,) = np.flatnonzero(way.order == i)
            again = way.order[_moves_of_one(len(way.order))[at]]
            does = np.tile(way.does, (len(again), 1))
            does[:, i] = WHOLE
            yield Way(again, does)

    def _otherwise(self, way: Way) -> Way:
        goes, is_off, is_cut = self._may_go, way.does == OFF, way.does == CUT
        cuts = self._may_cut & ~is_off
        steps = [{i: WHOLE if is_off[i] else OFF} for i in _where(goes)]
        steps += [{i: WHOLE if is_cut[i] else CUT} for i in _where(cuts)]
        instead = product(_where(is_off), _where(goes & ~is_off))
        steps += [{i: WHOLE, j: OFF} for i, j in instead]
        shorter = product(_where(is_cut), _where(cuts & ~is_cut))
        steps += [{i: WHOLE, j: CUT} for i, j in shorter]
        does = np.tile(way.does, (len(steps) + 1, 1))
        for n, step in enumerate(steps):
            does[n, [*step]] = [*step.values()]
        return Way(np.tile(way.order, (len(does), 1)), does)

    def _chosen(self, way: Way) -> list[Way]:
        """The best that the items can do in this order, as far as they do not depend on each
        other: by how many minutes the items so far take (dynamic programming)."""
        first = np.full(self._available + 1, np.iinfo(np.int64).max >> 1)
        then, first[0] = np.zeros_like(first), 0
        choices = []
        for i in way.order:
            options = [
                (
                    what,
                    _later(first + self._first[i, what] + (missed >> _BITS), takes),
                    _later(then + self._then[i, what] + (missed & _MASK), takes),
                )
                for what, takes in enumerate(self._takes[i])
                if self._may(i, what) and takes <= self._available
                for missed in (self._missed[i, what, : self._available + 1],)
            ]
            if not options:
                return [way]
            (best, first, then), *others = options
            chosen = np.full(len(first), best)
            for what, costs, more in others:
                is_less = (costs < first) | ((costs == first) & (more < then))
                first, then = np.where(is_less, costs, first), np.where(is_less, more, then)
                chosen[is_less] = what
            choices.append(chosen)
        least = np.flatnonzero(first == first.min())
        minute = int(least[then[least].argmin()])
        does: Ints = way.does.copy()
        for i, chosen in zip(way.order[::-1], choices[::-1], strict=True):
            does[i] = chosen[minute]
            minute -= self._takes[i, does[i]]
            if minute < 0:
                return [way]
        return [Way(way.order, does)]

    def _may(self, i: int, what: int) -> bool:
        return bool(what == WHOLE or (self._may_go[i] if what == OFF else self._may_cut[i]))

    # --- What it costs ---

    def _costs(self, orders: Ints, does: Ints) -> tuple[Ints, Ints]:
        """Costs as the rules weigh them, as two numbers each: what is forbidden, put off and
        missed by whom it needs; then how many are shortened, by what, and missed by others."""
        doing = np.take_along_axis(does, orders, 1)
        takes = self._takes[orders, doing]
        ends = takes.cumsum(1)
        missed = self._missed[orders, doing, ends - takes].sum(1)
        first = self._first[self._every, does].sum(1) + (missed >> _BITS)
        then = self._then[self._every, does].sum(1) + (missed & _MASK)
        forbidden = np.maximum(0, ends[:, -1] - self._available)
        for i, j in self._after:
            is_behind = (orders == j).argmax(1) < (orders == i).argmax(1)
            forbidden += (does[:, i] != OFF) & ~(is_behind & (does[:, j] != OFF))
        if self._returns.any():
            is_again = (does[:, self._returns] != OFF).any(1)
            lost = (does == CUT).sum(1) + (does[:, ~self._returns] == OFF).sum(1)
            forbidden += is_again * lost
        return first + forbidden * _ALLOWED, then

    def _swapped(self, orders: Ints, does: Ints) -> Ints:
        """How many pairs of items take place the other way round."""
        placed = np.take_along_axis(does, orders, 1) != OFF
        both = placed[:, :, None] & placed[:, None, :]
        is_later = self._every[:, None] < self._every
        swapped = both & is_later & (orders[:, :, None] > orders[:, None, :])
        return np.asarray(swapped.sum((1, 2)), np.int64)


def _where(which: npt.NDArray[np.bool_]) -> list[int]:
    return [int(i) for i in np.flatnonzero(which)]


def _later(costs: Ints, minutes: int) -> Ints:
    """By how many minutes the items so far take, once one more takes so many."""
    late = np.full(len(costs), np.iinfo(np.int64).max >> 1)
    late[minutes:] = costs[: len(costs) - minutes]
    return late


@cache
def _moves_of_one(size: int) -> list[Ints]:
    """Of the place from which it is moved: all orders of so many places in which one is
    elsewhere, or where it was."""
    found = []
    for begin in range(size):
        rest = [n for n in range(size) if n != begin]
        found.append(np.array([[*rest[:to], begin, *rest[to:]] for to in range(size)]))
    return found


@cache
def _moves(size: int, fewest: int, most: int) -> Ints:
    """All orders of so many places in which so many in a row are elsewhere."""
    found = []
    for many in range(fewest, min(most, size - 1) + 1):
        for begin in range(size - many + 1):
            taken = list(range(begin, begin + many))
            rest = [n for n in range(size) if n not in taken]
            places = (to for to in range(size - many + 1) if to != begin)
            found += [rest[:to] + taken + rest[to:] for to in places]
    return np.array(found or [[*range(size)]])
