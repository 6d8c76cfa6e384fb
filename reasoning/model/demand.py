"""Rows of a stream that nobody would ever ask for are not derived.

    freed(Road) :- free(Road,_,_).
    stands(Road,Opened) :- prev_event(_,Road,_,Opened,_), not freed(Road).

Most roads are free, and nobody asks whether, but where something stands: all that looks at `free`
joins it, in the end, with a road of few. Such a relation gets a semi-join with what asks for its
rows (magic sets without constants: Beeri and Ramakrishnan, On the power of magic, 1991):

    #wanted(Road) :- prev_event(_,Road,_,_,_).
    free(Road,T,Obs) :- reading(Road,T,Obs,Speed,Count), …, #wanted(Road).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from citywise.reasoning.model.rules import (
    Absent,
    Aggregate,
    Holds,
    Looked,
    Program,
    Rule,
    Scan,
    reached,
)
from citywise.reasoning.model.values import Variable

_Column = tuple[str, int]
"""A relation, and a place in its rows."""


def demanded(program: Program, rows: Collection[str]) -> Program:
    """The program, in which relations derived from single rows of the relations `rows` have only
    what may be asked for."""
    for relation in sorted({rule.head for rule in program.rules}):
        own = [rule for rule in program.rules if rule.head == relation]
        if relation in program.inputs or not all(_is_of_rows(rule, rows) for rule in own):
            continue
        for place in range(len(own[0].terms)):
            asked = _Demand(program, relation, rows).of(relation, place)
            if asked and all(isinstance(rule.terms[place], Variable) for rule in own):
                # One after the other: what the next one may ask does not depend on it.
                program = _semijoined(program, relation, place, asked)
                break
    return program


def _semijoined(program: Program, relation: str, place: int, asked: Collection[_Column]) -> Program:
    wanted = f"#wanted {place} {relation}"
    rules = [_limited(r, place, wanted) if r.head == relation else r for r in program.rules]
    rules += [_wants(wanted, column, program) for column in sorted(asked)]
    return replace(program, rules=tuple(rules))


def _is_of_rows(rule: Rule, rows: Collection[str]) -> bool:
    looks = [*rule.looks.values()]
    return len(looks) == 1 and isinstance(looks[0], Scan) and looks[0].relation in rows


def _limited(rule: Rule, place: int, wanted: str) -> Rule:
    return replace(rule, body=(*rule.body, Scan(wanted, (rule.terms[place],))))


def _wants(wanted: str, column: _Column, program: Program) -> Rule:
    relation, place = column
    arity = next(_arities(program, relation))
    terms = tuple(Variable(f"X{number}") for number in range(arity))
    return Rule(wanted, (terms[place],), (Scan(relation, terms),), name=wanted)


def _arities(program: Program, relation: str) -> Iterator[int]:
    for rule in program.rules:
        for literal in rule.looks.values():
            if literal.relation == relation:
                yield len(literal.terms)


class _Demand:
    """The columns whose values are all that a relation's rows are looked at with.

    They are of relations that do not depend on it, and are not among `rows`, which have as many.
    """

    def __init__(self, program: Program, relation: str, rows: Collection[str]) -> None:
        self._program = program
        self._seen: set[_Column] = set()
        reads: dict[str, list[str]] = {}
        for rule in program.rules:
            for literal in rule.looks.values():
                reads.setdefault(literal.relation, []).append(rule.head)
        for operator in program.operators:
            for name in operator.reads:
                reads.setdefault(name, []).append(operator.result)
        self._useless = reached([relation], reads) | set(rows)

    def of(self, relation: str, place: int) -> frozenset[_Column] | None:
        """The columns; None where a row may be looked at whatever its value at the place."""
        if relation in self._program.outputs:
            return None
        if (relation, place) in self._seen:
            return frozenset()
        self._seen.add((relation, place))
        found: set[_Column] = set()
        for columns in self._asked(relation, place):
            if columns is None:
                return None
            found.update(columns)
        return frozenset(found)

    def _asked(self, relation: str, place: int) -> Iterator[Collection[_Column] | None]:
        """What each that looks at the relation asks for."""
        for rule in self._program.rules:
            for at, literal in rule.looks.items():
                if literal.relation == relation:
                    yield self._by_rule(rule, at, literal, place)
        for operator in self._program.operators:
            if relation in operator.reads:
                grouped = isinstance(operator, Aggregate) and place < _width(
                    self._program, operator
                )
                yield self.of(operator.result, place) if grouped else None

    def _by_rule(
        self, rule: Rule, at: int, literal: Looked, place: int
    ) -> Collection[_Column] | None:
        term = literal.terms[place]
        if not isinstance(term, Variable):
            return None
        for other, scan in rule.looks.items():
            useful = isinstance(scan, Scan) and scan.relation not in self._useless
            if useful and other != at and term in scan.terms:
                return {(scan.relation, scan.terms.index(term))}
        if isinstance(literal, Absent | Holds) or term not in rule.terms:
            return None
        return self.of(rule.head, rule.terms.index(term))


def _width(program: Program, operator: Aggregate) -> int:
    """How many values the groups of an aggregate have."""
    arities = [len(r.terms) for r in program.rules if r.head == operator.groups]
    arities += _arities(program, operator.groups)
    return arities[0] if arities else 0
