"""A program whose constraints can be switched off one by one.

Constraints are integrity constraints, the bounds of choices, and the rule that an atom and
its classical negation exclude each other. A switch is an atom that may be chosen; assuming
it puts its constraint in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import clingo
from clingo import Symbol, ast
from clingo.ast import AST, ASTType, Sign, Transformer

from citywise.reasoning.explain.notation import Notation
from citywise.reasoning.explain.rules import part_of
from citywise.reasoning.explain.syntax import (
    AGGREGATES,
    global_variables,
    is_atom,
    signatures,
    statements_of,
)
from citywise.reasoning.explain.tree import RuleText
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.request import Signature

_SHOWS = (ASTType.ShowSignature, ASTType.ShowTerm, ASTType.Minimize, ASTType.ProjectAtom)

_MOST_LEFT_OUT = 50
_CHOICES = (ASTType.Aggregate, ASTType.HeadAggregate)


@dataclass(frozen=True)
class Constraint:
    """Something that can be switched: its rule as written, and what it forbids.

    `kind` is `constraint`, `bound` (of a choice), `contradiction`, or `wish`; `body` is
    what must not hold, as literals, with `variables`.
    """

    kind: str
    rule: RuleText
    body: tuple[AST, ...] = ()
    variables: tuple[str, ...] = ()
    note: str = ""
    """What is to be said besides its text."""

    def instance(self, values: Sequence[Symbol], notation: Notation) -> str:
        """What it forbids under an assignment, as text; what it demands, for a bound."""
        assignment = dict(zip(self.variables, values, strict=True))
        texts = [text for node in self.body if (text := notation.literal(node, assignment))]
        if self.kind != "bound":
            return "; ".join(texts)
        bound = texts.pop().removeprefix("not ")
        return f"{bound} where {'; '.join(texts)}" if texts else bound


class Guarded:
    """A program over its facts, ground, with switches for constraints and wishes.

    `without` is the number of a rule to leave out.
    """

    def __init__(
        self,
        program: str,
        facts: Iterable[str],
        wishes: Mapping[str, str],
        notation: Notation,
        *,
        without: int | None = None,
    ) -> None:
        facts = list(facts)
        everything = "\n".join([program, *facts, *wishes.values()])
        self._name = "switch_"
        while self._name in everything:
            self._name += "_"
        self._classical = _Classical(self._name)
        self.constraints: dict[str, Constraint] = {}
        self._instances: dict[str, dict[str, tuple[Symbol, ...]]] = {}
        self._control = clingo.Control(
            ["--warn=none", "--opt-mode=ignore"], logger=lambda _code, _message: None
        )
        self._control.enable_cleanup = False  # it would forget switches that can only be off
        self._given = program, facts, notation
        self.notation = notation
        self._negating: dict[int, RuleText] = {}
        lines = list(self._program(program, without))
        lines += [line for name, text in wishes.items() for line in self._wish(name, text)]
        lines += [f"{self._classical.fact(fact)}." for fact in facts]
        lines += self._contradictions()
        lines += [f"{{{self._switch(key)}}}." for key in self.constraints]
        self._control.add("base", [], "\n".join(lines))
        self._control.ground([("base", [])])

    def solve(self, keys: Iterable[str]) -> set[str] | None:
        """None if the constraints called `keys` can hold together; else some that cannot."""
        switches = {self._literal(key): key for key in keys}
        with self._control.solve(assumptions=list(switches), yield_=True) as handle:
            if handle.get().satisfiable:
                return None
            return {switches[literal] for literal in handle.core() if literal in switches}

    def instances(self, key: str) -> dict[str, tuple[Symbol, ...]]:
        """The ground instances of a constraint, each with a switch of its own afterwards.

        Keys are those to give to `solve`, values what its variables stand for.
        """
        if key in self._instances:
            return self._instances[key]
        constraint = self.constraints[key]
        name, arity = self._violated(key), len(constraint.variables)
        found = [a.symbol for a in self._control.symbolic_atoms.by_signature(name, arity)]
        keys = {f"{key}.{number}": symbol for number, symbol in enumerate(found)}
        lines = [f"{{{self._switch(k)}}}. :- {s}, {self._switch(k)}." for k, s in keys.items()]
        part = f"{self._name}{key}"
        self._control.add(part, [], "\n".join(lines))
        self._control.ground([(part, [])])
        self._instances[key] = {k: tuple(symbol.arguments) for k, symbol in keys.items()}
        return self._instances[key]

    def culprits(self) -> Iterator[RuleText]:
        """Rules without any one of which there is an answer set, all constraints being
        off; some of those with `not` or an aggregate in their bodies, if there are many."""
        program, facts, notation = self._given
        for number, rule in islice(self._negating.items(), _MOST_LEFT_OUT):
            if Guarded(program, facts, {}, notation, without=number).solve([]) is None:
                yield rule

    # -- the program with its switches ---------------------------------------------------

    def _program(self, program: str, without: int | None) -> Iterator[str]:
        for number, statement in enumerate(statements_of(program)):
            if statement.ast_type in _SHOWS or number == without:
                continue
            if statement.ast_type != ASTType.Rule:
                yield str(self._classical.visit(statement))
                continue
            text = self.notation.rule(statement)
            told = self.notation.role(statement) == "told"
            if told and any(_negates(node) for node in statement.body):
                self._negating[number] = text
            for single in statement.unpool():
                yield from self._rule(single, text)

    def _rule(self, rule: AST, text: RuleText) -> Iterator[str]:
        head, body = rule.head, tuple(rule.body)
        if head.ast_type == ASTType.Literal and not is_atom(head):
            forbidden = body if str(head) == "#false" else (*body, _opposite(head))
            note = self.notation.forbids(rule)
            yield from self._constraint(Constraint("constraint", text, forbidden, note=note))
            return
        if head.ast_type in _CHOICES and (head.left_guard or head.right_guard):
            bound = ast.Literal(head.location, Sign.Negation, _as_body(head))
            yield from self._constraint(Constraint("bound", text, (*body, bound)))
            rule = rule.update(head=_without_bounds(head))
        yield str(self._classical.visit(rule))

    def _constraint(self, constraint: Constraint) -> Iterator[str]:
        """Its rule, through an atom that tells which of its instances is violated."""
        key = f"c{len(self.constraints)}"
        names = global_variables(node for n in constraint.body for node in part_of(n).literals)
        own = set(global_variables(constraint.body))
        names = tuple(name for name in names if name in own)
        self.constraints[key] = replace(constraint, variables=names)
        violated = call(self._violated(key), names)
        body = "; ".join(str(self._classical.visit(node)) for node in constraint.body)
        yield f"{violated} :- {body}." if body else f"{violated}."
        yield f":- {violated}, {self._switch(key)}."

    def _wish(self, name: str, text: str) -> Iterator[str]:
        key = f"w{name}"
        self.constraints[key] = Constraint("wish", RuleText(0, text, name))
        for statement in statements_of(text):
            for single in statement.unpool():
                rule = self._classical.visit(single)
                if rule.ast_type == ASTType.Rule:
                    body = "; ".join([*map(str, rule.body), self._switch(key)])
                    yield f"{rule.head} :- {body}."

    def _contradictions(self) -> Iterator[str]:
        """`p` and `-p` exclude each other, as constraints that can be switched off."""
        for signature in sorted(self._classical.negated):
            names = [f"X{number}" for number in range(signature.arity)]
            atom = call(signature.name, names)
            negated = call(self._classical.name(signature.name), names)
            key = f"c{len(self.constraints)}"
            text = RuleText(0, f":- {atom}, -{atom}.")
            body = tuple(node for node in statements_of(f":- {atom}, -{atom}.")[0].body)
            self.constraints[key] = Constraint("contradiction", text, body, tuple(names))
            violated = call(self._violated(key), names)
            yield f"{violated} :- {atom}, {negated}."
            yield f":- {violated}, {self._switch(key)}."

    def _switch(self, key: str) -> str:
        return f"{self._name}on({clingo.String(key)})"

    def _violated(self, key: str) -> str:
        return f"{self._name}violated_{key}"

    def _literal(self, key: str) -> int:
        atom = clingo.Function(f"{self._name}on", [clingo.String(key)])
        found = self._control.symbolic_atoms[atom]
        assert found is not None
        return found.literal


class _Classical(Transformer):
    """Turns `-p` into a predicate of its own; `negated` are those it met."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.negated: set[Signature] = set()

    def name(self, predicate: str) -> str:
        """The predicate that stands for `-predicate`."""
        return f"{self._prefix}not_{predicate}"

    def fact(self, fact: str) -> str:
        """A fact's text, with its negation turned."""
        if not fact.lstrip().startswith("-"):
            return fact
        rule = statements_of(f"{fact}.")[0]
        return str(self.visit(rule.head))

    def visit_SymbolicAtom(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """An atom, without its minus."""
        symbol = node.symbol
        if symbol.ast_type != ASTType.UnaryOperation:
            return node
        found = next(signatures(node), None)
        if found is None or not found.name.startswith("-"):
            return node
        self.negated.add(Signature(found.name[1:], found.arity))
        while symbol.ast_type == ASTType.UnaryOperation:
            symbol = symbol.argument
        arguments = list(getattr(symbol, "arguments", ()))
        renamed = ast.Function(symbol.location, self.name(found.name[1:]), arguments, 0)
        return ast.SymbolicAtom(renamed)


def _negates(node: AST) -> bool:
    """Whether more atoms can make a body literal false."""
    return node.ast_type != ASTType.Literal or (
        node.sign != Sign.NoSign or node.atom.ast_type in AGGREGATES
    )


def _opposite(literal: AST) -> AST:
    """The literal that a constraint with `literal` as its head forbids."""
    signs = {Sign.NoSign: Sign.Negation, Sign.Negation: Sign.DoubleNegation}
    opposite: AST = literal.update(sign=signs.get(literal.sign, Sign.Negation))
    return opposite


def _as_body(head: AST) -> AST:
    """A choice's head as the aggregate that its bounds are about."""
    if head.ast_type == ASTType.Aggregate:
        return head
    elements = [
        ast.BodyAggregateElement(
            element.terms, [element.condition.literal, *element.condition.condition]
        )
        for element in head.elements
    ]
    return ast.BodyAggregate(
        head.location, head.left_guard, head.function, elements, head.right_guard
    )


def _without_bounds(head: AST) -> AST:
    """A choice among the same atoms, of any number of them."""
    if head.ast_type == ASTType.Aggregate:
        return head.update(left_guard=None, right_guard=None)
    elements = [element.condition for element in head.elements]
    return ast.Aggregate(head.location, None, elements, None)
