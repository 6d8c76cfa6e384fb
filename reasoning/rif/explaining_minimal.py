"""Whether a set of instances is minimal, where not all sets were looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from reasoning.rif.compile import BEGINNING
from reasoning.rif.inbox import Fact

_THERE, _THEN = 1, 2
"""A fact is entailed; and is entailed from the instant in question on."""


_MOST = 1_000_000
"""Instances of rules that are looked at."""
Given = Mapping[int, tuple[Fact, int]]
"""Numbered facts that are given, with their instants."""


class Instance(Protocol):
    """An instance of a rule."""

    @property
    def head(self) -> Fact:
        """What it derives."""

    @property
    def premises(self) -> tuple[Fact, ...]:
        """What it derives it from."""


class Entailment:
    """What instances of rules derive from given facts from an instant on."""

    def __init__(self, instances: Collection[Instance], always: Iterable[Fact], since: int) -> None:
        self._since = since
        self._least = _THEN if since == BEGINNING else _THERE
        self._always = dict.fromkeys(always, self._least)
        self._take(instances)

    def minimal(self, goal: Fact, given: Given) -> frozenset[int] | None:
        """A minimal part of numbered facts with their instants that entails a fact from the
        instant on, as the whole does; None if that takes too long."""
        held = self._reached(given)
        self._take([i for i in self._instances if all(p in held for p in i.premises)])
        if len(given) * len(self._instances) > _MOST:
            return None
        left = dict(given)
        for number in given:
            fewer = {n: each for n, each in left.items() if n != number}
            if self._reached(fewer).get(goal) == _THEN:
                left = fewer
        return frozenset(left)

    def _take(self, instances: Collection[Instance]) -> None:
        self._instances = instances
        self._above: dict[Fact, list[Instance]] = {}
        for each in instances:
            for fact in each.premises:
                self._above.setdefault(fact, []).append(each)
        self._bare = [each for each in instances if not each.premises]

    def _reached(self, given: Given) -> dict[Fact, int]:
        """How each fact is entailed by given ones."""
        found = dict(self._always)
        for fact, instant in given.values():
            there = _THEN if instant == self._since else _THERE
            found[fact] = max(there, found.get(fact, there))
        todo = [*self._bare, *(each for fact in found for each in self._above.get(fact, ()))]
        while todo:
            each = todo.pop()
            if all(premise in found for premise in each.premises):
                how = max((found[p] for p in each.premises), default=self._least)
                if found.get(each.head, 0) < how:
                    found[each.head] = how
                    todo += self._above.get(each.head, ())
        return found
