"""The rules of a regime, specialised to what a graph says of classes and properties.

A stream brings instances by the thousand and hardly ever schema. What the rules of `regimes`
ask of the schema is therefore answered beforehand: of `t(X,Q,Y) :- t(P,rdfs_subPropertyOf,Q),
t(X,P,Y)` one rule without variables for properties is left for each pair that the graph's
closure has, and rules that look at the schema only are done with (partial evaluation).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

from citywise.reasoning.model.joins import variables_of
from citywise.reasoning.model.rules import Absent, Compare, Literal, Rule, Scan
from citywise.reasoning.model.values import Term, Variable
from citywise.reasoning.rdf.entailment import Contradiction, TripleModel
from citywise.reasoning.rdf.mapping import RDF, Iri, Triple
from citywise.reasoning.rdf.mapping import TYPE as TYPE
from citywise.reasoning.rdf.mapping import Term as RdfTerm
from citywise.reasoning.rdf.regimes import (
    FALSE,
    NAMESPACES,
    TRIPLE,
    Regime,
    constant,
    head,
    known,
    rules,
    scans,
)

SAME = Iri(NAMESPACES["owl"] + "sameAs")
_SUBCLASS = Iri(NAMESPACES["rdfs"] + "subClassOf")
_SUBPROPERTY = Iri(NAMESPACES["rdfs"] + "subPropertyOf")
_WITH_OBJECT = frozenset({TYPE, _SUBCLASS, _SUBPROPERTY})
OPENED = "opened"
"""The relation of two terms that the rules of `Specialised` derive where they do not suffice:
a class or property means more than the graph says."""


class SchemaKey(NamedTuple):
    """What an atom is about; None: anything.

    Of a triple it is the property and, for those that say what class or property something
    belongs to, the object; of other relations the first column.
    """

    relation: str
    first: RdfTerm | None = None
    second: RdfTerm | None = None


def key(atom: Scan) -> SchemaKey:
    """What an atom is about."""
    if atom.relation != TRIPLE:
        return SchemaKey(atom.relation, known(atom.terms[0]) if atom.terms else None)
    _subject, predicate, value = atom.terms
    property_ = known(predicate)
    return SchemaKey(TRIPLE, property_, known(value) if property_ in _WITH_OBJECT else None)


@dataclass(frozen=True)
class Specialised:
    """Rules that infer from instances what the rules of a regime would."""

    rules: tuple[Rule, ...]
    """Over triples, relations of the regime's own (`path`, …), computed ones, and tables."""
    tables: Mapping[str, tuple[tuple[RdfTerm, ...], ...]]
    """Relations of rows that always hold."""
    inferred: tuple[Triple, ...]
    """What follows from the graph itself."""
    contradictions: tuple[Contradiction, ...]
    """What in the graph itself cannot be true together."""


def specialised(
    regime: Regime,
    triples: Sequence[Triple],
    wanted: Collection[SchemaKey] | None = None,
    equality: bool = False,
    properties: Collection[Iri] | None = None,
) -> Specialised:
    """The rules of a regime, specialised to a graph.

    With the graph's triples, and those that come later, they infer what `entailment.closure`
    infers of all of them together, as long as `OPENED` is empty. Inferred is what `wanted`
    names (None: everything) and what inconsistencies depend on. `equality` says that
    something besides may derive `owl:sameAs`.

    Rules that ask of any property (`t(Y,P,O) :- t(X,owl:sameAs,Y), t(X,P,O)`) stay as they
    are; with `properties` there is one for each of these, and of those of the other rules,
    instead; then only properties that the graph makes the same are.
    """
    frame = _frame(regime)
    model = TripleModel(triples, regime, [split.query for split in frame.splits])
    instances = [found for split in frame.splits for found in split.instances(model)]
    pairs: dict[Iri, set[tuple[RdfTerm, RdfTerm]]] = defaultdict(set)
    for subject, predicate, value in model.rows(TRIPLE, 3):
        if isinstance(predicate, Iri):
            pairs[predicate].add((subject, value))
    equality = equality or any(left != right for left, right in pairs[SAME])
    instances, equality = _supported(instances, equality)
    if properties is not None:
        instances = list(_grounded(instances, properties, pairs[SAME]))
    made = _Rules()
    for group in _grouped(_needed(instances, wanted, frame)).values():
        made.add(group)
    _trap(made, frame, pairs, equality)
    inferred, contradictions = tuple(model.inferred()), tuple(model.contradictions())
    return Specialised(tuple(made.rules), made.tables, inferred, contradictions)


