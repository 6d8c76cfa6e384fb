"""How input predicates depend on each other (thesis, section 5.2; docs/plan.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from clingo.ast import ASTType, Sign

from reasoning.asp.rules import AspRule
from reasoning.asp.signatures import atom_signatures, atoms, body_atoms
from reasoning.model.request import Request, Signature
from reasoning.model.strata import reached

Edge = tuple[Signature, Signature]


@dataclass(frozen=True)
class ExtendedGraph:
    """The extended dependency graph of a program (thesis, Definition 5.1 and Algorithm 1).

    `undirected` (E_P1) joins predicates that occur in the body of one rule. A predicate is
    joined to itself if it stands behind `not`, or, as in Algorithm 1 only, if it occurs twice
    in a body. `directed` (E_P2) leads from each predicate of a body to each of the head.

    The thesis speaks of normal rules; here the same is said of every statement. What is read
    counts as the body, whether it stands in an aggregate, in a condition of the body or head,
    or in a weak constraint, and what may be derived counts as the head: several predicates
    in a disjunction or choice, none in a constraint or preference.
    """

    nodes: frozenset[Signature]
    undirected: frozenset[Edge]
    """Each edge once, its ends in order."""
    directed: frozenset[Edge]

    @cached_property
    def _following(self) -> Mapping[Signature, list[Signature]]:
        return _neighbours(self.directed)

    def reached(self, start: Signature) -> frozenset[Signature]:
        """The predicates to which a directed path leads (Definition 5.2), and `start`."""
        return reached((start,), self._following)

    def turns_on_itself(self, p: Signature) -> bool:
        """Whether `p`, or a predicate derived from it in one step, is joined to itself
        (condition (ii) of Definition 5.3)."""
        return any((u, u) in self.undirected for u in (p, *self._following.get(p, ())))


@dataclass(frozen=True)
class InputGraph:
    """The input dependency graph (thesis, Definition 5.3, Algorithms 2 and 3).

    Two inputs p ≠ q are joined if directed paths (perhaps of no step) lead from p to u and
    from q to v, where (u, v) is an *undirected* edge of the extended graph: the definition
    says any edge, but Algorithm 3 and the figures mean E_P1. An input is joined to itself if
    it has such a loop in the extended graph, or one directed edge leads to a predicate that
    has one. Algorithm 3 as printed does not end on recursive rules; what is computed here by
    sets of reached predicates is what it looks for.
    """

    nodes: frozenset[Signature]
    edges: frozenset[Edge]
    """Each edge once, its ends in order."""

    def components(self) -> tuple[frozenset[Signature], ...]:
        """The connected components (section 6.1.1, Proposition 1), in name order."""
        neighbours = _neighbours({*self.edges, *((q, p) for p, q in self.edges)})
        placed: set[Signature] = set()
        found: list[frozenset[Signature]] = []
        for node in sorted(self.nodes):
            if node not in placed:
                found.append(reached((node,), neighbours))
                placed |= found[-1]
        return tuple(found)


def extended_graph(rules: Sequence[AspRule]) -> ExtendedGraph:
    """The extended dependency graph of rules (Algorithm 1)."""
    nodes = frozenset[Signature]().union(*(rule.head | rule.body for rule in rules))
    undirected = frozenset(edge for rule in rules for edge in _undirected(rule))
    directed = frozenset((b, h) for rule in rules for b in rule.body for h in rule.head)
    return ExtendedGraph(nodes, undirected, directed)


def input_graph(graph: ExtendedGraph, inputs: Iterable[Signature]) -> InputGraph:
    """The input dependency graph with respect to `inputs` (Algorithms 2 and 3)."""
    nodes = frozenset(inputs)
    beside = _neighbours({*graph.undirected, *((q, p) for p, q in graph.undirected)})
    reaching: dict[Signature, set[Signature]] = defaultdict(set)
    reached = {node: graph.reached(node) for node in nodes}
    for node, ends in reached.items():
        for end in ends:
            reaching[end].add(node)
    edges = {(p, p) for p in nodes if graph.turns_on_itself(p)}
    for p, ends in reached.items():
        # From each input along directed edges, across one undirected edge, and back: sets of what
        # is reached end on recursive rules too, where following paths does not.
        across = {v for u in ends for v in beside.get(u, ())}
        joined = set[Signature]().union(*(reaching[v] for v in across))
        edges |= {_edge(p, q) for q in joined if p != q}
    return InputGraph(nodes, frozenset(edges))


def input_predicates(request: Request, rules: Sequence[AspRule]) -> frozenset[Signature]:
    """The predicates whose facts come from outside (docs/plan.md): those of `#input`, else those
    under a declared prefix, and those no rule derives."""
    if request.inputs:
        return request.inputs
    mentioned = frozenset[Signature]().union(*(rule.head | rule.body for rule in rules))
    prefixed = (s for s in mentioned if s.name.removeprefix("-").startswith(_starts(request)))
    return mentioned - request.derived | frozenset(prefixed)


def _starts(request: Request) -> tuple[str, ...]:
    """How names under the declared prefixes begin."""
    return tuple(f"{prefix}_" for prefix in request.prefixes)


def _undirected(rule: AspRule) -> Iterator[Edge]:
    yield from (_edge(p, q) for p, q in combinations(rule.body, 2))
    yield from ((p, p) for p in _negated(rule))
    read = body_atoms(rule.tree)
    counted = Counter(s for atom in read for s in set(atom_signatures(atom)))
    yield from ((p, p) for p, count in counted.items() if count > 1)


def _negated(rule: AspRule) -> Iterator[Signature]:
    """The predicates behind `not`, in aggregates and heads too."""
    for node in rule.tree.walk():
        if node.kind == ASTType.Literal and node.origin.sign != Sign.NoSign:
            for atom in atoms(node):
                yield from atom_signatures(atom)


def _edge(p: Signature, q: Signature) -> Edge:
    return (p, q) if p <= q else (q, p)


def _neighbours(edges: Iterable[Edge]) -> Mapping[Signature, list[Signature]]:
    found: dict[Signature, list[Signature]] = defaultdict(list)
    for p, q in edges:
        found[p].append(q)
    return found
