"""Comparisons by order of what is a number with a text, which never mean what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clingo.ast import ASTType, ComparisonOperator

from reasoning.asp.rules import body_atoms
from reasoning.asp.syntax import Node
from reasoning.errors import Finding
from reasoning.languages.casp.parsing import Reading

_ORDER = (
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
)
_NUMERAL = re.compile(r'"\s*[-+]?[0-9]+(?:\.[0-9]+)?\s*"\Z')


def comparisons(reading: Reading) -> Iterator[Finding]:
    """Order comparisons with a text that is a numeral, or with any text of what is scaled."""
    for rule in reading.rules:
        scaled = _scaled(reading, rule)
        for node in rule.walk():
            if node.kind == ASTType.Comparison:
                for one, other in _ordered(node):
                    if _is_text(other) and (_NUMERAL.match(str(other)) or str(one) in scaled):
                        yield _finding(reading, node, other)


def _ordered(comparison: Node) -> Iterator[tuple[Node, Node]]:
    """The two sides of each order comparison, both ways round."""
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        if guard.origin.comparison in _ORDER:
            yield left, right
            yield right, left
        left = right


def _is_text(term: Node) -> bool:
    return term.kind == ASTType.SymbolicTerm and str(term).startswith('"')


def _scaled(reading: Reading, rule: Node) -> set[str]:
    """The variables of a rule that are values of properties with `#scale`: numbers."""
    symbols = [atom.one("symbol") for atom in body_atoms(rule)]
    return {
        str(symbol.many("arguments")[1])
        for symbol in symbols
        if symbol.kind == ASTType.Function
        and symbol.name in reading.request.scales
        and len(symbol.many("arguments")) > 1
    }


def _finding(reading: Reading, comparison: Node, text: Node) -> Finding:
    shown = str(comparison)
    number = str(text)[1:-1].strip()
    cure = f"write `{number}` without quotes" if number.lstrip("-+").isdigit() else "write a number"
    message = (
        f"`{shown}` compares with a text, and every number is less than every text, whatever its "
        f"digits; {cure}"
    )
    index = reading.source.index(text.line, text.column)
    return Finding(reading.source.location(index), "warning", "text-order", message)
