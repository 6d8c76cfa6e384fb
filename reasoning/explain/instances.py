"""The instances of rules that hold in a model, recorded by clingo, and what aggregates come to in
them (gringo's semantics)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import clingo
from clingo import Symbol, SymbolType
from clingo.ast import AST, AggregateFunction, ASTType, ComparisonOperator, Sign

from citywise.reasoning.explain.model import Model
from citywise.reasoning.explain.notation import Substitution, signatures
from citywise.reasoning.explain.rules import AggregateElement, ExplainedRule, RulePart
from citywise.reasoning.model.atoms import call

_NAMES: dict[int, str] = {
    int(AggregateFunction.Count): "#count",
    int(AggregateFunction.Sum): "#sum",
    int(AggregateFunction.SumPlus): "#sum+",
    int(AggregateFunction.Min): "#min",
    int(AggregateFunction.Max): "#max",
}
_COMPARE: dict[int, Callable[[Any, Any], bool]] = {
    ComparisonOperator.Equal: operator.eq,
    ComparisonOperator.NotEqual: operator.ne,
    ComparisonOperator.LessThan: operator.lt,
    ComparisonOperator.LessEqual: operator.le,
    ComparisonOperator.GreaterThan: operator.gt,
    ComparisonOperator.GreaterEqual: operator.ge,
}

_SIGNS: dict[int, str] = {
    ComparisonOperator.Equal: "=",
    ComparisonOperator.NotEqual: "!=",
    ComparisonOperator.LessThan: "<",
    ComparisonOperator.LessEqual: "<=",
    ComparisonOperator.GreaterThan: ">",
    ComparisonOperator.GreaterEqual: ">=",
}


def name(aggregate: AST) -> str:
    """`#count`, `#sum`, …; `{ … }` counts."""
    return _NAMES[_function(aggregate)]


def value(aggregate: AST, keys: Iterable[Symbol]) -> Symbol:
    """Its value over `keys`, the tuples of the elements; equal tuples count once."""
    distinct = set(keys)
    function = _function(aggregate)
    if function == AggregateFunction.Count:
        return clingo.Number(len(distinct))
    weights = [key.arguments[0] for key in distinct if key.arguments]
    if function in (AggregateFunction.Min, AggregateFunction.Max):
        smallest = function == AggregateFunction.Min
        none = clingo.Supremum if smallest else clingo.Infimum
        return min([none, *weights]) if smallest else max([none, *weights])
    numbers = [w.number for w in weights if w.type == SymbolType.Number]
    if function == AggregateFunction.SumPlus:
        numbers = [number for number in numbers if number > 0]
    return clingo.Number(sum(numbers))


def satisfied(aggregate: AST, found: Symbol, values: Mapping[str, Symbol]) -> bool:
    """Whether `found` is within its guards, whose variables have `values`."""
    left, right = aggregate.left_guard, aggregate.right_guard
    if left is not None:
        term = evaluate(left.term, values)
        if not _COMPARE[left.comparison](term, found):
            return False
    return right is None or _COMPARE[right.comparison](found, evaluate(right.term, values))


def guards(literal: AST, values: Mapping[str, Symbol], *, signed: bool = True) -> str:
    """What a literal demands of its aggregate: `2 < #count`, with values filled in; without
    its `not` if not `signed`."""
    aggregate = literal.atom
    left, right = aggregate.left_guard, aggregate.right_guard
    before = "" if left is None else f"{filled(left.term, values)} {_SIGNS[left.comparison]} "
    after = "" if right is None else f" {_SIGNS[right.comparison]} {filled(right.term, values)}"
    negation = {Sign.Negation: "not ", Sign.DoubleNegation: "not not "}.get(literal.sign, "")
    return f"{negation if signed else ''}{before}{name(aggregate)}{after}"


def is_assignment(literal: AST) -> bool:
    """Whether all that a literal says of its aggregate is what it is equal to."""
    left = literal.atom.left_guard
    equal = left is not None and left.comparison == ComparisonOperator.Equal
    return equal and literal.atom.right_guard is None and literal.sign == Sign.NoSign


def evaluate(term: AST, values: Mapping[str, Symbol]) -> Symbol:
    """A term with its variables replaced; raises `RuntimeError` if it has no value."""
    return clingo.parse_term(filled(term, values), logger=lambda _code, _message: None)


def filled(node: AST, values: Mapping[str, Symbol]) -> str:
    """`node` as text, with its variables replaced."""
    return str(Substitution(values).visit(node))


def _function(aggregate: AST) -> int:
    if aggregate.ast_type == ASTType.BodyAggregate:
        return int(aggregate.function)
    return int(AggregateFunction.Count)


@dataclass(frozen=True, slots=True)
class CountedElement:
    """An element of an aggregate or a conditional literal whose condition holds.

    `key` is its tuple, `atoms` the positive atoms it rests on.
    """

    part: int
    element: int
    key: Symbol
    atoms: tuple[Symbol, ...]
    locals: tuple[Symbol, ...]


@dataclass(frozen=True, eq=False)
class RuleInstance:
    """A ground rule whose body holds in the model, and the atom of the head it derives.

    `atoms` are the positive atoms of the body, then those of the head element's condition;
    `counted` what its aggregates and conditional literals counted.
    """

    rule: ExplainedRule
    element: int
    head: Symbol
    atoms: tuple[Symbol, ...]
    globals: tuple[Symbol, ...]
    locals: tuple[Symbol, ...]
    counted: Sequence[CountedElement] = field(default=(), repr=False)

    @cached_property
    def values(self) -> dict[str, Symbol]:
        """The values of its variables."""
        head = self.rule.heads[self.element] if self.rule.heads else None
        found = dict(zip(self.rule.variables, self.globals, strict=True))
        if head is not None:
            found |= dict(zip(head.variables, self.locals, strict=True))
        return found

    def parts(self) -> Iterator[tuple[int, RulePart, Symbol | None]]:
        """The body's parts with their numbers and, if positive atoms, their ground atoms."""
        atoms = iter(self.atoms)
        for number, part in enumerate(self.rule.body):
            yield number, part, next(atoms) if part.kind == "atom" else None

    def of(self, number: int) -> list[CountedElement]:
        """What the aggregate or conditional literal of that number counted."""
        return [counted for counted in self.counted if counted.part == number]

    def needs(self) -> set[Symbol]:
        """All atoms it positively rests on, with everything its aggregates counted."""
        body = self.rule.body
        counted = (c.atoms for c in self.counted if is_positive(body[c.part]))
        return set(self.atoms).union(*counted)

    def holds_over(self, derived: set[Symbol]) -> bool:
        """Whether the body holds where only `derived` atoms are there (`not`: as it is)."""
        if not derived.issuperset(self.atoms):
            return False
        return all(
            self._part_holds(number, part, derived)
            for number, part in enumerate(self.rule.body)
            if is_positive(part)
        )

    def _part_holds(self, number: int, part: RulePart, derived: set[Symbol]) -> bool:
        counted = self.of(number)
        there = [c for c in counted if derived.issuperset(c.atoms)]
        if part.kind == "aggregate":
            aggregate = part.source.atom
            found = value(aggregate, (c.key for c in there))
            return satisfied(aggregate, found, self.values)
        held = {c.key for c in there}
        width = part.elements[0].conditions
        conditions = (c for c in counted if derived.issuperset(c.atoms[:width]))
        return all(c.key in held for c in conditions)


