"""Comparisons by order of what is a number with a text, which never mean what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clingo.ast import AggregateFunction, ASTType, ComparisonOperator

from reasoning.asp.rules import body_atoms
from reasoning.asp.syntax import Node, variables
from reasoning.errors import Finding
from reasoning.languages.casp.parsing import Reading

_ORDER = (
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
)
_ARITHMETIC = (ASTType.BinaryOperation, ASTType.UnaryOperation, ASTType.Interval)
_CHOOSING = (AggregateFunction.Min, AggregateFunction.Max)
_NUMERAL = re.compile(r'"\s*[-+]?[0-9]+(?:\.[0-9]+)?\s*"\Z')
_Place = tuple[str, int, int]
"""An argument of a predicate: its name, its arity, and the position."""


def comparisons(reading: Reading) -> Iterator[Finding]:
    """Order comparisons with a text that is a numeral, or with any text of what is a number."""
    computed = [_computed(rule) for rule in reading.rules]
    places = {(name, arity, 1) for name in reading.request.scales for arity in (2, 3)}
    for rule, numbers in zip(reading.rules, computed, strict=True):
        places.update(place for place, name in _arguments(rule) if name in numbers)
    for rule, numbers in zip(reading.rules, computed, strict=True):
        numbers.update(name for place, name in _arguments(rule) if place in places)
        for node in rule.walk():
            if node.kind == ASTType.Comparison:
                for one, other, is_less in _ordered(node):
                    if not _is_text(other):
                        continue
                    if one.kind == ASTType.Variable and one.name in numbers:
                        yield _finding(reading, node, other, is_less)
                    elif _NUMERAL.match(str(other)):
                        yield _finding(reading, node, other)


def _ordered(comparison: Node) -> Iterator[tuple[Node, Node, bool]]:
    """The two sides of each order comparison, both ways round, and whether the first is to be
    less than the second."""
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        if guard.origin.comparison in _ORDER:
            is_less = guard.origin.comparison in _ORDER[:2]
            yield left, right, is_less
            yield right, left, not is_less
        left = right


def _is_text(term: Node) -> bool:
    return term.kind == ASTType.SymbolicTerm and str(term).startswith('"')


def _computed(rule: Node) -> set[str]:
    """The variables of a rule with which it computes, or that are what it computes: numbers."""
    signs = {id(atom.one("symbol")) for atom in rule.walk() if atom.kind == ASTType.SymbolicAtom}
    found: set[str] = set()
    for node in rule.walk():
        if node.kind in _ARITHMETIC and id(node) not in signs:
            found.update(variables(node))
        elif node.kind == ASTType.Comparison:
            found.update(_assigned(node))
        elif node.kind == ASTType.BodyAggregate and node.origin.function not in _CHOOSING:
            for guard in (*node.many("left_guard"), *node.many("right_guard")):
                if guard.origin.comparison == ComparisonOperator.Equal:
                    found.update(variables(guard.one("term")))
    return found


def _assigned(comparison: Node) -> Iterator[str]:
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        if guard.origin.comparison == ComparisonOperator.Equal:
            for one, other in ((left, right), (right, left)):
                if one.kind == ASTType.Variable and other.kind in _ARITHMETIC:
                    yield one.name
        left = right


def _arguments(rule: Node) -> Iterator[tuple[_Place, str]]:
    """The variables that are arguments of atoms in a rule's body, and where they are."""
    for atom in body_atoms(rule):
        symbol = atom.one("symbol")
        if symbol.kind == ASTType.Function:
            arguments = symbol.many("arguments")
            for position, argument in enumerate(arguments):
                if argument.kind == ASTType.Variable:
                    yield (symbol.name, len(arguments), position), argument.name


def _finding(
    reading: Reading, comparison: Node, text: Node, is_less: bool | None = None
) -> Finding:
    """`is_less`: of a number, whether it is to be less than the text; None: it may be none."""
    shown = str(comparison)
    number = str(text)[1:-1].strip()
    cure = f"write `{number}` without quotes" if number.lstrip("-+").isdigit() else "write a number"
    message = (
        f"`{shown}` compares with a text, and every number is less than every text, whatever its "
        "digits"
    )
    if is_less is not None:
        message += f", so this is {'always' if is_less else 'never'} true"
    index = reading.source.index(text.line, text.column)
    location = reading.source.location(index)
    return Finding(location, "warning", "text-order", f"{message}; {cure}")
