"""How a theory is evaluated, for `citywise plan`: its nodes and the rules that share them.

The names are those of Rete (Monks et al., "Continuous Reasoning in the Semantic Web"): alpha
nodes select what comes, or is derived, by its constants; beta nodes are what several rules
join; the rules join the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations, count
from typing import Any

from citywise.reasoning.asp.dependencies import Edge, ExtendedGraph, InputGraph, input_graph
from citywise.reasoning.languages.rif.bodies import PART
from citywise.reasoning.languages.rif.compile import STATED, compiled, reads
from citywise.reasoning.languages.rif.names import FactNames
from citywise.reasoning.languages.rif.network import NODE
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.unparse import Wording
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import Program, Rule, Scan, components
from citywise.reasoning.model.values import Term, Variable
from citywise.reasoning.partition.description import graphs, quoted

_LETTERS = "xyzuvw"
_NUMBERED = re.compile(r"\?V(\d+)\b")
"""Variables of nodes."""


@dataclass(frozen=True)
class JoinNode:
    """What rows are looked up in."""

    name: str
    kind: str
    """`alpha` (selected by constants), `beta` (joined, for several rules) or `part` (one of
    several alternatives)."""
    pattern: str
    """What it holds, in presentation syntax."""
    reads: tuple[str, ...]
    """Nodes from which it is made."""
    rules: tuple[str, ...]
    """Names of the rules that use it, through other nodes or not."""


@dataclass(frozen=True)
class RuleNode:
    """What joins nodes and derives."""

    name: str
    derives: str
    reads: tuple[str, ...]
    tests: tuple[str, ...]
    """What else its body says."""


@dataclass(frozen=True)
class NetworkDescription:
    """Everything there is to say about how a theory is evaluated."""

    file: str
    window: str | None
    regime: str | None
    inferring: int
    """How many rules of the regime are evaluated."""
    strata: tuple[tuple[str, ...], ...]
    """Properties and predicates in the order in which they are completed; those that depend
    on one another together."""
    inputs: tuple[str, ...]
    """Properties and predicates of which facts of the stream are looked at."""
    nodes: tuple[JoinNode, ...]
    rules: tuple[RuleNode, ...]
    extended: ExtendedGraph
    """What the document's rules read and derive, by the predicates of answers."""
    graph: InputGraph


def describe(theory: Theory) -> NetworkDescription:
    """The network by which a theory is evaluated; raises `RequestError`."""
    return _Description(theory).found()