def general(regime: Regime) -> tuple[Rule, ...]:
    """The rules of a regime as they are, for schema that comes and goes."""
    return tuple(rule for rule in rules(regime) if not _is_about_texts(rule))


def _is_about_texts(rule: Rule) -> bool:
    """Whether it tells texts of literals from their values: to those for whom these rules are,
    literals are values, which all have a datatype."""
    return rule.name == "dt-eq" or any(atom.relation == "ill" for atom in scans(rule))


# -- what is schema ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Frame:
    """What of a regime is schema."""

    properties: frozenset[Iri]
    """Those whose triples are schema."""
    classes: frozenset[Iri]
    """Those whose members are classes and properties."""
    reflexive: bool
    """Whether things are said to belong to themselves without further consequence."""
    splits: tuple[_Split, ...]


_DATA = {
    TYPE,
    SAME,
    Iri(NAMESPACES["owl"] + "differentFrom"),
    *(Iri(RDF + name) for name in ("subject", "predicate", "object")),
}
_DATA_RDFS = {Iri(RDF + "first"), Iri(RDF + "rest")}
_DATA_CLASSES = {
    Iri(NAMESPACES["owl"] + "Nothing"),
    Iri(RDF + "Property"),
    *(
        Iri(NAMESPACES["rdfs"] + name)
        for name in ("Class", "Datatype", "ContainerMembershipProperty")
    ),
}
"""Classes to which their members belong by being used."""


@cache
def _frame(regime: Regime) -> _Frame:
    """What is schema: properties and classes that rules ask about, but for `_DATA`."""
    table = general(regime)
    asked = [key(atom) for rule in table for atom in scans(rule) if atom.relation == TRIPLE]
    data = _DATA if regime == "owl-rl" else _DATA | _DATA_RDFS
    properties = {found.first for found in asked if isinstance(found.first, Iri)} - data
    types = (found.second for found in asked if found.first == TYPE)
    classes = {found for found in types if isinstance(found, Iri)} - _DATA_CLASSES
    static = _static(table, properties, classes)
    splits: list[_Split] = []
    reflexive = regime != "owl-rl"
    for rule in table:
        schema = static | {"datatype"} if rule.head == FALSE else static
        atoms = scans(rule)
        dynamic = [atom for atom in atoms if not _is_static(atom, schema, properties, classes)]
        if reflexive and not dynamic and _classifies_belonging(rule):
            dynamic = [*atoms]  # what is said to belong to itself need not be known
        if dynamic:
            splits.append(_split(rule, dynamic, f"query{len(splits)}"))
    return _Frame(frozenset(properties), frozenset(classes), reflexive, tuple(splits))


def _classifies_belonging(rule: Rule) -> bool:
    """Whether it says what that is of which something is a subclass or a subproperty."""
    bodies = {key(atom).first for atom in scans(rule)}
    return key(head(rule)).first == TYPE and bodies <= {_SUBCLASS, _SUBPROPERTY}


def _static(
    table: Iterable[Rule], properties: Collection[Iri], classes: Collection[Iri]
) -> frozenset[str]:
    """The regime's own relations that depend on schema only: the greatest set of them."""
    static = {rule.head for rule in table} - {TRIPLE, FALSE}
    while True:
        rest = {
            rule.head
            for rule in table
            if rule.head in static
            and not all(_is_static(atom, static, properties, classes) for atom in scans(rule))
        }
        if not rest:
            return frozenset(static)
        static -= rest


def _is_static(
    atom: Scan, static: Collection[str], properties: Collection[Iri], classes: Collection[Iri]
) -> bool:
    if atom.relation != TRIPLE:
        return atom.relation in static or atom.relation == "count"
    _relation, predicate, value = key(atom)
    return predicate in properties or (predicate == TYPE and value in classes)


# -- rules and what the schema says of them ----------------------------------------------


@dataclass(frozen=True)
class _Instance:
    """A rule with some of its variables replaced by what the schema says."""

    split: _Split
    values: Mapping[str, RdfTerm]

    @cached_property
    def head(self) -> Scan:
        return _filled(head(self.split.rule), self.values)

    @cached_property
    def body(self) -> tuple[Scan, ...]:
        """What it asks of instances."""
        return tuple(_filled(atom, self.values) for atom in self.split.dynamic)

    @property
    def different(self) -> Iterator[Compare]:
        """What it compares."""
        return (_compared(each, self.values) for each in self.split.different)


def _filled(atom: Scan, values: Mapping[str, RdfTerm]) -> Scan:
    """An atom with values in the place of variables."""
    # No generator: a large schema makes a hundred thousand of these.
    return Scan(atom.relation, tuple([_value(term, values) for term in atom.terms]))


