"""Bodies of LARS rules as literals over the relations that window atoms become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Protocol

from citywise.reasoning.languages.lars.program import (
    At,
    Atom,
    BodyElement,
    Box,
    Comparison,
    Counted,
    Diamond,
    Formula,
    LarsRule,
    Now,
    Window,
)
from citywise.reasoning.languages.lars.safety import is_anonymous
from citywise.reasoning.model.joins import matched
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import Absent, Comparator, Compare, Literal, Scan
from citywise.reasoning.model.values import Compound, Constant, Term, Variable, variables

Body = tuple[Literal, ...]

_OPPOSITE: dict[Comparator, Comparator] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_ZERO = Constant(0)
KEPT = "#kept"
"""Before the numbers of variables that a projection keeps."""


class Relations(Protocol):
    """Names of the relations of window atoms, made when they are asked for."""

    def now(self, signature: Signature) -> str:
        """What holds now."""

    def diamond(self, signature: Signature, window: Window) -> str:
        """What holds at some point of time of a window."""

    def box(self, signature: Signature, window: Window) -> str:
        """What holds at every point of time of a window."""

    def timed(self, signature: Signature, window: Window | None) -> str:
        """What holds in a window, with the point of time as last column."""

    def count(self, signature: Signature, window: Window) -> str:
        """What holds in a window, with the number of points of time as last column."""

    def projected(self, relation: str, patterns: tuple[Term, ...], width: int) -> str:
        """The values that `width` variables `KEPT` (from 0) of patterns have in a relation."""


def bodies(rule: LarsRule, relations: Relations) -> list[Body]:
    """The rule's body as literals; several, of which one must hold, where atoms are counted
    and need not hold at all."""
    elements = [_literals(n, element, relations) for n, element in enumerate(rule.body)]
    return [sum(choice, ()) for choice in product(*elements)]


def simplified(rule: LarsRule) -> LarsRule:
    """The rule with `<>` for an `@` whose point of time is asked for nowhere."""
    counts = Counter(name for term in _terms(rule) for name in variables(term))
    return replace(rule, body=tuple(_untimed(element, counts) for element in rule.body))


def timeline_variables(rule: LarsRule) -> frozenset[str]:
    """Variables that stand for points of time of the timeline in each instance."""
    return frozenset(
        formula.time.name
        for element in rule.body
        if isinstance(formula := element.formula, At)
        and not element.negated
        and isinstance(formula.time, Variable)
    )


def atom_of(formula: Formula) -> Atom | None:
    """The atom of a formula; a comparison has none."""
    return None if isinstance(formula, Comparison) else formula.atom


def _literals(number: int, element: BodyElement, relations: Relations) -> list[Body]:
    """Bodies of which one must hold for the element to hold."""
    match element.formula:
        case Comparison(comparator, left, right):
            sign = _OPPOSITE[comparator] if element.negated else comparator
            return [(Compare(sign, left, right),)]
        case Counted() as counted:
            return list(_counted(number, counted, element.negated, relations))
        case At(time, atom, window):
            relation, terms = relations.timed(atom.signature, window), (*atom.terms, time)
        case Now(atom):
            relation, terms = relations.now(atom.signature), atom.terms
        case Diamond(atom, window):
            relation, terms = relations.diamond(atom.signature, window), atom.terms
        case Box(atom, window):
            relation, terms = relations.box(atom.signature, window), atom.terms
    if element.negated:
        if any(map(is_anonymous, _names(terms))):
            relation, terms = _projected(relation, terms, relations)
        return [(Absent(relation, terms),)]
    return [_scan(relation, terms, number)]


def _projected(
    relation: str, terms: tuple[Term, ...], relations: Relations
) -> tuple[str, tuple[Term, ...]]:
    """The relation without what `_` stands for, and the terms that are left."""
    kept: list[Term] = []
    patterns = tuple(_pattern(term, kept) for term in terms)
    return relations.projected(relation, patterns, len(kept)), tuple(kept)


def _pattern(term: Term, kept: list[Term]) -> Term:
    """What a term matches, with a variable for each part that is kept."""
    if isinstance(term, Compound) and any(map(is_anonymous, variables(term))):
        arguments = tuple(_pattern(argument, kept) for argument in term.arguments)
        return replace(term, arguments=arguments)
    if isinstance(term, Variable) and is_anonymous(term.name):
        return term
    kept.append(term)
    return Variable(f"{KEPT}{len(kept) - 1}")


def _names(terms: tuple[Term, ...]) -> Iterator[str]:
    for term in terms:
        yield from variables(term)


def _scan(relation: str, terms: tuple[Term, ...], number: int) -> Body:
    """A row matches terms, of which linear ones give their variables values as in clingo."""
    patterns, comparisons = matched(terms, f"#{number}.")
    return Scan(relation, patterns), *comparisons


def _counted(number: int, counted: Counted, negated: bool, relations: Relations) -> Iterator[Body]:
    """It holds so often, or it never holds and that is often enough."""
    signature, terms = counted.atom.signature, counted.atom.terms
    comparator = _OPPOSITE[counted.comparator] if negated else counted.comparator
    found = Variable(f"#count{number}")
    scan = _scan(relations.count(signature, counted.window), (*terms, found), number)
    yield *scan, Compare(comparator, found, counted.number)
    if negated or not binds(counted):
        absent = Absent(relations.diamond(signature, counted.window), terms)
        yield absent, Compare(comparator, _ZERO, counted.number)


def binds(counted: Counted) -> bool:
    """Whether it holds of atoms only that hold at least once, which give variables values:
    `count N`, where N is not written as 0, and `at least 1` or more."""
    match counted:
        case Counted(_, "=", number, _):
            return number != _ZERO
        case Counted(_, ">=", Constant(int(least)), _):
            return least >= 1
    return False


def _untimed(element: BodyElement, counts: Counter[str]) -> BodyElement:
    match element:
        case BodyElement(At(Variable(name), atom, window), False) if window and counts[name] == 1:
            return BodyElement(Diamond(atom, window))
    return element


def _terms(rule: LarsRule) -> Iterator[Term]:
    """Every term of a rule."""
    if rule.head is not None:
        yield from rule.head.terms
    if rule.time is not None:
        yield rule.time
    for element in rule.body:
        yield from _terms_of(element.formula)


def _terms_of(formula: Formula) -> Iterator[Term]:
    match formula:
        case Comparison(_, left, right):
            yield from (left, right)
        case At(time, atom, _):
            yield from (time, *atom.terms)
        case Counted(atom, _, number, _):
            yield from (number, *atom.terms)
        case Now(atom) | Diamond(atom, _) | Box(atom, _):
            yield from atom.terms
