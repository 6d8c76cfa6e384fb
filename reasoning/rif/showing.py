"""What is shown of the relations of a program: facts, and instances of facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from reasoning.engines.incremental.evaluation import Evaluation
from reasoning.engines.incremental.relation import FOREVER
from reasoning.engines.incremental.terms import Row
from reasoning.rif.bodies import TRIPLE
from reasoning.rif.compile import BEGINNING, PLAIN, STATED, UNSEEN, Compiled
from reasoning.rif.inbox import Fact


class Instance(NamedTuple):
    """A fact that is entailed from an instant on (Monks et al., Definition "Fact Instance",
    with the valid time (since, last + 1] of the section "Model")."""

    fact: Fact
    since: int
    """The latest instant of its justifications; 0 if no item of the stream is among them."""
    last: int | None
    """The last instant at which it counts; None: for ever."""


@dataclass(frozen=True)
class State:
    """What is shown at an instant."""

    facts: frozenset[Fact]
    instances: frozenset[Instance]


NOTHING = State(frozenset(), frozenset())


class Shown:
    """Reads what an evaluation has, and what changed of it."""

    def __init__(self, compiled: Compiled, evaluation: Evaluation) -> None:
        self._compiled = compiled
        self._evaluation = evaluation
        mark = PLAIN if compiled.instances else STATED
        self._plain = [(name, mark + name) for name in compiled.shown]
        self._stated = [(name, STATED + name) for name in compiled.shown]

    def facts(self) -> list[Fact]:
        """The facts that are shown, or would be if they were not asserted."""
        return self._facts(self._evaluation.rows)

    def came(self) -> list[Fact]:
        """Of these, those that came with the last step."""
        return self._facts(self._evaluation.came)

    def gone(self) -> list[Fact]:
        """Facts that went with the last step."""
        return self._facts(self._evaluation.gone)

    def instances(self) -> Iterator[Instance]:
        """The instances of facts, but for those that are entailed without the stream."""
        return self._instances(self._evaluation.rows, None)

    def begun(self) -> list[Instance]:
        """Instances that came with the last step."""
        return [*self._instances(self._evaluation.came, None)]

    def ended(self, last: int) -> list[Instance]:
        """Instances that went with the last step, and held up to `last`."""
        return [*self._instances(self._evaluation.gone, last)]

    def before(self, last: int) -> State:
        """What was there before the last step, which may have been stopped; what has gone with
        it held up to `last`."""
        facts = frozenset(self.facts()).difference(self.came()).union(self.gone())
        if not self._compiled.instances:
            return State(facts, frozenset())
        instances = frozenset(self.instances()).difference(self.begun())
        return State(facts, instances.union(self.ended(last)))

    def asserted(self) -> State:
        """The facts and instances of the stream that count now, and static facts."""
        facts: set[Fact] = set()
        instances: set[Instance] = set()
        for relation in self._compiled.inputs - {UNSEEN}:
            given = self._evaluation.given(relation)
            if self._compiled.instances:
                instances.update(_told(relation, given.items()))
                facts.update(_facts(relation, [row[:-1] for row in given]))
            else:
                facts.update(_facts(relation, given))
        return State(frozenset(facts), frozenset(instances))

    def _facts(self, rows: Callable[[str], Collection[Row]]) -> list[Fact]:
        return [fact for name, own in self._plain for fact in self._read(name, rows(own))]

    def _read(self, name: str, rows: Iterable[Row]) -> Iterator[Fact]:
        """The facts in rows of a shown relation; frames whose property has a relation of its
        own are found there."""
        if name != TRIPLE:
            return ((name, row) for row in rows)
        shown = self._compiled.shown
        return (fact for fact in _facts(name, rows) if fact[0] not in shown)

    def _instances(
        self, rows: Callable[[str], Collection[Row]], last: int | None
    ) -> Iterator[Instance]:
        shown = self._compiled.shown
        for name, own in self._stated:
            found = rows(own)
            horizons = self._evaluation.horizons(own)
            ends = ((row, horizons[row] if last is None else last) for row in found)
            for each in _told(name, ends):
                if name != TRIPLE or each.fact[0] not in shown:
                    yield each


def _facts(relation: str, rows: Iterable[Row]) -> Iterator[Fact]:
    """The facts in rows of a relation."""
    if relation == TRIPLE:
        return ((str(p), (s, o)) for s, p, o in rows)
    return ((relation, row) for row in rows)


def _told(relation: str, rows: Iterable[tuple[Row, int]]) -> Iterator[Instance]:
    """The instances in rows of a relation, but for those without an item of the stream."""
    for row, horizon in rows:
        since = row[-1]
        assert isinstance(since, int)
        if since != BEGINNING:
            (fact,) = _facts(relation, (row[:-1],))
            yield Instance(fact, since, None if horizon == FOREVER else horizon)