def is_positive(part: RulePart) -> bool:
    """Whether a part is an aggregate or a conditional literal that atoms must support."""
    if part.kind == "aggregate":
        return bool(part.source.sign == Sign.NoSign)
    return part.kind == "conditional"


@dataclass(frozen=True)
class InstanceRecording:
    """What was noted: `offers` are the atoms among which each ground choice or
    disjunction had to choose, by rule and values; `failed` the rules that clingo could
    not evaluate over a model; `reached` what an atom may rest on, if one was asked about."""

    instances: list[RuleInstance]
    offers: dict[tuple[int, tuple[Symbol, ...]], list[Symbol]]
    failed: set[int] = field(default_factory=set)
    reached: frozenset[Symbol] | None = None


def record(
    rules: Iterable[ExplainedRule], model: Model, atom: Symbol | None = None
) -> InstanceRecording:
    """The instances of `rules` that hold in `model` and whose head is in it; where an `atom` is
    asked about, only those on which it may rest."""
    rules = [rule for rule in rules if rule.heads and not rule.opaque]
    facts = facts_text(rules, model)
    try:
        return _recorded(rules, facts, atom)
    except RuntimeError:
        return _one_by_one(rules, facts)


def elements(
    part: RulePart, assignments: Sequence[Mapping[str, Symbol]], model: Model
) -> list[list[CountedElement]]:
    """What an aggregate or conditional literal counts under each of `assignments`."""
    facts = model.facts(signatures(part.source))
    name = fresh_name([], facts + str(part.source))
    lines = []
    for number, values in enumerate(assignments):
        for place, element in enumerate(part.elements):
            keys = [filled(node, values) for node in element.key]
            atoms = [filled(node, values) for node in element.positive]
            noted = [number, place, call("t", keys), call("t", atoms)]
            holds = "; ".join(filled(node, values) for node in element.condition)
            lines.append(f"{call(name, noted)} :- {holds}." if holds else f"{call(name, noted)}.")
    control = _ground(facts + "\n".join(lines))
    found: list[list[CountedElement]] = [[] for _values in assignments]
    for atom in control.symbolic_atoms.by_signature(name, 4):
        index, at, key, used = atom.symbol.arguments
        found[index.number].append(CountedElement(0, at.number, key, _tuple(used), ()))
    return found


def facts_text(rules: Sequence[ExplainedRule], model: Model) -> str:
    """The model's atoms of the predicates that `rules` mention, as facts."""
    wanted = {s for rule in rules for s in (*rule.uses(), *rule.derives())}
    return model.facts(wanted)