def _compared(found: Compare, values: Mapping[str, RdfTerm]) -> Compare:
    return replace(found, left=_value(found.left, values), right=_value(found.right, values))


def _value(term: Term, values: Mapping[str, RdfTerm]) -> Term:
    if term.__class__ is not Variable or term.name not in values:
        return term
    return constant(values[term.name])


@dataclass(frozen=True)
class _Split:
    """A rule, and the part of its body that only asks about schema."""

    rule: Rule
    dynamic: tuple[Scan, ...]
    different: tuple[Compare, ...]
    """Comparisons that are left to the dynamic part."""
    query: Rule
    """Derives the values of the variables that both parts share."""

    def instances(self, model: TripleModel) -> Iterator[_Instance]:
        """The rule for each answer of the schema, in a stable order."""
        for row in sorted(model.rows(self.query.head, len(self.shared)), key=repr):
            found = _Instance(self, dict(zip(self.shared, row, strict=True)))
            if found.head not in found.body:
                yield found

    @property
    def shared(self) -> tuple[str, ...]:
        """Variables whose values the schema gives."""
        return tuple(term.name for term in self.query.terms if isinstance(term, Variable))


def _split(rule: Rule, dynamic: Sequence[Scan], name: str) -> _Split:
    static = [atom for atom in scans(rule) if atom not in dynamic]
    given = frozenset[str]().union(*map(variables_of, static))
    compares = [literal for literal in rule.body if isinstance(literal, Compare)]
    different = [each for each in compares if not variables_of(each) <= given]
    absent = [literal for literal in rule.body if isinstance(literal, Absent)]
    rest: list[Literal] = [head(rule), *dynamic, *absent, *different]
    shared = given & frozenset[str]().union(*map(variables_of, rest))
    asked: list[Literal] = [*static, *(each for each in compares if each not in different)]
    query = Rule(name, tuple(map(Variable, sorted(shared))), tuple(asked), name)
    return _Split(rule, tuple(dynamic), tuple(different), query)


def _grounded(
    instances: Sequence[_Instance],
    properties: Collection[Iri],
    equal: Collection[tuple[RdfTerm, RdfTerm]],
) -> Iterator[_Instance]:
    """The rules, one for each property that a variable may stand for."""
    places = [[*_properties(found)] for found in instances]
    named = (known(term) for place in places for term in place)
    every = sorted({*properties, *(iri for iri in named if isinstance(iri, Iri))})
    for found, place in zip(instances, places, strict=True):
        free = sorted({term.name for term in place if isinstance(term, Variable)})
        choices = [row for row in product(every, repeat=len(free)) if len(row) < 2 or row in equal]
        for row in choices:
            made = replace(found, values={**found.values, **dict(zip(free, row, strict=True))})
            if all(d.left != d.right for d in made.different):
                yield made


def _properties(found: _Instance) -> Iterator[Term]:
    """What stands in the places of properties."""
    return (a.terms[1] for a in (found.head, *found.body) if a.relation == TRIPLE)


# -- what can matter -----------------------------------------------------------------------


def _supported(instances: list[_Instance], equality: bool) -> tuple[list[_Instance], bool]:
    """Without the rules about equality, where nothing can be equal to another thing; and
    whether it can."""
    about = SchemaKey(TRIPLE, SAME)
    rest = [found for found in instances if about not in map(key, found.body)]
    if equality or any(key(found.head) == about for found in rest):
        return instances, True
    return rest, False


def _needed(
    instances: Sequence[_Instance], wanted: Collection[SchemaKey] | None, frame: _Frame
) -> Sequence[_Instance]:
    """Those on which something wanted, an inconsistency or new schema depends, in their order."""
    if wanted is None:
        return instances
    heads = _Heads(instances)
    found: set[int] = set()
    todo = [*wanted, SchemaKey(FALSE)]
    changes = [SchemaKey(TRIPLE, p) for p in frame.properties - _WITH_OBJECT]
    changes += [SchemaKey(TRIPLE, TYPE, c) for c in frame.classes]
    seen = set(todo)
    while todo or changes:
        if todo:
            about = todo.pop()
            new = heads.about(about) - found
            changes += _belonging(about)
        else:
            new = {n for n in heads.about(changes.pop()) - found if not _is_trivial(instances[n])}
        found |= new
        more = {key(atom) for number in new for atom in instances[number].body} - seen
        seen |= more
        todo += more
    return [instances[number] for number in sorted(found)]


def _belonging(about: SchemaKey) -> Iterator[SchemaKey]:
    """The schema by which more would become what something is about."""
    if about.relation == TRIPLE and about.first == TYPE:
        yield SchemaKey(TRIPLE, _SUBCLASS, about.second)
    elif about.relation == TRIPLE:
        yield SchemaKey(TRIPLE, _SUBPROPERTY, about.first)


