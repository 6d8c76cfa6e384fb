"""Bodies of LARS rules as literals over the relations that window atoms become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Protocol

from citywise.reasoning.languages.lars.program import (
    At,
    Atom,
    BodyElement,
    Box,
    Counted,
    Diamond,
    Formula,
    LarsRule,
    LarsWindow,
    Now,
    Since,
    TimeSpan,
)
from citywise.reasoning.languages.lars.safety import binding, is_anonymous
from citywise.reasoning.model.joins import matched
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import OPPOSITE, Absent, Compare, Literal, Scan
from citywise.reasoning.model.values import (
    Compound,
    Computed,
    Constant,
    Term,
    Variable,
    variables,
)

Body = tuple[Literal, ...]

_ZERO, _ONE = Constant(0), Constant(1)
KEPT = "#kept"
"""Before the numbers of variables that a projection keeps."""


class Relations(Protocol):
    """Names of the relations of window atoms, made when they are asked for."""

    def now(self, signature: Signature) -> str:
        """What holds now."""

    def diamond(self, signature: Signature, window: LarsWindow) -> str:
        """What holds at some point of time of a window."""

    def box(self, signature: Signature, window: LarsWindow) -> str:
        """What holds at every point of time of a window."""

    def timed(self, signature: Signature, window: LarsWindow | None) -> str:
        """What holds in a window, with the point of time as last column."""

    def count(self, signature: Signature, window: LarsWindow) -> str:
        """What holds in a window, with the number of points of time as last column."""

    def newest(self, signature: Signature, window: TimeSpan) -> str:
        """What holds before now in a window, with the point of time as last column: at least
        the newest such point."""

    def lasting(self, signature: Signature) -> str:
        """What holds now, with the point of time since when it has at every one as last
        column."""

    def projected(self, body: Sequence[Literal], width: int) -> str:
        """The values that `width` variables `KEPT` (from 0) have where the body holds."""


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


def _literals(number: int, element: BodyElement, relations: Relations) -> list[Body]:
    """Bodies of which one must hold for the element to hold."""
    match element.formula:
        case Compare(comparator, left, right):
            sign = OPPOSITE[comparator] if element.negated else comparator
            return [(Compare(sign, left, right),)]
        case Counted() as counted:
            return list(_counted(number, counted, element.negated, relations))
        case Since() as since if element.negated:
            return [tuple(_never(number, since, relations))]
        case Since() as since:
            return list(_since(number, since, relations))
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
    patterns = tuple(pattern(term, kept) for term in terms)
    return relations.projected([Scan(relation, patterns)], len(kept)), tuple(kept)


def pattern(term: Term, kept: list[Term]) -> Term:
    """What a term matches, with a variable for each part that is kept, in `kept` once."""
    if isinstance(term, Compound) and any(map(is_anonymous, variables(term))):
        arguments = tuple(pattern(argument, kept) for argument in term.arguments)
        return replace(term, arguments=arguments)
    if isinstance(term, Variable) and is_anonymous(term.name):
        return term
    if term not in kept:
        kept.append(term)
    return Variable(f"{KEPT}{kept.index(term)}")


def _names(terms: tuple[Term, ...]) -> Iterator[str]:
    for term in terms:
        yield from variables(term)


def _scan(relation: str, terms: tuple[Term, ...], number: int | str) -> Body:
    """A row matches terms, of which linear ones give their variables values as in clingo."""
    patterns, comparisons = matched(terms, f"#{number}.")
    return Scan(relation, patterns), *comparisons


def _counted(number: int, counted: Counted, negated: bool, relations: Relations) -> Iterator[Body]:
    """It holds so often, or it never holds and that is often enough."""
    signature, terms = counted.atom.signature, counted.atom.terms
    comparator = OPPOSITE[counted.comparator] if negated else counted.comparator
    found = Variable(f"#count{number}")
    scan = _scan(relations.count(signature, counted.window), (*terms, found), number)
    yield *scan, Compare(comparator, found, counted.number)
    if negated or not binding(counted):
        absent = Absent(relations.diamond(signature, counted.window), terms)
        yield absent, Compare(comparator, _ZERO, counted.number)


def _since(number: int, since: Since, relations: Relations) -> Iterator[Body]:
    """It begins now, or it began at a point of time since which the other atom has held."""
    held, begun, window = since.held, since.atom, since.window
    if not window.gap:
        now = relations.now(begun.signature)
        yield *_scan(now, begun.terms, number), *_valued(number, held)
    if window.size:
        moment, start = Variable(f"#moment{number}"), Variable(f"#start{number}")
        newest = relations.newest(begun.signature, window)
        lasting = relations.lasting(held.signature)
        yield (
            *_scan(newest, (*begun.terms, moment), number),
            *_scan(lasting, (*held.terms, start), f"{number}+"),
            _reaching(start, moment),
        )


def _never(number: int, since: Since, relations: Relations) -> Iterator[Literal]:
    """Neither it begins now nor began when it must have."""
    held, begun, window = since.held, since.atom, since.window
    if not window.gap:
        relation, terms = relations.now(begun.signature), begun.terms
        if any(map(is_anonymous, _names(terms))):
            relation, terms = _projected(relation, terms, relations)
        yield Absent(relation, terms)
        yield from _valued(number, held)
    if window.size:
        moment, start = Variable("#moment"), Variable("#start")
        kept: list[Term] = []
        began = tuple(pattern(term, kept) for term in begun.terms)
        lasted = tuple(pattern(term, kept) for term in held.terms)
        body = (
            Scan(relations.newest(begun.signature, window), (*began, moment)),
            Scan(relations.lasting(held.signature), (*lasted, start)),
            _reaching(start, moment),
        )
        yield Absent(relations.projected(body, len(kept)), tuple(kept))


def _reaching(start: Variable, moment: Variable) -> Compare:
    """That what has held since `start` has at every point after `moment`."""
    return Compare("<=", start, Computed("+", (moment, _ONE)))


def _valued(number: int, atom: Atom) -> Iterator[Compare]:
    """That there is a value of what is computed in an atom that need not hold: an instance
    of a rule without one does not exist."""
    for place, term in enumerate(atom.terms):
        if not isinstance(term, Variable | Constant):
            yield Compare("=", Variable(f"#{number}={place}"), term)


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
        case Compare(_, left, right):
            yield from (left, right)
        case At(time, atom, _):
            yield from (time, *atom.terms)
        case Counted(atom, _, number, _):
            yield from (number, *atom.terms)
        case Since(held, atom, _):
            yield from (*held.terms, *atom.terms)
        case Now(atom) | Diamond(atom, _) | Box(atom, _):
            yield from atom.terms
