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
    compared: dict[Signature, int] = {}
    priorities: set[int] = set()
    for statement in statements:
        _refuse_foreign(file, statement)
        if statement.ast_type == ASTType.Rule:
            derived |= set(_head_signatures(statement.head))
            used |= {s for part in statement.body for s in _signatures(part)}
            used |= set(_condition_signatures(statement.head))
            for signature in _compared(statement):
                compared.setdefault(signature, statement.location.begin.line)
        elif statement.ast_type == ASTType.Minimize:
            used |= {s for part in statement.body for s in _signatures(part)}
            priorities |= _priority(statement)
        elif statement.ast_type in (ASTType.ShowTerm, ASTType.External):
            used |= {s for part in statement.body for s in _signatures(part)}
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


def _compared(rule: AST) -> Iterator[Signature]:
    """Predicates whose last argument is a variable that this rule computes with."""
    numeric: set[str] = set()
    for node in walk(rule):
        if node.ast_type in _ARITHMETIC and node.ast_type != ASTType.SymbolicAtom:
            numeric |= _variables(node)
        elif node.ast_type == ASTType.Comparison:
            if any(guard.comparison in _ORDER for guard in node.guards):
                numeric |= _variables(node)
        elif node.ast_type in _AGGREGATES:
            numeric |= _weights(node)
    for node in walk(rule):
        if node.ast_type != ASTType.SymbolicAtom:
            continue
        symbol = node.symbol
        if symbol.ast_type == ASTType.Function and len(symbol.arguments) > 1:
            value = symbol.arguments[1]
            if value.ast_type == ASTType.Variable and value.name in numeric:
                yield Signature(symbol.name, len(symbol.arguments))


def _weights(aggregate: AST) -> set[str]:
    """Variables in first position of the tuples of an aggregate (its weights)."""
    found: set[str] = set()
    for element in aggregate.elements:
        for weight in list(getattr(element, "terms", []))[:1]:
            found |= _variables(weight)
    return found


def _priority(statement: AST) -> set[int]:
    text = str(statement.priority)
    return {int(text)} if text.lstrip("-").isdigit() else set()