class _Description:
    def __init__(self, theory: Theory) -> None:
        self._theory = theory
        self._compiled = compiled(theory)
        program = self._compiled.program
        self._names_of = FactNames(theory.document, theory.rules)
        self._wording = Wording(self._compiled.properties, theory.document.prefixes)
        self._rules = [rule for rule in program.rules if not _passes_on(rule)]
        self._joined = {rule.head: rule for rule in self._rules if _is_node(rule.head)}
        self._numbers = {"alpha": count(1), "beta": count(1), "part": count(1)}
        self._names: dict[str, str] = {}
        """Of nodes by their relations, and of alpha nodes by their patterns."""
        for relation in self._joined:
            kind = "beta" if relation.startswith(NODE) else "part"
            self._names[relation] = f"{kind[0]}{next(self._numbers[kind])}"

    def found(self) -> NetworkDescription:
        document = self._theory.document
        nodes = tuple(self._nodes())
        rules = tuple(self._rule(r) for r in self._rules if r.head.startswith(STATED))
        window = document.window
        inferring = [r for r in self._rules if not r.head.startswith((STATED, NODE, PART))]
        extended = self._extended()
        return NetworkDescription(
            file=document.name,
            window=None if window is None else f"{window.range} {window.unit}",
            regime=self._theory.regime,
            inferring=len(inferring),
            strata=tuple(self._strata(self._compiled.program)),
            inputs=tuple(sorted(map(self._wording.relation, self._compiled.inputs))),
            nodes=nodes,
            rules=rules,
            extended=extended,
            graph=input_graph(extended, map(self._names_of.signature, self._compiled.inputs)),
        )

    def _extended(self) -> ExtendedGraph:
        """The extended dependency graph of the document's rules (docs/plan.md)."""
        nodes: set[Signature] = set(map(self._names_of.signature, self._compiled.inputs))
        undirected: set[Edge] = set()
        directed: set[Edge] = set()
        for rule in self._rules:
            if rule.head.startswith(STATED):
                head = self._names_of.signature(rule.head.removeprefix(STATED))
                body = sorted(map(self._names_of.signature, self._looked_at(rule)))
                nodes |= {head, *body}
                undirected |= set(combinations(body, 2))
                directed |= {(each, head) for each in body}
        return ExtendedGraph(frozenset(nodes), frozenset(undirected), frozenset(directed))

    def _looked_at(self, rule: Rule) -> Iterator[str]:
        """The relations that a rule reads, itself or through nodes, once for each time it does."""
        for literal in rule.body:
            if not isinstance(literal, Scan):
                continue
            if _is_node(literal.relation):
                for each in self._rules:
                    if each.head == literal.relation:
                        yield from self._looked_at(each)
            elif literal.relation[0] not in f"{STATED}#^":
                yield literal.relation

    def _strata(self, program: Program) -> Iterator[tuple[str, ...]]:
        told: set[str] = set()
        for component in components(program):
            names = {name.lstrip(STATED) for name in component if name[0] != "#"} - told
            if names & set(self._compiled.shown):
                told |= names
                yield tuple(sorted(map(self._wording.relation, names)))

    # -- nodes --------------------------------------------------------------------------

    def _nodes(self) -> Iterator[JoinNode]:
        users = self._users()
        alphas = dict.fromkeys(
            self._pattern(scan) for rule in self._rules for scan in self._alpha_scans(rule)
        )
        for pattern in alphas:
            self._names[pattern] = f"a{next(self._numbers['alpha'])}"
            yield JoinNode(self._names[pattern], "alpha", pattern, (), tuple(users[pattern]))
        for relation in self._joined:
            bodies = [rule for rule in self._rules if rule.head == relation]
            texts = [self._wording.conjunction(rule.body) for rule in bodies]
            read = dict.fromkeys(name for rule in bodies for name in self._read(rule))
            yield JoinNode(
                self._names[relation],
                "beta" if relation.startswith(NODE) else "part",
                self._renamed(texts[0] if len(texts) == 1 else f"Or({' '.join(texts)})"),
                tuple(read),
                tuple(users[relation]),
            )

    def _users(self) -> dict[str, dict[str, None]]:
        """Names of the rules that use a node, in their order."""
        found: dict[str, dict[str, None]] = {}
        for rule in self._rules:
            if not _is_node(rule.head):
                self._use(rule, rule.name, found)
        return found

    def _use(self, rule: Rule, name: str, found: dict[str, dict[str, None]]) -> None:
        for scan in self._alpha_scans(rule):
            found.setdefault(self._pattern(scan), {})[name] = None
        for relation in reads(rule):
            if _is_node(relation):
                found.setdefault(relation, {})[name] = None
                for each in self._rules:
                    if each.head == relation:
                        self._use(each, name, found)

    def _alpha_scans(self, rule: Rule) -> Iterator[Scan]:
        for literal in rule.body:
            if isinstance(literal, Scan) and literal.relation[0] not in f"{STATED}#^":
                yield literal

    def _pattern(self, scan: Scan) -> str:
        """A scan with names for its variables that all variants have."""
        names: dict[str, Term] = {}
        terms = [
            names.setdefault(term.name, Variable(f"V{len(names)}"))
            if isinstance(term, Variable)
            else term
            for term in scan.terms
        ]
        return self._renamed(self._wording.row(scan.relation, tuple(terms)))

    def _read(self, rule: Rule) -> Iterator[str]:
        """The nodes from which a rule is made."""
        for literal in rule.body:
            if isinstance(literal, Scan):
                if _is_node(literal.relation):
                    yield self._names[literal.relation]
                elif literal.relation[0] not in f"{STATED}#^":
                    yield self._names[self._pattern(literal)]

    def _renamed(self, text: str) -> str:
        """A text with the nodes' own names in it."""
        for relation in sorted(self._joined, key=len, reverse=True):
            text = text.replace(f"{relation}(", f"{self._names[relation]}(")
        return _NUMBERED.sub(lambda found: f"?{_letter(int(found[1]))}", text)

    def _rule(self, rule: Rule) -> RuleNode:
        tests = [each for each in rule.body if not isinstance(each, Scan)]
        return RuleNode(
            name=rule.name,
            derives=self._wording.row(rule.head.removeprefix(STATED), rule.terms),
            reads=tuple(dict.fromkeys(self._read(rule))),
            tests=tuple(map(self._wording.literal, tests)),
        )


