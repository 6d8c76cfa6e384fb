"""How an explanation reads and writes what it is about: syntax trees of ASP, what they mention,
parts of them replaced, and the text of atoms, literals and rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import clingo
from clingo import Symbol, ast
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
from citywise.reasoning.explain.model import Model
from citywise.reasoning.explain.tree import RuleText, TreeNode
from citywise.reasoning.model.atoms import ground, signature_of
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


Bindings = Mapping[str, Symbol]
"""Variables with what they stand for."""
Role = Literal["told", "view", "same"]

_BLANKS = re.compile(rb'("(?:[^"\\]|\\.)*")|\s+')
_LABEL = re.compile(rb"\(\s*([\w-]+)\s*\)\s*\Z")


class Notation:
    """The notation of C-ASP, in which programs are evaluated as they are written.

    A language whose programs are encoded for clingo writes the atoms and rules of its encoding as
    its own, and says which of the rules nobody has written. `source` is the program's text with
    its labels.
    """

    def __init__(self, source: str = "") -> None:
        self._lines = source.encode().split(b"\n")

    def asked(self, atom: str) -> str:
        """What is evaluated for an atom that is asked about; raises `ItemError`."""
        return ground(atom)

    def atom(self, atom: Symbol) -> str:
        """An atom; empty for one that goes without saying."""
        return str(atom)

    def literal(self, node: AST, values: Bindings) -> str:
        """A literal, or the term of an atom, with values in the place of variables; empty for one
        that goes without saying."""
        return str(Substitution(values).visit(node))

    def rule(self, statement: AST) -> RuleText:
        """The rule as written (columns of clingo count bytes), and the label before it."""
        begin, end = statement.location.begin, statement.location.end
        span = self._lines[begin.line - 1 : end.line]
        label = None
        if span:
            span[-1] = span[-1][: end.column - 1]
            before, span[0] = span[0][: begin.column - 1], span[0][begin.column - 1 :]
            label = _LABEL.search(before)
        plain = _BLANKS.sub(lambda found: found[1] or b" ", b" ".join(span))
        written = plain.decode("utf-8", "replace").strip()
        if not written or "%" in written:
            written = str(statement)
        if not written.endswith("."):
            written = written.rstrip(";") + "."
        return RuleText(begin.line, written, label.group(1).decode() if label else None)

    def compares(self, node: AST, values: Bindings, *, holds: bool) -> str:
        """What more there is to say of a comparison that holds, or does not."""
        del node, values, holds
        return ""

    def role(self, statement: AST) -> Role:
        """What a rule is for: it is `told` as one of the program; or it is of the encoding, and
        says what is seen of atoms (`view`), or of one atom that it is the `same` as another."""
        del statement
        return "told"

    def derived(self, node: TreeNode, statement: AST, atoms: Sequence[Symbol]) -> TreeNode:
        """The node of an atom that a rule derives from positive `atoms`, as it is told."""
        del statement, atoms
        return node

    def unknown(self, predicate: Signature) -> str:
        """Words for a predicate that no rule derives and of which there is no fact; empty:
        those of C-ASP."""
        del predicate
        return ""

    def hints(self, atom: Symbol, model: Model) -> Sequence[TreeNode]:
        """What else there is to say of an absent atom; it is all there is if the first has the
        count 0."""
        del atom, model
        return ()

    def forbids(self, statement: AST) -> str:
        """Words for what a constraint is about that its text does not say."""
        del statement
        return ""
