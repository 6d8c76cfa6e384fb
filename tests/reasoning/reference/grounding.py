"""Grounding: variables replaced by constants in all possible ways (Definitions 2.9, 2.10).

Of all the instances over the Herbrand universe those are kept whose positive body could be
derived if every negation, choice and aggregate went the rule's way; the bodies of the
others are false in every answer set. `over_the_universe` leaves none out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import TypeVar

from tests.reasoning.reference.programs import (
    Aggregate,
    Atom,
    BodyLiteral,
    Comparison,
    Constant,
    Element,
    Function,
    Not,
    Operation,
    Program,
    Relation,
    Rule,
    Term,
    Variable,
)

Substitution = Mapping[str, Constant]
Interpretation = frozenset[Atom]
T = TypeVar("T")


class UndefinedError(Exception):
    """Arithmetic on what is no number; the instance in which it occurs does not exist."""


@dataclass(frozen=True)
class Literals:
    """B+(r) and B-(r) of an instance, and the atoms under `not not`."""

    positive: Interpretation = frozenset()
    negative: Interpretation = frozenset()
    twice_negated: Interpretation = frozenset()

    def undisturbed(self, interpretation: Interpretation) -> bool:
        """Whether what is negated is as the literals say."""
        return self.negative.isdisjoint(interpretation) and self.twice_negated <= interpretation


@dataclass(frozen=True)
class GroundElement:
    """A tuple of an aggregate, collected where its condition holds."""

    terms: tuple[Constant, ...]
    condition: Literals

    def holds(self, interpretation: Interpretation) -> bool:
        """Whether the condition holds."""
        return self.condition.positive <= interpretation and self.condition.undisturbed(
            interpretation
        )


@dataclass(frozen=True)
class GroundAggregate:
    """An aggregate without variables, perhaps under `not`."""

    bound: Constant
    relation: Relation
    function: Function
    elements: tuple[GroundElement, ...]
    negated: bool = False

    def holds(self, interpretation: Interpretation) -> bool:
        """Whether the relation between the bound and the collected tuples' value holds."""
        tuples = {e.terms for e in self.elements if e.holds(interpretation)}
        collected = aggregate_value(self.function, tuples)
        return related(self.bound, self.relation, collected) != self.negated


@dataclass(frozen=True)
class GroundRule:
    """A ground rule: H(r), B+(r) and B-(r), and the aggregates of its body."""

    head: Interpretation
    body: Literals = Literals()
    aggregates: tuple[GroundAggregate, ...] = ()


# -- terms -----------------------------------------------------------------------------


def order(constant: Constant) -> tuple[int, Constant]:
    """Key of the order of terms: #inf, numbers, identifiers, strings, #sup."""
    if isinstance(constant, int):
        return 1, constant
    ranks = {"#inf": 0, "#sup": 4}
    return ranks.get(constant, 3 if constant.startswith('"') else 2), constant


def related(left: Constant, relation: Relation, right: Constant) -> bool:
    """Whether two constants stand in a relation."""
    a, b = order(left), order(right)
    return {
        "=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b,
    }[relation]  # fmt: skip


def value(term: Term, theta: Substitution) -> Constant:
    """The constant a term stands for under a substitution."""
    if isinstance(term, Variable):
        return theta[term.name]
    if not isinstance(term, Operation):
        return term
    left, right = value(term.left, theta), value(term.right, theta)
    if isinstance(left, str) or isinstance(right, str):
        raise UndefinedError(str(term))
    return {"+": left + right, "-": left - right, "*": left * right}[term.operator]


def substituted(atom: Atom, theta: Substitution) -> Atom:
    """The atom with constants in the place of its variables."""
    return Atom(atom.predicate, tuple(value(term, theta) for term in atom.arguments))


def aggregate_value(function: Function, tuples: Iterable[tuple[Constant, ...]]) -> Constant:
    """What an aggregate makes of a set of tuples; `#sum` leaves out what is no number."""
    weights = [terms[0] for terms in tuples]
    if function == "#count":
        return len(weights)
    if function == "#sum":
        return sum(w for w in weights if isinstance(w, int))
    if function == "#min":
        return min(weights, key=order, default="#sup")
    return max(weights, key=order, default="#inf")


# -- substitutions ---------------------------------------------------------------------


def substitutions(
    body: Sequence[BodyLiteral], derivable: Collection[Atom], theta: Substitution
) -> Iterator[Substitution]:
    """All extensions of `theta` that make the body's atoms derivable and its relations true."""
    if not body:
        yield theta
        return
    first, rest = body[0], body[1:]
    for extended in _extensions(first, derivable, theta):
        yield from substitutions(rest, derivable, extended)


def _extensions(
    literal: BodyLiteral, derivable: Collection[Atom], theta: Substitution
) -> Iterator[Substitution]:
    if isinstance(literal, Atom):
        for atom in derivable:
            if (extended := _match(literal, atom, theta)) is not None:
                yield extended
    elif isinstance(literal, Comparison):
        yield from _compare(literal, theta)
    elif isinstance(literal, Aggregate) and (name := _assigned(literal, theta)):
        elements = {e.terms for e in ground_elements(literal, derivable, theta)}
        for found in {aggregate_value(literal.function, some) for some in subsets(elements)}:
            yield {**theta, name: found}
    else:
        yield theta


def _match(pattern: Atom, atom: Atom, theta: Substitution) -> Substitution | None:
    """The extension of `theta` under which the pattern reads as the ground atom, if any."""
    if pattern.signature != atom.signature:
        return None
    extended = dict(theta)
    for term, constant in zip(pattern.arguments, atom.arguments, strict=True):
        assert isinstance(constant, int | str)
        if isinstance(term, Variable):
            if extended.setdefault(term.name, constant) != constant:
                return None
        elif term != constant:
            return None
    return extended


