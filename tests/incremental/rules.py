"""Random programs of the incremental engine's own model.

Relations stand in layers; a rule reads its own layer and those below, with negation only
those below, so that recursion is everywhere and every program has strata.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from citywise.reasoning.model.rules import (
    CLOCK,
    FALSE,
    Absent,
    Aggregate,
    Always,
    Between,
    Call,
    Comparator,
    Compare,
    Function,
    Holds,
    Lasting,
    Literal,
    Operator,
    Program,
    Rule,
    Scan,
)
from citywise.reasoning.model.values import (
    Compound,
    Computed,
    Constant,
    Operation,
    Row,
    Term,
    Value,
    Variable,
    variables,
)

T = TypeVar("T")

INPUTS = {"e": 2, "d": 1, "timed": 2, "flag": 0}
"""Relations filled from outside, and their arities; `timed` has times at its end."""
LAYERS = ({"q": 2, "p": 1, "at": 2}, {"r": 2, "s": 1}, {"v": 2, "u": 0}, {FALSE: 0})
_ODD: tuple[Value, ...] = ("a", ("f", 1), 0, ("", 2, "a"), ("f", ("f", 1)))
VALUES: tuple[Value, ...] = (1, 2, 3, 1, 2, 3, 1, 2, 3, *_ODD)

_VARIABLES = tuple(map(Variable, "XYZ"))
_COMPARATORS: tuple[Comparator, ...] = ("<", "!=", ">=", "<=", ">", "=")
_FUNCTIONS: tuple[Function, ...] = ("count", "sum", "min", "max", "sum+")
_OPERATIONS: tuple[Operation, ...] = ("+", "-", "*")


def pick(draw: DrawFn, options: Sequence[T]) -> T:
    """One of the options; the first is the simplest."""
    return draw(st.sampled_from(options))


def one_in(draw: DrawFn, number: int) -> bool:
    """True once in so many."""
    return draw(st.integers(0, number - 1)) == number - 1


def _difference(one: Value, other: Value) -> Value | None:
    """A function without a value for what is no number, and where it would not be positive."""
    if isinstance(one, int) and isinstance(other, int) and one > other:
        return one - other
    return None


@dataclass
class Writer:
    """Writes safe rules for one layer."""

    draw: DrawFn
    below: dict[str, int]
    """Relations that are complete, and their arities."""
    own: dict[str, int]

    @property
    def arities(self) -> dict[str, int]:
        """What rules may read."""
        return {CLOCK: 1} | self.below | self.own

    def term(self, terms: Sequence[Term]) -> Term:
        """A term of a literal that matches rows."""
        found = pick(self.draw, terms)
        if one_in(self.draw, 30):
            return Compound("f", (found,))
        return Constant(pick(self.draw, VALUES)) if one_in(self.draw, 20) else found

    def scan(self) -> Scan:
        """A literal that gives variables values."""
        names = [*self.below, *self.below, *self.own]
        name = CLOCK if one_in(self.draw, 20) else pick(self.draw, names)
        order = self.draw(st.permutations(_VARIABLES))
        terms = [self.term([order[n], order[n], *_VARIABLES]) for n in range(self.arities[name])]
        return Scan(name, tuple(terms))

    def restriction(self, bound: Sequence[Variable]) -> Literal:
        """A literal that gives no variable a value that is used elsewhere."""
        kinds: tuple[Callable[[Sequence[Variable]], Literal], ...]
        kinds = (*[self.absent] * 5, self.comparison, self.holds, self.within, self.called)
        return pick(self.draw, kinds)(bound)

    def row(self, name: str, bound: Sequence[Variable]) -> tuple[Term, ...]:
        """Terms all of whose variables have values."""
        terms: Sequence[Term] = bound or [Constant(1), Constant("a")]
        return tuple(self.term(terms) for _ in range(self.arities[name]))

    def absent(self, bound: Sequence[Variable]) -> Literal:
        name = pick(self.draw, [*self.below])
        return Absent(name, self.row(name, bound))

    def holds(self, bound: Sequence[Variable]) -> Literal:
        name = pick(self.draw, [*self.below])
        return Holds(name, self.row(name, bound))

    def comparison(self, bound: Sequence[Variable]) -> Literal:
        left = self.computed(bound)
        return Compare(pick(self.draw, _COMPARATORS), left, self.term([*bound, Constant(2)]))

    def within(self, bound: Sequence[Variable]) -> Literal:
        high: list[Term] = [Constant(2), *bound]
        return Between(self.computed(bound), Constant(0), pick(self.draw, high))

    def called(self, bound: Sequence[Variable]) -> Literal:
        terms: list[Term] = [*bound, Constant(1)]
        result = pick(self.draw, [None, None, *terms])
        return Call(_difference, (pick(self.draw, terms), pick(self.draw, terms)), result)

    def computed(self, bound: Sequence[Variable]) -> Term:
        """A variable with a value, or something computed with it."""
        terms: list[Term] = [*bound, Constant(1)]
        term = pick(self.draw, terms)
        if one_in(self.draw, 2):
            return term
        other = pick(self.draw, [Constant(2), *terms])
        return Computed(pick(self.draw, _OPERATIONS), (term, other))

    def assignment(self, bound: Sequence[Variable]) -> Literal:
        """A literal that gives `N` a value."""
        new = Variable("N")
        if one_in(self.draw, 3):
            high: list[Term] = [Constant(3), *bound]
            return Between(new, Constant(1), pick(self.draw, high))
        if one_in(self.draw, 4):
            terms: list[Term] = [*bound, Constant(3)]
            return Call(_difference, (pick(self.draw, terms), Constant(1)), new)
        if one_in(self.draw, 3):
            function: list[Term] = [*bound, Constant(("f", 1))]
            return Compare("=", pick(self.draw, function), Compound("f", (new,)))
        return Compare("=", new, self.computed(bound))

    def body(self, most: int) -> tuple[tuple[Literal, ...], list[Variable]]:
        """A safe body in any order, and the variables that have values in it."""
        scans = [self.scan() for _ in range(pick(self.draw, (2, 1, 2, 0, 3)[: most + 2]))]
        bound = [v for v in _VARIABLES if any(v in _mentioned(scan) for scan in scans)]
        more = [self.restriction(bound) for _ in range(pick(self.draw, (0, 0, 1, 1)))]
        return tuple(self.draw(st.permutations([*scans, *more]))), bound

    def rule(self) -> Rule:
        """A rule that only passes values on, with any recursion: it cannot go on for ever."""
        name = pick(self.draw, [*self.own])
        body, bound = self.body(3)
        head = _arguments(self.draw, bound, self.own[name])
        return Rule(name, head, body, until=self.end(bound))

    def base(self) -> Rule:
        """A rule that passes values on from the layers below."""
        name = pick(self.draw, [*self.own])
        body, bound = Writer(self.draw, self.below, {}).body(2)
        return Rule(name, _arguments(self.draw, bound, self.own[name]), body)

    def making(self) -> Rule:
        """A rule that makes values, of layers below only: it cannot go on for ever."""
        lower = Writer(self.draw, self.below, {})
        body, bound = lower.body(2)
        body = (*body, self.assignment(bound))
        name = pick(self.draw, [*self.own])
        made: list[Term] = [Variable("N"), *bound, Compound("", (Variable("N"), Constant(1)))]
        if bound:
            made.append(lower.computed(bound))
        head = tuple(pick(self.draw, made) for _ in range(self.own[name]))
        return Rule(name, head, body, until=self.end(bound))

    def counting(self) -> Rule:
        """Recursion through arithmetic, within bounds."""
        name = pick(self.draw, [n for n in self.own if self.own[n]])
        x, step = Variable("X"), Computed("+", (Variable("X"), Constant(1)))
        terms = [x, *[Variable("Y")] * (self.own[name] - 1)]
        body = (
            Scan(name, tuple(terms)),
            Compare("<", x, Constant(3)),
            Compare(">", x, Constant(0)),
        )
        return Rule(name, (step, *terms[1:]), body)

    def end(self, bound: Sequence[Variable]) -> tuple[Term, int] | None:
        """Now and then an early end."""
        if not bound or not one_in(self.draw, 5):
            return None
        return pick(self.draw, bound), self.draw(st.integers(0, 3))

    def rules(self) -> list[Rule]:
        """Some rules of the layer."""
        kinds = [self.rule, self.rule, self.rule, self.making]
        if any(self.own.values()):
            kinds.append(self.counting)
        more = [pick(self.draw, kinds) for _ in range(self.draw(st.integers(1, 3)))]
        return [self.base(), *(write() for write in more)]


def _mentioned(scan: Scan) -> list[Variable]:
    return [Variable(name) for term in scan.terms for name in sorted(variables(term))]


@st.composite
def aggregates(draw: DrawFn, below: dict[str, int], name: str) -> tuple[list[Rule], Operator]:
    """An aggregate, and the rules of its groups and elements."""
    writer = Writer(draw, below, {})
    wide = draw(st.integers(0, 1))
    body, bound = writer.body(2)
    groups = Rule(f"groups of {name}", _arguments(draw, bound, wide), body)
    body, bound = writer.body(2)
    element = Compound("", _arguments(draw, bound, draw(st.integers(1, 2))))
    elements = Rule(f"elements of {name}", (*_arguments(draw, bound, wide), element), body)
    operator = Aggregate(name, groups.head, elements.head, pick(draw, _FUNCTIONS))
    return [groups, elements], operator


def _arguments(draw: DrawFn, bound: Sequence[Variable], number: int) -> tuple[Term, ...]:
    terms: Sequence[Term] = bound or [Constant(1)]
    return tuple(pick(draw, terms) for _ in range(number))


@st.composite
def programs(draw: DrawFn) -> Program:
    """Programs of up to four layers, with operators between them."""
    rules: list[Rule] = []
    operators: list[Operator] = []
    below = dict(INPUTS)
    for number, own in enumerate(LAYERS[: draw(st.integers(1, len(LAYERS)))]):
        found = Writer(draw, below, own).rules()
        rules += found
        below |= {rule.head: own[rule.head] for rule in found}
        if one_in(draw, 3):
            more, operator = draw(aggregates(below, f"aggregate {number}"))
            rules, operators = rules + more, [*operators, operator]
            below |= {operator.result: len(more[0].terms) + 1}
        if one_in(draw, 3):
            timed = pick(draw, ["timed", *{"at"} & below.keys()])
            width = draw(st.integers(0, 3))
            gap = draw(st.integers(0, width)) if one_in(draw, 2) else 0
            operators.append(Always(f"always {number}", timed, width, gap))
            below |= {f"always {number}": 1}
        if one_in(draw, 6):  # of a window in which all is
            operators.append(Lasting(f"lasting {number}", "timed", 99))
            below |= {f"lasting {number}": 2}
    relations = sorted({rule.head for rule in rules} | {*INPUTS} | {o.result for o in operators})
    outputs = draw(st.just(relations) | st.lists(st.sampled_from(relations)))
    inputs = frozenset({*INPUTS, *([rules[0].head] if one_in(draw, 3) else [])})
    return Program(tuple(rules), tuple(operators), inputs, "random", frozenset(outputs))


def rows(name: str, times: Sequence[int]) -> st.SearchStrategy[Row]:
    """Rows of an input; those of `timed` are about some of the times."""
    if name == "timed":
        return st.tuples(st.sampled_from(VALUES[:4]), st.sampled_from(times))
    arity = (INPUTS | LAYERS[0])[name]
    return st.tuples(*[st.sampled_from(VALUES)] * arity)
