"""The plan of the thesis (Algorithm 4), and why its answers may differ from those of the whole.

For comparison only (`citywise plan --plan greedy`, `citywise bench parallel`): nothing that
answers a request evaluates by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from citywise.reasoning.asp.dependencies import (
    Dependencies,
    Edge,
    ExtendedGraph,
    InputGraph,
    extended_graph,
    input_graph,
    input_predicates,
    literals,
)
from citywise.reasoning.asp.rules import AspRule, Labels, Statements, atom_signatures, read
from citywise.reasoning.model.engine import AspProgram
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.partition.plan import Partition, Plan, Planner, Reason


class Flaws:
    """Where a plan of Algorithm 4 is not sound: the rules whose atoms go wrong first.

    `groups` are the inputs of the partitions, each of which runs all `rules`; `given` are the
    predicates of which every partition has all facts. What is found may go wrong, on some
    window; where nothing is found and no rule guesses or counts costs, nothing does.
    """

    def __init__(
        self,
        rules: Sequence[AspRule],
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


def _body(rule: AspRule) -> list[tuple[Signature, bool]]:
    """The predicates a rule reads, once for each atom, and whether negated or counted."""
    parts = rule.tree.many("body")
    return [(s, negative) for atom, negative in literals(parts) for s in atom_signatures(atom)]


def _fires(rule: AspRule, possible: Container[Signature]) -> bool:
    return all(negative or signature in possible for signature, negative in _body(rule))


def _listed(signatures: Iterable[Signature]) -> str:
    return ", ".join(map(str, sorted(signatures)))


@dataclass(eq=False)
class EdgeGroup:
    """Inputs that Algorithm 4 puts together, and their degrees: the edges placed there."""

    degrees: Counter[Signature] = field(default_factory=Counter)

    @property
    def size(self) -> int:
        """Number of its inputs."""
        return len(self.degrees)

    def add(self, edge: Edge) -> None:
        """Place an edge with both its ends."""
        self.degrees.update(edge)

    def is_highly_connected_with(self, edge: Edge) -> bool:
        """Whether with the edge every input has a degree of at least ⌊n/2⌋ + 1, n of them.

        The thesis' `checkHighlyConnected`, worked out from its text.
        """
        degrees = self.degrees + Counter(edge)
        return min(degrees.values()) >= len(degrees) // 2 + 1


def planner(request: Request) -> Planner:
    """What cuts a request's program as the thesis does."""
    inputs = input_predicates(request, read(request.rules, request.labels).rules)

    def planned(what: AspProgram, present: frozenset[Signature]) -> Plan:
        return plan(what, inputs, request.labels, present=present)

    return planned


def plan(
    what: AspProgram,
    inputs: frozenset[Signature],
    labels: Labels | None = None,
    *,
    order: Sequence[Edge] | None = None,
    present: Iterable[Signature] = (),
) -> Plan:
    """The plan of Algorithm 4: every partition runs all rules on some of the `inputs`.

    Parameters
    ----------
    what, labels:
        The program, with its `#show` statements, and the labels of its rules.
    inputs:
        The input predicates. Facts of all others (knowledge, what is fed back) go everywhere.
    order:
        The edges of the input graph as they are to be visited; by default in name order.
    present:
        Predicates of the facts there are besides those the program mentions.
    """
    statements = read(what.rules, labels)
    extended = extended_graph(statements.rules)
    graph = input_graph(extended, inputs)
    groups = decompose(sorted(graph.edges) if order is None else order)
    here = statements.predicates | frozenset(present)
    shows = statements.shows if statements.shows is not None else here
    partitions = tuple(
        Partition(
            statements.rules,
            group | (here - inputs),
            shows,
            statements.common,
            what.priorities,
            name=what.name,
        )
        for group in groups
    )
    derived = frozenset[Signature]().union(*(rule.head for rule in statements.rules))
    given = here - inputs - derived | statements.known | frozenset(present)
    flaws = Flaws(statements.rules, extended, inputs, groups, given)
    reasons = (
        *_beyond(statements),
        *_copies(groups),
        *_unplaced(graph, groups),
        *flaws.sentences(),
    )
    because = tuple(map(Reason, reasons))
    return Plan("greedy", partitions, because, statements.facts, statements.constants_text)


def decompose(edges: Iterable[Edge]) -> tuple[frozenset[Signature], ...]:
    """Algorithm 4: the groups of inputs, in the order in which they were begun.

    As printed, so that its plans can be reproduced: the candidates are sorted by size, but
    the first highly connected one is looked for among the unsorted (here: oldest first), the
    smallest being taken if there is none; and an input without an edge to another is in no
    group. The result depends on the order of the `edges`, but never on what is highly
    connected: an edge that brings a new end to a group gives it one edge there, which is too
    few, and one whose ends are both in all candidates moves no input.
    """
    groups: list[EdgeGroup] = []
    for s, t in edges:
        if s == t:
            continue
        common = [g for g in groups if s in g.degrees and t in g.degrees]
        either = [g for g in groups if s in g.degrees or t in g.degrees]
        if not either:
            groups.append(EdgeGroup())
        _choose((s, t), common or either or groups[-1:]).add((s, t))
    return tuple(frozenset(group.degrees) for group in groups)


def _choose(edge: Edge, candidates: Sequence[EdgeGroup]) -> EdgeGroup:
    """The first highly connected candidate, else the smallest, of several the oldest."""
    by_size = sorted(candidates, key=lambda group: group.size)
    return next((g for g in candidates if g.is_highly_connected_with(edge)), by_size[0])


def _beyond(statements: Statements) -> Iterator[str]:
    """What the thesis assumes in section 5.2.2."""
    fragment = Dependencies([rule.tree for rule in statements.rules]).fragment()
    if fragment not in ("positive", "stratified"):
        yield f"the thesis' plan is for stratified programs, and this one is {fragment}"


def _copies(groups: Sequence[frozenset[Signature]]) -> Iterator[str]:
    """What Algorithm 4 copies to cut a connected graph."""
    for signature in sorted(frozenset().union(*groups)):
        places = [str(n) for n, group in enumerate(groups, 1) if signature in group]
        if len(places) > 1:
            yield f"{signature} is copied to partitions {', '.join(places)}"


def _unplaced(graph: InputGraph, groups: Sequence[frozenset[Signature]]) -> Iterator[str]:
    """What Algorithm 4 forgets."""
    for signature in sorted(graph.nodes.difference(*groups)):
        yield (
            f"{signature} is in no partition: it has no edge to another input, and the "
            "algorithm places the ends of edges only; its facts are lost"
        )