def _compare(literal: Comparison, theta: Substitution) -> Iterator[Substitution]:
    try:
        right = value(literal.right, theta)
        if isinstance(literal.left, Variable) and literal.left.name not in theta:
            yield {**theta, literal.left.name: right}
        elif related(value(literal.left, theta), literal.relation, right):
            yield theta
    except UndefinedError:
        return


def _assigned(literal: Aggregate, theta: Substitution) -> str | None:
    """The variable to which `N = #function { ... }` gives a value."""
    bound = literal.bound
    return bound.name if isinstance(bound, Variable) and bound.name not in theta else None


def subsets(elements: Collection[T]) -> Iterator[tuple[T, ...]]:
    """All subsets, smaller ones first."""
    members = list(elements)
    return chain.from_iterable(combinations(members, n) for n in range(len(members) + 1))


# -- rules -----------------------------------------------------------------------------


def ground_elements(
    aggregate: Aggregate, derivable: Collection[Atom], theta: Substitution
) -> tuple[GroundElement, ...]:
    """The instances of an aggregate's elements."""
    found = []
    for element in aggregate.elements:
        for local in substitutions(element.condition, derivable, theta):
            found += defined(_ground_element, element, local)
    return tuple(found)


def _ground_element(element: Element, theta: Substitution) -> GroundElement:
    terms = tuple(value(term, theta) for term in element.terms)
    return GroundElement(terms, _literals(element.condition, theta))


def _literals(body: Sequence[BodyLiteral], theta: Substitution) -> Literals:
    def instances_of(parts: Iterable[object]) -> Interpretation:
        return frozenset(substituted(part, theta) for part in parts if isinstance(part, Atom))

    negated = [literal.of for literal in body if isinstance(literal, Not)]
    twice = [literal.of for literal in negated if isinstance(literal, Not)]
    return Literals(instances_of(body), instances_of(negated), instances_of(twice))


def defined(make: Callable[..., T], *arguments: object) -> list[T]:
    """What `make` makes; nothing where arithmetic is undefined."""
    try:
        return [make(*arguments)]
    except UndefinedError:
        return []


def instance(rule: Rule, theta: Substitution, derivable: Collection[Atom]) -> GroundRule:
    """The rule with constants in the place of its variables."""
    negated = (part.of for part in rule.body if isinstance(part, Not))
    aggregates = [(part, False) for part in rule.body if isinstance(part, Aggregate)]
    aggregates += [(part, True) for part in negated if isinstance(part, Aggregate)]
    return GroundRule(
        frozenset(substituted(atom, theta) for atom in rule.head),
        _literals(rule.body, theta),
        tuple(_ground_aggregate(a, negated, theta, derivable) for a, negated in aggregates),
    )


def _ground_aggregate(
    aggregate: Aggregate, negated: bool, theta: Substitution, derivable: Collection[Atom]
) -> GroundAggregate:
    elements = ground_elements(aggregate, derivable, theta)
    bound = value(aggregate.bound, theta)
    return GroundAggregate(bound, aggregate.relation, aggregate.function, elements, negated)


def instances(rule: Rule, derivable: Collection[Atom]) -> list[GroundRule]:
    """The instances of a rule whose positive body is derivable."""
    found: list[GroundRule] = []
    for theta in substitutions(rule.body, derivable, {}):
        found += defined(instance, rule, theta, derivable)
    return found


def ground(program: Program) -> list[GroundRule]:
    """grnd(P), less the instances that no answer set could use."""
    derivable: set[Atom] = set()
    while True:
        rules = [g for rule in program.plain_rules() for g in instances(rule, derivable)]
        heads = {atom for rule in rules for atom in rule.head}
        if heads <= derivable:
            return [*rules, *consistency(derivable)]
        derivable |= heads


def consistency(derivable: Collection[Atom]) -> list[GroundRule]:
    """No atom holds together with its classical negation."""
    opposites = ((atom, Atom(f"-{atom.predicate}", atom.arguments)) for atom in derivable)
    return [
        GroundRule(frozenset(), Literals(frozenset(pair)))
        for pair in opposites
        if pair[1] in derivable
    ]


# -- the definition to the letter ------------------------------------------------------


def universe(program: Program) -> set[Constant]:
    """U_P: the constants that occur in a program of plain rules (Definition 2.10)."""
    terms = (t for rule in program.plain_rules() for t in _terms((*rule.head, *rule.body)))
    return {term for term in terms if isinstance(term, int | str)}


def over_the_universe(program: Program) -> list[GroundRule]:
    """grnd(P) over U_P with nothing left out, for rules without arithmetic or aggregates."""
    constants = sorted(universe(program), key=order)
    rules: list[GroundRule] = []
    for rule in program.plain_rules():
        names = sorted(
            {t.name for t in _terms((*rule.head, *rule.body)) if isinstance(t, Variable)}
        )
        relations = [part for part in rule.body if isinstance(part, Comparison)]
        for values in product(constants, repeat=len(names)):
            for theta in substitutions(relations, (), dict(zip(names, values, strict=True))):
                rules.append(instance(rule, theta, ()))
    return rules + consistency({atom for rule in rules for atom in rule.head})


def _terms(literals: Iterable[BodyLiteral]) -> Iterator[Term]:
    for literal in literals:
        if isinstance(literal, Not):
            yield from _terms([literal.of])
        elif isinstance(literal, Comparison):
            yield from (literal.left, literal.right)
        elif isinstance(literal, Atom):
            yield from literal.arguments
