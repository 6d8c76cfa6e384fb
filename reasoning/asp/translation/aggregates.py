"""Aggregates and conditional literals in the bodies of C-ASP's rules, as operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from clingo.ast import AggregateFunction, ASTType, Sign

from reasoning.asp.syntax import Node
from reasoning.asp.translation.bodies import (
    COMPARATORS,
    OPPOSITE,
    Draft,
    Reader,
    Scope,
    UnsupportedError,
    grounded,
    named,
    names,
)
from reasoning.model.rules import (
    Absent,
    Aggregate,
    Comparator,
    Compare,
    Function,
    Literal,
    Rule,
    Scan,
)
from reasoning.model.values import Compound, Computed, Constant, Term, Variable

_FUNCTIONS: dict[int, Function] = {
    int(AggregateFunction.Count): "count",
    int(AggregateFunction.Sum): "sum",
    int(AggregateFunction.SumPlus): "sum+",
    int(AggregateFunction.Min): "min",
    int(AggregateFunction.Max): "max",
}
_SUMS = ("sum", "sum+")
_OPPOSITE = {
    Sign.NoSign: Sign.Negation,
    Sign.Negation: Sign.NoSign,
    Sign.DoubleNegation: Sign.Negation,
}
_COMPUTING = (ASTType.Interval, ASTType.BinaryOperation, ASTType.UnaryOperation)
ONE = "#one"
"""The relation of one row, without arguments."""


class Part(ABC):
    """A part of a body with variables of its own; `needs` are those that the rest gives."""

    needs: frozenset[str]

    @abstractmethod
    def build(self, given: tuple[Literal, ...], scope: Scope) -> None:
        """Add to a scope what stands for the part; `given` gives `needs` their values."""


class AggregatePart(Part):
    """`l < #sum { W,X : p(W,X) } < u`, or a set of literals with bounds."""

    def __init__(
        self, draft: Draft, reader: Reader, literal: Node, outside: frozenset[str]
    ) -> None:
        self._draft = draft
        self._reader = reader
        self._sign = Sign(literal.origin.sign)
        self._node = literal.one("atom")
        # Variables that occur only within are local, a value of theirs is an element; those that
        # the rest names as well make the groups. Without bounds no group is needed.
        inside = named(*self._node.many("elements")) if self.guards else frozenset()
        self.needs = inside & outside

    @property
    def guards(self) -> tuple[tuple[bool, Node], ...]:
        """The guards, and whether each stands on the left."""
        left, right = self._node.many("left_guard"), self._node.many("right_guard")
        return (*((True, guard) for guard in left), *((False, guard) for guard in right))

    def build(self, given: tuple[Literal, ...], scope: Scope) -> None:
        """See `Part`."""
        if not self.guards:
            # Without bounds an aggregate is true, whatever is in it.
            scope.never |= self._sign == Sign.Negation
            return
        groups, order = self._groups(given)
        elements, result = self._draft.relation("elements"), self._draft.relation("value")
        # All elements go to one relation: ASP's aggregates are over a set of tuples, to which
        # several elements may add the same one.
        for element in self._node.many("elements"):
            self._element(element, elements, Scan(groups, order))
        self._draft.operators.append(Aggregate(result, groups, elements, self._function))
        value = self._named_value or Variable(self._reader.fresh())
        scope.literals.append(Scan(result, (*order, value)))
        for is_left, guard in self.guards:
            self._guard(guard, value, scope, is_left=is_left)

    @property
    def _named_value(self) -> Variable | None:
        """The variable that is the value: `N` of `N = #count { … }`."""
        # Sums are compared in 64 bits and given in 32 (`_assigned`), so the value of a sum cannot
        # simply take the variable's name.
        if self._sign == Sign.Negation or self._function in _SUMS:
            return None
        for _is_left, guard in self.guards:
            term = guard.one("term")
            if COMPARATORS[int(guard.origin.comparison)] == "=" and named(term) == {term.name}:
                return Variable(term.name)
        return None

    @property
    def _function(self) -> Function:
        if self._node.kind == ASTType.Aggregate:
            return "count"
        return _FUNCTIONS[int(self._node.origin.function)]

    def _groups(self, given: tuple[Literal, ...]) -> tuple[str, tuple[Term, ...]]:
        """The relation of the groups, and what its rows hold."""
        if not self.needs:
            # Nothing to group by is one group, which is always there: a count of nothing is 0.
            self._draft.shared[ONE] = Rule(ONE, ())
            return ONE, ()
        # A relation whose rows are the groups as they stand needs no copy of itself.
        if len(given) == 1 and isinstance(given[0], Scan) and self._is_whole(given[0]):
            return given[0].relation, given[0].terms
        order = tuple(map(Variable, sorted(self.needs)))
        name = self._draft.relation("groups")
        self._draft.rule(name, order, given)
        return name, order

    def _is_whole(self, scan: Scan) -> bool:
        """Whether the rows of a relation are groups as they are."""
        found = [term.name for term in scan.terms if isinstance(term, Variable)]
        return len(found) == len(scan.terms) == len(self.needs) and set(found) == self.needs

    def _element(self, element: Node, elements: str, groups: Scan) -> None:
        scope = Scope(self._draft, self._reader)
        if element.kind == ASTType.ConditionalLiteral:
            what = _literal_tuple(element.one("literal"), scope)
        else:
            what = Compound("", tuple(map(scope.term, element.many("terms"))))
        for condition in element.many("condition"):
            scope.literal(condition)
        if not scope.never:
            self._draft.rule(elements, (*groups.terms, what), self._within(groups, scope))

    def _within(self, groups: Scan, scope: Scope) -> tuple[Literal, ...]:
        """The body of an element's rule: its condition, with the groups if it needs them.

        Joined with the groups, whose horizons each new row may put off, all their elements
        would be met again and again.
        """
        found = grounded(scope.literals)
        if len(found) == len(scope.literals) and self.needs <= names(found):
            return tuple(scope.literals)
        return (groups, *scope.literals)

    def _guard(self, guard: Node, value: Variable, scope: Scope, *, is_left: bool) -> None:
        # `not` before an aggregate with one guard is the opposite comparison; one with two has
        # been made two rules before (`rules._alternatives`).
        comparator: Comparator = COMPARATORS[int(guard.origin.comparison)]
        if self._sign == Sign.Negation:
            comparator = OPPOSITE[comparator]
        term = scope.term(guard.one("term"))
        if comparator == "=" and term == value:
            return
        if comparator == "=":
            scope.equate(self._assigned(value, term, scope), term)
        else:
            sides = (term, value) if is_left else (value, term)
            scope.literals.append(Compare(comparator, *sides))

    def _assigned(self, value: Variable, term: Term, scope: Scope) -> Term:
        """What an equation gives a variable: clingo compares sums of 64 bits, and gives a
        variable that has no other value the last 32 of them."""
        if self._function not in _SUMS or not isinstance(term, Variable):
            return value
        if term.name in names(grounded(scope.literals)):
            return value
        last = Variable(self._reader.fresh())
        scope.literals.append(Compare("=", last, Computed("+", (value, Constant(0)))))
        return last


def _literal_tuple(literal: Node, scope: Scope) -> Term:
    """What tells a literal of a set from the others."""
    found = scope.literal(literal)
    if found is None:
        raise UnsupportedError(f"counts `{literal}`, which is no atom")
    # Sign and relation belong to it: `p(1)`, `not p(1)` and `q(1)` in one set are three.
    sign = Constant(int(literal.origin.sign))
    return Compound("", (sign, Constant(f'"{found.relation}"'), *found.terms))


class ConditionalPart(Part):
    """`p(X) : q(X)`: there is no `q(X)` without `p(X)`."""

    def __init__(self, draft: Draft, reader: Reader, node: Node, outside: frozenset[str]) -> None:
        self._draft = draft
        self._reader = reader
        self._literal = node.one("literal")
        self._shared = named(node) & outside
        self._condition = Scope(draft, reader)
        for part in node.many("condition"):
            self._condition.literal(part)
        self._named = named(*node.many("condition")) | self._shared
        self.needs = self._shared - names(grounded(self._condition.literals))

    def build(self, given: tuple[Literal, ...], scope: Scope) -> None:
        """See `Part`."""
        condition = (*given, *self._condition.literals)
        refuted = self._refuted(condition)
        if self._condition.never or refuted is None:
            return
        violated = self._draft.relation("violated")
        order = tuple(map(Variable, sorted(self._shared)))
        self._draft.rule(violated, order, (*condition, *refuted))
        scope.literals.append(Absent(violated, order))

    def _refuted(self, condition: tuple[Literal, ...]) -> Sequence[Literal] | None:
        """What says that the literal does not hold; None if it always does."""
        scope = Scope(self._draft, self._reader)
        if _is_plain(self._literal) and named(self._literal) <= self._named:
            # A literal that is ground then can be turned round. Where it may stand for several
            # (an interval, local variables, a chain), that there is none must be said of all of
            # them, by a relation of its own.
            scope.literal(self._literal, _OPPOSITE[Sign(self._literal.origin.sign)])
            return None if scope.never else scope.literals
        scope.literal(self._literal)
        satisfied = self._draft.relation("satisfied")
        order = tuple(map(Variable, sorted(self._named)))
        self._draft.rule(satisfied, order, (*condition, *scope.literals))
        return [Absent(satisfied, order)]


def _is_plain(literal: Node) -> bool:
    """Whether a literal is one ground literal for all values of its variables."""
    atom = literal.one("atom")
    is_chain = atom.kind == ASTType.Comparison and len(atom.many("guards")) > 1
    return not is_chain and not any(
        node.kind in _COMPUTING for node in atom.walk() if node is not atom
    )
