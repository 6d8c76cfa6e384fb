"""Syntax trees of ASP: reading them, what they mention, and replacing parts of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import clingo
from clingo import ast
from clingo.ast import (
    AST,
    ASTType,
    Comparison,
    ComparisonOperator,
    Guard,
    Location,
    Sign,
    SymbolicTerm,
    Transformer,
    Variable,
    parse_string,
)

from citywise.reasoning.asp.syntax import copy
from citywise.reasoning.model.atoms import signature_of
from citywise.reasoning.model.request import Signature

AGGREGATES = (ASTType.BodyAggregate, ASTType.Aggregate)


def statements_of(program: str) -> list[AST]:
    """The syntax trees of the statements of a program's base part."""
    statements: list[AST] = []
    parse_string(program, statements.append, logger=lambda _code, _message: None)
    return list(_base(statements))


def constant_values(statements: Iterable[AST]) -> dict[str, clingo.Symbol]:
    """What the `#const` definitions come to."""
    definitions = [s for s in statements if s.ast_type == ASTType.Definition]
    if not definitions:
        return {}
    control = clingo.Control(["--warn=none"], logger=lambda _code, _message: None)
    lines = [f"{d}\nvalue({i},{d.name})." for i, d in enumerate(definitions)]
    control.add("base", [], "\n".join(lines))
    control.ground([("base", [])])
    found = (a.symbol.arguments for a in control.symbolic_atoms.by_signature("value", 2))
    return {definitions[i.number].name: value for i, value in found}


def signature(term: AST) -> Signature | None:
    """Predicate of an atom's term, `-p` for a classically negated one."""
    sign = ""
    while term.ast_type == ASTType.UnaryOperation:
        term, sign = term.argument, "" if sign else "-"
    if term.ast_type == ASTType.Function:
        return Signature(sign + term.name, len(term.arguments))
    return signature_of(term.symbol) if term.ast_type == ASTType.SymbolicTerm else None


def signatures(node: AST) -> Iterator[Signature]:
    """Predicates of all atoms in `node`."""
    for part in walk(node):
        if part.ast_type == ASTType.SymbolicAtom and (found := signature(part.symbol)):
            yield found


def walk(node: AST) -> Iterator[AST]:
    """The node and everything below it."""
    return (part.origin for part in copy(node).walk())


def variables(nodes: Iterable[AST]) -> tuple[str, ...]:
    """Names of the variables in `nodes`, in order, without `_`."""
    found = (n.name for node in nodes for n in walk(node) if n.ast_type == ASTType.Variable)
    return tuple(dict.fromkeys(name for name in found if name != "_"))


def global_variables(nodes: Iterable[AST]) -> tuple[str, ...]:
    """Variables of a body that are not local to an aggregate or a conditional literal."""
    return variables(part for node in nodes for part in _global_parts(node))


def is_atom(node: AST) -> bool:
    """Whether a literal is a positive atom."""
    return (
        node.ast_type == ASTType.Literal
        and node.sign == Sign.NoSign
        and node.atom.ast_type == ASTType.SymbolicAtom
    )


class Substitution(Transformer):
    """Replaces variables by symbols; those it has no value for stay."""

    def __init__(self, values: Mapping[str, clingo.Symbol]) -> None:
        self._values = values

    def visit_Variable(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """The variable's value as a term."""
        value = self._values.get(node.name)
        return node if value is None else SymbolicTerm(node.location, value)


class Renaming(Transformer):
    """Gives variables other names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Variable(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """The variable under its new name."""
        return Variable(node.location, self._names.get(node.name, node.name))


class ConstantValues(Transformer):
    """Replaces constants by the values of their `#const` definitions."""

    def __init__(self, values: Mapping[str, clingo.Symbol]) -> None:
        self._values = values

    def visit_SymbolicAtom(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """An atom's name is no constant, its arguments may be."""
        symbol = node.symbol
        while symbol.ast_type == ASTType.UnaryOperation:
            symbol = symbol.argument
        if not getattr(symbol, "arguments", ()):
            return node
        changed: AST = node.update(**self.visit_children(node))
        return changed

    def visit_Function(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """A constant, or a term whose arguments may hold one."""
        value = None if node.arguments else self._values.get(node.name)
        if value is not None:
            return SymbolicTerm(node.location, value)
        changed: AST = node.update(**self.visit_children(node))
        return changed

    def visit_SymbolicTerm(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """A constant, which clingo may also have read as a symbol."""
        value = self._values.get(str(node.symbol))
        return node if value is None else SymbolicTerm(node.location, value)


class FreshNames(Transformer):
    """Names `_` and intervals by new variables; `equations` bind those of intervals."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._count = 0
        self.equations: list[AST] = []

    def visit_Variable(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """`_` is a variable of its own each time."""
        return node if node.name != "_" else self._new(node.location)

    def visit_Interval(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """`l..u` becomes a variable V with V = l..u."""
        variable = self._new(node.location)
        equal = [Guard(ComparisonOperator.Equal, node)]
        self.equations.append(
            ast.Literal(node.location, Sign.NoSign, Comparison(variable, equal)),
        )
        return variable

    def literals(self, node: AST) -> tuple[AST, ...]:
        """A positive literal with everything named, and the equations of its intervals."""
        if not is_atom(node):
            return (node,)
        self.equations = []
        named: AST = self.visit(node)
        return (named, *self.equations)

    def _new(self, location: Location) -> AST:
        self._count += 1
        while (name := f"Any{self._count}") in self._taken:
            self._count += 1
        return Variable(location, name)


def _base(statements: Iterable[AST]) -> Iterator[AST]:
    """The statements that are grounded: those of the program part `base`."""
    inside = True
    for statement in statements:
        if statement.ast_type == ASTType.Program:
            inside = statement.name == "base"
        elif inside:
            yield statement


def _global_parts(node: AST) -> Iterator[AST]:
    if node.ast_type == ASTType.ConditionalLiteral:
        return
    if node.ast_type == ASTType.Literal and node.atom.ast_type in AGGREGATES:
        for guard in (node.atom.left_guard, node.atom.right_guard):
            if guard is not None:
                yield guard
    else:
        yield node
