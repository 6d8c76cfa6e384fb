"""Bodies of LARS rules: what gives their variables values, and their literals over the relations
that window atoms become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Protocol

from citywise.reasoning.asp.syntax import ANONYMOUS
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
    atoms_of,
)
from citywise.reasoning.model.joins import Patterns, matched
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

_NEW = "#"
"""Before the names of variables that no rule has."""
_ADD = "add an element that does, e.g. `<> p({}) [3]`"


def unsafe(rule: LarsRule) -> dict[str, str]:
    """Variables of a rule that nothing binds, and why what they stand in does not."""
    bound = bound_by(rule.body)
    found: dict[str, str] = {}
    for names, reason in _occurrences(rule):
        for name in sorted(names - bound):
            found.setdefault(name, reason)
    return found


def is_anonymous(name: str) -> bool:
    """Whether the variable is a `_`, of which each is another one."""
    return name.startswith(ANONYMOUS) and name[1:].isdigit()


def bound_by(body: tuple[BodyElement, ...]) -> frozenset[str]:
    """Variables that a body gives values.

    Atoms that must hold do, and the times and numbers with them; `at most` and `at least 0`
    hold of what never came and bind nothing. An equation gives a variable, or those of a
    compound, the value of its other side.
    """
    positive = [element.formula for element in body if not element.negated]
    bound = set[str]()
    for formula in positive:
        bound |= _bound_by(formula)
    equations = [f for f in positive if isinstance(f, Compare) and f.comparator == "="]
    changed = True
    while changed:
        before = len(bound)
        for equation in equations:
            for side, other in (
                (equation.left, equation.right),
                (equation.right, equation.left),
            ):
                if variables(other) <= bound and not isinstance(side, Computed):
                    bound |= _matched(side)
        changed = len(bound) > before
    return frozenset(bound)


def binding(formula: Formula) -> bool:
    """Whether it holds of atoms only that hold somewhere, which give variables values."""
    match formula:
        case Compare():
            return False
        case Counted(_, "=", number, _):
            return number != Constant(0)
        case Counted(_, comparator, number, _):
            least = number.value if isinstance(number, Constant) else None
            return comparator == ">=" and isinstance(least, int) and least >= 1
    return True


def _bound_by(formula: Formula) -> frozenset[str]:
    if isinstance(formula, Compare) or not binding(formula):
        return frozenset()
    found = frozenset().union(*map(_matched, formula.atom.terms))  # of `since` what is behind it
    if isinstance(formula, At):
        return found | _matched(formula.time)
    if isinstance(formula, Counted) and isinstance(formula.number, Variable):
        return found | variables(formula.number)
    return found


def _matched(term: Term) -> frozenset[str]:
    """Variables that get values where a value matches the term: of arithmetic the variable
    in which it is linear."""
    match term:
        case Variable(name):
            return frozenset({name})
        case Compound(_, arguments):
            return frozenset().union(*map(_matched, arguments))
        case Computed():
            _patterns, equations = matched((term,), _NEW)
            sides = (e.left.name for e in equations if isinstance(e.left, Variable))
            return frozenset(name for name in sides if not name.startswith(_NEW))
    return frozenset()


def _occurrences(rule: LarsRule) -> Iterator[tuple[frozenset[str], str]]:
    """Variables by the parts they stand in, each with why that part does not bind them."""
    for element in rule.body:
        if isinstance(element.formula, Since):
            yield element.formula.atom.variables - _any(element), _reason(element)
            yield element.formula.held.variables, "`since` binds only what stands behind it"
        else:
            yield _all(element.formula) - _any(element), _reason(element)
    if rule.head is not None:
        time = variables(rule.time) if rule.time is not None else frozenset[str]()
        yield rule.head.variables | time, "nothing in the body binds it"


def _any(element: BodyElement) -> frozenset[str]:
    """The `_` behind `not`, which need no value: there is no such atom, whatever is there."""
    if not element.negated or isinstance(element.formula, Compare | Counted):
        return frozenset()
    terms = [*element.formula.atom.terms]
    if isinstance(element.formula, At):
        terms.append(element.formula.time)
    computed = [names for term in terms for names in _computed(term)]
    found = frozenset(filter(is_anonymous, frozenset().union(*map(variables, terms))))
    return found.difference(*computed)


def _computed(term: Term) -> Iterator[frozenset[str]]:
    """Variables that stand in arithmetic."""
    if isinstance(term, Computed):
        yield variables(term)
    elif isinstance(term, Compound):
        for argument in term.arguments:
            yield from _computed(argument)


def _all(formula: Formula) -> frozenset[str]:
    if isinstance(formula, Compare):
        return variables(formula.left) | variables(formula.right)
    found = frozenset().union(*(atom.variables for atom in atoms_of(formula)))
    if isinstance(formula, At):
        return found | variables(formula.time)
    return found | variables(formula.number) if isinstance(formula, Counted) else found


def _reason(element: BodyElement) -> str:
    if element.negated:
        return "`not` binds nothing"
    match element.formula:
        case Compare("=", _, _):
            return "an equation binds a variable only by terms that have values"
        case Compare():
            return "a comparison binds nothing"
        case Counted(_, "<=", _, _) | Counted(_, ">=", Constant(), _):
            return "`at most` and `at least 0` hold of what never came and bind nothing"
        case Counted(_, "=", Constant(), _):
            return "`count 0` holds of what never came and binds nothing"
        case Counted(_, "=", _, _):
            return "`count` binds a variable, and no other term"
        case Counted():
            return "`at least` binds no number, and its atom's variables by a number only"
    return "only linear arithmetic, as in `p(X+1)`, binds a variable"


def message(name: str, reason: str, where: str) -> str:
    """What to say of an unsafe variable in a rule."""
    if is_anonymous(name):
        cure = "define a predicate without that argument, e.g. `q(X) :- <> p(X,_) [3].`"
        return f"`_` is unsafe in {where}: {reason}; {cure}"
    return f"`{name}` is unsafe in {where}: {reason}; {_ADD.format(name)}"


def solved(rule: LarsRule) -> LarsRule:
    """The rule with its equations solved for the variables that nothing else binds.

    `h(X) :- p(Y), X+1 = Y` gets `X = Y-1` as well; a safe rule stays as it is.
    """
    missing = frozenset(unsafe(rule))
    if not missing:
        return rule
    equations = (e.formula for e in rule.body if not e.negated)
    found = _solutions((f for f in equations if isinstance(f, Compare)), missing)
    body = (*rule.body, *map(BodyElement, found))
    return replace(rule, body=body)


def _solutions(equations: Iterable[Compare], missing: frozenset[str]) -> Iterable[Compare]:
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
