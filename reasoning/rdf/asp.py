"""Rules over triples as rules of ASP, over the predicates that stand for properties.

An atom of two arguments says that a triple holds, one of three also when: at the time of the
item it is from, and where it follows from several, of the latest of them (as an instance of
Continuous Datalog; Monks et al., Definition "Fact Instance"). What follows from knowledge
bases alone has no time; in rules that join it with what has, it stands in a relation of its
own, with the time `#inf`, which is before all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from reasoning.program import Request, Signature
from reasoning.rdf.mapping import Blank, Iri, Literal, Mapper, Term, Triple
from reasoning.rdf.rules import FALSE, TRIPLE, Argument, Atom, Different, Rule, Variable

_OTHERS = re.compile(r"[^A-Za-z0-9]+")


class Line(NamedTuple):
    """A statement, and the name of the rule that it is from."""

    text: str
    name: str


class Names:
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

    def of(self, atom: Atom) -> str:
        """The predicate of an atom."""
        predicate = atom.terms[1] if atom.relation == TRIPLE else None
        return (
            self.predicate(predicate) if isinstance(predicate, Iri) else self.relation(place(atom))
        )


class Writer:
    """Writes rules for one request."""

    def __init__(self, names: Names, mapper: Mapper, rules: Sequence[Rule]) -> None:
        self._names = names
        self._mapper = mapper
        self._rules = rules
        self._derived = {place(rule.head) for rule in rules}
        self.looked: set[Signature] = set()
        """The predicates of properties that what has been written looks at."""

    def lines(self, mentioned: Iterable[Signature]) -> Iterator[Line]:
        """What holds, for the predicates that are mentioned with two arguments."""
        false = [rule for rule in self._rules if rule.head.relation == FALSE]
        needed = {s.name for s in mentioned if s.arity == 2}
        needed |= {self._names.of(atom) for rule in false for atom in rule.body}
        needed = self._needed(needed)
        for rule in self._rules:
            if rule not in false and self._names.of(rule.head) not in needed:
                continue
            self._look(rule.body, 2)
            body = [*map(self._plain, rule.body), *map(self._different, rule.different)]
            head = "" if rule.head.relation == FALSE else self._plain(rule.head)
            yield Line(f"{head} :- {', '.join(body)}.".lstrip(), rule.name)

    def timed(self, mentioned: Iterable[Signature], known: Iterable[Triple]) -> Iterator[Line]:
        """What holds with time, of the predicates that are mentioned with three arguments."""
        needed = self._needed({s.name for s in mentioned if s.arity == 3})
        joined: dict[str, Atom] = {}
        for rule in self._rules:
            if self._names.of(rule.head) in needed:
                yield from self._at_times(rule, joined)
        for name, atom in list(joined.items()):
            if atom.relation == TRIPLE:
                yield from self._with_times(name, atom, known)

    def _needed(self, names: set[str]) -> set[str]:
        """The names on whose times others depend."""
        todo = list(names)
        while todo:
            name = todo.pop()
            for rule in self._rules:
                if self._names.of(rule.head) == name:
                    new = {self._names.of(a) for a in rule.body if self._has_time(a)} - names
                    names |= new
                    todo += new
        return names

    def _has_time(self, atom: Atom) -> bool:
        return atom.relation == TRIPLE or place(atom) in self._derived

    def _at_times(self, rule: Rule, joined: dict[str, Atom]) -> Iterator[Line]:
        """A rule for each atom of the body that may be the latest."""
        dated = [atom for atom in rule.body if self._has_time(atom)]
        rest = [self._plain(atom) for atom in rule.body if atom not in dated]
        rest += map(self._different, rule.different)
        heads = rule.head.relation == TRIPLE
        if heads and len(dated) == 1 and dated[0].relation == TRIPLE:
            self._look(dated, 3)
            body = [self._at(dated[0], "Time"), *rest]
            yield Line(f"{self._at(rule.head, 'Time')} :- {', '.join(body)}.", rule.name)
            return
        for atom in dated:
            joined[self._joined(atom)] = atom
        for last in range(len(dated)):
            body = [self._at(a, f"Time{n}", self._joined(a)) for n, a in enumerate(dated)]
            body += [f"Time{n} <= Time{last}" for n in range(len(dated)) if n != last]
            body += [f"Time{last} > #inf"] if heads else []
            name = self._names.of(rule.head) if heads else self._joined(rule.head)
            head = self._at(rule.head, f"Time{last}", name)
            yield Line(f"{head} :- {', '.join([*body, *rest])}.", rule.name)

    def _with_times(self, name: str, atom: Atom, known: Iterable[Triple]) -> Iterator[Line]:
        """All that holds of a property: of the stream with time, of knowledge bases without."""
        self._look([atom], 3)
        predicate = self._names.of(atom)
        yield Line(f"{name}(X,Y,Time) :- {predicate}(X,Y,Time).", "time")
        for subject, found, value in known:
            if found == atom.terms[1]:
                pair = ",".join(self._mapper.term(term, predicate) for term in (subject, value))
                yield Line(f"{name}({pair},#inf).", "")

    # -- text -------------------------------------------------------------------------------

    def _look(self, atoms: Iterable[Atom], arity: int) -> None:
        triples = (atom for atom in atoms if atom.relation == TRIPLE)
        self.looked |= {Signature(self._names.of(atom), arity) for atom in triples}

    def _joined(self, atom: Atom) -> str:
        return self._names.relation(f"{place(atom)} at", f"{self._names.of(atom)}_at")

    def _arguments(self, atom: Atom) -> list[str]:
        terms = atom.terms if atom.relation != TRIPLE else (atom.terms[0], atom.terms[2])
        name = self._names.of(atom) if atom.relation == TRIPLE else ""
        return [self._term(term, name) for term in terms]

    def _plain(self, atom: Atom) -> str:
        return f"{self._names.of(atom)}({','.join(self._arguments(atom))})"

    def _at(self, atom: Atom, time: str, name: str = "") -> str:
        return f"{name or self._names.of(atom)}({','.join([*self._arguments(atom), time])})"

    def _different(self, found: Different) -> str:
        return f"{self._term(found.left, '')} != {self._term(found.right, '')}"

    def _term(self, term: Argument, predicate: str) -> str:
        if isinstance(term, Variable):
            return term.name
        if isinstance(term, Iri | Blank | Literal):
            return self._mapper.term(term, predicate)
        return str(term)

    def facts(self, table: str, rows: Iterable[Sequence[Term]]) -> Iterator[Line]:
        """The rows of a table."""
        for row in rows:
            terms = ",".join(self._mapper.term(term, "") for term in row)
            yield Line(f"{self._names.relation(f'{table}/{len(row)}')}({terms}).", "")


def place(atom: Atom) -> str:
    """The property or the relation of an atom, as a name."""
    if atom.relation == TRIPLE:
        return str(atom.terms[1])
    return f"{atom.relation}/{len(atom.terms)}"


def _stem(text: str) -> str:
    """A text as part of a predicate's name."""
    letters = _OTHERS.sub("_", text).strip("_")
    return letters[:1].lower() + letters[1:] if letters[:1].isalpha() else f"p{letters}"
