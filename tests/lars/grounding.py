"""Ground instances of a plain LARS program's rules, for the reference evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from citywise.reasoning.languages.lars.program import (
    At,
    Atom,
    BodyElement,
    Counted,
    Formula,
    LarsRule,
    Since,
)
from citywise.reasoning.model.rules import Compare
from citywise.reasoning.model.values import Constant, Row, Term, Value
from tests.incremental.unification import (
    Bindings,
    can_match,
    compared,
    known,
    meaning,
    unified_rows,
)

Fact = tuple[str, Row]
"""A ground atom: name and arguments."""
Pair = tuple[Fact, int]
"""An atom at a point of time."""


def ground(
    rules: Sequence[LarsRule], known_facts: frozenset[Fact], timeline: range
) -> list[LarsRule]:
    """The instances of rules that can matter: their positive atoms are known, or heads of
    other instances; points of time are those of the timeline."""
    possible = known_facts
    while True:
        instances = [
            instance
            for rule in rules
            for bound in solutions(rule.body, {}, possible, timeline)
            if (instance := instantiated(rule, bound)) is not None
        ]
        more = possible | {fact(rule.head) for rule in instances if rule.head is not None}
        if more == possible:
            return list(dict.fromkeys(instances))
        possible = more


def fact(atom: Atom) -> Fact:
    """A ground atom."""
    return atom.name, tuple(value(term) for term in atom.terms)


def value(term: Term) -> Value:
    """What a ground term is; it has been computed."""
    assert isinstance(term, Constant)
    return term.value


# -- values of variables -------------------------------------------------------------------


def solutions(
    body: Sequence[BodyElement], bound: Bindings, possible: frozenset[Fact], timeline: range
) -> Iterator[Bindings]:
    """Values of a body's variables; each element as soon as it can be tried."""
    if not body:
        yield bound
        return
    ready = next((element for element in body if is_ready(element, bound)), None)
    if ready is None:
        raise ValueError(f"unsafe: {body}")
    rest = [element for element in body if element is not ready]
    for more in matches(ready, bound, possible, timeline):
        yield from solutions(rest, more, possible, timeline)


def binds(element: BodyElement) -> bool:
    """Whether an element gives its atom's variables values, for it holds only where its atom
    does at some point of time."""
    formula = element.formula
    if element.negated or isinstance(formula, Compare):
        return False
    if not isinstance(formula, Counted):
        return True
    if formula.comparator == "=":
        return formula.number != Constant(0)
    least = formula.number.value if isinstance(formula.number, Constant) else 0
    return formula.comparator == ">=" and isinstance(least, int) and least > 0


def is_ready(element: BodyElement, bound: Bindings) -> bool:
    """Whether enough variables have values to try an element."""
    formula = element.formula
    if isinstance(formula, Compare) and formula.comparator == "=" and not element.negated:
        one_way = known(formula.left, bound) and can_match(formula.right, bound)
        return one_way or (known(formula.right, bound) and can_match(formula.left, bound))
    if not binds(element):
        return all(known(term, bound) for term in terms(formula))
    given = formula.atom.terms if isinstance(formula, Since) else terms(formula)
    return all(can_match(term, bound) for term in given)


def matches(
    element: BodyElement, bound: Bindings, possible: frozenset[Fact], timeline: range
) -> Iterator[Bindings]:
    """Values under which an element that is ready may hold."""
    formula = element.formula
    if isinstance(formula, Compare):
        yield from _matches_comparison(formula, element.negated, bound)
    elif not binds(element):
        yield bound
    else:
        wanted, given = formula.atom.signature, terms(formula)
        rows = [row for name, row in possible if (name, len(row)) == wanted]
        for row, more in product(rows, _endings(formula, timeline)):
            found = (*row, *more)
            yield from unified_rows(given[: len(found)], found, bound)


def _endings(formula: Formula, timeline: range) -> list[Row]:
    """What may follow an atom's arguments: its points of time, or its number of them."""
    if isinstance(formula, At):
        return [(t,) for t in timeline]
    if isinstance(formula, Counted) and formula.comparator == "=":
        return [(number,) for number in range(1, len(timeline) + 1)]
    return [()]


def _matches_comparison(formula: Compare, negated: bool, bound: Bindings) -> Iterator[Bindings]:
    left, right = formula.left, formula.right
    if not known(left, bound) or not known(right, bound):
        one, other = (left, right) if known(right, bound) else (right, left)
        found = meaning(other, bound)
        if found is not None:
            yield from unified_rows((one,), (found,), bound)
        return
    x, y = meaning(left, bound), meaning(right, bound)
    if x is not None and y is not None and compared(formula.comparator, x, y) != negated:
        yield bound


# -- instances -----------------------------------------------------------------------------


def terms(formula: Formula) -> tuple[Term, ...]:
    """Terms of a formula; its atom's first (of `since` the second's), then its others."""
    match formula:
        case Compare(_, left, right):
            return left, right
        case At(time, atom, _):
            return (*atom.terms, time)
        case Counted(atom, _, number, _):
            return (*atom.terms, number)
        case Since(held, atom, _):
            return (*atom.terms, *held.terms)
    return formula.atom.terms


def instantiated(rule: LarsRule, bound: Bindings) -> LarsRule | None:
    """A rule with values for its variables; None where its arithmetic has no value, or the
    head's point of time is no number."""
    try:
        return replace(
            rule,
            head=None if rule.head is None else _atom(rule.head, bound),
            time=None if rule.time is None else _number(rule.time, bound),
            body=tuple(BodyElement(_formula(e.formula, bound), e.negated) for e in rule.body),
        )
    except ArithmeticError:
        return None


def _constant(term: Term, bound: Bindings) -> Constant:
    found = meaning(term, bound)
    if found is None:
        raise ArithmeticError
    return Constant(found)


def _number(term: Term, bound: Bindings) -> Constant:
    found = _constant(term, bound)
    if not isinstance(found.value, int):
        raise ArithmeticError
    return found


def _atom(atom: Atom, bound: Bindings) -> Atom:
    return Atom(atom.name, tuple(_constant(term, bound) for term in atom.terms))


def _formula(formula: Formula, bound: Bindings) -> Formula:
    match formula:
        case Compare(comparator, left, right):
            return Compare(comparator, _constant(left, bound), _constant(right, bound))
        case At(time, atom, window):
            return At(_constant(time, bound), _atom(atom, bound), window)
        case Counted(atom, comparator, number, window):
            return Counted(_atom(atom, bound), comparator, _constant(number, bound), window)
        case Since(held, atom, window):
            return Since(_atom(held, bound), _atom(atom, bound), window)
    return replace(formula, atom=_atom(formula.atom, bound))
