"""What `[rdfs]` or `[owl-rl]` behind a request's streams means: rules of ASP beside its own.

They are those of `rdf.schema.specialised`, over the predicates that prefixes give to properties; a
property under no prefix gets a hidden one (`inferring`). The request with them is evaluated,
planned and explained like any other. How rules over triples are written so is `Writer`'s:

An atom of two arguments says that a triple holds, one of three also when: at the time of the
item it is from, and where it follows from several, of the latest of them (as an instance of
Continuous Datalog; Monks et al., Definition "Fact Instance"). What follows from knowledge
bases alone has no time; in rules that join it with what has, it stands in a relation of its
own, with the time `#inf`, which is before all others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import NamedTuple

from citywise.reasoning.errors import ItemError, Location, RequestError
from citywise.reasoning.model.request import Entailment, KnowledgeSource, Request, Signature
from citywise.reasoning.model.rules import Compare, Rule, Scan
from citywise.reasoning.model.values import Constant, Variable
from citywise.reasoning.model.values import Term as ModelTerm
from citywise.reasoning.rdf import knowledge
from citywise.reasoning.rdf.knowledge import KnowledgeBase
from citywise.reasoning.rdf.mapping import Iri, Mapper, Term, Triple
from citywise.reasoning.rdf.regimes import (
    COMPUTED,
    FALSE,
    TRIPLE,
    head,
    known,
    rules,
    scans,
)
from citywise.reasoning.rdf.relevance import constants
from citywise.reasoning.rdf.schema import OPENED, TYPE, SchemaKey, specialised

_OTHERS = re.compile(r"[^A-Za-z0-9]+")


class LabelledLine(NamedTuple):
    """A statement, and the name of the rule that it is from."""

    text: str
    name: str


class RuleNames:
    """What properties and relations are called in a request: as its prefixes have it, and
    hidden from it where they say nothing."""

    def __init__(self, request: Request, mapper: Mapper) -> None:
        self._mapper = mapper
        self._taken = {s.name for s in request.used | request.derived | request.shows}
        self._relations: dict[str, str] = {}
        self.hidden: dict[str, str] = {}
        """Names of properties under no prefix, by their IRIs."""

    def predicate(self, iri: Iri) -> str:
        """The predicate of a property."""
        found = self._mapper.predicate(iri.value) or self.hidden.get(iri.value)
        if found is None:
            found = self.hidden[iri.value] = self.relation(
                iri.value, re.split("[#/:]", iri.value)[-1]
            )
        return found

    def relation(self, name: str, meaning: str = "") -> str:
        """The predicate of a relation that only rules of the regime know; `meaning` is what
        it is to be called, if not by its own name."""
        found = self._relations.get(name)
        if found is None:
            stem = f"__{_stem(meaning or re.split('[ /]', name)[0])}"
            made = (f"{stem}_{number}" if number else stem for number in count())
            found = self._relations[name] = next(n for n in made if n not in self._taken)
            self._taken.add(found)
        return found

    def of(self, atom: Scan) -> str:
        """The predicate of an atom."""
        predicate = known(atom.terms[1]) if atom.relation == TRIPLE else None
        return (
            self.predicate(predicate) if isinstance(predicate, Iri) else self.relation(place(atom))
        )


class Writer:
    """Writes rules for one request."""

    def __init__(self, names: RuleNames, mapper: Mapper, rules: Sequence[Rule]) -> None:
        self._names = names
        self._mapper = mapper
        self._rules = rules
        self._derived = {place(head(rule)) for rule in rules}
        self.looked: set[Signature] = set()
        """The predicates of properties that what has been written looks at."""

    def lines(self, mentioned: Iterable[Signature]) -> Iterator[LabelledLine]:
        """What holds, for the predicates that are mentioned with two arguments."""
        false = [rule for rule in self._rules if rule.head == FALSE]
        needed = {s.name for s in mentioned if s.arity == 2}
        needed |= {self._names.of(atom) for rule in false for atom in scans(rule)}
        needed = self._needed(needed)
        for rule in self._rules:
            if rule not in false and self._names.of(head(rule)) not in needed:
                continue
            self._look(scans(rule), 2)
            body = [*map(self._plain, scans(rule)), *self._different(rule)]
            said = "" if rule.head == FALSE else self._plain(head(rule))
            yield LabelledLine(f"{said} :- {', '.join(body)}.".lstrip(), rule.name)

    def timed(
        self, mentioned: Iterable[Signature], given: Iterable[Triple]
    ) -> Iterator[LabelledLine]:
        """What holds with time, of the predicates that are mentioned with three arguments."""
        needed = self._needed({s.name for s in mentioned if s.arity == 3})
        joined: dict[str, Scan] = {}
        for rule in self._rules:
            if self._names.of(head(rule)) in needed:
                yield from self._at_times(rule, joined)
        for name, atom in list(joined.items()):
            if atom.relation == TRIPLE:
                yield from self._with_times(name, atom, given)

    def _needed(self, names: set[str]) -> set[str]:
        """The names on whose times others depend."""
        todo = list(names)
        while todo:
            name = todo.pop()
            for rule in self._rules:
                if self._names.of(head(rule)) == name:
                    new = {self._names.of(a) for a in scans(rule) if self._has_time(a)} - names
                    names |= new
                    todo += new
        return names

    def _has_time(self, atom: Scan) -> bool:
        return atom.relation == TRIPLE or place(atom) in self._derived

    def _at_times(self, rule: Rule, joined: dict[str, Scan]) -> Iterator[LabelledLine]:
        """A rule for each atom of the body that may be the latest."""
        dated = [atom for atom in scans(rule) if self._has_time(atom)]
        rest = [self._plain(atom) for atom in scans(rule) if atom not in dated]
        rest += self._different(rule)
        heads, derived = rule.head == TRIPLE, head(rule)
        if heads and len(dated) == 1 and dated[0].relation == TRIPLE:
            self._look(dated, 3)
            body = [self._at(dated[0], "Time"), *rest]
            yield LabelledLine(f"{self._at(derived, 'Time')} :- {', '.join(body)}.", rule.name)
            return
        for atom in dated:
            joined[self._joined(atom)] = atom
        for last in range(len(dated)):
            body = [self._at(a, f"Time{n}", self._joined(a)) for n, a in enumerate(dated)]
            body += [f"Time{n} <= Time{last}" for n in range(len(dated)) if n != last]
            body += [f"Time{last} > #inf"] if heads else []
            name = self._names.of(derived) if heads else self._joined(derived)
            said = self._at(derived, f"Time{last}", name)
            yield LabelledLine(f"{said} :- {', '.join([*body, *rest])}.", rule.name)

    def _with_times(self, name: str, atom: Scan, given: Iterable[Triple]) -> Iterator[LabelledLine]:
        """All that holds of a property: of the stream with time, of knowledge bases without."""
        self._look([atom], 3)
        predicate = self._names.of(atom)
        yield LabelledLine(f"{name}(X,Y,Time) :- {predicate}(X,Y,Time).", "time")
        for subject, found, value in given:
            if found == known(atom.terms[1]):
                pair = ",".join(self._mapper.term(term, predicate) for term in (subject, value))
                yield LabelledLine(f"{name}({pair},#inf).", "")

    # -- text -------------------------------------------------------------------------------

    def _look(self, atoms: Iterable[Scan], arity: int) -> None:
        triples = (atom for atom in atoms if atom.relation == TRIPLE)
        self.looked |= {Signature(self._names.of(atom), arity) for atom in triples}

    def _joined(self, atom: Scan) -> str:
        return self._names.relation(f"{place(atom)} at", f"{self._names.of(atom)}_at")

    def _arguments(self, atom: Scan) -> list[str]:
        terms = atom.terms if atom.relation != TRIPLE else (atom.terms[0], atom.terms[2])
        name = self._names.of(atom) if atom.relation == TRIPLE else ""
        return [self._term(term, name) for term in terms]

    def _plain(self, atom: Scan) -> str:
        return f"{self._names.of(atom)}({','.join(self._arguments(atom))})"

    def _at(self, atom: Scan, time: str, name: str = "") -> str:
        return f"{name or self._names.of(atom)}({','.join([*self._arguments(atom), time])})"

    def _different(self, rule: Rule) -> Iterator[str]:
        for found in rule.body:
            if isinstance(found, Compare):
                yield f"{self._term(found.left, '')} != {self._term(found.right, '')}"

    def _term(self, term: ModelTerm, predicate: str) -> str:
        if isinstance(term, Variable):
            return term.name
        assert isinstance(term, Constant)
        given = known(term)
        return str(term.value) if given is None else self._mapper.term(given, predicate)

    def facts(self, table: str, rows: Iterable[Sequence[Term]]) -> Iterator[LabelledLine]:
        """The rows of a table."""
        for row in rows:
            terms = ",".join(self._mapper.term(term, "") for term in row)
            yield LabelledLine(f"{self._names.relation(f'{table}/{len(row)}')}({terms}).", "")


def place(atom: Scan) -> str:
    """The property or the relation of an atom, as a name."""
    if atom.relation == TRIPLE:
        return str(known(atom.terms[1]))
    return f"{atom.relation}/{len(atom.terms)}"


def _stem(text: str) -> str:
    """A text as part of a predicate's name."""
    letters = _OTHERS.sub("_", text).strip("_")
    return letters[:1].lower() + letters[1:] if letters[:1].isalpha() else f"p{letters}"


