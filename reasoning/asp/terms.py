"""Syntax trees of terms as terms of the incremental engine, with `#const` resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from clingo import SymbolType
from clingo.ast import ASTType, BinaryOperator, UnaryOperator

from reasoning.asp.syntax import Node
from reasoning.errors import ReasoningError
from reasoning.model import values
from reasoning.model.terms import Compound, Computed, Constant, Operation, Term, Value, Variable

_BINARY: dict[int, Operation] = {
    int(BinaryOperator.XOr): "^",
    int(BinaryOperator.Or): "?",
    int(BinaryOperator.And): "&",
    int(BinaryOperator.Plus): "+",
    int(BinaryOperator.Minus): "-",
    int(BinaryOperator.Multiplication): "*",
    int(BinaryOperator.Division): "/",
    int(BinaryOperator.Modulo): "\\",
    int(BinaryOperator.Power): "**",
}
_UNARY: dict[int, Operation] = {
    int(UnaryOperator.Minus): "neg",
    int(UnaryOperator.Negation): "~",
    int(UnaryOperator.Absolute): "|",
}
_FOREIGN = {ASTType.Interval: "an interval", ASTType.Pool: "a pool"}
ANONYMOUS = "_"
"""Before the number of a variable that is written `_`."""


class ForeignTermError(ReasoningError):
    """A part of a term is none of the engine's: an interval, a pool, an external function."""

    def __init__(self, node: Node, what: str) -> None:
        super().__init__(f"`{node}` is {what}")
        self.node = node
        self.what = what


class Terms:
    """Reads the terms of one statement, whose variables `_` it tells apart: `_1`, `_2`."""

    def __init__(self, constants: Mapping[str, Value] | None = None) -> None:
        self._constants = constants or {}
        self._anonymous = 0

    def read(self, node: Node) -> Term:
        """The term of a syntax tree, computed where it is ground; raises `ForeignTermError`."""
        if node.kind == ASTType.Variable:
            return self._variable(node.name)
        if node.kind == ASTType.SymbolicTerm:
            return Constant(self.value(values.value(node.origin.symbol)))
        if node.kind in _FOREIGN:
            raise ForeignTermError(node, _FOREIGN[node.kind])
        if node.kind == ASTType.Function and node.origin.external:
            raise ForeignTermError(node, "an external function")
        arguments = tuple(map(self.read, node.children))
        if node.kind == ASTType.Function:
            return self._compound(node.name, arguments)
        table = _BINARY if node.kind == ASTType.BinaryOperation else _UNARY
        return _computed(table[int(node.origin.operator_type)], arguments)

    def value(self, value: Value) -> Value:
        """A value, with the names that `#const` defines replaced."""
        if isinstance(value, tuple):
            return (value[0], *map(self.value, value[1:]))
        return self._constants.get(value, value) if isinstance(value, str) else value

    def _variable(self, name: str) -> Variable:
        if name != "_":
            return Variable(name)
        self._anonymous += 1
        return Variable(f"{ANONYMOUS}{self._anonymous}")

    def _compound(self, name: str, arguments: tuple[Term, ...]) -> Term:
        if not arguments and name:
            return Constant(self.value(name))
        ground = [part.value for part in arguments if isinstance(part, Constant)]
        if len(ground) == len(arguments):
            return Constant((name, *ground))
        return Compound(name, arguments)


def _computed(operation: Operation, arguments: tuple[Term, ...]) -> Term:
    """Arithmetic, or its value if it is ground and has one."""
    ground = [part.value for part in arguments if isinstance(part, Constant)]
    if len(ground) == len(arguments):
        value = values.computed(operation, ground)
        if value is not None:
            return Constant(value)
    return Computed(operation, arguments)


def constants(statements: Sequence[Node]) -> dict[str, Value]:
    """What the `#const` definitions among some statements have names stand for.

    Those that override others come last, as in clingo. A name whose value depends on itself,
    or is no value, stands for nothing.
    """
    found = [s for s in statements if s.kind == ASTType.Definition]
    definitions = {
        s.name: s.one("value") for s in sorted(found, key=lambda s: not s.origin.is_default)
    }
    resolved: dict[str, Value] = {}
    for name in _ordered(definitions):
        if name in definitions:
            with suppress(ForeignTermError):
                term = Terms(resolved).read(definitions[name])
                if isinstance(term, Constant):
                    resolved[name] = term.value
    return resolved


def _ordered(definitions: Mapping[str, Node]) -> tuple[str, ...]:
    """Names, each after those its definition mentions."""
    order = TopologicalSorter({name: _names(value) for name, value in definitions.items()})
    try:
        return tuple(order.static_order())
    except CycleError:
        return ()


def _names(value: Node) -> set[str]:
    symbols = (n.origin.symbol for n in value.walk() if n.kind == ASTType.SymbolicTerm)
    return {s.name for s in symbols if s.type == SymbolType.Function}
