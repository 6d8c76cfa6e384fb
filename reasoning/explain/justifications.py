"""Justifications of a fact: minimal sets of instances that entail it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citywise.reasoning.engines.incremental.relation import BEGINNING, FOREVER
from citywise.reasoning.explain.entailed import Bound, Clause, EntailedModel, Stated
from citywise.reasoning.explain.tree import Origin
from citywise.reasoning.model.rules import Fact, Scan

_THERE, _THEN = 1, 2
"""A fact is entailed; and is entailed from the instant in question on."""
_MOST = 1_000_000
"""Instances of rules that are looked at."""
Premises = Mapping[int, tuple[Fact, int]]
"""Numbered facts that are given, with their instants."""
KEPT = 32
"""Sets of instances that are kept for each fact, those first that count longest."""
_WORK = 100_000
"""Sets that are looked at; where they are more, one is kept for each fact."""
CHECKED = 10
"""Justifications that are looked at again where there may be more than were found."""
_STATIC = (BEGINNING, FOREVER)


@dataclass(frozen=True)
class GivenFact:
    """An instance of a fact that is given: by the stream, by a graph, or by a document."""

    fact: Fact
    since: int
    """Its instant; `BEGINNING` of static facts."""
    last: int | None = None
    """The last instant at which it counts; None: for ever."""
    origins: tuple[Origin, ...] = ()
    stated: tuple[Stated, ...] = ()
    """The places in documents that state it."""


@dataclass(frozen=True, eq=False)
class RuleEdge:
    """An instance of a clause."""

    head: Fact
    clause: Clause
    bound: Bound
    premises: tuple[Fact, ...]
    """The facts that its scans look at, in their order."""


class _Entailment:
    """What instances of rules derive from given facts from an instant on."""

    def __init__(self, instances: Collection[RuleEdge], always: Iterable[Fact], since: int) -> None:
        self._since = since
        self._least = _THEN if since == BEGINNING else _THERE
        self._always = dict.fromkeys(always, self._least)
        self._take(instances)

    def minimal(self, goal: Fact, given: Premises) -> frozenset[int] | None:
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

    def _take(self, instances: Collection[RuleEdge]) -> None:
        self._instances = instances
        self._above: dict[Fact, list[RuleEdge]] = {}
        for each in instances:
            for fact in each.premises:
                self._above.setdefault(fact, []).append(each)
        self._bare = [each for each in instances if not each.premises]

    def _reached(self, given: Premises) -> dict[Fact, int]:
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


Because = tuple[RuleEdge, tuple[int, ...]] | None
"""The instance of a clause by which a fact rests on a set, and the sets of the premises; None:
the fact is given."""


class Justifications:
    """The justifications of a fact of a model, whose given instances are `given`."""

    def __init__(
        self,
        model: EntailedModel,
        given: Mapping[Fact, Sequence[GivenFact]],
        fact: Fact,
        most: int = KEPT,
    ) -> None:
        self.fact = fact
        self.is_cut = False
        """Whether there may be more than are found."""
        self.is_rough = False
        """Whether the one that is found may have more instances than are needed."""
        self.instances: list[GivenFact] = []
        """The instances that bits stand for."""
        self._spans: dict[int, tuple[int, int]] = {0: _STATIC}
        self._sets: dict[Fact, list[int]] = {}
        self._because: dict[tuple[Fact, int], Because] = {}
        self._edges: list[RuleEdge] = []
        self._above: dict[Fact, list[RuleEdge]] = {}
        # No set: their order is that of the bits of instances, which decides between
        # justifications that are alike otherwise, and must not depend on hash seeds.
        self._known = {fact: None}
        """The facts on which the fact may rest."""
        self._most = most
        self._explore(model)
        if not self._settle(model, given):
            self._most, self.is_cut = 1, True
            self._settle(model, given)
        if self.is_cut:
            self._check(model)

    @property
    def found(self) -> list[int]:
        """The justifications, those first that count longest, then the smaller."""
        return sorted(self._sets.get(self.fact, ()), key=self._key)

    def span(self, justification: int) -> tuple[int, int | None]:
        """The instant from which it justifies the fact (`BEGINNING`: of static facts alone),
        and the last (None: for ever)."""
        since, last = self._spans[justification]
        return since, None if last == FOREVER else last

    def of(self, justification: int) -> list[GivenFact]:
        """The instances of a justification."""
        return [self.instances[bit] for bit in _bits(justification)]

    def because(self, fact: Fact, justification: int) -> Because:
        """By what a fact rests on a set of instances."""
        return self._because[fact, justification]

    # -- what rests on what ---------------------------------------------------------------

    def _explore(self, model: EntailedModel) -> None:
        """The instances of clauses on which the fact rests."""
        todo, known = deque([self.fact]), self._known
        while todo:
            for edge in _edges(model, todo.popleft()):
                self._edges.append(edge)
                for each in dict.fromkeys(edge.premises):
                    self._above.setdefault(each, []).append(edge)
                    if each not in known:
                        known[each] = None
                        todo.append(each)

    def _bit(self, instance: GivenFact) -> int:
        bit = 1 << len(self.instances)
        self.instances.append(instance)
        self._spans[bit] = (
            instance.since,
            FOREVER if instance.last is None else instance.last,
        )
        return bit

    # -- sets of instances ----------------------------------------------------------------

    def _settle(self, model: EntailedModel, given: Mapping[Fact, Sequence[GivenFact]]) -> bool:
        """Pass sets on from premises to heads until nothing is new; False: it is too much."""
        self._sets, self._because, self.instances = {}, {}, []
        self._begin(model, given)
        todo, work = deque(reversed(self._edges)), 0
        waiting = set(todo)
        while todo:
            edge = todo.popleft()
            waiting.discard(edge)
            joined = self._joined(edge)
            work += len(joined)
            if work > _WORK and self._most > 1:
                return False
            new = [self._add(edge.head, mask, (edge, by)) for mask, by in joined]
            if any(new):
                more = [e for e in self._above.get(edge.head, ()) if e not in waiting]
                waiting.update(more)
                todo += more
        return True

    def _begin(self, model: EntailedModel, given: Mapping[Fact, Sequence[GivenFact]]) -> None:
        """Facts that are given rest on themselves, and what terms are on nothing."""
        for fact in self._known:
            if fact[0] in model.tables:
                self._add(fact, 0, None)
            for instance in given.get(fact, ()):
                self._add(fact, self._bit(instance), None)

    def _check(self, model: EntailedModel) -> None:
        """Keep of the justifications, of which some may have been found without a smaller one,
        those that are minimal, or else a minimal part of the first."""
        told = [(each, self._minimal(model, each)) for each in self.found[:CHECKED]]
        kept = [each for each, minimal in told if each == minimal]
        if not kept and told[0][1] is None:
            self.is_rough, kept = True, [told[0][0]]
        if not kept:
            assert told[0][1] is not None
            given: dict[Fact, list[GivenFact]] = {}
            for instance in self.of(told[0][1]):
                given.setdefault(instance.fact, []).append(instance)
            self._most = KEPT
            self._settle(model, given)
            kept = self.found[:1]
        self._sets[self.fact] = kept

    def _minimal(self, model: EntailedModel, mask: int) -> int | None:
        tables = (fact for fact in self._known if fact[0] in model.tables)
        entailment = _Entailment(self._edges, tables, self._spans[mask][0])
        given = {bit: (self.instances[bit].fact, self.instances[bit].since) for bit in _bits(mask)}
        found = entailment.minimal(self.fact, given)
        return None if found is None else sum(1 << bit for bit in found)

    def _joined(self, edge: RuleEdge) -> list[tuple[int, tuple[int, ...]]]:
        """The sets on which a head rests, and those of the premises that make them."""
        found: dict[int, tuple[int, ...]] = {0: ()}
        for each in edge.premises:
            joined: dict[int, tuple[int, ...]] = {}
            for mask, by in found.items():
                for other in self._sets.get(each, ()):
                    joined.setdefault(self._union(mask, other), (*by, other))
            found = self._best(joined)
        return list(found.items())

    def _best(self, joined: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
        if len(joined) <= self._most:
            return joined
        self.is_cut = True
        return {mask: joined[mask] for mask in sorted(joined, key=self._key)[: self._most]}

    def _add(self, fact: Fact, mask: int, because: Because) -> bool:
        """Whether a set is new, and none that is known makes it needless."""
        known = self._sets.setdefault(fact, [])
        loose = because is not None and because[0].clause.inferred
        if any(self._covers(each, mask, loose) for each in known):
            return False
        self._because.setdefault((fact, mask), because)
        kept = [each for each in known if not self._covers(mask, each, self._is_loose(fact, each))]
        known[:] = [*kept, mask]
        if len(known) <= self._most:
            return True
        self.is_cut = True
        worst = max(known, key=self._key)
        known.remove(worst)
        return worst != mask

    def _is_loose(self, fact: Fact, mask: int) -> bool:
        because = self._because[fact, mask]
        return because is not None and because[0].clause.inferred

    def _covers(self, one: int, other: int, loose: bool) -> bool:
        """Whether one set is part of another, and entails the same instance; with `loose`,
        whatever its instant."""
        return one & other == one and (loose or self._spans[one][0] == self._spans[other][0])

    def _union(self, one: int, other: int) -> int:
        union = one | other
        if union not in self._spans:
            (since, last), (later, end) = self._spans[one], self._spans[other]
            self._spans[union] = max(since, later), min(last, end)
        return union

    def _key(self, mask: int) -> tuple[int, int, int]:
        return -self._spans[mask][1], mask.bit_count(), mask


def _edges(model: EntailedModel, fact: Fact) -> Iterator[RuleEdge]:
    """The instances that derive a fact; of those that rest on the same facts one."""
    known: set[frozenset[Fact]] = set()
    for clause, bound in model.instances(fact):
        scans = [literal for literal in clause.rule.body if isinstance(literal, Scan)]
        premises = tuple(model.premise(scan, bound) for scan in scans)
        rests = frozenset(premises)
        if rests not in known and not (clause.inferred and fact in rests):
            known.add(rests)
            yield RuleEdge(fact, clause, bound, premises)


def _bits(mask: int) -> Iterable[int]:
    return (bit for bit in range(mask.bit_length()) if mask >> bit & 1)