def fresh_name(rules: Iterable[ExplainedRule], facts: str) -> str:
    """A beginning that no predicate of the rules or the facts has."""
    text = facts + " ".join(str(rule.statement) for rule in rules)
    name = "why_"
    while name in text:
        name += "_"
    return name


def _ground(program: str) -> clingo.Control:
    control = clingo.Control(["--warn=none"], logger=lambda _code, _message: None)
    control.add("base", [], program)
    control.ground([("base", [])])
    return control


def _one_by_one(rules: Sequence[ExplainedRule], facts: str) -> InstanceRecording:
    found = InstanceRecording([], {})
    for rule in rules:
        try:
            single = _recorded([rule], facts)
        except RuntimeError:
            found.failed.add(rule.index)
            continue
        found.instances.extend(single.instances)
        found.offers.update(single.offers)
    return found


def _recorded(
    rules: Sequence[ExplainedRule], facts: str, asked: Symbol | None = None
) -> InstanceRecording:
    name = fresh_name(rules, facts)
    lines = [line for rule in rules for line in _lines(name, rule, directed=asked is not None)]
    if asked is not None:
        lines.append(f"{name}reached({asked}).")
    control = _ground(facts + "\n".join(lines))
    by_number = {rule.index: rule for rule in rules}
    counted = _counted(control, f"{name}counted")
    noted = control.symbolic_atoms.by_signature(f"{name}reached", 1)
    reached = None if asked is None else frozenset(each.symbol.arguments[0] for each in noted)
    found = InstanceRecording([], {}, reached=reached)
    for atom in control.symbolic_atoms.by_signature(f"{name}instance", 6):
        number, values, element, head, atoms, local = atom.symbol.arguments
        found.instances.append(
            RuleInstance(
                by_number[number.number], element.number, head, _tuple(atoms), _tuple(values),
                _tuple(local), counted.get((number.number, values), ()),
            )
        )  # fmt: skip
    for atom in control.symbolic_atoms.by_signature(f"{name}offer", 3):
        number, values, head = atom.symbol.arguments
        found.offers.setdefault((number.number, _tuple(values)), []).append(head)
    return found


def _counted(control: clingo.Control, name: str) -> dict[tuple[int, Symbol], list[CountedElement]]:
    """Elements of aggregates by their rule and the values of its variables."""
    counted: dict[tuple[int, Symbol], list[CountedElement]] = {}
    for atom in control.symbolic_atoms.by_signature(name, 7):
        rule, values, part, element, key, atoms, local = atom.symbol.arguments
        entry = CountedElement(part.number, element.number, key, _tuple(atoms), _tuple(local))
        counted.setdefault((rule.number, values), []).append(entry)
    return counted


def _tuple(term: Symbol) -> tuple[Symbol, ...]:
    return tuple(term.arguments)


def _lines(name: str, rule: ExplainedRule, *, directed: bool) -> Iterator[str]:
    """The rules that record the instances of one rule; `directed`: if they derive an atom that is
    reached from the one asked about, and then what they rest on is."""
    values = call("t", rule.variables)
    holds = call(f"{name}body{rule.index}", rule.variables)
    body = [str(node) for part in rule.body for node in part.literals]
    directed = directed and rule.kind != "shown"
    if not directed:
        yield f"{holds} :- {'; '.join(body)}." if body else f"{holds}."
    for head in rule.heads if directed else ():
        reached = f"{name}reached({head.atom})"
        yield f"{holds} :- {'; '.join([reached, *body, *map(str, head.condition)])}."
        for rests in head.positive:
            chosen = "; ".join([holds, reached, *map(str, head.condition)])
            yield f"{name}reached({rests}) :- {chosen}."
    for rests in rule.positive if directed else ():
        yield f"{name}reached({rests}) :- {holds}."
    for number, head in enumerate(rule.heads):
        atoms = call("t", [*rule.positive, *head.positive])
        noted = [rule.index, values, number, head.atom, atoms, call("t", head.variables)]
        conditions = [holds, *map(str, head.condition)]
        if rule.kind in ("choice", "disjunction"):
            offer = call(f"{name}offer", [rule.index, values, head.atom])
            yield f"{offer} :- {'; '.join(conditions)}."
        if rule.kind != "shown":
            conditions.append(str(head.atom))
        yield f"{call(f'{name}instance', noted)} :- {'; '.join(conditions)}."
    for number, part in enumerate(rule.body):
        for place, element in enumerate(part.elements):
            yield _element(name, rule, holds, (number, place), element)
            for rests in element.positive if directed else ():
                conditions = [holds, *map(str, element.condition)]
                yield f"{name}reached({rests}) :- {'; '.join(conditions)}."


def _element(
    name: str, rule: ExplainedRule, holds: str, place: tuple[int, int], element: AggregateElement
) -> str:
    noted = [
        rule.index,
        call("t", rule.variables),
        *place,
        call("t", element.key),
        call("t", element.positive),
        call("t", element.variables),
    ]
    return f"{call(f'{name}counted', noted)} :- {'; '.join([holds, *map(str, element.condition)])}."