Read = Callable[[KnowledgeSource, str], KnowledgeBase]


def inferring(request: Request, read: Read = knowledge.read) -> Request:
    """The request with the rules by which its streams are completed; itself, if it asks for
    none.

    What classes and properties mean is what its knowledge bases of the same regime say; each
    is read by `read`. Raises `RequestError` for what cannot be read, and for scales that do
    not fit each other.
    """
    regime = next((stream.entailment for stream in request.streams if stream.entailment), None)
    if regime is None:
        return request
    bases = [
        read(source, f"k{number}") for number, source in enumerate(dict.fromkeys(request.knowledge))
    ]
    try:
        return _completed(request, regime, bases)
    except ItemError as error:
        raise _fault(request, str(error)) from error


def _completed(request: Request, regime: Entailment, bases: Sequence[KnowledgeBase]) -> Request:
    mapper = Mapper(request)
    names = RuleNames(request, mapper)
    schema = [t for base in bases if base.source.entailment == regime for t in base.triples]
    seen = _mentioned_properties(
        request, mapper, {*_iris(chain(*schema)), *_iris(_vocabulary(regime))}
    )
    wanted = frozenset(key for iri in seen for key in _keys(request, mapper, iri))
    found = specialised(regime, schema, wanted, regime == "owl-rl", seen)
    made = [rule for rule in found.rules if rule.name != OPENED and not _asks_for_values(rule)]
    request = replace(_scaled(request, names, made), hidden=dict(names.hidden))
    writer = Writer(names, Mapper(request), made)
    given = dict.fromkeys((*(t for base in bases for t in base.triples), *found.inferred))
    tables = {atom.relation for rule in made for atom in scans(rule)} & found.tables.keys()
    lines = [line for name in sorted(tables) for line in writer.facts(name, found.tables[name])]
    mentioned = request.used | request.shows
    lines += [*writer.lines(mentioned), *writer.timed(mentioned, tuple(given))]
    return _extended(request, names, lines, writer.looked)


