"""What clingo's syntax tree of a program says about its predicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clingo.ast import AST, ASTType, ComparisonOperator

from reasoning.errors import Location, RequestError
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


def inspect(file: str, statements: Sequence[AST]) -> RuleFacts:
    """Collect predicates; raises `RequestError` for scripts and external functions."""
    derived: set[Signature] = set()
    used: set[Signature] = set()
    priorities: set[int] = set()
    constants = _constants(statements)
    for statement in statements:
        _refuse_foreign(file, statement)
        if statement.ast_type == ASTType.Rule:
            derived |= set(_head_signatures(statement.head))
            used |= {s for part in statement.body for s in _signatures(part)}
            used |= set(_condition_signatures(statement.head))
        elif statement.ast_type == ASTType.Minimize:
            used |= {s for part in statement.body for s in _signatures(part)}
            priorities |= _priority(statement, constants)
        elif statement.ast_type in (ASTType.ShowTerm, ASTType.External):
            used |= {s for part in statement.body for s in _signatures(part)}
    compared = _compared(statements)
    ordered = tuple(sorted(priorities, reverse=True))
    return RuleFacts(frozenset(derived), frozenset(used), compared, ordered)


def walk(node: AST) -> Iterator[AST]:
    """The node and everything below it."""
    yield node
    for key in node.child_keys:
        child = getattr(node, key)
        for part in [child] if isinstance(child, AST) else child or ():
            yield from walk(part)


def _refuse_foreign(file: str, statement: AST) -> None:
    for node in walk(statement):
        external = node.ast_type == ASTType.Function and node.external
        if external or node.ast_type == ASTType.Script:
            begin = node.location.begin
            raise RequestError(
                Location(file, begin.line, begin.column),
                "forbidden",
                f"`{node}`: a request calls no external functions and runs no scripts",
            )


def _signatures(node: AST) -> Iterator[Signature]:
    for part in walk(node):
        if part.ast_type == ASTType.SymbolicAtom:
            yield from _atom_signature(part)


def _atom_signature(atom: AST) -> Iterator[Signature]:
    symbol, sign = atom.symbol, ""
    while symbol.ast_type == ASTType.UnaryOperation:
        symbol, sign = symbol.argument, "-"
    if symbol.ast_type == ASTType.Pool:
        for argument in symbol.arguments:
            yield Signature(sign + argument.name, len(argument.arguments))
    elif symbol.ast_type == ASTType.Function:
        yield Signature(sign + symbol.name, len(symbol.arguments))
    elif symbol.ast_type == ASTType.SymbolicTerm:
        yield Signature(str(symbol), 0)


def _head_signatures(head: AST) -> Iterator[Signature]:
    """Predicates a head derives; conditions behind `:` are not derived."""
    if head.ast_type == ASTType.HeadAggregate:
        for element in head.elements:
            yield from _signatures(element.condition.literal)
    elif head.ast_type in (ASTType.Aggregate, ASTType.Disjunction):
        for element in head.elements:
            yield from _signatures(element.literal)
    else:
        yield from _signatures(head)


def _condition_signatures(head: AST) -> Iterator[Signature]:
    for node in walk(head):
        if node.ast_type == ASTType.ConditionalLiteral:
            for part in node.condition:
                yield from _signatures(part)


def _variables(node: AST) -> set[str]:
    return {part.name for part in walk(node) if part.ast_type == ASTType.Variable}


def _compared(statements: Sequence[AST]) -> dict[Signature, int]:
    """Predicates whose second argument some rule computes with, and the rule's line.

    A value may travel: an argument of a head is computed with if another rule computes
    with that argument of the predicate it derives, and so on to a fixpoint.
    """
    lines: dict[tuple[Signature, int], int] = {}
    rules = [_Uses(s) for s in statements if s.ast_type in (ASTType.Rule, ASTType.Minimize)]
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

    def __init__(self, rule: AST) -> None:
        self.arguments = list(_arguments(rule))
        self._head = list(_arguments(rule.head)) if rule.ast_type == ASTType.Rule else []
        self._computed = dict.fromkeys(_computed(rule), rule.location.begin.line)

    def numeric(self, lines: dict[tuple[Signature, int], int]) -> dict[str, int]:
        """Variables it computes with, or that go where others do, and the line of that."""
        travelling = {v: lines[s, i] for s, i, v in self._head if (s, i) in lines}
        return {**travelling, **self._computed}


def _computed(rule: AST) -> set[str]:
    """Variables in arithmetic, order comparisons and weights."""
    found: set[str] = set()
    if rule.ast_type == ASTType.Minimize:
        found |= _variables(rule.weight)
    for node in walk(rule):
        if node.ast_type in _ARITHMETIC:
            found |= _variables(node)
        elif node.ast_type == ASTType.Comparison:
            if any(guard.comparison in _ORDER for guard in node.guards):
                found |= _variables(node)
        elif node.ast_type in _AGGREGATES:
            found |= _weights(node)
    return found


def _arguments(node: AST) -> Iterator[tuple[Signature, int, str]]:
    """Arguments of atoms that are variables: predicate, position from 0, name."""
    for part in walk(node):
        if part.ast_type == ASTType.SymbolicAtom and part.symbol.ast_type == ASTType.Function:
            arguments = part.symbol.arguments
            signature = Signature(part.symbol.name, len(arguments))
            for index, argument in enumerate(arguments):
                if argument.ast_type == ASTType.Variable:
                    yield signature, index, argument.name


def _weights(aggregate: AST) -> set[str]:
    """Variables in first position of the tuples of an aggregate (its weights)."""
    found: set[str] = set()
    for element in aggregate.elements:
        for weight in list(getattr(element, "terms", []))[:1]:
            found |= _variables(weight)
    return found


def _constants(statements: Sequence[AST]) -> dict[str, str]:
    """Values of `#const` definitions, as text."""
    return {s.name: str(s.value) for s in statements if s.ast_type == ASTType.Definition}


def _priority(statement: AST, constants: dict[str, str]) -> set[int]:
    """The priority, if it is a number or a constant; others are known once ground."""
    text = str(statement.priority)
    text = constants.get(text, text)
    return {int(text)} if text.lstrip("-").isdigit() else set()
