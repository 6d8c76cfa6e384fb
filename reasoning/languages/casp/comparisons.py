"""Which values rules compute with or put in order, perhaps after some rules (docs/casp.md).

A value travels: from an argument of an atom in a body, through equalities and whatever terms
hold it, into a head, and from there into other bodies. What is asked of a value travels the
other way, and is followed here until nothing new is asked of anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from clingo.ast import AggregateFunction, ASTType, ComparisonOperator, Sign

from citywise.reasoning.asp.rules import head_atoms
from citywise.reasoning.asp.syntax import Node, variables
from citywise.reasoning.model.request import Signature

_ORDER = (
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
)
_ARITHMETIC = (ASTType.BinaryOperation, ASTType.UnaryOperation, ASTType.Interval)
_AGGREGATES = (ASTType.BodyAggregate, ASTType.HeadAggregate, ASTType.Aggregate)
_WEIGHING = (ASTType.BodyAggregate, ASTType.HeadAggregate)
_SCOPES = (
    ASTType.BodyAggregateElement,
    ASTType.HeadAggregateElement,
    ASTType.ConditionalLiteral,
)
_DEEPEST = 3
"""Steps of a path: an argument of an atom, and terms below it; deeper ones count as one."""
_MOST = 50
"""Places told apart in one argument of a predicate; of more, the whole argument counts."""


class _Step(NamedTuple):
    """An argument of a predicate, of a function, or the two sides of an equality."""

    name: str
    arity: int
    position: int


_Path = tuple[_Step, ...]


class _Variable(NamedTuple):
    """A variable of a statement; in one element of an aggregate if it stands nowhere else."""

    statement: int
    scope: int
    name: str


def compared(
    statements: Sequence[Node], feedback: Iterable[tuple[Signature, Signature]] = ()
) -> dict[Signature, int]:
    """Predicates whose second argument meets arithmetic, an aggregate's value or an order
    comparison, and the line of the rule that computes.

    `feedback` names what is fed back: the predicate that is read and the one it was.
    """
    flow = _Flow()
    for before, signature in feedback:
        flow.carry(before, signature)
    for number, statement in enumerate(statements):
        _Reader(flow, number, statement).read()
    return flow.second_arguments()


class _Flow:
    """Places, the variables that carry values between them, and what is asked of each."""

    def __init__(self) -> None:
        self._from: dict[_Step, list[tuple[_Path, _Variable]]] = {}
        """Which variables give a place its value."""
        self._to: dict[_Variable, list[_Path]] = {}
        """Which places give a variable its value."""
        self._lines: dict[_Step, dict[_Path, int]] = {}
        self._asked: dict[tuple[_Variable, _Path], int] = {}
        self._open: list[tuple[_Variable, _Path]] = []

    def gives(self, variable: _Variable, place: _Path) -> None:
        """The variable gives a place its value."""
        self._from.setdefault(place[0], []).append((place, variable))

    def takes(self, variable: _Variable, place: _Path) -> None:
        """The variable has its value from a place."""
        self._to.setdefault(variable, []).append(place)

    def carry(self, target: Signature, origin: Signature) -> None:
        """The arguments of one predicate have their values from those of another, which may have
        fewer."""
        for position in range(min(target.arity, origin.arity)):
            through = _Variable(-1, position, str(target))
            self.gives(through, (_Step(*target, position),))
            self.takes(through, (_Step(*origin, position),))

    def ask(self, variable: _Variable, line: int, below: _Path = ()) -> None:
        """A variable's value, or what is `below` in it, is computed with on a line."""
        if (variable, below) not in self._asked:
            self._asked[variable, below] = line
            self._open.append((variable, below))

    def second_arguments(self) -> dict[Signature, int]:
        """Follow all values to where they are from."""
        while self._open:
            variable, below = self._open.pop()
            line = self._asked[variable, below]
            for place in self._to.get(variable, ()):
                self._ask_place((place + below)[:_DEEPEST], line)
        return {
            Signature(step.name, step.arity): lines[step,]
            for step, lines in self._lines.items()
            if step.position == 1 and (step,) in lines
        }

    def _ask_place(self, place: _Path, line: int) -> None:
        lines = self._lines.setdefault(place[0], {})
        if len(lines) >= _MOST:
            place = place[:1]
        if any(place[:length] in lines for length in range(1, len(place) + 1)):
            return
        lines[place] = line
        for path, variable in self._from.get(place[0], ()):
            if path[: len(place)] == place:
                self.ask(variable, line)
            elif place[: len(path)] == path:
                self.ask(variable, line, place[len(path) :])


