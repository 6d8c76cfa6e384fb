"""Minimal conflicts: wishes and constraints that cannot hold together.

Constraints only ever take answer sets away, so what is unsatisfiable stays so when more
are added: a minimal unsatisfiable set is found by leaving out one after the other, each
time starting from the solver's own core.

Constraints can be switched off one by one: integrity constraints, the bounds of choices, and the
rule that an atom and its classical negation exclude each other. A switch is an atom that may be
chosen; assuming it puts its constraint in force.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import clingo
from clingo import Symbol, ast
from clingo.ast import AST, ASTType, Sign, Transformer

from citywise.reasoning.explain.notation import (
    AGGREGATES,
    Notation,
    global_variables,
    is_atom,
    signatures,
    statements_of,
)
from citywise.reasoning.explain.rules import part_of
from citywise.reasoning.explain.tree import NodeKind, RuleText, TreeNode
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.request import Request, Signature

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


_MOST_INSTANCES = 20_000
_SHOWN = 10


@dataclass(frozen=True)
class Violated:
    """A constraint of the program that takes part in a conflict.

    `instances` is a minimal set of what its ground instances forbid, as text; empty if
    there were too many to tell. Constraints that are not written as a rule (`p` and `-p`
    exclude each other) have line 0.
    """

    rule: RuleText
    instances: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conflict:
    """Wishes and constraints that cannot hold together; without any one of them they can.

    Both empty: the rules contradict themselves, whatever the constraints say.
    """

    wishes: tuple[str, ...]
    constraints: tuple[Violated, ...]
    tree: TreeNode


def conflict(
    program: Request | str,
    facts: Iterable[str] = (),
    wishes: Mapping[str, str] | None = None,
    *,
    source: str = "",
    notation: Notation | None = None,
) -> Conflict | None:
    """A minimal conflict, with as few wishes as can be; None if all can hold together.

    `wishes` are statements of ASP by name, normally constraints (`:- time(T), T > 30.`);
    `source` is the program's text as written, for labels; `notation` writes it otherwise. Raises
    `RuntimeError` with clingo's words if the program or a wish cannot be read.
    """
    guarded = _guarded(program, facts, wishes, source, notation)
    found = _minimal(guarded, guarded.constraints)
    return None if found is None else _conflict(guarded, found)


def conflicts(
    program: Request | str,
    facts: Iterable[str] = (),
    wishes: Mapping[str, str] | None = None,
    *,
    source: str = "",
    limit: int = 10,
) -> tuple[Conflict, ...]:
    """All minimal conflicts, at most `limit`, those with the fewest members first.

    Each conflict that is left when a member of a known one is given up, and so on
    (Reiter's hitting-set tree, 1987).
    """
    guarded = _guarded(program, facts, wishes, source)
    found: dict[frozenset[str], None] = {}
    seen: set[frozenset[str]] = set()
    open_sets = [frozenset[str]()]
    while open_sets and len(found) < limit:
        without = open_sets.pop(0)
        keys = [key for key in guarded.constraints if key not in without]
        members = next((m for m in found if not m & without), None) or _minimal(guarded, keys)
        if members is None:
            continue
        found.setdefault(members)
        following = {without | {member} for member in members} - seen
        seen |= following
        open_sets += sorted(following, key=sorted)
    ordered = sorted(found, key=lambda members: (len(members), sorted(members)))
    return tuple(_conflict(guarded, members) for members in ordered)


def _guarded(
    program: Request | str,
    facts: Iterable[str],
    wishes: Mapping[str, str] | None,
    source: str,
    notation: Notation | None = None,
) -> Guarded:
    text = program if isinstance(program, str) else program.rules
    return Guarded(text, facts, wishes or {}, notation or Notation(source or text))


def _minimal(guarded: Guarded, keys: Collection[str]) -> frozenset[str] | None:
    """Names of a minimal set that cannot hold together; wishes are given up first."""
    if guarded.solve(keys) is None:
        return None
    wishes = [key for key in keys if guarded.constraints[key].kind == "wish"]
    others = [key for key in keys if guarded.constraints[key].kind != "wish"]
    kept = _shrink(guarded.solve, wishes, others)
    return frozenset(kept) | frozenset(_shrink(guarded.solve, others, kept))


def _shrink(
    solve: Callable[[Iterable[str]], set[str] | None], candidates: list[str], fixed: list[str]
) -> list[str]:
    """Those of `candidates` without which they and `fixed` could hold together."""
    core = solve([*candidates, *fixed])
    assert core is not None
    left = [key for key in candidates if key in core]
    for key in list(left):
        if key not in left:
            continue
        core = solve([*(other for other in left if other != key), *fixed])
        if core is not None:
            left = [other for other in left if other in core]
    return left


def _conflict(guarded: Guarded, members: frozenset[str]) -> Conflict:
    wishes = [key for key in guarded.constraints if key in members and key.startswith("w")]
    keys = [key for key in guarded.constraints if key in members and not key.startswith("w")]
    instances = _instances(guarded, keys, wishes)
    names = tuple(key.removeprefix("w") for key in wishes)
    nodes = [_wish(guarded.constraints[key]) for key in wishes]
    nodes += [_constraint(guarded.constraints[key], instances[key]) for key in keys]
    violated = tuple(Violated(guarded.constraints[key].rule, tuple(instances[key])) for key in keys)
    if not nodes:
        return Conflict((), (), _inconsistent(guarded))
    text = "these cannot hold together" if len(nodes) > 1 else "this cannot be met"
    return Conflict(names, violated, TreeNode("conflict", text, children=tuple(nodes)))


def _instances(guarded: Guarded, keys: list[str], wishes: list[str]) -> dict[str, list[str]]:
    """A minimal set of ground instances of the constraints `keys`, by constraint."""
    found: dict[str, list[str]] = {key: [] for key in keys}
    ground = {key: guarded.instances(key) for key in keys}
    owners = {name: key for key, instances in ground.items() for name in instances}
    if len(owners) > _MOST_INSTANCES:
        return found
    for name in _shrink(guarded.solve, list(owners), wishes):
        key = owners[name]
        found[key].append(guarded.constraints[key].instance(ground[key][name], guarded.notation))
    return found


def _wish(wish: Constraint) -> TreeNode:
    return TreeNode("wish", f"wish {wish.rule.label}: {wish.rule.text}", value=wish.rule.label)


def _constraint(constraint: Constraint, instances: list[str]) -> TreeNode:
    kinds: dict[str, NodeKind] = {
        "constraint": "constraint", "bound": "bound", "contradiction": "contradiction",
    }  # fmt: skip
    rule = constraint.rule
    word = "demands" if constraint.kind == "bound" else "forbids"
    children = [TreeNode("instance", f"{word} {text}", literal=text) for text in instances[:_SHOWN]]
    if len(instances) > _SHOWN:
        children.append(TreeNode("cut", f"… and {len(instances) - _SHOWN} more"))
    text = f"{rule.name}: {rule.text}" if rule.line else rule.text
    return TreeNode(
        kinds[constraint.kind], text + constraint.note, rule=rule if rule.line else None,
        count=len(instances), children=tuple(children),
    )  # fmt: skip


def _inconsistent(guarded: Guarded) -> TreeNode:
    text = (
        "the rules have no answer set even without constraints: "
        "some atom would have to follow from its own absence"
    )
    children = tuple(
        TreeNode("rule", f"{rule.name}: {rule.text}  without it there would be one", rule=rule)
        for rule in guarded.culprits()
    )
    return TreeNode("inconsistent", text, children=children)
