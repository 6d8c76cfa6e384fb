"""What the syntax tree of a program says about its predicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clingo.ast import AST, ASTType, ComparisonOperator

from reasoning.languages.syntax import Node, copy, variables
from reasoning.program import Signature

_ORDER = {
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
}
_AGGREGATES = (ASTType.BodyAggregate, ASTType.HeadAggregate, ASTType.Aggregate)
_ARITHMETIC = (ASTType.BinaryOperation, ASTType.UnaryOperation)


@dataclass(frozen=True)
class RuleFacts:
    """Predicates of a program, by the side of the rule they stand on."""

    derived: frozenset[Signature]
    used: frozenset[Signature]
    compared: dict[Signature, int]
    priorities: tuple[int, ...]


def inspect(statements: Sequence[Node], facts: Iterable[Signature] = ()) -> RuleFacts:
    """Collect predicates, those of plain `facts` included, what is computed, and priorities."""
    derived = set(facts)
    used: set[Signature] = set()
    priorities: set[int] = set()
    constants = constant_values(statements)
    for statement in statements:
        derived.update(s for atom in head_atoms(statement) for s in atom_signatures(atom))
        used.update(s for atom in body_atoms(statement) for s in atom_signatures(atom))
        if statement.kind == ASTType.Minimize:
            priorities |= _priority(statement, constants)
    compared = _compared(statements)
    ordered = tuple(sorted(priorities, reverse=True))
    return RuleFacts(frozenset(derived), frozenset(used), compared, ordered)


def atoms(node: Node) -> Iterator[Node]:
    """The atoms in it."""
    return (part for part in node.walk() if part.kind == ASTType.SymbolicAtom)


def atom_signatures(atom: Node) -> Iterator[Signature]:
    """The predicate of an atom; several for a pool such as `p(1;2,3)`."""
    symbol, sign = atom.one("symbol"), ""
    while symbol.kind == ASTType.UnaryOperation:
        symbol, sign = symbol.one("argument"), "-"
    if symbol.kind == ASTType.Pool:
        for argument in symbol.many("arguments"):
            yield Signature(sign + argument.name, len(argument.many("arguments")))
    elif symbol.kind == ASTType.Function:
        yield Signature(sign + symbol.name, len(symbol.many("arguments")))
    elif symbol.kind == ASTType.SymbolicTerm:
        yield Signature(sign + str(symbol), 0)


def signatures(tree: AST) -> Iterator[Signature]:
    """Predicates of all atoms in a part of clingo's tree."""
    for atom in atoms(copy(tree)):
        yield from atom_signatures(atom)


def head_signatures(head: AST) -> Iterator[Signature]:
    """Predicates that a head of clingo's derives."""
    for atom in _derived(copy(head)):
        yield from atom_signatures(atom)


def head_atoms(statement: Node) -> Iterator[Node]:
    """Atoms a rule derives; conditions behind `:` in its head are not derived."""
    return _derived(statement.one("head")) if statement.kind == ASTType.Rule else iter(())


def _derived(head: Node) -> Iterator[Node]:
    if head.kind == ASTType.HeadAggregate:
        for element in head.many("elements"):
            yield from atoms(element.one("condition").one("literal"))
    elif head.kind in (ASTType.Aggregate, ASTType.Disjunction):
        for element in head.many("elements"):
            yield from atoms(element.one("literal"))
    else:
        yield from atoms(head)


def body_atoms(statement: Node) -> Iterator[Node]:
    """Atoms a statement looks at: those of its body and of the conditions in its head."""
    for part in statement.many("body"):
        yield from atoms(part)
    if statement.kind == ASTType.Rule:
        for node in statement.one("head").walk():
            if node.kind == ASTType.ConditionalLiteral:
                for part in node.many("condition"):
                    yield from atoms(part)


def _compared(statements: Sequence[Node]) -> dict[Signature, int]:
    """Predicates whose second argument some rule computes with, and the rule's line.

    A value may travel: an argument of a head is computed with if another rule computes
    with that argument of the predicate it derives, and so on to a fixpoint.
    """
    lines: dict[tuple[Signature, int], int] = {}
    rules = [_Uses(s) for s in statements if s.kind in (ASTType.Rule, ASTType.Minimize)]
    changed = True
    while changed:
        changed = False
        for rule in rules:
            numeric = rule.numeric(lines)
            for signature, index, variable in rule.arguments:
                if variable in numeric and (signature, index) not in lines:
                    lines[signature, index] = numeric[variable]
                    changed = True
    return {signature: line for (signature, index), line in lines.items() if index == 1}


class _Uses:
    """A rule's variables: as arguments, as arguments of its head, and in computations."""

    def __init__(self, rule: Node) -> None:
        self.arguments = list(_arguments(rule))
        self._head = list(_arguments(rule.one("head"))) if rule.kind == ASTType.Rule else []
        self._computed = dict.fromkeys(computed(rule), rule.line)

    def numeric(self, lines: dict[tuple[Signature, int], int]) -> dict[str, int]:
        """Variables it computes with, or that go where others do, and the line of that."""
        travelling = {v: lines[s, i] for s, i, v in self._head if (s, i) in lines}
        return {**travelling, **self._computed}


def computed(rule: Node) -> set[str]:
    """Variables in arithmetic, order comparisons and weights."""
    found: set[str] = set()
    if rule.kind == ASTType.Minimize:
        found |= variables(rule.one("weight"))
    for node in rule.walk():
        if node.kind in _ARITHMETIC:
            found |= variables(node)
        elif node.kind == ASTType.Comparison:
            if any(guard.origin.comparison in _ORDER for guard in node.many("guards")):
                found |= variables(node)
        elif node.kind in _AGGREGATES:
            found |= _weights(node)
    return found


def _arguments(node: Node) -> Iterator[tuple[Signature, int, str]]:
    """Arguments of atoms that are variables: predicate, position from 0, name."""
    for atom in atoms(node):
        symbol = atom.one("symbol")
        if symbol.kind == ASTType.Function:
            arguments = symbol.many("arguments")
            signature = Signature(symbol.name, len(arguments))
            for index, argument in enumerate(arguments):
                if argument.kind == ASTType.Variable:
                    yield signature, index, argument.name


def _weights(aggregate: Node) -> set[str]:
    """Variables in first position of the tuples of an aggregate (its weights)."""
    found: set[str] = set()
    for element in aggregate.many("elements"):
        for weight in element.many("terms")[:1]:
            found |= variables(weight)
    return found


def constant_values(statements: Sequence[Node]) -> dict[str, str]:
    """Values of `#const` definitions, as text."""
    return {s.name: str(s.one("value")) for s in statements if s.kind == ASTType.Definition}


def _priority(statement: Node, constants: dict[str, str]) -> set[int]:
    """The priority, if it is a number or a constant; others are known once ground."""
    text = str(statement.one("priority"))
    text = constants.get(text, text)
    return {int(text)} if text.lstrip("-").isdigit() else set()
