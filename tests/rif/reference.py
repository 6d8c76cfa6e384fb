"""Continuous Datalog, read off its definitions (Monks et al., section "Continuous Datalog").

Slow and small. A *fact* is a tuple `(relation, row)` as in `reasoning.languages.rif.values`; what a
rule's body says is tried on every fact there is. Entailment is the least model, which for
positive rules is the intersection of all Herbrand models (Definition "Datalog program").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Listed
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import NamedTuple

from citywise.reasoning.languages.rif.builtins import builtin
from citywise.reasoning.languages.rif.document import (
    And,
    Equal,
    Exists,
    Frame,
    Head,
    Member,
    Or,
    RifAtom,
    RifComputed,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    Sequence,
    Test,
)
from citywise.reasoning.languages.rif.values import value
from citywise.reasoning.model.values import Row, Value
from citywise.reasoning.rdf.mapping import RDF, Iri

Fact = tuple[str, Row]
Bindings = Mapping[str, Value]
_TYPE = RifConstant(Iri(RDF + "type"))


class Instance(NamedTuple):
    """A fact and the instant from which it is recognised to be true (Definition "Fact
    instance")."""

    fact: Fact
    instant: int


def strip(instances: Iterable[Instance]) -> set[Fact]:
    """The facts without their instants."""
    return {instance.fact for instance in instances}


# -- Datalog ---------------------------------------------------------------------------


def cons(rules: Iterable[RifRule], facts: AbstractSet[Fact]) -> set[Fact]:
    """The entailment of a program (Definition "Datalog program")."""
    known = {Instance(fact, 0) for fact in facts}
    return strip(cons_t(rules, known))


def justifications(
    rules: tuple[RifRule, ...], instances: AbstractSet[Instance], entailed: Instance
) -> set[frozenset[Instance]]:
    """The minimal sets of instances that entail one (Definition "Time-annotated
    justification"), by trying all subsets, the smaller ones first."""
    found: set[frozenset[Instance]] = set()
    for size in range(len(instances) + 1):
        for chosen in map(frozenset, combinations(sorted(instances, key=repr), size)):
            if not any(less <= chosen for less in found) and entailed in cons_t(rules, chosen):
                found.add(chosen)
    return found


# -- time-annotated Datalog ------------------------------------------------------------


def cons_t(rules: Iterable[RifRule], instances: AbstractSet[Instance]) -> set[Instance]:
    """The entailment of a time-annotated program: an instance becomes true at the latest
    instant at which any of those did that it rests on (Definition "Time-annotated
    Datalog")."""
    rules = tuple(rules)
    known = set(instances)
    while True:
        found = {instance for rule in rules for instance in follows(rule, known)}
        if found <= known:
            return known
        known |= found


def follows(rule: RifRule, known: AbstractSet[Instance]) -> Iterator[Instance]:
    """What a rule says of known instances; what rests on none becomes true at 0."""
    body = And(()) if rule.body is None else rule.body
    for bound, instant in list(solutions(body, {}, known)):
        for head in rule.heads:
            for fact in facts_of(head, bound):
                yield Instance(fact, instant)


def facts_of(head: Head, bound: Bindings) -> Iterator[Fact]:
    """A head with values for its variables; nothing where a function has no value."""
    if isinstance(head, RifAtom):
        row = meanings(head.arguments, bound)
        if row is not None:
            yield f"{value(head.predicate)}/{len(row)}", row
        return
    for attribute, given in head.slots:
        row = meanings((head.object, attribute, given), bound)
        if row is not None:
            yield str(row[1]), (row[0], row[2])


# -- formulas --------------------------------------------------------------------------


def solutions(
    formula: RifFormula, bound: Bindings, known: AbstractSet[Instance]
) -> Iterator[tuple[Bindings, int]]:
    """Values of variables under which a formula is satisfied, and the latest instant among
    the instances that satisfy it."""
    match formula:
        case RifAtom(predicate, arguments):
            relation = f"{value(predicate)}/{len(arguments)}"
            for (name, row), instant in known:
                if name == relation:
                    yield from ((b, instant) for b in unified(arguments, row, bound))
        case Frame(thing, slots):
            yield from conjunction([_Triple(thing, *slot) for slot in slots], bound, known)
        case Member(thing, kind):
            yield from conjunction([_Triple(thing, _TYPE, kind)], bound, known)
        case And(parts):
            yield from conjunction(parts, bound, known)
        case Or(parts):
            for part in parts:
                yield from solutions(part, bound, known)
        case Exists(names, part):
            inner = {name for name in bound if name not in {v.name for v in names}}
            for found, instant in solutions(part, {n: bound[n] for n in inner}, known):
                hidden = {v.name for v in names}
                kept = {n: v for n, v in found.items() if n not in hidden}
                yield {**kept, **bound}, instant
        case Equal(left, right):
            yield from ((b, 0) for b in equal(left, right, bound))
        case Test(predicate, arguments):
            if called(predicate, arguments, bound) is not None:
                yield bound, 0


class _Triple(NamedTuple):
    """One slot of a frame, or the membership in a class."""

    object: RifTerm
    attribute: RifTerm
    given: RifTerm


def triples(
    pattern: _Triple, bound: Bindings, known: AbstractSet[Instance]
) -> Iterator[tuple[Bindings, int]]:
    """Instances of triples that match."""
    for (name, row), instant in known:
        if name.startswith("<") and name.endswith(">"):
            for found in unified(tuple(pattern), (row[0], name, row[1]), bound):
                yield found, instant


def conjunction(
    parts: Listed[RifFormula | _Triple], bound: Bindings, known: AbstractSet[Instance]
) -> Iterator[tuple[Bindings, int]]:
    """All parts are satisfied, each tried as soon as its variables allow."""
    if not parts:
        yield bound, 0
        return
    at = next(i for i, part in enumerate(parts) if is_ready(part, bound))
    rest = [*parts[:at], *parts[at + 1 :]]
    first = parts[at]
    found = (
        triples(first, bound, known)
        if isinstance(first, _Triple)
        else solutions(first, bound, known)
    )
    for more, instant in found:
        for last, later in conjunction(rest, more, known):
            yield last, max(instant, later)


def is_ready(part: RifFormula | _Triple, bound: Bindings) -> bool:
    """Whether a part can be tried: functions and built-in predicates need values."""
    terms: tuple[RifTerm, ...]
    match part:
        case Equal(left, right):
            one, other = needs(left) - bound.keys(), needs(right) - bound.keys()
            return (not one and _bare(right, bound)) or (not other and _bare(left, bound))
        case Test(_, arguments):
            return not frozenset().union(*map(needs, arguments)) - bound.keys()
        case And(parts) | Or(parts):
            return all(is_ready(each, bound) for each in parts)
        case Exists(names, inner):
            return is_ready(inner, {**bound, **{v.name: 0 for v in names}})
        case RifAtom(_, arguments):
            terms = arguments
        case Frame(thing, slots):
            terms = (thing, *(term for slot in slots for term in slot))
        case Member(thing, kind):
            terms = (thing, kind)
        case _:
            terms = tuple(part)
    return all(_bare(term, bound) for term in terms)


def _bare(term: RifTerm, bound: Bindings) -> bool:
    return isinstance(term, RifVariable) or not needs(term) - bound.keys()


def needs(term: RifTerm) -> frozenset[str]:
    """The variables of a term."""
    match term:
        case RifVariable(name):
            return frozenset({name})
        case RifConstant():
            return frozenset()
        case Sequence(items):
            return frozenset().union(*map(needs, items))
        case RifComputed(_, arguments):
            return frozenset().union(*map(needs, arguments))


def equal(left: RifTerm, right: RifTerm, bound: Bindings) -> Iterator[Bindings]:
    """Both sides have the same value; a variable without one gets it."""
    if needs(right) - bound.keys():
        left, right = right, left
    meant = meaning(right, bound)
    if meant is not None:
        yield from unified((left,), (meant,), bound)


def unified(terms: tuple[RifTerm, ...], row: Row, bound: Bindings) -> Iterator[Bindings]:
    """The bindings under which terms have the values of a row."""
    if len(terms) != len(row):
        return
    found = dict(bound)
    for term, meant in zip(terms, row, strict=True):
        if isinstance(term, RifVariable) and term.name not in found:
            found[term.name] = meant
        elif meaning(term, found) != meant:
            return
    yield found


def meanings(terms: tuple[RifTerm, ...], bound: Bindings) -> Row | None:
    """The values of terms; None where one has none."""
    found = [meaning(term, bound) for term in terms]
    return None if None in found else tuple(one for one in found if one is not None)


def meaning(term: RifTerm, bound: Bindings) -> Value | None:
    """The value of a term; None where a function has none."""
    match term:
        case RifVariable(name):
            return bound[name]
        case RifConstant(given):
            return value(given)
        case Sequence(items):
            inner = meanings(items, bound)
            return None if inner is None else ("", *inner)
        case RifComputed(function, arguments):
            return called(function, arguments, bound)


def called(name: Iri, arguments: tuple[RifTerm, ...], bound: Bindings) -> Value | None:
    """The value of a built-in; None where it, or an argument, has none."""
    row, found = meanings(arguments, bound), builtin(name.value)
    assert found is not None
    return None if row is None else found.function(*row)


# -- streams and windows ---------------------------------------------------------------


class Appearance(NamedTuple):
    """A fact instance on a stream: ⟨f, t⟩ with S(⟨f, t⟩) = t, as streams in order have it.

    `until` is for items that hold for longer (docs/reason.md): they appear at each instant of
    [t, until], always as the instance that began at t.
    """

    fact: Fact
    instant: int
    until: int | None = None


@dataclass(frozen=True)
class WindowedProgram:
    """⟨R, F⁰, S, r⟩ (Definition "Continuous Datalog program"); without a range, nothing
    leaves the window."""

    rules: tuple[RifRule, ...]
    static: frozenset[Fact]
    stream: tuple[Appearance, ...]
    range: int | None

    def window(self, instant: int, range_: int | None = None) -> set[Instance]:
        """What appears in (i - r, i] (Definition "Window")."""
        r = self.range if range_ is None else range_
        return {
            Instance(fact, begun)
            for fact, begun, until in self.stream
            if begun <= instant and (r is None or instant - r < (until or begun))
        }

    def state(self, instant: int) -> set[Instance]:
        """F⁰ ∪ W (Definition "Instantaneous state")."""
        return {Instance(fact, 0) for fact in self.static} | self.window(instant)

    def entailment(self, instant: int) -> set[Instance]:
        """All that the state entails, E⁰ ∪ E^T."""
        return _entailed(self.rules, frozenset(self.state(instant)))

    def persistent(self) -> set[Instance]:
        """E⁰, what rests on nothing of the stream."""
        return _entailed(self.rules, frozenset(Instance(fact, 0) for fact in self.static))

    def transitive(self, instant: int) -> set[Instance]:
        """E^T, what rests at least in part on the window."""
        return self.entailment(instant) - self.persistent()

    def came(self, instant: int) -> set[Instance]:
        """The window of range 1 over P (Axiom "positive window increment")."""
        return self.transitive(instant) - self.transitive(instant - 1)

    def went(self, instant: int) -> set[Instance]:
        """The window of range 1 over N (Axiom "negative window increment")."""
        return self.transitive(instant - 1) - self.transitive(instant)

    def concluded(self, instant: int) -> set[Instance]:
        """The instances that some rule of the program concludes, of all that is entailed."""
        return _concluded(self.rules, frozenset(self.entailment(instant)))


@cache
def _entailed(rules: tuple[RifRule, ...], instances: frozenset[Instance]) -> set[Instance]:
    return cons_t(rules, instances)


@cache
def _concluded(rules: tuple[RifRule, ...], known: frozenset[Instance]) -> set[Instance]:
    return {instance for rule in rules for instance in follows(rule, known)}