def _letter(number: int) -> str:
    return _LETTERS[number] if number < len(_LETTERS) else f"{_LETTERS[0]}{number}"


def _is_node(relation: str) -> bool:
    return relation.startswith((NODE, PART))


def _passes_on(rule: Rule) -> bool:
    """Whether a rule only passes on what another relation has."""
    return not rule.name and not _is_node(rule.head)


_TITLES = {
    "alpha": "Alpha nodes: what is looked up, each kept once for all rules",
    "beta": "Beta nodes: what several rules join",
    "part": "Alternatives",
}


def to_json(found: NetworkDescription) -> dict[str, Any]:
    """A description as values JSON can hold."""
    return {
        "language": "rif",
        "fragment": "positive",
        "engine": "incremental",
        "window": found.window,
        "regime": found.regime,
        "regime_rules": found.inferring,
        "strata": [list(level) for level in found.strata],
        "input_predicates": sorted(map(str, found.graph.nodes)),
        **graphs(found.extended, found.graph),
        "partitions": [
            {
                "predicates": sorted(map(str, found.graph.nodes)),
                "rules": sorted({rule.name for rule in found.rules}),
                "key": None,
            }
        ],
        "nodes": [asdict(node) for node in found.nodes],
        "rules": [asdict(rule) for rule in found.rules],
    }


def to_text(found: NetworkDescription) -> str:
    """A description for people."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: NetworkDescription) -> Iterator[str]:
    yield f"{found.file}: rif, positive, engine incremental"
    yield f"window {found.window or 'none: what comes counts for ever'}"
    if found.regime is not None:
        yield f"regime {found.regime}: {found.inferring} rules besides the document's"
    yield from _section("Strata", (f"{n}  {', '.join(s)}" for n, s in enumerate(found.strata)))
    yield from _section("Input predicates", [", ".join(found.inputs) or "none"])
    for kind, title in _TITLES.items():
        nodes = [node for node in found.nodes if node.kind == kind]
        if nodes:
            yield from _section(title, (line for node in nodes for line in _node(node)))
    yield from _section("Rules", (line for rule in found.rules for line in _rule(rule)))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in lines)


def _node(node: JoinNode) -> Iterator[str]:
    yield f"{node.name}  {node.pattern}"
    made = f"made of {', '.join(node.reads)}; " if node.reads else ""
    yield f"    {made}{'shared by' if len(node.rules) > 1 else 'for'} {', '.join(node.rules)}"


def _rule(rule: RuleNode) -> Iterator[str]:
    yield f"{rule.name}: {rule.derives}"
    yield f"    joins {', '.join(rule.reads) or 'nothing'}"
    yield from (f"    where {test}" for test in rule.tests)


def to_dot(found: NetworkDescription) -> str:
    """The network as a digraph: what several rules share is drawn with a double line."""
    lines = [f"digraph {quoted(found.file)} {{", "  rankdir=LR;", "  node [shape=box];"]
    for node in found.nodes:
        shape = ", peripheries=2" if len(node.rules) > 1 else ""
        label = f"{node.name}\n{node.pattern}"
        lines.append(f"  {quoted(node.name)} [label={quoted(label)}{shape}];")
        lines += (f"  {quoted(each)} -> {quoted(node.name)};" for each in node.reads)
    for number, rule in enumerate(found.rules, 1):
        name = quoted(f"rule {number}")
        label = quoted(f"{rule.name}\n{rule.derives}")
        lines.append(f"  {name} [label={label}, shape=ellipse];")
        lines += (f"  {quoted(each)} -> {name};" for each in rule.reads)
    return "\n".join([*lines, "}"]) + "\n"
