"""Answer sets by trying all interpretations (Definitions 2.11-2.14, 4.6).

Definition 2.11 is read with B-(r) where the thesis prints a second B+(r). What a body says
beyond atoms and `not` (aggregates, `not not`) is settled by the reduct, as `not` is: right
for choices, and for aggregates that do not depend on the rule's own head.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tests.reasoning.reference.grounding import (
    GroundRule,
    Interpretation,
    Literals,
    Substitution,
    defined,
    ground,
    instance,
    subsets,
    substitutions,
    value,
)
from tests.reasoning.reference.programs import (
    Atom,
    Constant,
    Operation,
    Preference,
    Program,
    Rule,
)

MOST_OPEN_ATOMS = 15
"""For 2 to this power interpretations are tried."""

Solution = tuple[Interpretation, tuple[int, ...]]
"""The shown atoms of an answer set, and its cost, highest priority first."""


class TooLargeError(Exception):
    """A program with more open atoms than can be tried."""


# -- satisfaction ----------------------------------------------------------------------


def satisfies_body(interpretation: Interpretation, rule: GroundRule) -> bool:
    """I |= B(r) iff B+(r) is within I and what else the body says holds in I."""
    return rule.body.positive <= interpretation and survives(rule, interpretation)


def survives(rule: GroundRule, interpretation: Interpretation) -> bool:
    """Whether B-(r) and I are disjoint (and `not not` and aggregates hold): r is in P^I."""
    return rule.body.undisturbed(interpretation) and all(
        aggregate.holds(interpretation) for aggregate in rule.aggregates
    )


def is_model(interpretation: Interpretation, rules: Sequence[GroundRule]) -> bool:
    """I |= P iff for every rule I |= B(r) implies that H(r) and I meet."""
    return all(
        not rule.head.isdisjoint(interpretation) or not satisfies_body(interpretation, rule)
        for rule in rules
    )


# -- answer sets -----------------------------------------------------------------------


def reduct(rules: Sequence[GroundRule], interpretation: Interpretation) -> list[GroundRule]:
    """P^I: the surviving rules without their negative bodies (Definition 2.13)."""
    surviving = (rule for rule in rules if survives(rule, interpretation))
    return [GroundRule(rule.head, Literals(rule.body.positive)) for rule in surviving]


def answer_sets(rules: Sequence[GroundRule]) -> list[Interpretation]:
    """The interpretations that are minimal models of their own reduct (Definition 2.14).

    Tried are those that hold what is `certain` and, besides, only heads: others are no
    minimal models. Raises `TooLargeError` where that is too much to try.
    """
    if len(undecided := open_atoms(rules)) > MOST_OPEN_ATOMS:
        raise TooLargeError(f"{len(undecided)} atoms are open")
    always = certain(rules)
    return [
        always | frozenset(chosen)
        for chosen in subsets(undecided)
        if is_model(always | frozenset(chosen), rules) and is_minimal(always, chosen, rules)
    ]


def is_minimal(
    always: Interpretation, chosen: Collection[Atom], rules: Sequence[GroundRule]
) -> bool:
    """Whether no model of the reduct is smaller (Definition 2.12); all of them hold `always`."""
    positive = reduct(rules, always | frozenset(chosen))
    return not any(
        is_model(always | frozenset(fewer), positive)
        for fewer in subsets(chosen)
        if len(fewer) < len(chosen)
    )


def certain(rules: Sequence[GroundRule]) -> Interpretation:
    """The least model of the rules that are in every reduct and have one head."""
    definite = [r for r in reduct(rules, frozenset()) if r in rules and len(r.head) == 1]
    model: Interpretation = frozenset()
    while True:
        larger = model.union(*(rule.head for rule in definite if rule.body.positive <= model))
        if larger == model:
            return model
        model = larger


def open_atoms(rules: Sequence[GroundRule]) -> list[Atom]:
    """The heads that an answer set may hold or not: what makes a program slow to try."""
    heads = {atom for rule in rules for atom in rule.head}
    return sorted(heads - certain(rules), key=str)


# -- preferences and projection --------------------------------------------------------

Violation = tuple[int, int, tuple[Constant, ...]]
"""Priority, weight and terms."""


def violations(preferences: Sequence[Preference], interpretation: Interpretation) -> set[Violation]:
    """What the interpretation violates; equal violations count once."""
    return {
        violation
        for preference in preferences
        for theta in substitutions(preference.body, interpretation, {})
        for body, violation in defined(_violation, preference, theta, interpretation)
        if satisfies_body(interpretation, body)
    }


def _violation(
    preference: Preference, theta: Substitution, interpretation: Interpretation
) -> tuple[GroundRule, Violation]:
    sign = -1 if preference.notation == "#maximize" else 1
    weight = value(Operation(sign, "*", preference.weight), theta)
    assert isinstance(weight, int)
    terms = tuple(value(term, theta) for term in preference.terms)
    body = instance(Rule((), preference.body), theta, interpretation)
    return body, (preference.priority, weight, terms)


def cost(program: Program, interpretation: Interpretation) -> tuple[int, ...]:
    """The sum of violated weights at each priority the program names, highest first."""
    violated = violations(program.preferences, interpretation)
    priorities = sorted({p.priority for p in program.preferences}, reverse=True)
    return tuple(sum(w for level, w, _ in violated if level == p) for p in priorities)


def solutions(program: Program) -> set[Solution]:
    """The cheapest answer sets, projected onto the shown predicates (Definition 4.6)."""
    found = [(answer, cost(program, answer)) for answer in answer_sets(ground(program))]
    cheapest = min((price for _, price in found), default=())
    return {(projected(program, answer), price) for answer, price in found if price == cheapest}


def projected(program: Program, interpretation: Interpretation) -> Interpretation:
    """The atoms of the predicates in O."""
    return frozenset(atom for atom in interpretation if atom.signature in program.shown)
