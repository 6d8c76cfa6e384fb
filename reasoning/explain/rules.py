"""A program's rules taken apart: heads, body literals and elements, ready to be recorded.

Pools are written out as rules of their own, constants replaced by their values; in positive
literals `_` gets a name and an interval a variable of its own, so that every ground
instance says which atom it used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import clingo
from clingo.ast import AST, ASTType, Sign, SymbolicTerm, Variable

from citywise.reasoning.explain.notation import (
    AGGREGATES,
    ConstantValues,
    FreshNames,
    Notation,
    Renaming,
    constant_values,
    global_variables,
    is_atom,
    signature,
    signatures,
    statements_of,
    variables,
    walk,
)
from citywise.reasoning.explain.tree import RuleText
from citywise.reasoning.model.request import Signature

RuleKind = Literal["normal", "choice", "disjunction", "constraint", "shown"]
PartKind = Literal["atom", "not", "comparison", "aggregate", "conditional", "constant", "opaque"]


@dataclass(frozen=True)
class AggregateElement:
    """An element of an aggregate, a choice, a disjunction or a conditional literal.

    `atom` is the term of the atom it is about (None: no positive atom), `key` the terms
    by which equal elements are one, `condition` what must hold, as literals of ASP.
    """

    atom: AST | None
    key: tuple[AST, ...]
    condition: tuple[AST, ...]
    positive: tuple[AST, ...]
    variables: tuple[str, ...]
    written: tuple[AST, ...] = ()
    """Of a head: the atom and its condition, as written."""
    tests: tuple[AST, ...] = ()
    """What its condition has besides positive atoms, as written."""
    width: int = 0
    """How many of `condition` are a conditional literal's premises."""

    @property
    def conditions(self) -> int:
        """How many of `positive` a conditional literal's condition has, without its atom."""
        return len(self.positive) - (self.atom is not None)

    @property
    def premises(self) -> tuple[AST, ...]:
        """The literals of a conditional literal's condition."""
        return self.condition[: self.width]


@dataclass(frozen=True)
class RulePart:
    """One element of a rule's body; `literals` is what it becomes when it is recorded."""

    kind: PartKind
    source: AST
    literals: tuple[AST, ...]
    elements: tuple[AggregateElement, ...] = ()

    @property
    def atom(self) -> AST:
        """The term of its atom, for `atom` and `not`."""
        symbol: AST = self.source.atom.symbol
        return symbol


@dataclass(frozen=True)
class ExplainedRule:
    """A rule without pools; `positive` are the terms of its positive body atoms."""

    index: int
    kind: RuleKind
    text: RuleText
    heads: tuple[AggregateElement, ...]
    body: tuple[RulePart, ...]
    positive: tuple[AST, ...]
    variables: tuple[str, ...]
    statement: AST

    @property
    def opaque(self) -> bool:
        """Whether something in it cannot be evaluated against a model (theory atoms)."""
        return any(part.kind == "opaque" for part in self.body)

    def uses(self, negated: bool = True) -> Iterator[Signature]:
        """Predicates of its body and its conditions, those behind `not` if `negated`."""
        for part in self.body:
            if negated or part.kind != "not":
                yield from signatures(part.source)
        for head in self.heads:
            for condition in head.condition:
                yield from signatures(condition)

    def derives(self) -> Iterator[Signature]:
        """Predicates of its head's atoms."""
        if self.kind != "shown":
            for head in self.heads:
                if head.atom is not None and (found := signature(head.atom)):
                    yield found


def read(program: str, notation: Notation | None = None) -> list[ExplainedRule]:
    """The rules of a program's base part; by default written as they are in `program`."""
    notation = notation or Notation(program)
    kept = statements_of(program)
    constants = ConstantValues(constant_values(kept))
    rules: list[ExplainedRule] = []
    for statement in kept:
        if statement.ast_type in (ASTType.Rule, ASTType.ShowTerm):
            text = notation.rule(statement)
            for single in statement.unpool():
                rules.append(_rule(len(rules), text, constants.visit(single)))
    return rules


def _rule(index: int, text: RuleText, statement: AST) -> ExplainedRule:
    names = FreshNames(variables([statement]))
    body = tuple(part_of(node, names) for node in statement.body)
    literals = [node for part in body for node in part.literals]
    bound = set(global_variables(literals))
    kind, heads = _heads(_apart(statement, bound), names, bound)
    positive = tuple(node.atom.symbol for node in literals if is_atom(node))
    return ExplainedRule(
        index, kind, text, heads, body, positive, global_variables(literals), statement
    )