def _is_trivial(found: _Instance) -> bool:
    """Whether it says that something belongs to itself."""
    said = found.head
    return said.relation == TRIPLE and said.terms[0] == said.terms[2]


class _Heads:
    """Finds rules by what their heads may be about."""

    def __init__(self, instances: Iterable[_Instance]) -> None:
        self._exactly: dict[SchemaKey, set[int]] = defaultdict(set)
        self._under: dict[SchemaKey, set[int]] = defaultdict(set)
        for number, found in enumerate(instances):
            about = key(found.head)
            self._exactly[about].add(number)
            for wider in _wider(about):
                self._under[wider].add(number)

    def about(self, wanted: SchemaKey) -> set[int]:
        """Rules whose heads may be what is wanted."""
        return self._under.get(wanted, set()).union(
            *(self._exactly.get(wider, ()) for wider in _wider(wanted))
        )


def _wider(about: SchemaKey) -> set[SchemaKey]:
    relation, first, _second = about
    return {about, SchemaKey(relation, first), SchemaKey(relation)}


# -- rules and tables ----------------------------------------------------------------------


def _grouped(instances: Iterable[_Instance]) -> dict[object, list[_Instance]]:
    """Instances by rule and by the properties that it asks about."""
    groups: dict[object, list[_Instance]] = defaultdict(list)
    for found in instances:
        groups[found.split.query.name, tuple(_properties(found))].append(found)
    return groups


@dataclass
class _Rules:
    """Gathers rules and their tables."""

    rules: list[Rule] = field(default_factory=list)
    tables: dict[str, tuple[tuple[RdfTerm, ...], ...]] = field(default_factory=dict)
    _names: dict[tuple[tuple[RdfTerm, ...], ...], str] = field(default_factory=dict)

    def add(self, group: Sequence[_Instance]) -> None:
        """One rule for some instances that agree in their properties."""
        split = group[0].split
        same = {
            v: value
            for v, value in group[0].values.items()
            if all(other.values[v] == value for other in group)
        }
        rest = tuple(v for v in split.shared if v not in same)
        body: list[Literal] = [_filled(atom, same) for atom in split.dynamic]
        if rest:
            rows = tuple(tuple(found.values[v] for v in rest) for found in group)
            body.append(Scan(self._table(split.rule.name, rows), tuple(map(Variable, rest))))
        body += [each for d in split.different if variables_of(each := _compared(d, same))]
        for literal in split.rule.body:
            if isinstance(literal, Absent):
                filled = _filled(Scan(literal.relation, literal.terms), same)
                body.append(Absent(filled.relation, filled.terms))
        said = _filled(head(split.rule), same)
        self.rules.append(Rule(said.relation, said.terms, tuple(body), split.rule.name))

    def _table(self, name: str, rows: tuple[tuple[RdfTerm, ...], ...]) -> str:
        """A table of rows; there are not two with the same."""
        table = self._names.setdefault(rows, f"{name} {len(self.tables) + 1}")
        self.tables[table] = rows
        return table

    def trap(
        self, pattern: Scan, there: Collection[tuple[RdfTerm, RdfTerm]], trivial: bool
    ) -> None:
        """Notice triples whose subjects and objects are not known; `trivial`: and differ."""
        ends = pattern.terms[0], pattern.terms[2]
        body: list[Literal] = [pattern]
        if trivial:
            body.append(Compare("!=", *ends))
        if there:
            body.append(Absent(self._table(OPENED, tuple(sorted(there, key=repr))), ends))
        self.rules.append(Rule(OPENED, ends, tuple(body), OPENED))


def _trap(
    made: _Rules,
    frame: _Frame,
    pairs: Mapping[Iri, Collection[tuple[RdfTerm, RdfTerm]]],
    equality: bool,
) -> None:
    """Rules that notice schema which the graph did not have."""
    x, y = Variable("X"), Variable("Y")
    for predicate in sorted(frame.properties):
        trivial = frame.reflexive and predicate in _WITH_OBJECT
        pattern = Scan(TRIPLE, (x, constant(predicate), y))
        made.trap(pattern, pairs.get(predicate, ()), trivial)
    for class_ in sorted(frame.classes):
        rows = [row for row in pairs.get(TYPE, ()) if row[1] == class_]
        pattern = Scan(TRIPLE, (x, constant(TYPE), constant(class_)))
        made.trap(pattern, rows, trivial=False)
    if not equality:
        made.trap(Scan(TRIPLE, (x, constant(SAME), y)), (), trivial=True)
