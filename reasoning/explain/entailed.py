"""All that rows entail at one instant, and the instances of rules by which they do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.explain.tree import RuleText
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.joins import ordered
from citywise.reasoning.model.rules import Absent, Call, Compare, Fact, Literal, Program, Rule, Scan
from citywise.reasoning.model.values import (
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


@dataclass(frozen=True, eq=False)
class Clause:
    """One head of a rule, and one of the bodies it has."""

    rule: Rule
    text: RuleText
    """The rule as written."""
    source: str = ""
    """The imported document it is of; empty: the document itself, or none."""
    inferred: bool = False
    """Whether no author wrote it: of what it adds to a set without need nothing is told."""

    @property
    def name(self) -> str:
        """`rule slow`, `rule line 3 of streets.rifps`."""
        return self.text.name + (f" of {self.source}" if self.source else "")


@dataclass(frozen=True, eq=False)
class Stated:
    """A fact that a document states without conditions."""

    text: RuleText
    source: str = ""

    @property
    def place(self) -> str:
        """`line 3`, `line 3 of streets.rifps`."""
        return f"line {self.text.line}" + (f" of {self.source}" if self.source else "")


class EntailedModel:
    """The least model of a program's rules and of facts that are given.

    Parameters
    ----------
    clauses:
        The rules as their authors know them.
    program:
        What they come to; its rows are asked for by relation.
    given:
        The facts.
    tables:
        Rows of relations that only say what terms are.
    limits:
        On finding what holds; None: without. Raises `LimitError` beyond them.
    """

    def __init__(
        self,
        clauses: Sequence[Clause],
        program: Program,
        given: Iterable[Fact],
        tables: Mapping[str, Iterable[Row]],
        limits: Limits | None,
    ) -> None:
        self.clauses = clauses
        self.tables = tables.keys()
        self._evaluation = RuleEvaluation(program, limits)
        for name, row in given:
            self._evaluation.insert(name, [row])
        for name, rows in tables.items():
            self._evaluation.insert(name, rows)
        self._evaluation.step(0)
        self._rows: dict[str, dict[Row, None]] = {}
        self._indices: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = {}

    def rows(self, relation: str) -> Collection[Row]:
        """The rows of a relation."""
        if relation not in self._rows:
            self._rows[relation] = dict.fromkeys(self._evaluation.rows(relation))
        return self._rows[relation].keys()

    def __contains__(self, fact: Fact) -> bool:
        return fact[1] in self.rows(fact[0])

    # -- instances of rules ---------------------------------------------------------------

    def instances(self, fact: Fact) -> Iterator[tuple[Clause, Bound]]:
        """The instances of clauses that derive a fact."""
        for clause in self.clauses:
            bound = self.headed(clause, fact)
            if bound is not None:
                for found in self.solutions(clause.rule.body, bound):
                    yield clause, found

    def headed(self, clause: Clause, fact: Fact) -> dict[str, Value] | None:
        """The values that a clause's variables have where its head is a fact; None if it never
        is."""
        relation, row = fact
        return unified(clause.rule.terms, row, {}) if clause.rule.head == relation else None

    def premise(self, scan: Scan, bound: Bound) -> Fact:
        """The fact that a literal looks at, under values for its variables."""
        return scan.relation, valued_all(scan.terms, bound)

    def looks_for(self, scan: Scan, fact: Fact, bound: Bound) -> bool:
        """Whether a literal would look at a fact, under values for some of its variables."""
        return scan.relation == fact[0] and unified(scan.terms, fact[1], bound) is not None

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
                rows = self._matching(relation, terms, bound)
                found = (unified(terms, row, bound) for row in rows)
                yield from (more for more in found if more is not None)
            case Absent(relation, terms):
                if valued_all(terms, bound) not in self.rows(relation):
                    yield bound
            case _:
                more = _tested(literal, bound)
                if more is not None:
                    yield more

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


def _tested(literal: Literal, bound: Bound) -> Bound | None:
    """The values under which a comparison or a call holds; None if it does not."""
    match literal:
        case Compare("=", left, right):
            if not variables(right) <= bound.keys():
                left, right = right, left
            return unified((left,), (valued(right, bound),), bound)
        case Compare("!=", left, right):
            return None if valued(left, bound) == valued(right, bound) else bound
        case Call(function, arguments, result):
            found = function(*valued_all(arguments, bound))
            if found is None or result is None:
                return None if found is None else bound
            return unified((result,), (found,), bound)
    raise TypeError(literal)


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
