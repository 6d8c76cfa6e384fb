"""Which predicates depend on which: the graph, its components, strata and fragment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from clingo.ast import ASTType, Sign

from reasoning.asp.signatures import atom_signatures, head_atoms
from reasoning.asp.syntax import Node
from reasoning.model.request import Signature

Fragment = Literal["positive", "stratified", "normal", "disjunctive", "optimisation"]
_CHOOSING = (ASTType.Aggregate, ASTType.HeadAggregate)
_BODY_AGGREGATES = (ASTType.Aggregate, ASTType.BodyAggregate)


@dataclass(frozen=True)
class Dependency:
    """`head` depends on `body` through the rule at `line`; negative under `not` and in
    aggregates, whose value may fall when atoms are added."""

    head: Signature
    body: Signature
    negative: bool
    line: int

    def __str__(self) -> str:
        return f"{'not ' if self.negative else ''}{self.body}"


class Dependencies:
    """The dependency graph of a program's predicates.

    The edges are those of its statements, unless what these mean for each other is not all
    that clingo sees of them (plain LARS).
    """

    def __init__(
        self, statements: Sequence[Node], edges: Iterable[Dependency] | None = None
    ) -> None:
        self._statements = statements
        found = (e for s in statements for e in _edges(s)) if edges is None else edges
        self.edges = tuple(dict.fromkeys(found))
        self._out: dict[Signature, list[Dependency]] = {}
        for edge in self.edges:
            self._out.setdefault(edge.head, []).append(edge)
            self._out.setdefault(edge.body, [])
        self.components = tuple(self._components())
        """Strongly connected components, a component after all it depends on."""
        self._place = {s: i for i, part in enumerate(self.components) for s in part}

    def together(self, one: Signature, other: Signature) -> bool:
        """Whether each of the two depends on the other (a predicate on itself: always)."""
        return one == other or (
            one in self._place and self._place.get(one) == self._place.get(other)
        )

    def strata(self) -> dict[Signature, int] | None:
        """The stratum of each predicate, from 0; None if there are none."""
        if self.negative_cycle() is not None:
            return None
        found: dict[Signature, int] = {}
        for part in self.components:
            out = [e for s in part for e in self._out[s] if e.body not in part]
            # Components come after what they depend on, so what is below has its level already.
            level = max((found[e.body] + e.negative for e in out), default=0)
            found.update(dict.fromkeys(part, level))
        return found

    def negative_cycle(self) -> tuple[Dependency, ...] | None:
        """A cycle through negation: its first step is the negative one; None if stratified."""
        # Any cycle through a negative edge lies within one component, so its ends tell.
        for edge in self.edges:
            if edge.negative and self.together(edge.head, edge.body):
                return edge, *self._path(edge.body, edge.head)
        return None

    def fragment(self) -> Fragment:
        """The smallest fragment the program belongs to."""
        kinds = {s.kind for s in self._statements}
        heads = [s.one("head") for s in self._statements if s.kind == ASTType.Rule]
        if ASTType.Minimize in kinds:
            return "optimisation"
        if any(head.kind == ASTType.Disjunction for head in heads):
            return "disjunctive"
        if self.negative_cycle() or any(head.kind in _CHOOSING for head in heads):
            return "normal"
        return "stratified" if any(e.negative for e in self.edges) else "positive"

    def _path(self, start: Signature, goal: Signature) -> tuple[Dependency, ...]:
        """A shortest way from one predicate to another of its component."""
        came: dict[Signature, Dependency] = {}
        queue = [start]
        for signature in queue:
            if signature == goal:
                break
            for edge in self._out[signature]:
                if edge.body not in came and edge.body != start:
                    came[edge.body] = edge
                    queue.append(edge.body)
        path: list[Dependency] = []
        while goal != start:
            path.append(came[goal])
            goal = came[goal].head
        return tuple(reversed(path))

    def _components(self) -> Iterator[frozenset[Signature]]:
        """Tarjan's algorithm, without recursion."""
        index: dict[Signature, int] = {}
        low: dict[Signature, int] = {}
        held: list[Signature] = []
        done: set[Signature] = set()
        for root in self._out:
            if root in index:
                continue
            work = [(root, iter(self._out[root]))]
            index[root] = low[root] = len(index)
            held.append(root)
            while work:
                node, edges = work[-1]
                following = next((e.body for e in edges if e.body not in done), None)
                if following is None:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == index[node]:
                        part = _pop_through(held, node)
                        done |= part
                        yield part
                elif following in index:
                    low[node] = min(low[node], index[following])
                else:
                    index[following] = low[following] = len(index)
                    held.append(following)
                    work.append((following, iter(self._out[following])))


def _pop_through(held: list[Signature], last: Signature) -> frozenset[Signature]:
    part = set()
    while last not in part:
        part.add(held.pop())
    return frozenset(part)


def _edges(statement: Node) -> Iterator[Dependency]:
    """What the heads of a rule depend on: its body, and conditions in the head."""
    if statement.kind != ASTType.Rule:
        return
    heads = [s for atom in head_atoms(statement) for s in atom_signatures(atom)]
    line = statement.line
    used = [*literals(statement.many("body")), *literals(_conditions(statement.one("head")))]
    for head in heads:
        for atom, negative in used:
            for signature in atom_signatures(atom):
                yield Dependency(head, signature, negative, line)


def _conditions(head: Node) -> Iterator[Node]:
    for node in head.walk():
        if node.kind == ASTType.ConditionalLiteral:
            yield from node.many("condition")


def literals(parts: Iterable[Node], negative: bool = False) -> Iterator[tuple[Node, bool]]:
    """The atoms in parts of a body, and whether each counts as negated."""
    for part in parts:
        if part.kind == ASTType.SymbolicAtom:
            yield part, negative
        elif part.kind == ASTType.Literal:
            # `not not p` counts as negated too: like `not p` it needs all of p, and breaks no
            # cycle.
            below = negative or part.origin.sign != Sign.NoSign
            yield from literals(part.children, below)
        elif part.kind == ASTType.ConditionalLiteral:
            yield from literals([part.one("literal")], negative)
            # More of q makes `p : q` harder to satisfy, so what it derives may fall: as with
            # negation.
            yield from literals(part.many("condition"), True)
        else:
            yield from literals(part.children, negative or part.kind in _BODY_AGGREGATES)
