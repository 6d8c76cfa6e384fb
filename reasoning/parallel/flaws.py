"""Why the answers of a plan of Algorithm 4 may differ from those of the whole."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from reasoning.analysis.dependencies import literals
from reasoning.languages.rules import atom_signatures
from reasoning.parallel.graphs import ExtendedGraph
from reasoning.parallel.rules import Rule
from reasoning.program import Signature


class Flaws:
    """Where a plan of Algorithm 4 is not sound: the rules whose atoms go wrong first.

    `groups` are the inputs of the partitions, each of which runs all `rules`; `given` are the
    predicates of which every partition has all facts. What is found may go wrong, on some
    window; where nothing is found and no rule guesses or counts costs, nothing does.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        graph: ExtendedGraph,
        inputs: Iterable[Signature],
        groups: Sequence[frozenset[Signature]],
        given: frozenset[Signature],
    ) -> None:
        self._rules = rules
        self._reached = {signature: graph.reached(signature) for signature in inputs}
        self._groups = groups
        self._given = given

    def sentences(self) -> Iterator[str]:
        """What may be missing, and what may be wrong."""
        for rule in self._rules:
            atoms = _body(rule)
            needed = self._inputs_of(rule.body)
            if len(atoms) > 1 and not any(needed <= group for group in self._groups):
                yield (
                    f"rule {rule.name} may miss atoms: no partition has all inputs that its "
                    f"body depends on ({_listed(needed)})"
                )
        for number, group in enumerate(self._groups, 1):
            yield from self._wrong(number, group)

    def _wrong(self, number: int, group: frozenset[Signature]) -> Iterator[str]:
        """The rules that a partition fires though it lacks what they negate or count."""
        possible = self._possible(group)
        for rule in self._rules:
            negated = [signature for signature, negative in _body(rule) if negative]
            lacking = self._inputs_of(negated) - group
            if lacking and _fires(rule, possible):
                yield (
                    f"rule {rule.name} may derive wrong atoms in partition {number}: what it "
                    f"negates or counts depends on {_listed(lacking)}, absent there"
                )

    def _inputs_of(self, signatures: Iterable[Signature]) -> frozenset[Signature]:
        wanted = frozenset(signatures)
        return frozenset(p for p, ends in self._reached.items() if ends & wanted)

    def _possible(self, group: frozenset[Signature]) -> set[Signature]:
        """The predicates of which a partition may have atoms."""
        found = {*self._given, *group}
        before = -1
        while before != len(found):
            before = len(found)
            found.update(*(rule.head for rule in self._rules if _fires(rule, found)))
        return found


def _body(rule: Rule) -> list[tuple[Signature, bool]]:
    """The predicates a rule reads, once for each atom, and whether negated or counted."""
    parts = rule.tree.many("body")
    return [(s, negative) for atom, negative in literals(parts) for s in atom_signatures(atom)]


def _fires(rule: Rule, possible: Container[Signature]) -> bool:
    return all(negative or signature in possible for signature, negative in _body(rule))


def _listed(signatures: Iterable[Signature]) -> str:
    return ", ".join(map(str, sorted(signatures)))
