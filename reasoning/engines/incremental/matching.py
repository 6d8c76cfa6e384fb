"""Terms with arithmetic as patterns: `p(X+1)` gives X a value, as it does in clingo."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from reasoning.engines.incremental.program import Compare
from reasoning.engines.incremental.terms import Compound, Computed, Constant, Term, Value, Variable


def matched(terms: Iterable[Term], prefix: str) -> tuple[tuple[Term, ...], tuple[Compare, ...]]:
    """Terms to be matched with a row, and what relates their variables to those of `terms`.

    Arithmetic becomes a variable of its own, whose name begins with `prefix`. Where it is
    linear in one variable, a comparison the other way round gives that variable its value.
    """
    patterns = Patterns(prefix)
    found = tuple(map(patterns.match, terms))
    return found, tuple(patterns.compares)


class Patterns:
    """Makes patterns; `compares` are the comparisons that belong to them."""

    def __init__(self, prefix: str) -> None:
        self.compares: list[Compare] = []
        self._prefix = prefix
        self._numbers = count()

    def match(self, term: Term) -> Term:
        """A pattern for the values of a term."""
        if isinstance(term, Computed):
            whole = Variable(f"{self._prefix}{next(self._numbers)}")
            self.equate(whole, term)
            return whole
        if isinstance(term, Compound):
            return Compound(term.name, tuple(map(self.match, term.arguments)))
        return term

    def equate(self, pattern: Term, term: Term) -> None:
        """Compare a pattern, which knows no arithmetic, with a term, each giving the other
        its values."""
        if not isinstance(term, Computed):
            self.compares.append(Compare("=", pattern, self.match(term)))
            return
        if term.operation == "neg" and not isinstance(term.arguments[0], Computed):
            inner = self.match(term.arguments[0])
            self.compares.append(Compare("=", pattern, Computed("neg", (inner,))))
            self.compares.append(Compare("=", inner, Computed("neg", (pattern,))))
            return
        if term.operation == "neg" and _is_negation(term):
            inner = self.match(term.arguments[0])
            self.equate(pattern, Computed("neg", (inner,)))
            return
        self.compares.append(Compare("=", pattern, term))
        if (line := _linear(term)) is not None:
            name, factor, offset = line
            self.compares.append(Compare("=", Variable(name), _solution(pattern, factor, offset)))


def _is_negation(term: Term) -> bool:
    """Whether a term is a variable or a function, however often negated."""
    while isinstance(term, Computed) and term.operation == "neg":
        term = term.arguments[0]
    return not isinstance(term, Computed)


def _solution(whole: Term, factor: int, offset: int) -> Term:
    """The `X` of `whole = factor * X + offset`, if it has one."""
    if factor == -1:
        return Computed("-", (Constant(offset), whole))
    rest = Computed("-", (whole, Constant(offset)))
    return rest if factor == 1 else Computed("/", (rest, Constant(factor)))


def _linear(term: Term) -> tuple[str, int, int] | None:
    """Variable, factor (not 0) and offset of a term that is linear in one variable."""
    if isinstance(term, Variable):
        return term.name, 1, 0
    if not isinstance(term, Computed):
        return None
    if term.operation == "neg":
        inner = _linear(term.arguments[0])
        return None if inner is None else (inner[0], -inner[1], -inner[2])
    if term.operation not in ("+", "-", "*"):
        return None
    left, right = term.arguments
    if (number := _number(right)) is not None and (inner := _linear(left)) is not None:
        return _combined(term.operation, inner, number)
    if (number := _number(left)) is not None and (inner := _linear(right)) is not None:
        if term.operation == "-":
            return inner[0], -inner[1], number - inner[2]
        return _combined(term.operation, inner, number)
    return None


def _combined(
    operation: str, line: tuple[str, int, int], number: int
) -> tuple[str, int, int] | None:
    name, factor, offset = line
    if operation == "*":
        return (name, factor * number, offset * number) if number else None
    return name, factor, offset + (number if operation == "+" else -number)


def _number(term: Term) -> int | None:
    value: Value | None = term.value if isinstance(term, Constant) else None
    return value if isinstance(value, int) else None
