"""Rules that may ground to far more than their data, or without end (an estimate).

What a stream delivers counts as large; what the text itself or a knowledge base lists, and
what is chosen or aggregated to a few atoms, is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from clingo.ast import ASTType, BinaryOperator, ComparisonOperator, Sign

from citywise.reasoning.asp.dependencies import Dependencies, literals
from citywise.reasoning.asp.rules import atom_signatures, head_atoms
from citywise.reasoning.asp.syntax import Constants, Node, variables
from citywise.reasoning.errors import Finding
from citywise.reasoning.languages.casp.parsing import Reading
from citywise.reasoning.model.request import Signature

LARGE = 1_000
"""Assumed number of atoms of a predicate that data supply."""
TOO_MANY = 1_000_000
"""Ground instances above which a rule is reported."""
_COUNTED = 10**15
"""Estimates above are not written out."""
_NAMED = 5
"""Atoms that a message lists."""
_FEW = 10
"""Assumed number of atoms that agree with a constant."""
_CHOICES = (ASTType.Aggregate, ASTType.HeadAggregate)
_GROWING = (ASTType.Function, ASTType.BinaryOperation, ASTType.UnaryOperation)
_BOUNDS = {
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
}
_UPPER = {ComparisonOperator.LessThan, ComparisonOperator.LessEqual, ComparisonOperator.Equal}


def suspects(
    reading: Reading, dependencies: Dependencies, given: Mapping[Signature, int]
) -> Iterator[Finding]:
    """Rules that look explosive, each with the reason.

    `given` has the numbers of atoms that knowledge bases or whoever runs the text supply.
    """
    counts = Counter(given)
    counts.update({s: f.count for s, f in reading.facts.items()})
    sizes = Sizes(reading.rules, counts)
    for rule in reading.rules:
        for code, message in (
            *_intervals(rule, sizes),
            *_products(rule, sizes),
            *_unbounded(rule, dependencies),
        ):
            index = reading.source.index(rule.line, rule.column)
            yield Finding(reading.source.location(index), "warning", code, message)


class Sizes:
    """Estimated numbers of atoms for the predicates of a program."""

    def __init__(self, statements: Sequence[Node], facts: Mapping[Signature, int]) -> None:
        self._constants = Constants(statements)
        self._rules: dict[Signature, list[Node]] = {}
        for statement in statements:
            for atom in head_atoms(statement):
                for signature in atom_signatures(atom):
                    self._rules.setdefault(signature, []).append(statement)
        self._known = {s: count for s, count in facts.items() if s not in self._rules}
        changed = True
        while changed:
            changed = False
            for signature, rules in self._rules.items():
                if signature not in self._known and (size := self._sum(rules)) is not None:
                    self._known[signature] = size + facts.get(signature, 0)
                    changed = True

    def of(self, signature: Signature) -> int:
        """The estimate; `LARGE` for what data supply or nothing bounds."""
        return self._known.get(signature, LARGE)

    def interval(self, node: Node) -> int:
        """How many numbers an interval holds, if its ends are known; else 1."""
        left, right = (self._constants.number(node.one(end)) for end in ("left", "right"))
        return 1 if left is None or right is None else max(0, right - left + 1)

    def _sum(self, rules: Iterable[Node]) -> int | None:
        """Atoms that rules derive, if all they look at is known already."""
        total = 0
        for rule in rules:
            size = self._instances(rule)
            if size is None:
                return None
            total += size
        return min(total, TOO_MANY)

    def _instances(self, rule: Node) -> int | None:
        head = rule.one("head")
        if (bound := _upper_bound(head)) is not None and not _positive(rule):
            return bound
        if head.kind in _CHOICES:
            return None
        size = prod(self.interval(n) for n in head.walk() if n.kind == ASTType.Interval)
        for atom in _positive(rule):
            known = [self._known.get(s) for s in atom_signatures(atom)]
            if None in known:
                return None
            size *= sum(k or 0 for k in known)
        return size


def _upper_bound(head: Node) -> int | None:
    """The largest number of atoms a choice lets through: `1 { … } 1`."""
    guard = head.parts.get("right_guard") if head.kind in _CHOICES else None
    if not isinstance(guard, Node) or guard.origin.comparison not in _UPPER:
        return None
    text = str(guard.one("term"))
    return int(text) if re.fullmatch("[0-9]{1,6}", text) else None


def _positive(rule: Node) -> list[Node]:
    """The atoms that bind a rule's variables."""
    return [
        atom
        for part in rule.many("body")
        if part.kind == ASTType.Literal and part.one("atom").kind == ASTType.SymbolicAtom
        for atom, negative in literals([part])
        if not negative
    ]


def _intervals(rule: Node, sizes: Sizes) -> Iterator[tuple[str, str]]:
    found = [n for n in rule.walk() if n.kind == ASTType.Interval]
    size = prod(max(1, sizes.interval(n)) for n in found)
    if size > TOO_MANY:
        listed = _listed(" × ", (n for n in found if sizes.interval(n) > 1))
        message = (
            f"{listed} gives {_about(size)} instances of this rule; narrow it, or bind the "
            "variable by what the data hold"
        )
        yield "huge-interval", message


def _about(size: int) -> str:
    return f"{size:,}" if size <= _COUNTED else "more than 10^15"


def _listed(separator: str, nodes: Iterable[Node]) -> str:
    """The first few nodes, as text."""
    found = [f"`{node}`" for node in nodes]
    return separator.join([*found[:_NAMED], "…"] if len(found) > _NAMED else found)