class _Reader:
    """Reads one statement into the flow."""

    def __init__(self, flow: _Flow, number: int, statement: Node) -> None:
        self._flow = flow
        self._number = number
        self._statement = statement
        self._nodes = list(_scoped(statement))
        self._global = {
            n.name for n, scope in self._nodes if n.kind == ASTType.Variable and not scope
        }
        self._heads = set(map(id, head_atoms(statement)))
        if statement.kind == ASTType.External:
            self._heads.add(id(statement.one("atom")))
        self._weighed: set[int] = set()
        """Elements of aggregates that add or compare their weights."""
        self._signs: set[int] = set()
        """Minus signs of atoms, which compute nothing."""

    def read(self) -> None:
        """Note what every part of the statement does to its variables."""
        self._ask_parts(self._statement, 0, "weight", "priority", "bias")
        for node, scope in self._nodes:
            if node.kind == ASTType.SymbolicAtom:
                self._atom(node, scope)
            elif node.kind in _ARITHMETIC and id(node) not in self._signs:
                self._ask(node, scope)
            elif node.kind == ASTType.Literal:
                self._literal(node, scope)
            elif node.kind in _AGGREGATES:
                self._ask_parts(node, scope, "left_guard", "right_guard")
                if node.kind in _WEIGHING and node.origin.function != AggregateFunction.Count:
                    self._weighed.update(map(id, node.many("elements")))
            elif id(node) in self._weighed:
                for weight in node.many("terms")[:1]:
                    self._ask(weight, scope)

    def _ask_parts(self, node: Node, scope: int, *keys: str) -> None:
        for key in keys:
            for part in node.many(key):
                self._ask(part, scope)

    def _ask(self, node: Node, scope: int) -> None:
        for name in variables(node):
            self._flow.ask(self._variable(name, scope), self._statement.line)

    def _variable(self, name: str, scope: int) -> _Variable:
        return _Variable(self._number, 0 if name in self._global else scope, name)

    def _atom(self, atom: Node, scope: int) -> None:
        symbol, sign = atom.one("symbol"), ""
        while symbol.kind == ASTType.UnaryOperation:
            self._signs.add(id(symbol))
            symbol, sign = symbol.one("argument"), "-"
        note = self._flow.gives if id(atom) in self._heads else self._flow.takes
        for place, name in _places(symbol, (), sign):
            note(self._variable(name, scope), place)

    def _literal(self, literal: Node, scope: int) -> None:
        """A comparison: an order asks for values, an equality lets them travel both ways."""
        atom = literal.one("atom")
        if atom.kind != ASTType.Comparison:
            return
        same = ComparisonOperator.Equal
        if literal.origin.sign == Sign.Negation:
            same = ComparisonOperator.NotEqual
        left = atom.one("term")
        for guard in atom.many("guards"):
            right = guard.one("term")
            if guard.origin.comparison in _ORDER:
                self._ask(left, scope)
                self._ask(right, scope)
            elif guard.origin.comparison == same:
                self._equate(left, right, scope)
            left = right

    def _equate(self, left: Node, right: Node, scope: int) -> None:
        sides = (_Step("=", self._number, id(left)),)
        for term in (left, right):
            for place, name in _places(term, sides):
                self._flow.gives(self._variable(name, scope), place)
                self._flow.takes(self._variable(name, scope), place)


def _scoped(statement: Node) -> Iterator[tuple[Node, int]]:
    """All nodes, each with the number of the element it stands in; 0: in none."""
    stack, scopes = [(statement, 0)], 0
    while stack:
        node, scope = stack.pop()
        if node.kind in _SCOPES and not scope:
            scopes += 1
            scope = scopes
        yield node, scope
        stack.extend((child, scope) for child in node.children[::-1])


def _places(term: Node, at: _Path, sign: str = "") -> Iterator[tuple[_Path, str]]:
    """Where in a term its variables stand."""
    if term.kind == ASTType.Variable:
        if term.name != "_" and at:
            yield at, term.name
        return
    named = term.kind == ASTType.Function and len(at) < _DEEPEST
    for position, part in enumerate(term.children):
        step = (_Step(sign + term.name, len(term.children), position),) if named else ()
        yield from _places(part, at + step, "" if named else sign)
