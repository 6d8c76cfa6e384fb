"""Which literals of a body say for what an aggregate or a condition within it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoning.model.joins import is_known, matchable, variables_of
from reasoning.model.rules import Between, Compare, Literal, Scan
from reasoning.model.terms import Term, variables


def binding(needed: frozenset[str], available: Iterable[Literal]) -> tuple[Literal, ...] | None:
    """A smallest part of a body that gives variables values; None if nothing gives them.

    Literals that bring other variables are left out first.
    """
    used = grounded(literal for literal in available if _binds(literal))
    if not needed <= names(used):
        return None
    # Fewer literals mean fewer joins to keep the groups up to date, and fewer groups with
    # variables nobody asks about. Smallest here means that none can be left out; the least of all
    # would take exponential time.
    for literal in sorted(used, key=lambda each: -len(names([each]) - needed)):
        rest = grounded(each for each in used if each is not literal)
        if needed <= names(rest):
            used = rest
    return tuple(used)


def grounded(literals: Iterable[Literal]) -> list[Literal]:
    """The literals, as far as they give each other's variables values."""
    # Round by round, since a literal may get its values from one written after it.
    left, used, known = list(literals), list[Literal](), frozenset[str]()
    while True:
        ready = [literal for literal in left if _is_ready(literal, known)]
        if not ready:
            return used
        used += ready
        known |= names(ready)
        taken = frozenset(ready)
        left = [literal for literal in left if literal not in taken]


def names(literals: Sequence[Literal]) -> frozenset[str]:
    """Names of the variables in literals."""
    return frozenset().union(*map(variables_of, literals))


def names_of(terms: Iterable[Term]) -> frozenset[str]:
    """Names of the variables in terms."""
    return frozenset().union(*map(variables, terms))


def _binds(literal: Literal) -> bool:
    if isinstance(literal, Compare):
        return literal.comparator == "="
    return isinstance(literal, Scan | Between)


def _is_ready(literal: Literal, known: frozenset[str]) -> bool:
    match literal:
        case Scan(_, terms):
            return all(matchable(term, known) for term in terms)
        case Compare("=", left, right):
            return (is_known(left, known) and matchable(right, known)) or (
                is_known(right, known) and matchable(left, known)
            )
        case Between(term, low, high):
            return is_known(low, known) and is_known(high, known) and matchable(term, known)
    return names([literal]) <= known
