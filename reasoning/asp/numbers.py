"""Numbers in rules: clingo computes with 32 bits and wraps around without a word."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from clingo import SymbolType
from clingo.ast import ASTType, BinaryOperator, UnaryOperator

from reasoning.asp.statements import Source, blanked
from reasoning.asp.syntax import Node
from reasoning.model.atoms import LARGEST, SMALLEST, large_numbers

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_OPERATIONS = (ASTType.BinaryOperation, ASTType.UnaryOperation)
_TOO_LONG = f"does not fit the 32-bit integers of ASP (at most {LARGEST}); use a larger unit"


def check_numbers(source: Source, rules: str) -> None:
    """Note every number in the rules that 32 bits cannot hold."""
    # Strings need not be taken out of a text without any large number.
    if next(large_numbers(rules), None) is None:
        return
    for index, number in large_numbers(_STRING.sub(lambda m: blanked(m.group()), rules)):
        message = f"`{_short(number)}` {_TOO_LONG}, or a string if nothing is computed with it"
        source.fault(index, "number", message)


def check_results(source: Source, statements: Sequence[Node]) -> None:
    """Note every constant term in the rules whose value 32 bits cannot hold."""
    constants = Constants(statements)
    for statement in statements:
        for term in constants.overflows(statement):
            index, end = source.index(term.line, term.column), term.origin.location.end
            written = source.text[index : source.index(end.line, end.column)]
            source.fault(index, "number", f"the value of `{_short(written)}` {_TOO_LONG}")


class Constants:
    """What the constant terms of a program come to, by its `#const` definitions."""

    def __init__(self, statements: Sequence[Node]) -> None:
        self._values: dict[str, int] = {}
        definitions = {s.name: s.one("value") for s in _definitions(statements)}
        order = TopologicalSorter({name: _words(value) for name, value in definitions.items()})
        with suppress(CycleError):  # clingo's own complaint names the cycle
            order.prepare()
        # Each constant after those it is defined by.
        while ready := order.get_ready():
            for name in definitions.keys() & ready:
                if (value := self.number(definitions[name])) is not None:
                    self._values[name] = value
            order.done(*ready)

    def number(self, term: Node) -> int | None:
        """The number that a term comes to; None if it is none, or beyond 32 bits."""
        value = self._value(term, [])
        return value if value is not None and _fits(value) else None

    def overflows(self, statement: Node) -> Iterator[Node]:
        """The constant terms below a statement whose values are beyond 32 bits."""
        stack, found = [statement], list[Node]()
        while stack:
            node = stack.pop()
            if node.kind in _OPERATIONS:
                self._value(node, found)
            else:
                stack.extend(node.children[::-1])
        return iter(found)

    def _value(self, term: Node, overflows: list[Node]) -> int | None:
        """A term's value; those beyond 32 bits are noted and give none."""
        if term.kind == ASTType.SymbolicTerm:
            return self._symbol(term)
        values = [self._value(part, overflows) for part in term.children]
        if term.kind not in _OPERATIONS or None in values:
            return None
        compute = _COMPUTE[term.kind, int(term.origin.operator_type)]
        with suppress(ZeroDivisionError):
            value: int = compute(*values)
            if _fits(value):
                return value
            overflows.append(term)
        return None

    def _symbol(self, term: Node) -> int | None:
        symbol = term.origin.symbol
        if symbol.type == SymbolType.Number:
            # Only 2147483648, behind a minus, is read as a negative number.
            return abs(int(symbol.number))
        return self._values.get(str(symbol))


def _definitions(statements: Sequence[Node]) -> list[Node]:
    """The `#const` statements, those that override others last."""
    found = [s for s in statements if s.kind == ASTType.Definition]
    return sorted(found, key=lambda s: not s.origin.is_default)


def _words(value: Node) -> set[str]:
    return {str(n.origin.symbol) for n in value.walk() if n.kind == ASTType.SymbolicTerm}


def _fits(value: int) -> bool:
    return SMALLEST <= value <= LARGEST


def _divide(left: int, right: int) -> int:
    """Towards 0, as clingo does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        return 0 // base
    # Without that bound a `9**999999999` would never be done. Its parity is kept, for the sign.
    return int(base ** min(exponent, 64 + exponent % 2))  # those are beyond 32 bits already


_COMPUTE: dict[tuple[ASTType, int], Callable[..., int]] = {
    (ASTType.BinaryOperation, BinaryOperator.XOr): operator.xor,
    (ASTType.BinaryOperation, BinaryOperator.Or): operator.or_,
    (ASTType.BinaryOperation, BinaryOperator.And): operator.and_,
    (ASTType.BinaryOperation, BinaryOperator.Plus): operator.add,
    (ASTType.BinaryOperation, BinaryOperator.Minus): operator.sub,
    (ASTType.BinaryOperation, BinaryOperator.Multiplication): operator.mul,
    (ASTType.BinaryOperation, BinaryOperator.Division): _divide,
    (ASTType.BinaryOperation, BinaryOperator.Modulo): lambda a, b: a - b * _divide(a, b),
    (ASTType.BinaryOperation, BinaryOperator.Power): _power,
    (ASTType.UnaryOperation, UnaryOperator.Minus): operator.neg,
    (ASTType.UnaryOperation, UnaryOperator.Negation): operator.invert,
    (ASTType.UnaryOperation, UnaryOperator.Absolute): abs,
}


def _short(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"
