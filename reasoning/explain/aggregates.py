"""What an aggregate comes to, given the elements that count (gringo's semantics)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import clingo
from clingo import Symbol, SymbolType
from clingo.ast import AST, AggregateFunction, ASTType, ComparisonOperator, Sign

from reasoning.explain.syntax import Substitution

_NAMES: dict[int, str] = {
    int(AggregateFunction.Count): "#count",
    int(AggregateFunction.Sum): "#sum",
    int(AggregateFunction.SumPlus): "#sum+",
    int(AggregateFunction.Min): "#min",
    int(AggregateFunction.Max): "#max",
}
_COMPARE: dict[int, Callable[[Any, Any], bool]] = {
    ComparisonOperator.Equal: operator.eq,
    ComparisonOperator.NotEqual: operator.ne,
    ComparisonOperator.LessThan: operator.lt,
    ComparisonOperator.LessEqual: operator.le,
    ComparisonOperator.GreaterThan: operator.gt,
    ComparisonOperator.GreaterEqual: operator.ge,
}

_SIGNS: dict[int, str] = {
    ComparisonOperator.Equal: "=",
    ComparisonOperator.NotEqual: "!=",
    ComparisonOperator.LessThan: "<",
    ComparisonOperator.LessEqual: "<=",
    ComparisonOperator.GreaterThan: ">",
    ComparisonOperator.GreaterEqual: ">=",
}


def name(aggregate: AST) -> str:
    """`#count`, `#sum`, …; `{ … }` counts."""
    return _NAMES[_function(aggregate)]


def value(aggregate: AST, keys: Iterable[Symbol]) -> Symbol:
    """Its value over `keys`, the tuples of the elements; equal tuples count once."""
    distinct = set(keys)
    function = _function(aggregate)
    if function == AggregateFunction.Count:
        return clingo.Number(len(distinct))
    weights = [key.arguments[0] for key in distinct if key.arguments]
    if function in (AggregateFunction.Min, AggregateFunction.Max):
        smallest = function == AggregateFunction.Min
        none = clingo.Supremum if smallest else clingo.Infimum
        return min([none, *weights]) if smallest else max([none, *weights])
    numbers = [w.number for w in weights if w.type == SymbolType.Number]
    if function == AggregateFunction.SumPlus:
        numbers = [number for number in numbers if number > 0]
    return clingo.Number(sum(numbers))


def satisfied(aggregate: AST, found: Symbol, values: Mapping[str, Symbol]) -> bool:
    """Whether `found` is within its guards, whose variables have `values`."""
    left, right = aggregate.left_guard, aggregate.right_guard
    if left is not None:
        term = evaluate(left.term, values)
        if not _COMPARE[left.comparison](term, found):
            return False
    return right is None or _COMPARE[right.comparison](found, evaluate(right.term, values))


def guards(literal: AST, values: Mapping[str, Symbol], *, signed: bool = True) -> str:
    """What a literal demands of its aggregate: `2 < #count`, with values filled in; without
    its `not` if not `signed`."""
    aggregate = literal.atom
    left, right = aggregate.left_guard, aggregate.right_guard
    before = "" if left is None else f"{filled(left.term, values)} {_SIGNS[left.comparison]} "
    after = "" if right is None else f" {_SIGNS[right.comparison]} {filled(right.term, values)}"
    negation = {Sign.Negation: "not ", Sign.DoubleNegation: "not not "}.get(literal.sign, "")
    return f"{negation if signed else ''}{before}{name(aggregate)}{after}"


def is_assignment(literal: AST) -> bool:
    """Whether all that a literal says of its aggregate is what it is equal to."""
    left = literal.atom.left_guard
    equal = left is not None and left.comparison == ComparisonOperator.Equal
    return equal and literal.atom.right_guard is None and literal.sign == Sign.NoSign


def evaluate(term: AST, values: Mapping[str, Symbol]) -> Symbol:
    """A term with its variables replaced; raises `RuntimeError` if it has no value."""
    return clingo.parse_term(filled(term, values), logger=lambda _code, _message: None)


def filled(node: AST, values: Mapping[str, Symbol]) -> str:
    """`node` as text, with its variables replaced."""
    return str(Substitution(values).visit(node))


def _function(aggregate: AST) -> int:
    if aggregate.ast_type == ASTType.BodyAggregate:
        return int(aggregate.function)
    return int(AggregateFunction.Count)
