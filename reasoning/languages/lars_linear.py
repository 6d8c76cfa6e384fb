"""Linear arithmetic that gives variables values, as in clingo: `p(X+1)`, `X+1 = Y`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reasoning.engines.incremental.matching import Patterns
from reasoning.engines.incremental.program import Compare
from reasoning.engines.incremental.terms import Computed, Term, variables
from reasoning.languages.lars_safety import unsafe
from reasoning.lars.program import Comparison, Element, Rule


def solved(rule: Rule) -> Rule:
    """The rule with its equations solved for the variables that nothing else binds.

    `h(X) :- p(Y), X+1 = Y` gets `X = Y-1` as well; a safe rule stays as it is.
    """
    missing = frozenset(unsafe(rule))
    if not missing:
        return rule
    equations = (e.formula for e in rule.body if not e.negated)
    found = _solutions((f for f in equations if isinstance(f, Comparison)), missing)
    body = (*rule.body, *(Element(Comparison("=", c.left, c.right)) for c in found))
    return replace(rule, body=body)


def _solutions(equations: Iterable[Comparison], missing: frozenset[str]) -> Iterable[Compare]:
    """Equations for missing variables, each alone on its left side."""
    for equation in equations:
        sides = (equation.left, equation.right)
        for side, other in (sides, sides[::-1]):
            if equation.comparator == "=" and _computes(side, missing) and _is_plain(other):
                patterns = Patterns("_")
                patterns.equate(other, side)
                yield from patterns.compares[1:]


def _computes(term: Term, missing: frozenset[str]) -> bool:
    return isinstance(term, Computed) and bool(variables(term) & missing)


def _is_plain(term: Term) -> bool:
    return not isinstance(term, Computed)
