"""Safety of rules of plain LARS: what gives their variables values, and what does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from citywise.reasoning.asp.terms import ANONYMOUS
from citywise.reasoning.languages.lars.program import (
    At,
    BodyElement,
    Counted,
    Formula,
    LarsRule,
    Since,
    atoms_of,
)
from citywise.reasoning.model.joins import Patterns, matched
from citywise.reasoning.model.rules import Compare
from citywise.reasoning.model.values import Compound, Computed, Constant, Term, Variable, variables

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