def _iris(terms: Iterable[Term | None]) -> Iterator[Iri]:
    return (term for term in terms if isinstance(term, Iri))


def _vocabulary(regime: Entailment) -> Iterator[Term | None]:
    for rule in rules(regime):
        for atom in (head(rule), *scans(rule)):
            yield from map(known, atom.terms)


# -- what the request sees ------------------------------------------------------------------


def _mentioned_properties(request: Request, mapper: Mapper, iris: Iterable[Iri]) -> list[Iri]:
    """The properties that the request's rules mention."""
    mentioned = {s.name for s in request.used | request.shows if s.arity in (2, 3)}
    found = {name: iri for iri in iris if (name := mapper.predicate(iri.value)) in mentioned}
    for name in mentioned - found.keys():
        iri = mapper.predicate_iri(name)
        if iri is not None:
            found[name] = Iri(iri)
    return sorted(found.values())


def _keys(request: Request, mapper: Mapper, iri: Iri) -> Iterator[SchemaKey]:
    """What rules ask for of a property: of types the classes, where they name them."""
    name = mapper.predicate(iri.value)
    for arity in (2, 3):
        if iri != TYPE or name is None:
            yield SchemaKey(TRIPLE, iri)
            continue
        classes = constants(request, Signature(name, arity), 1)
        if classes is None:
            yield SchemaKey(TRIPLE, TYPE)
        for text in classes or ():
            class_ = mapper.iri(text[1:-1])
            yield SchemaKey(TRIPLE, TYPE, Iri(class_) if class_ else None)