def _apart(statement: AST, bound: set[str]) -> AST:
    """The rule with other names for variables that its head and an aggregate of its body
    each have for themselves: the head's are followed together with the body."""
    if statement.ast_type != ASTType.Rule:
        return statement
    taken = set(variables(statement.body)) - bound
    shared = taken & set(variables([statement.head]))
    renaming = Renaming({name: f"{name}'" for name in shared})
    changed: AST = statement.update(head=renaming.visit(statement.head))
    return changed if shared else statement


def part_of(node: AST, names: FreshNames | None = None) -> RulePart:
    """A body literal, or a literal of a condition, taken apart."""
    names = names or FreshNames(variables([node]))
    if node.ast_type == ASTType.ConditionalLiteral:
        return RulePart("conditional", node, (node,), (_conditional(node, names),))
    atom = node.atom
    if atom.ast_type in AGGREGATES:
        return RulePart("aggregate", node, (node,), _elements(atom, names))
    if atom.ast_type == ASTType.SymbolicAtom:
        positive = node.sign == Sign.NoSign
        return RulePart("atom" if positive else "not", node, names.literals(node))
    if atom.ast_type == ASTType.Comparison:
        return RulePart("comparison", node, (node,))
    constant = atom.ast_type == ASTType.BooleanConstant
    return RulePart("constant" if constant else "opaque", node, (node,))


def _heads(
    statement: AST, names: FreshNames, bound: set[str]
) -> tuple[RuleKind, tuple[AggregateElement, ...]]:
    """The kind of a rule and what its head can derive."""
    if statement.ast_type == ASTType.ShowTerm:
        return "shown", (_element(statement.term, (), (), names, bound),)
    head = statement.head
    if is_atom(head):
        return "normal", (_element(head.atom.symbol, (), (), names, bound),)
    if head.ast_type == ASTType.HeadAggregate:
        found = [element.condition for element in head.elements]
    elif head.ast_type in (ASTType.Aggregate, ASTType.Disjunction):
        found = list(head.elements)
    else:
        return "constraint", ()
    heads = tuple(
        _element(node.literal.atom.symbol, (), node.condition, names, bound)
        for node in found
        if is_atom(node.literal)
    )
    return "disjunction" if head.ast_type == ASTType.Disjunction else "choice", heads


def _element(
    atom: AST, key: Sequence[AST], condition: Sequence[AST], names: FreshNames, bound: set[str]
) -> AggregateElement:
    """An element about `atom`: one of a head, or of an aggregate over atoms."""
    names.equations = []
    named = names.visit(atom)
    equations = names.equations
    literals = tuple(part for node in condition for part in names.literals(node))
    literals += tuple(equations)
    local = tuple(v for v in variables([named, *literals]) if v not in bound)
    positive = tuple(node.atom.symbol for node in literals if is_atom(node))
    tests = tuple(node for node in condition if not is_atom(node))
    written = (atom, *condition)
    return AggregateElement(
        named, tuple(key) or (named,), literals, positive, local, written, tests
    )


def _conditional(node: AST, names: FreshNames) -> AggregateElement:
    """`a : b`: what must hold wherever the condition does."""
    literals = tuple(part for c in node.condition for part in names.literals(c))
    key = tuple(Variable(node.location, name) for name in variables(literals))
    consequent = names.literals(node.literal)
    positive = [*literals, *consequent] if is_atom(node.literal) else literals
    return AggregateElement(
        consequent[0].atom.symbol if is_atom(node.literal) else None,
        key,
        (*literals, *consequent),
        tuple(n.atom.symbol for n in positive if is_atom(n)),
        variables([*literals, *consequent]),
        width=len(literals),
    )


def _elements(aggregate: AST, names: FreshNames) -> tuple[AggregateElement, ...]:
    """The elements of a body aggregate."""
    found = []
    for element in aggregate.elements:
        if aggregate.ast_type == ASTType.BodyAggregate:
            condition, key = list(element.condition), tuple(element.terms)
        else:
            condition, key = [element.literal, *element.condition], ()
        literals = tuple(part for node in condition for part in names.literals(node))
        if aggregate.ast_type == ASTType.Aggregate:
            key = _identity(literals[0])
        positive = tuple(node.atom.symbol for node in literals if is_atom(node))
        names_ = variables([*key, *literals])
        found.append(AggregateElement(None, key, literals, positive, names_))
    return tuple(found)


def _identity(node: AST) -> tuple[AST, ...]:
    """What makes a literal in `{ l : c }` the same as another: its sign and its atom."""
    sign = SymbolicTerm(node.location, clingo.Number(int(node.sign)))
    if node.atom.ast_type == ASTType.SymbolicAtom:
        anonymous = any(v.ast_type == ASTType.Variable and v.name == "_" for v in walk(node.atom))
        if not anonymous:
            return (sign, node.atom.symbol)
    text = SymbolicTerm(node.location, clingo.String(str(node)))
    return (sign, text, *(Variable(node.location, name) for name in variables([node])))
