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
from functools import cache
from itertools import product
from typing import NamedTuple

from citywise.reasoning.rdf.entailment import Contradiction, TripleModel
from citywise.reasoning.rdf.mapping import RDF, Iri, Term, Triple
from citywise.reasoning.rdf.mapping import TYPE as TYPE
from citywise.reasoning.rdf.regimes import (
    FALSE,
    NAMESPACES,
    TRIPLE,
    Argument,
    Different,
    EntailmentRule,
    Regime,
    TripleAtom,
    TripleVariable,
    rules,
)

SAME = Iri(NAMESPACES["owl"] + "sameAs")
_SUBCLASS = Iri(NAMESPACES["rdfs"] + "subClassOf")
_SUBPROPERTY = Iri(NAMESPACES["rdfs"] + "subPropertyOf")
_WITH_OBJECT = frozenset({TYPE, _SUBCLASS, _SUBPROPERTY})
OPENED = "opened"
"""The relation of two terms that the rules of `Specialised` derive where they do not suffice:
a class or property means more than the graph says."""


class Key(NamedTuple):
    """What an atom is about; None: anything.

    Of a triple it is the property and, for those that say what class or property something
    belongs to, the object; of other relations the first column.
    """

    relation: str
    first: Term | None = None
    second: Term | None = None


def key(atom: TripleAtom) -> Key:
    """What an atom is about."""
    if atom.relation != TRIPLE:
        return Key(atom.relation, _constant(atom.terms[0]) if atom.terms else None)
    _subject, predicate, value = atom.terms
    known = _constant(value) if predicate in _WITH_OBJECT else None
    return Key(TRIPLE, _constant(predicate), known)


def _constant(term: Argument) -> Term | None:
    return None if isinstance(term, TripleVariable | int | str) else term


@dataclass(frozen=True)
class Specialised:
    """Rules that infer from instances what the rules of a regime would."""

    rules: tuple[EntailmentRule, ...]
    """Over triples, relations of the regime's own (`path`, …), computed ones, and tables."""
    tables: Mapping[str, tuple[tuple[Term, ...], ...]]
    """Relations of rows that always hold."""
    inferred: tuple[Triple, ...]
    """What follows from the graph itself."""
    contradictions: tuple[Contradiction, ...]
    """What in the graph itself cannot be true together."""


