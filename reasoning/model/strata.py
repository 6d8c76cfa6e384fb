"""What depends on what: components and strata of a program's relations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from reasoning.errors import ReasoningError
from reasoning.model.rules import CLOCK, Call, Compare, Program, Rule, Scan
from reasoning.model.values import Compound, Computed, Constant, Term, variables

Node = TypeVar("Node", bound=Hashable)


def reached(starts: Iterable[Node], following: Mapping[Node, Iterable[Node]]) -> frozenset[Node]:
    """The nodes to which a path leads from one of `starts`, these among them."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        new = set(following.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return frozenset(found)


class StratificationError(ReasoningError):
    """A relation depends on its own absence or aggregate; `loop` names the relations."""

    def __init__(self, loop: tuple[str, ...]) -> None:
        super().__init__("a loop through negation: " + " -> ".join(loop))
        self.loop = loop


class NestingError(ReasoningError):
    """A rule may nest terms deeper and deeper, for which the engine is not made."""


def components(program: Program) -> tuple[frozenset[str], ...]:
    """Relations that depend on one another, each after those it depends on.

    Raises `StratificationError`, and `NestingError` for a rule that builds terms of what it
    derives: Python's own recursion over them would end the process.
    """
    edges, strict = _edges(program)
    found = _strong(edges)
    for component in found:
        for head, body in strict:
            if head in component and body in component:
                raise StratificationError(_path(edges, body, head))
    own = {relation: component for component in found for relation in component}
    for rule in program.rules:
        if builds_terms(rule) and any(
            isinstance(literal, Scan) and own[literal.relation] is own[rule.head]
            for literal in rule.looks.values()
        ):
            raise NestingError(f"rule {rule.name} may nest terms deeper and deeper")
    return found


def builds_terms(rule: Rule) -> bool:
    """Whether a rule puts values of its variables into functions or tuples."""
    built = [*rule.terms]
    for literal in rule.body:
        if isinstance(literal, Compare):
            built += [literal.left, literal.right]
    return any(isinstance(term, Compound) and variables(term) for term in built)


def has_functions(rule: Rule) -> bool:
    """Whether a rule may say functions of values that its body has none of."""
    said = [*rule.terms]
    for literal in rule.body:
        if isinstance(literal, Call):
            return True
        if isinstance(literal, Compare):
            said += [literal.left, literal.right]
    return any(map(_has_function, said))


def _has_function(term: Term) -> bool:
    if isinstance(term, Computed):
        return any(map(_has_function, term.arguments))
    return isinstance(term, Compound) or (
        isinstance(term, Constant) and isinstance(term.value, tuple)
    )


Edges = dict[str, list[str]]


def _edges(program: Program) -> tuple[Edges, list[tuple[str, str]]]:
    """What each relation reads, and the pairs of which the second must be complete first."""
    # Sorted, as everywhere where order could come from a set: the order of components decides
    # that of evaluation and of plans, which must not depend on hash seeds.
    edges: Edges = {name: [] for name in (CLOCK, *sorted(program.inputs))}
    strict: list[tuple[str, str]] = []
    for rule in program.rules:
        reads = edges.setdefault(rule.head, [])
        for literal in rule.looks.values():
            reads.append(literal.relation)
            edges.setdefault(literal.relation, [])
            if not isinstance(literal, Scan):
                strict.append((rule.head, literal.relation))
    for operator in program.operators:
        edges.setdefault(operator.result, []).extend(operator.reads)
        for relation in operator.reads:
            edges.setdefault(relation, [])
            strict.append((operator.result, relation))
    return edges, strict


def _strong(edges: Edges) -> tuple[frozenset[str], ...]:
    """Strongly connected components, dependencies first (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[frozenset[str]] = []
    open_: set[str] = set()
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        open_.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    open_.add(target)
                    work.append((target, iter(edges[target])))
                    break
                if target in open_:
                    low[node] = min(low[node], index[target])
            # All that the node leads to is done; if none of it leads further back than the node
            # itself, a component ends here.
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = set()
                    while node not in component:
                        component.add(stack.pop())
                    open_ -= component
                    found.append(frozenset(component))
    return tuple(found)


def _path(edges: Edges, start: str, end: str) -> tuple[str, ...]:
    """A way along dependencies from one relation to another, and back to the first."""
    # Breadth first: the message shows a shortest loop.
    ways: dict[str, tuple[str, ...]] = {start: (start,)}
    todo = [start]
    for node in todo:
        if node == end:
            break
        for target in edges[node]:
            if target not in ways:
                ways[target] = (*ways[node], target)
                todo.append(target)
    return (*ways[end], start)