def _products(rule: Node, sizes: Sizes) -> Iterator[tuple[str, str]]:
    """Bodies, and conditions in heads, that combine everything with everything."""
    bodies = [node.many("condition") for node in rule.walk()]
    for body in [rule.many("body"), *filter(None, bodies)]:
        parts = [p for p in _parts(body) if _size(p, sizes) > 1]
        total = prod(_size(p, sizes) for p in parts)
        if len(parts) > 1 and total >= TOO_MANY:
            listed = _listed(", ", (part[0] for part in parts))
            message = (
                f"no variable joins {listed}: every combination is an instance of this rule (some "
                f"{_about(total)} if data give {LARGE:,} atoms each); join them or split the rule"
            )
            yield "product", message
            return


def _parts(body: Iterable[Node]) -> list[list[Node]]:
    """The atoms of a body, those together that share variables, if only through others."""
    joined = _Joined()
    atoms: list[tuple[Node, set[str]]] = []
    for literal in body:
        if literal.kind != ASTType.Literal or literal.origin.sign != Sign.NoSign:
            continue
        atom = literal.one("atom")
        if atom.kind not in (ASTType.SymbolicAtom, ASTType.Comparison):
            continue
        names = variables(atom) - {"_"}
        joined.add(names)
        if atom.kind == ASTType.SymbolicAtom:
            atoms.append((atom, names))
    parts: dict[str | int, list[Node]] = {}
    for place, (atom, names) in enumerate(atoms):
        parts.setdefault(joined.first(min(names)) if names else place, []).append(atom)
    return list(parts.values())


class _Joined:
    """Sets of variables that are joined: each is known by one of its variables."""

    def __init__(self) -> None:
        self._towards: dict[str, str] = {}

    def add(self, names: Iterable[str]) -> None:
        """Join some variables, and all that are joined with them already."""
        firsts = [self.first(name) for name in names]
        self._towards.update(dict.fromkeys(firsts[1:], firsts[0]) if firsts else {})

    def first(self, name: str) -> str:
        """The variable by which the set of `name` is known."""
        way = [name]
        while (following := self._towards.get(way[-1], way[-1])) != way[-1]:
            way.append(following)
        self._towards.update(dict.fromkeys(way, way[-1]))
        return way[-1]


def _size(part: Iterable[Node], sizes: Sizes) -> int:
    """The smallest relation of a part whose atoms are joined."""
    return min(_matches(atom, sizes) for atom in part)


def _matches(atom: Node, sizes: Sizes) -> int:
    """Atoms that match: one if the atom is ground, few if a constant selects."""
    arguments = atom.one("symbol").many("arguments")
    if not variables(atom):
        return 1
    size = sum(sizes.of(s) for s in atom_signatures(atom))
    selective = any(argument.kind == ASTType.SymbolicTerm for argument in arguments)
    return min(size, _FEW) if selective else size


def _unbounded(rule: Node, dependencies: Dependencies) -> Iterator[tuple[str, str]]:
    """Recursion that makes new terms of old ones, with nothing to end it."""
    if rule.kind != ASTType.Rule:
        return
    for head in head_atoms(rule):
        heads = set(atom_signatures(head))
        recursive = [
            atom
            for atom in _positive(rule)
            if any(dependencies.together(h, s) for h in heads for s in atom_signatures(atom))
        ]
        fed = {v for atom in recursive for v in variables(atom)} - _bound(rule, recursive)
        grown = _grown(head, rule) & fed
        if grown:
            listed = ", ".join(f"`{name}`" for name in sorted(grown))
            through = _listed(", ", recursive)
            message = (
                f"`{head}` builds a new term from {listed} of {through}, on which it depends: "
                "this may never end; bound it, e.g. by a comparison"
            )
            yield "unbounded", message


def _bound(rule: Node, recursive: list[Node]) -> set[str]:
    """Variables that a comparison or an atom outside the recursion keeps finite."""
    free = [atom for atom in _positive(rule) if atom not in recursive]
    found = {v for atom in free for v in variables(atom)}
    equations = []
    for part in rule.many("body"):
        for node in part.walk():
            if node.kind == ASTType.Comparison:
                operators = {g.origin.comparison for g in node.many("guards")}
                if operators & _BOUNDS:
                    found |= variables(node)
                elif ComparisonOperator.Equal in operators:
                    equations.append(variables(node))
    for names in equations:
        if names & found:
            found |= names
    return found


def _grown(head: Node, rule: Node) -> set[str]:
    """Variables below a function or operation in the head, or in what the head is equal to."""
    found: set[str] = set()
    direct = set()
    for argument in head.one("symbol").many("arguments"):
        if argument.kind in _GROWING:
            found |= _unlimited(argument)
        direct |= _unlimited(argument)
    for part in rule.many("body"):
        for node in part.walk():
            if node.kind == ASTType.Comparison and variables(node) & direct:
                operations = [n for n in _walk_unlimited(node) if n.kind in _GROWING]
                found |= {v for n in operations for v in _unlimited(n)}
    return found


def _unlimited(term: Node) -> set[str]:
    """Variables of a term but those whose values a modulo limits."""
    return {node.name for node in _walk_unlimited(term) if node.kind == ASTType.Variable}


def _walk_unlimited(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        is_modulo = (
            node.kind == ASTType.BinaryOperation
            and node.origin.operator_type == BinaryOperator.Modulo
        )
        stack.extend([node.one("right")] if is_modulo else node.children)