def specialised(
    regime: Regime,
    triples: Sequence[Triple],
    wanted: Collection[Key] | None = None,
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
    known: dict[Iri, set[tuple[Term, Term]]] = defaultdict(set)
    for subject, predicate, value in model.rows(TRIPLE, 3):
        if isinstance(predicate, Iri):
            known[predicate].add((subject, value))
    equality = equality or any(left != right for left, right in known[SAME])
    instances, equality = _supported(instances, equality)
    if properties is not None:
        instances = list(_grounded(instances, properties, known[SAME]))
    made = _Rules()
    for group in _grouped(_needed(instances, wanted, frame)).values():
        made.add(group)
    _trap(made, frame, known, equality)
    inferred, contradictions = tuple(model.inferred()), tuple(model.contradictions())
    return Specialised(tuple(made.rules), made.tables, inferred, contradictions)


def general(regime: Regime) -> tuple[EntailmentRule, ...]:
    """The rules of a regime as they are, for schema that comes and goes."""
    return tuple(rule for rule in rules(regime) if not _is_about_texts(rule))


def _is_about_texts(rule: EntailmentRule) -> bool:
    """Whether it tells texts of literals from their values: to those for whom these rules are,
    literals are values, which all have a datatype."""
    return rule.name == "dt-eq" or any(atom.relation == "ill" for atom in rule.body)


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
    triples = [atom.terms for rule in table for atom in rule.body if atom.relation == TRIPLE]
    data = _DATA if regime == "owl-rl" else _DATA | _DATA_RDFS
    properties = {p for _s, p, _o in triples if isinstance(p, Iri)} - data
    classes = {o for _s, p, o in triples if p == TYPE and isinstance(o, Iri)} - _DATA_CLASSES
    static = _static(table, properties, classes)
    splits: list[_Split] = []
    reflexive = regime != "owl-rl"
    for rule in table:
        schema = static | {"datatype"} if rule.head.relation == FALSE else static
        dynamic = [atom for atom in rule.body if not _is_static(atom, schema, properties, classes)]
        if reflexive and not dynamic and _classifies_belonging(rule):
            dynamic = list(rule.body)  # what is said to belong to itself need not be known
        if dynamic:
            splits.append(_split(rule, dynamic, f"query{len(splits)}"))
    return _Frame(frozenset(properties), frozenset(classes), reflexive, tuple(splits))


def _classifies_belonging(rule: EntailmentRule) -> bool:
    """Whether it says what that is of which something is a subclass or a subproperty."""
    bodies = {key(atom).first for atom in rule.body}
    return key(rule.head).first == TYPE and bodies <= {_SUBCLASS, _SUBPROPERTY}


def _static(
    table: Iterable[EntailmentRule], properties: Collection[Iri], classes: Collection[Iri]
) -> frozenset[str]:
    """The regime's own relations that depend on schema only: the greatest set of them."""
    static = {rule.head.relation for rule in table} - {TRIPLE, FALSE}
    while True:
        rest = {
            rule.head.relation
            for rule in table
            if rule.head.relation in static
            and not all(_is_static(atom, static, properties, classes) for atom in rule.body)
        }
        if not rest:
            return frozenset(static)
        static -= rest


def _is_static(
    atom: TripleAtom, static: Collection[str], properties: Collection[Iri], classes: Collection[Iri]
) -> bool:
    if atom.relation != TRIPLE:
        return atom.relation in static or atom.relation == "count"
    _subject, predicate, value = atom.terms
    return predicate in properties or (predicate == TYPE and value in classes)


# -- rules and what the schema says of them ----------------------------------------------


@dataclass(frozen=True)
class _Instance:
    """A rule with some of its variables replaced by what the schema says."""

    split: _Split
    values: Mapping[TripleVariable, Term]

    @property
    def head(self) -> TripleAtom:
        return self.split.rule.head.replaced(self.values)

    @property
    def body(self) -> Iterator[TripleAtom]:
        """What it asks of instances."""
        return (atom.replaced(self.values) for atom in self.split.dynamic)

    @property
    def different(self) -> Iterator[Different]:
        """What it compares."""
        return (d.replaced(self.values) for d in self.split.different)


@dataclass(frozen=True)
class _Split:
    """A rule, and the part of its body that only asks about schema."""

    rule: EntailmentRule
    dynamic: tuple[TripleAtom, ...]
    different: tuple[Different, ...]
    """Comparisons that are left to the dynamic part."""
    query: EntailmentRule
    """Derives the values of the variables that both parts share."""

    def instances(self, model: TripleModel) -> Iterator[_Instance]:
        """The rule for each answer of the schema, in a stable order."""
        shared = self.query.head.terms
        for row in sorted(model.rows(self.query.head.relation, len(shared)), key=repr):
            found = _Instance(self, dict(zip(self.shared, row, strict=True)))
            if found.head not in found.body:
                yield found

    @property
    def shared(self) -> tuple[TripleVariable, ...]:
        """Variables whose values the schema gives."""
        return tuple(v for v in self.query.head.terms if isinstance(v, TripleVariable))


def _split(rule: EntailmentRule, dynamic: Sequence[TripleAtom], name: str) -> _Split:
    static = tuple(atom for atom in rule.body if atom not in dynamic)
    known = frozenset().union(*(atom.variables for atom in static))
    different = [d for d in rule.different if not _variables(d) <= known]
    outside = rule.head.variables.union(
        *(atom.variables for atom in (*dynamic, *rule.absent)), *map(_variables, different)
    )
    query = EntailmentRule(
        name,
        TripleAtom(name, tuple(sorted(known & outside))),
        static,
        tuple(d for d in rule.different if _variables(d) <= known),
    )
    return _Split(rule, tuple(dynamic), tuple(different), query)


def _variables(different: Different) -> frozenset[TripleVariable]:
    return frozenset(term for term in different if isinstance(term, TripleVariable))


def _grounded(
    instances: Sequence[_Instance],
    properties: Collection[Iri],
    equal: Collection[tuple[Term, Term]],
) -> Iterator[_Instance]:
    """The rules, one for each property that a variable may stand for."""
    places = [[*_properties(found)] for found in instances]
    known = sorted({*properties, *(p for each in places for p in each if isinstance(p, Iri))})
    for found, place in zip(instances, places, strict=True):
        free = sorted({p for p in place if isinstance(p, TripleVariable)})
        choices = [row for row in product(known, repeat=len(free)) if len(row) < 2 or row in equal]
        for row in choices:
            made = replace(found, values={**found.values, **dict(zip(free, row, strict=True))})
            if all(d.left != d.right for d in made.different):
                yield made


def _properties(found: _Instance) -> Iterator[Argument]:
    """What stands in the places of properties."""
    return (a.terms[1] for a in (found.head, *found.body) if a.relation == TRIPLE)


# -- what can matter -----------------------------------------------------------------------


def _supported(instances: list[_Instance], equality: bool) -> tuple[list[_Instance], bool]:
    """Without the rules about equality, where nothing can be equal to another thing; and
    whether it can."""
    about = Key(TRIPLE, SAME)
    rest = [found for found in instances if about not in map(key, found.body)]
    if equality or any(key(found.head) == about for found in rest):
        return instances, True
    return rest, False


def _needed(
    instances: Sequence[_Instance], wanted: Collection[Key] | None, frame: _Frame
) -> Sequence[_Instance]:
    """Those on which something wanted, an inconsistency or new schema depends, in their order."""
    if wanted is None:
        return instances
    heads = _Heads(instances)
    found: set[int] = set()
    todo = [*wanted, Key(FALSE)]
    changes = [Key(TRIPLE, p) for p in frame.properties - _WITH_OBJECT]
    changes += [Key(TRIPLE, TYPE, c) for c in frame.classes]
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


def _belonging(about: Key) -> Iterator[Key]:
    """The schema by which more would become what something is about."""
    if about.relation == TRIPLE and about.first == TYPE:
        yield Key(TRIPLE, _SUBCLASS, about.second)
    elif about.relation == TRIPLE:
        yield Key(TRIPLE, _SUBPROPERTY, about.first)


def _is_trivial(found: _Instance) -> bool:
    """Whether it says that something belongs to itself."""
    head = found.head
    return head.relation == TRIPLE and head.terms[0] == head.terms[2]


class _Heads:
    """Finds rules by what their heads may be about."""

    def __init__(self, instances: Iterable[_Instance]) -> None:
        self._exactly: dict[Key, set[int]] = defaultdict(set)
        self._under: dict[Key, set[int]] = defaultdict(set)
        for number, found in enumerate(instances):
            about = key(found.head)
            self._exactly[about].add(number)
            for wider in _wider(about):
                self._under[wider].add(number)

    def about(self, wanted: Key) -> set[int]:
        """Rules whose heads may be what is wanted."""
        return self._under.get(wanted, set()).union(
            *(self._exactly.get(wider, ()) for wider in _wider(wanted))
        )


def _wider(about: Key) -> set[Key]:
    relation, first, _second = about
    return {about, Key(relation, first), Key(relation)}


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

    rules: list[EntailmentRule] = field(default_factory=list)
    tables: dict[str, tuple[tuple[Term, ...], ...]] = field(default_factory=dict)
    _names: dict[tuple[tuple[Term, ...], ...], str] = field(default_factory=dict)

    def add(self, group: Sequence[_Instance]) -> None:
        """One rule for some instances that agree in their properties."""
        split = group[0].split
        same = {
            v: value
            for v, value in group[0].values.items()
            if all(other.values[v] == value for other in group)
        }
        rest = tuple(v for v in split.shared if v not in same)
        body = [atom.replaced(same) for atom in split.dynamic]
        if rest:
            rows = tuple(tuple(found.values[v] for v in rest) for found in group)
            body.append(TripleAtom(self._table(split.rule.name, rows), rest))
        different = (d for d in (d.replaced(same) for d in split.different) if _variables(d))
        absent = tuple(atom.replaced(same) for atom in split.rule.absent)
        head = split.rule.head.replaced(same)
        self.rules.append(
            EntailmentRule(split.rule.name, head, tuple(body), tuple(different), absent)
        )

    def _table(self, name: str, rows: tuple[tuple[Term, ...], ...]) -> str:
        """A table of rows; there are not two with the same."""
        table = self._names.setdefault(rows, f"{name} {len(self.tables) + 1}")
        self.tables[table] = rows
        return table

    def trap(
        self, pattern: TripleAtom, known: Collection[tuple[Term, Term]], trivial: bool
    ) -> None:
        """Notice triples whose subjects and objects are not known; `trivial`: and differ."""
        ends = pattern.terms[0], pattern.terms[2]
        absent: tuple[TripleAtom, ...] = ()
        if known:
            absent = (TripleAtom(self._table(OPENED, tuple(sorted(known, key=repr))), ends),)
        different = (Different(*ends),) if trivial else ()
        self.rules.append(
            EntailmentRule(OPENED, TripleAtom(OPENED, ends), (pattern,), different, absent)
        )


def _trap(
    made: _Rules,
    frame: _Frame,
    known: Mapping[Iri, Collection[tuple[Term, Term]]],
    equality: bool,
) -> None:
    """Rules that notice schema which the graph did not have."""
    x, y = TripleVariable("X"), TripleVariable("Y")
    for predicate in sorted(frame.properties):
        trivial = frame.reflexive and predicate in _WITH_OBJECT
        made.trap(TripleAtom(TRIPLE, (x, predicate, y)), known.get(predicate, ()), trivial)
    for class_ in sorted(frame.classes):
        rows = [row for row in known.get(TYPE, ()) if row[1] == class_]
        made.trap(TripleAtom(TRIPLE, (x, TYPE, class_)), rows, trivial=False)
    if not equality:
        made.trap(TripleAtom(TRIPLE, (x, SAME, y)), (), trivial=True)
