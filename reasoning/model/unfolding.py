"""Rules that join triples on their subject, over rows that were never taken apart.

A graph of an item that says several things of one subject is one row of a shape: the subject, the
time, and a value for each predicate. A rule that joins triples with one subject

    reading(Road,T,Obs,Speed,Count) :- sosa_hasFeatureOfInterest(Obs,Road,T),
            city_averageSpeed(Obs,Speed), city_vehicleCount(Obs,Count).

becomes a rule over those rows, as ontology-based data access unfolds queries over its mappings
(Poggi et al., Linking data to ontologies, 2008). The triples stay what the rules mean; they are
made only where something looks at them in another way.

Of such rows those that nobody would ever ask for are not derived (`demanded`).

    freed(Road) :- free(Road,_,_).
    stands(Road,Opened) :- prev_event(_,Road,_,Opened,_), not freed(Road).

Most roads are free, and nobody asks whether, but where something stands: all that looks at `free`
joins it, in the end, with a road of few. Such a relation gets a semi-join with what asks for its
rows (magic sets without constants: Beeri and Ramakrishnan, On the power of magic, 1991):

    #wanted(Road) :- prev_event(_,Road,_,_,_).
    free(Road,T,Obs) :- reading(Road,T,Obs,Speed,Count), …, #wanted(Road).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, product
from typing import NamedTuple

from citywise.reasoning.model.engine import Shape
from citywise.reasoning.model.rules import (
    Absent,
    Aggregate,
    Compare,
    Holds,
    Literal,
    Looked,
    Program,
    Rule,
    Scan,
    reached,
    substituted,
)
from citywise.reasoning.model.values import Constant, Row, Term, Variable, variables

_MOST = 16
"""Rules that one rule may become."""


class Unfolded(NamedTuple):
    """A program over rows of shapes."""

    program: Program
    shapes: Sequence[Shape]
    left: frozenset[str]
    """Relations that the shapes say and the program does not look at any more."""


def unfolded(program: Program, shapes: Sequence[Shape], given: Collection[str] = ()) -> Unfolded:
    """The program over rows of shapes, where it can be; with no more relations than it needs.

    Relations that have rows from elsewhere (`given`), that rules derive, or that are looked at
    otherwise than for what they say of one subject, stay as they are.
    """
    if not shapes:
        return Unfolded(program, shapes, frozenset())
    said = {relation for shape in shapes for relation in shape.relations}
    left = frozenset(said - program.outputs).difference(given)
    left -= {rule.head for rule in program.rules}
    left -= {relation for operator in program.operators for relation in operator.reads}
    for rule in program.rules:
        left -= {
            literal.relation
            for literal in rule.looks.values()
            if not (isinstance(literal, Scan) and all(map(_is_plain, literal.terms)))
        }
    # A rule over many shapes would become too many: its relations stay, for all rules.
    while wide := [rule for rule in program.rules if _choices(rule, left, shapes) > _MOST]:
        left -= {literal.relation for rule in wide for literal in rule.looks.values()}
    rules = tuple(made for rule in program.rules for made in _over_rows(rule, left, shapes))
    read = {literal.relation for rule in rules for literal in rule.looks.values()}
    inputs = program.inputs - left | {shape.relation for shape in shapes} & read
    made = without_passages(replace(program, rules=rules, inputs=inputs))
    made = demanded(made, {shape.relation for shape in shapes})
    return Unfolded(made, shapes, left)


def rows_apart(shape: Shape, rows: Sequence[Row], left: Collection[str]) -> dict[str, list[Row]]:
    """The triples of a shape's rows, as rows of its relations but for those that are left out."""
    found: dict[str, list[Row]] = {}
    for place, relation in enumerate(shape.relations, 2):
        if relation not in left:
            timed = relation.endswith("/3")
            said = [(r[0], r[place], r[1]) if timed else (r[0], r[place]) for r in rows]
            found[relation] = [*found.get(relation, ()), *said]
    return found


def _is_plain(term: Term) -> bool:
    return isinstance(term, Variable | Constant)


def _stars(rule: Rule, left: Collection[str]) -> dict[Term, list[Scan]]:
    """Scans of relations that are left to shapes, by their subjects."""
    stars: dict[Term, list[Scan]] = {}
    for literal in rule.body:
        if isinstance(literal, Scan) and literal.relation in left:
            stars.setdefault(literal.terms[0], []).append(literal)
    return stars


