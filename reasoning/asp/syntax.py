"""A program's syntax tree, copied from clingo's once: walking clingo's own costs ten times more.

`Terms` reads terms in it as terms of the incremental engine, with `#const` resolved. Numbers among
them are checked: clingo computes with 32 bits and wraps around without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from clingo import SymbolType
from clingo.ast import AST, ASTType, BinaryOperator, UnaryOperator

from citywise.reasoning.asp.statements import Source, blanked
from citywise.reasoning.errors import ReasoningError
from citywise.reasoning.model import values
from citywise.reasoning.model.atoms import LARGEST, SMALLEST, large_numbers
from citywise.reasoning.model.values import (
    Compound,
    Computed,
    Constant,
    Operation,
    Term,
    Value,
    Variable,
)

MAX_DEPTH = 250
"""Nested terms; a sum of so many numbers is one."""


class DepthError(Exception):
    """A statement is nested deeper than clingo can walk."""


@dataclass(slots=True, eq=False)
class Node:
    """A node of a syntax tree: its kind, its name if it has one, and what is below it."""

    kind: ASTType
    name: str
    """Of functions, variables and constants; empty for other kinds."""
    parts: dict[str, Node | tuple[Node, ...] | None]
    children: tuple[Node, ...]
    """All parts, from left to right."""
    origin: AST
    """clingo's node, for what is asked rarely: locations, operators, text."""

    def one(self, key: str) -> Node:
        """The part called `key`, which is a single node."""
        part = self.parts[key]
        assert isinstance(part, Node)
        return part

    def many(self, key: str) -> tuple[Node, ...]:
        """The parts called `key`; empty if there are none."""
        part = self.parts.get(key)
        if part is None:
            return ()
        return part if isinstance(part, tuple) else (part,)

    def walk(self) -> Iterator[Node]:
        """The node and everything below it, from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            # Reversed, so that the leftmost comes next; a loop, as trees are as deep as their
            # sums are long.
            stack.extend(node.children[::-1])

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return int(self.origin.location.begin.line)

    @property
    def column(self) -> int:
        """The column at which it begins, in bytes, as clingo counts."""
        return int(self.origin.location.begin.column)

    def __str__(self) -> str:
        return str(self.origin)


_NAMED = {ASTType.Function, ASTType.Variable, ASTType.Definition}
_CHILD_KEYS: dict[ASTType, tuple[str, ...]] = {}


def copy(tree: AST, depth: int = 0) -> Node:
    """The tree as nodes of ours; raises `DepthError`."""
    # This recursion is the first to walk the tree in Python; clingo's own would end the process
    # later, without a message.
    if depth > MAX_DEPTH:
        raise DepthError
    kind = tree.ast_type
    keys = _CHILD_KEYS.get(kind)
    if keys is None:
        keys = _CHILD_KEYS[kind] = tuple(tree.child_keys)
    parts: dict[str, Node | tuple[Node, ...] | None] = {}
    children: list[Node] = []
    for key in keys:
        part = getattr(tree, key)
        if isinstance(part, AST):
            parts[key] = node = copy(part, depth + 1)
            children.append(node)
        elif part is None:
            parts[key] = None
        else:
            first = len(children)
            for element in part:
                children.append(copy(element, depth + 1))
            parts[key] = tuple(children[first:])
    name = tree.name if kind in _NAMED else ""
    return Node(kind, name, parts, tuple(children), tree)


def variables(node: Node) -> set[str]:
    """Names of the variables in it, `_` included."""
    return {part.name for part in node.walk() if part.kind == ASTType.Variable}


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
        known = constants(statements).items()
        self._values = {name: value for name, value in known if isinstance(value, int)}

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
        given = [self._value(part, overflows) for part in term.children]
        if term.kind not in _OPERATIONS or None in given:
            return None
        table = _BINARY if term.kind == ASTType.BinaryOperation else _UNARY
        value = _exact(table[int(term.origin.operator_type)], [n for n in given if n is not None])
        if value is not None and not _fits(value):
            overflows.append(term)
            return None
        return value

    def _symbol(self, term: Node) -> int | None:
        symbol = term.origin.symbol
        if symbol.type == SymbolType.Number:
            # Only 2147483648, behind a minus, is read as a negative number.
            return abs(int(symbol.number))
        return self._values.get(str(symbol))


def _fits(value: int) -> bool:
    return SMALLEST <= value <= LARGEST


def _exact(operation: Operation, numbers: Sequence[int]) -> int | None:
    """What an operation comes to, of however many bits; None where it has no value."""
    if operation == "**" and numbers[1] >= 0:
        base, exponent = numbers
        # Without that bound a `9**999999999` would never be done. Its parity is kept, for the sign.
        return int(base ** min(exponent, 64 + exponent % 2))  # those are beyond 32 bits already
    return values.ARITHMETIC[operation](*numbers)


def _short(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"
