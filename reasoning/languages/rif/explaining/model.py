"""All that holds at one instant, and the instances of rules by which it does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from reasoning.engines.incremental.evaluation import RuleEvaluation
from reasoning.languages.rif.bodies import TRIPLE
from reasoning.languages.rif.compile import INFERRED, reads, wanted
from reasoning.languages.rif.explaining.rules import Clause, Rules
from reasoning.languages.rif.showing import Fact
from reasoning.languages.rif.values import is_property
from reasoning.limits import Limits
from reasoning.model.joins import ordered
from reasoning.model.rules import Absent, Call, Compare, Literal, Program, Rule, Scan, copied
from reasoning.model.terms import (
    Compound,
    Computed,
    Constant,
    Row,
    Term,
    Value,
    Variable,
    variables,
)

Bound = Mapping[str, Value]
"""Variables with their values."""


class EntailedModel:
    """The least model of rules and facts, as far as facts of one relation rest on it.

    Raises `LimitError` where it is not found within the limits.
    """

    def __init__(
        self, rules: Rules, given: Collection[Fact], relation: str, limits: Limits | None
    ) -> None:
        self._rules = rules
        # No set: rules, and with them rows, are in this order.
        names = dict.fromkeys([*(name for name, _row in given), relation])
        self._properties = {n: n for n in names if is_property(n) and n[0] in "<_"}
        self._properties |= rules.properties  # type: ignore[arg-type]
        found = wanted(self._program(), {relation})
        self._looked = frozenset({relation}).union(*map(reads, found))
        self._evaluation = RuleEvaluation(
            Program(tuple(found), inputs=self._looked.union(names, rules.tables)),
            limits,
        )
        for name, row in given:
            self._evaluation.insert(name, [row])
        for name, rows in rules.tables.items():
            self._evaluation.insert(name, rows)
        self._evaluation.step(0)
        self._rows: dict[str, dict[Row, None]] = {}
        self._indices: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = {}

    def _program(self) -> Iterator[Rule]:
        """The rules, and those by which frames are in the relation of all and in their own."""
        subject, given = Variable("S"), Variable("O")
        for clause in self._rules.clauses:
            rule = clause.rule
            yield replace(rule, head=INFERRED) if rule.head == TRIPLE else rule
        yield copied(TRIPLE, INFERRED, 3)
        for name, property_ in self._properties.items():
            row = (subject, Constant(property_), given)
            yield Rule(name, (subject, given), (Scan(INFERRED, row),))
            yield Rule(TRIPLE, row, (Scan(name, (subject, given)),))

    @property
    def tables(self) -> Collection[str]:
        """The relations that only say what terms are."""
        return self._rules.tables.keys()

    def rows(self, relation: str) -> Collection[Row]:
        """The rows of a relation."""
        if relation not in self._rows:
            self._rows[relation] = dict.fromkeys(self._evaluation.rows(relation))
        return self._rows[relation].keys()

    def __contains__(self, fact: Fact) -> bool:
        relation, row = fact
        if relation in self._properties or not is_property(relation):
            return row in self.rows(relation)
        return (row[0], relation, row[1]) in self.rows(TRIPLE)

    # -- instances of rules ---------------------------------------------------------------

    def instances(self, fact: Fact) -> Iterator[tuple[Clause, Bound]]:
        """The instances of clauses that derive a fact."""
        for clause in self._rules.clauses:
            bound = self.headed(clause, fact)
            if bound is not None:
                for found in self.solutions(clause.rule.body, bound):
                    yield clause, found

    def headed(self, clause: Clause, fact: Fact) -> dict[str, Value] | None:
        """The values that a clause's variables have where its head is a fact; None if it never
        is."""
        relation, row = fact
        rule = clause.rule
        if rule.head == relation:
            return unified(rule.terms, row, {})
        if rule.head == TRIPLE and len(row) == 2 and is_property(relation):
            property_ = self._properties.get(relation, relation)
            return unified(rule.terms, (row[0], property_, row[1]), {})
        return None

    def solutions(self, body: tuple[Literal, ...], bound: Bound) -> Iterator[Bound]:
        """Values under which all literals hold."""
        if not body:
            yield bound
            return
        first = self.first(body, bound)
        rest = tuple(literal for literal in body if literal != first)
        for more in self.extended(first, bound):
            yield from self.solutions(rest, more)

    def first(self, body: tuple[Literal, ...], bound: Bound, *, hopeful: bool = False) -> Literal:
        """The literal to be met first: a test, or the scan that the fewest rows match; with
        `hopeful` one that no row matches comes last."""
        best = _ready(body, frozenset(bound))
        if not isinstance(best, Scan):
            return best
        scans = [literal for literal in body if isinstance(literal, Scan)]
        counts = [len(self._matching(scan.relation, scan.terms, bound)) for scan in scans]
        keys = [(hopeful and not count, count) for count in counts]
        return scans[keys.index(min(keys))]

    def extended(self, literal: Literal, bound: Bound) -> Iterator[Bound]:
        """Values under which a literal holds, beyond those that there are."""
        match literal:
            case Scan(relation, terms):
                for row in self._matching(relation, terms, bound):
                    yield from _unified(terms, row, bound)
            case Absent(relation, terms):
                if valued_all(terms, bound) not in self.rows(relation):
                    yield bound
            case Compare(comparator, left, right):
                yield from compared(comparator, left, right, bound)
            case Call(function, arguments, result):
                found = function(*valued_all(arguments, bound))
                if found is not None:
                    yield from _resulting(result, found, bound)
            case _:
                raise TypeError(literal)

    def _matching(self, relation: str, terms: tuple[Term, ...], bound: Bound) -> Collection[Row]:
        known = frozenset(bound)
        places = tuple(i for i, term in enumerate(terms) if variables(term) <= known)
        if not places:
            return self.rows(relation)
        index = self._indices.get((relation, places))
        if index is None:
            index = self._indices[relation, places] = {}
            for row in self.rows(relation):
                index.setdefault(tuple(row[i] for i in places), []).append(row)
        return index.get(tuple(valued(terms[i], bound) for i in places), ())


@cache
def _ready(body: tuple[Literal, ...], known: frozenset[str]) -> Literal:
    """The literal of a body that can be met first."""
    return next(literal for literal, _known in ordered(body, known, Rule("", ())))


def premise(scan: Scan, bound: Bound) -> Fact:
    """The fact that a literal looks at, under values for its variables."""
    row = valued_all(scan.terms, bound)
    if scan.relation == TRIPLE and len(row) == 3:
        return str(row[1]), (row[0], row[2])
    return scan.relation, row


def compared(comparator: str, left: Term, right: Term, bound: Bound) -> Iterator[Bound]:
    """Values under which two terms are equal, or different."""
    if not variables(right) <= bound.keys():
        left, right = right, left
    found = valued(right, bound)
    if comparator == "=":
        yield from _unified((left,), (found,), bound)
    elif valued(left, bound) != found:
        yield bound


def _resulting(result: Term | None, found: Value, bound: Bound) -> Iterator[Bound]:
    """Values under which a call has its result."""
    if result is None:
        yield bound
    else:
        yield from _unified((result,), (found,), bound)


def _unified(terms: tuple[Term, ...], row: Row, bound: Bound) -> Iterator[Bound]:
    more = unified(terms, row, bound)
    if more is not None:
        yield more


def unified(terms: tuple[Term, ...], row: Row, bound: Bound) -> dict[str, Value] | None:
    """The values under which terms are those of a row; None if there are none."""
    found = dict(bound)
    if len(terms) != len(row):
        return None
    todo = list(zip(terms, row, strict=True))
    for term, given in todo:
        match term:
            case Variable(name):
                if found.setdefault(name, given) != given:
                    return None
            case Constant(meant):
                if meant != given:
                    return None
            case Compound(name, arguments) if isinstance(given, tuple) and given[0] == name:
                if len(arguments) != len(given) - 1:
                    return None
                todo.extend(zip(arguments, given[1:], strict=True))
            case _:
                return None
    return found


def valued(term: Term, bound: Bound) -> Value:
    """The value of a term whose variables have values."""
    match term:
        case Variable(name):
            return bound[name]
        case Constant(given):
            return given
        case Compound(name, arguments):
            return (name, *valued_all(arguments, bound))
        case Computed():
            raise TypeError(term)


def valued_all(terms: Iterable[Term], bound: Bound) -> Row:
    """The values of terms."""
    return tuple(valued(term, bound) for term in terms)