def _fitting(star: Sequence[Scan], shapes: Sequence[Shape]) -> list[Shape]:
    wanted = {scan.relation for scan in star}
    return [shape for shape in shapes if wanted <= set(shape.relations)]


def _choices(rule: Rule, left: Collection[str], shapes: Sequence[Shape]) -> int:
    choices = 1
    for star in _stars(rule, left).values():
        choices *= len(_fitting(star, shapes))
    return choices


def _over_rows(rule: Rule, left: Collection[str], shapes: Sequence[Shape]) -> Iterator[Rule]:
    """A rule for each way in which shapes say what its literals ask of their subjects."""
    stars = _stars(rule, left)
    if not stars:
        yield rule
        return
    others = [each for star in stars.values() for each in star]
    rest = [literal for literal in rule.body if not any(literal is each for each in others)]
    fresh = count()
    for chosen in product(*(_fitting(star, shapes) for star in stars.values())):
        body: list[Literal] = []
        for star, shape in zip(stars.values(), chosen, strict=True):
            body += _row(star, shape, fresh)
        yield replace(rule, body=(*body, *rest))


def _row(star: Sequence[Scan], shape: Shape, fresh: Iterator[int]) -> list[Literal]:
    """One row in the place of scans with one subject; what they say twice is equal."""
    terms: dict[int, Term] = {0: star[0].terms[0]}
    same: list[Literal] = []
    for scan in star:
        place = shape.relations.index(scan.relation) + 2
        for at, term in zip((place, 1), scan.terms[1:], strict=False):
            if terms.setdefault(at, term) != term:
                same.append(Compare("=", term, terms[at]))
    width = len(shape.relations) + 2
    row = tuple(terms.get(at) or Variable(f"#row{next(fresh)}") for at in range(width))
    return [Scan(shape.relation, row), *same]


def without_passages(program: Program) -> Program:
    """The program without relations that one rule passes on from another, in another order or
    in part. Who scans them scans that other."""
    while (passage := _passage(program)) is not None:
        rules = tuple(_instead(rule, passage) for rule in program.rules if rule is not passage)
        program = replace(program, rules=rules)
    return program


def _passage(program: Program) -> Rule | None:
    """A rule whose head need not be there."""
    heads = [rule.head for rule in program.rules]
    kept = program.inputs | program.outputs
    kept |= {name for operator in program.operators for name in (*operator.reads, operator.result)}
    looks = [each for rule in program.rules for each in rule.looks.values()]
    kept |= {literal.relation for literal in looks if not isinstance(literal, Scan)}
    for rule in program.rules:
        named = {term.name for term in rule.terms if isinstance(term, Variable)}
        if (
            rule.head not in kept
            and heads.count(rule.head) == 1
            and len(named) == len(rule.terms)
            and rule.until is None
            and [type(literal) for literal in rule.looks.values()] == [Scan]
            and len(rule.body) == 1
            and all(_is_plain(term) for each in rule.looks.values() for term in each.terms)
            and all(each.relation != rule.head for each in rule.looks.values())
        ):
            return rule
    return None


def _instead(rule: Rule, passage: Rule) -> Rule:
    """The rule, with the passage's body in the place of its head."""
    body: list[Literal] = []
    for place, literal in enumerate(rule.body):
        if not isinstance(literal, Scan) or literal.relation != passage.head:
            body.append(literal)
            continue
        heads = [term.name for term in passage.terms if isinstance(term, Variable)]
        values: Mapping[str, Term] = dict(zip(heads, literal.terms, strict=True))
        apart = _renamed(passage, values, f"#{place}")
        body += [substituted(each, apart) for each in passage.body]
    return replace(rule, body=tuple(body))


def _renamed(passage: Rule, values: Mapping[str, Term], mark: str) -> dict[str, Term]:
    """What stands for the passage's variables: those of the head have values, the others are
    variables of their own."""
    names = {
        name for literal in passage.body for term in _terms(literal) for name in variables(term)
    }
    return {name: values.get(name, Variable(f"{name}{mark}")) for name in sorted(names)}


def _terms(literal: Literal) -> tuple[Term, ...]:
    match literal:
        case Scan(_, terms) | Absent(_, terms):
            return terms
        case Compare(_, left, right):
            return left, right
    raise TypeError(literal)


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
        for columns in self._asked_columns(relation, place):
            if columns is None:
                return None
            found.update(columns)
        return frozenset(found)

    def _asked_columns(self, relation: str, place: int) -> Iterator[Collection[_Column] | None]:
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