# -- scales ------------------------------------------------------------------------------------


def _linked(made: Iterable[Rule]) -> Iterator[tuple[str, str]]:
    """Properties and relations that pass on what stands in their last places."""
    for rule in made:
        last = rule.terms[-1]
        if isinstance(last, Variable) and rule.head != FALSE:
            for atom in scans(rule):
                if atom.terms[-1] == last:
                    yield place(head(rule)), place(atom)


def _groups(links: Iterable[tuple[str, str]]) -> Iterator[frozenset[str]]:
    """What is linked, directly or by others."""
    groups: dict[str, frozenset[str]] = {}
    for one, other in links:
        joined = groups.get(one, frozenset({one})) | groups.get(other, frozenset({other}))
        groups.update(dict.fromkeys(joined, joined))
    return iter(set(groups.values()))


def _scaled(request: Request, names: RuleNames, made: Sequence[Rule]) -> Request:
    """The request, whose scales and comparisons hold for linked properties too."""
    scales, compared = dict(request.scales), dict(request.compared)
    properties = {place(a): a for rule in made for a in (head(rule), *scans(rule))}
    for group in _groups(_linked(made)):
        called = sorted(names.of(atom) for p in group if (atom := properties[p]).relation == TRIPLE)
        _share(request, called, scales)
        lines = [compared[s] for name in called for s in _forms(name) if s in compared]
        if lines:
            compared |= dict.fromkeys((s for name in called for s in _forms(name)), min(lines))
    return replace(request, scales=scales, compared=compared)


def _forms(name: str) -> tuple[Signature, Signature]:
    return Signature(name, 2), Signature(name, 3)


def _share(request: Request, called: Sequence[str], scales: dict[str, int]) -> None:
    """Give predicates that pass on their values the one scale that some of them have."""
    declared = {name: scales[name] for name in called if name in scales}
    if len(set(declared.values())) > 1:
        (one, first), (other, second) = sorted(declared.items())[:: len(declared) - 1]
        raise _fault(
            request,
            f"values of `{one}` are inferred of `{other}` or the other way round, but "
            f"`#scale {one} {first}` and `#scale {other} {second}` differ; give both one scale",
        )
    for scale in declared.values():
        scales |= dict.fromkeys(called, scale)


# -- the request -----------------------------------------------------------------------------


def _extended(
    request: Request, names: RuleNames, lines: Sequence[LabelledLine], looked: Iterable[Signature]
) -> Request:
    """The request with more rules, whose labels are the names they have."""
    text = request.rules if request.rules.endswith("\n") else request.rules + "\n"
    labelled = list(_labelled(lines))
    places = enumerate(labelled, text.count("\n") + 1)
    labels = {(number, len(label) + 4): label for number, (label, _text) in places if label}
    looked = frozenset(looked)
    return replace(
        request,
        rules=text + "".join(f"{' ' * (len(a) + 3) if a else ''}{b}\n" for a, b in labelled),
        appended=request.appended + "".join(f"{f'({a}) ' if a else ''}{b}\n" for a, b in labelled),
        labels={**request.labels, **labels},
        used=request.used | looked,
        inputs=request.inputs | looked if request.inputs else request.inputs,
        hidden=dict(names.hidden),
    )


def _labelled(lines: Iterable[LabelledLine]) -> Iterator[tuple[str, str]]:
    """Labels and texts of statements; what several rules are called gets a number."""
    seen = Counter[str]()
    for line in lines:
        seen[line.name] += 1
        again = f"-{seen[line.name]}" if seen[line.name] > 1 else ""
        yield (line.name + again if line.name else ""), line.text


def _fault(request: Request, message: str) -> RequestError:
    return RequestError(Location(f"{request.name}.casp", 1, 1), "entailment", message)


def _asks_for_values(rule: Rule) -> bool:
    """Whether it asks what a literal is, which its term in ASP does not tell."""
    return any(literal.relation in COMPUTED for literal in rule.looks.values())
