"""Which predicates depend on which: the graph, its components, strata and fragment.

`split()` finds the rules that depend on no stream: their part of a program is grounded once.

How input predicates depend on each other is the thesis' section 5.2 (docs/plan.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

from clingo.ast import AST, ASTType, Sign, parse_string

from citywise.reasoning.asp.rules import AspRule, atom_signatures, atoms, body_atoms, head_atoms
from citywise.reasoning.asp.syntax import Node, copy
from citywise.reasoning.model.carried import is_ours, timed
from citywise.reasoning.model.engine import OURS, AspProgram
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.model.rules import reached, strong

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
        self.components = tuple(strong({s: [e.body for e in out] for s, out in self._out.items()}))
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
                return edge, *self.path(edge.body, edge.head)
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

    def path(self, start: Signature, goal: Signature) -> tuple[Dependency, ...]:
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
    ours = timed(request) | frozenset(filter(is_ours, mentioned))
    return (mentioned - request.derived | frozenset(prefixed)) - ours


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


_OFF, _TRIED = f"{OURS}off", f"{OURS}tried"


@dataclass(frozen=True)
class _Statement:
    text: str
    head: frozenset[str]
    names: frozenset[str]
    """Predicates, without sign and arity: a classical negation is about its atom too."""
    is_rule: bool
    is_external: bool
    """Its atoms may hold though no rule derives them."""
    trial: str


def split(what: AspProgram, dynamic: Collection[Signature]) -> tuple[str, AspProgram]:
    """The static part as text, and the program that is left for each window.

    Static is a rule none of whose predicates depends on a `dynamic` one; so is what it
    derives, for no other rule may add to that. The body of each other rule is tried once
    with the static part, in a rule that is switched off: it concludes nothing, but clingo
    builds the indices that the windows need over the knowledge, which else each would.
    """
    statements = list(_statements(what.rules))
    # By name alone, without arity and sign: more may move than need be, but nothing stands still
    # that should not.
    names = {s.name.removeprefix("-") for s in dynamic}
    moving = _moving(statements, names.union(*(s.head for s in statements if s.is_external)))
    # An external atom is false and yet not known to be: clingo may not leave out rules that need
    # it, and so builds the indices.
    static, window = f"#external {_OFF}.\n", ""
    for statement in statements:
        if statement.is_rule and not statement.names & moving:
            static += statement.text
        else:
            static += statement.trial
            window += statement.text
    return static, replace(what, rules=window)


def _moving(statements: list[_Statement], names: set[str]) -> set[str]:
    """The predicates that depend on `names`, and those themselves."""
    moving = set(names)
    before = -1
    while before != len(moving):
        before = len(moving)
        for statement in statements:
            if statement.names & moving:
                moving |= statement.head
    return moving


def _statements(rules: str) -> Iterator[_Statement]:
    found: list[AST] = []
    parse_string(rules, found.append, logger=lambda _code, _words: None)
    for node in found:
        if node.ast_type == ASTType.Program:
            continue
        tree = copy(node)
        is_rule, is_external = (tree.kind == kind for kind in (ASTType.Rule, ASTType.External))
        head = _names([tree.one("atom")] if is_external else head_atoms(tree))
        names = _names(atoms(tree))
        yield _Statement(f"{node}\n", head, names, is_rule, is_external, _trial(node))


def _trial(node: AST) -> str:
    """A rule that joins the body of a rule, and is switched off."""
    if node.ast_type != ASTType.Rule or not node.body:
        return ""
    body = "; ".join(map(str, node.body))
    return f"{_TRIED} :- {body}; {_OFF}.\n"


def _names(found: Iterable[Node]) -> frozenset[str]:
    return frozenset(s.name.removeprefix("-") for atom in found for s in atom_signatures(atom))
