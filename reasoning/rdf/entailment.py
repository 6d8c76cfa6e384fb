"""What follows from triples under RDFS or OWL 2 RL: a positive program, run by clingo.

Whether a graph follows from another one (`follows`) is more than that. The rules of OWL 2 RL derive
facts; that things differ, or are not in a class, they only refute, and axioms about classes and
properties they derive in part. Such conclusions are tested as is usual in description logics: what
would deny them is added, with new things where the axiom speaks of all, and must be inconsistent or
have the consequence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import clingo

from citywise.reasoning.model import rules as model
from citywise.reasoning.model import values
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.rules import Compare, Rule, Scan
from citywise.reasoning.rdf import datatypes, ntriples
from citywise.reasoning.rdf.datatypes import DataValue, IllTypedError
from citywise.reasoning.rdf.mapping import RDF, TYPE, XSD, Blank, Iri, Literal, Term, Triple
from citywise.reasoning.rdf.regimes import (
    FALSE,
    NAME,
    NAMESPACES,
    RULES,
    TRIPLE,
    Regime,
    head,
    known,
)

MEMBERSHIP = re.compile(re.escape(RDF) + r"_[1-9][0-9]*")


@dataclass(frozen=True)
class Closure:
    """What a set of triples entails beyond itself."""

    inferred: tuple[Triple, ...]
    """Triples that follow and were not given; without those whose subject is a literal."""
    inconsistencies: tuple[str, ...]
    """What cannot be true together, a sentence each; from an inconsistent graph anything
    follows, so do not answer from it."""


class Contradiction(NamedTuple):
    """Something cannot be true."""

    rule: str
    """The rule of OWL 2 RL or RDFS that says so."""
    first: Term
    second: Term
    """What it is about; the same as the first where there is only one thing."""

    @property
    def sentence(self) -> str:
        """What it says, in words."""
        about = list(dict.fromkeys(map(ntriples.write, (self.first, self.second))))
        if self.rule in _SYMMETRIC:
            about.sort()
        words = _SENTENCES.get(self.rule, "contradiction")
        return f"{words} (rule {self.rule}): {' and '.join(about)}"


def closure(triples: Sequence[Triple], regime: Regime) -> Closure:
    """The closure of `triples` under the rules of `regimes.RULES`.

    Sound, and for OWL 2 RL complete for ground triples as far as the profile's rules are
    (OWL 2 Profiles, Theorem PR1), less what `regimes` says is left out.
    """
    model = TripleModel(triples, regime)
    told = dict.fromkeys(found.sentence for found in model.contradictions())
    return Closure(tuple(model.inferred()), tuple(told))


class TripleModel:
    """Everything that the rules of a regime, and some more, derive from triples."""

    def __init__(
        self, triples: Sequence[Triple], regime: Regime, queries: Sequence[Rule] = ()
    ) -> None:
        self._coded = _Coded(triples)
        self._control = clingo.Control(["--warn=none"])
        rules = NAME.sub(lambda name: self._coded.vocabulary(*name.groups()), RULES[regime])
        self._control.add("base", [], rules)
        self._control.add("base", [], "".join(map(self._coded.rule, queries)))
        self._control.add("base", [], "".join(self._coded.facts()))
        self._control.ground([("base", [])])

    def inferred(self) -> Iterator[Triple]:
        """Triples that follow and were not given; without those whose subject is a literal."""
        return self._coded.inferred(self._control)

    def contradictions(self) -> Iterator[Contradiction]:
        """What cannot be true together."""
        return self._coded.contradictions(self._control)

    def rows(self, relation: str, arity: int) -> Iterator[tuple[Term, ...]]:
        """The rows of a relation whose columns are terms."""
        return self._coded.rows(self._control, relation, arity)


class _Coded:
    """Triples as facts over numbers, and back."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self._codes: dict[Term, int] = {}
        self._terms: list[Term] = []
        self._given = [tuple(map(self._code, triple)) for triple in triples]

    def vocabulary(self, prefix: str, name: str) -> str:
        """The number of a term of the vocabularies, as text."""
        return str(self._code(Iri(NAMESPACES[prefix] + name)))

    def rule(self, rule: Rule) -> str:
        """A rule as text, of which nothing must be absent."""
        return f"{self._literal(head(rule))} :- {', '.join(map(self._literal, rule.body))}.\n"

    def _literal(self, literal: model.Literal) -> str:
        if isinstance(literal, Compare):
            return f"{self._text(literal.left)} != {self._text(literal.right)}"
        assert isinstance(literal, Scan)
        return call(literal.relation, list(map(self._text, literal.terms)))

    def _text(self, term: values.Term) -> str:
        if isinstance(term, values.Variable):
            return term.name
        assert isinstance(term, values.Constant)
        given = known(term)
        return str(term.value if given is None else self._code(given))

    def rows(
        self, control: clingo.Control, relation: str, arity: int
    ) -> Iterator[tuple[Term, ...]]:
        """The rows of a relation whose columns are terms."""
        for row in _rows(control, relation, arity):
            yield tuple(self._terms[code] for code in row)

    def facts(self) -> Iterator[str]:
        """The program text of the triples and of what is known of their terms."""
        for row in self._given:
            yield "t({},{},{}).\n".format(*row)
        values: dict[DataValue, int] = {}
        for term, code in list(self._codes.items()):
            if isinstance(term, Literal):
                yield from self._literal_facts(term, code, values)
            elif isinstance(term, Iri):
                if term.value in datatypes.DATATYPES:
                    yield f"datatype({code}).\n"
                elif MEMBERSHIP.fullmatch(term.value):
                    yield f"membership({code}).\n"

    def inferred(self, control: clingo.Control) -> Iterator[Triple]:
        """The triples that the program derived."""
        given = set(self._given)
        for row in _rows(control, TRIPLE, 3):
            if row not in given:
                subject, predicate, value = (self._terms[code] for code in row)
                if isinstance(subject, Iri | Blank) and isinstance(predicate, Iri):
                    yield Triple(subject, predicate, value)

    def contradictions(self, control: clingo.Control) -> Iterator[Contradiction]:
        """What the program found to be impossible."""
        for atom in control.symbolic_atoms.by_signature(FALSE, 3):
            rule, *terms = atom.symbol.arguments
            yield Contradiction(rule.string, *(self._terms[term.number] for term in terms))

    def _code(self, term: Term) -> int:
        code = self._codes.setdefault(term, len(self._terms))
        if code == len(self._terms):
            self._terms.append(term)
        return code

    def _literal_facts(
        self, literal: Literal, code: int, values: dict[DataValue, int]
    ) -> Iterator[str]:
        try:
            value = datatypes.value(literal)
        except IllTypedError:
            yield f"ill({code}).\n"
            return
        if value is None:
            return
        yield f"value({code},{values.setdefault(value, len(values))}).\n"
        if value in (0, 1):
            yield f"count({code},{value}).\n"
        for datatype in datatypes.DATATYPES:
            other = self._codes.get(Iri(datatype))
            if other is not None and datatypes.allows(datatype, value):
                yield f"may_be({code},{other}).\n"


def _rows(control: clingo.Control, relation: str, arity: int) -> Iterator[tuple[int, ...]]:
    """The rows of a relation of numbers; by their text, which is quicker than by symbols."""
    start = len(relation) + 1
    for atom in control.symbolic_atoms.by_signature(relation, arity):
        text = str(atom.symbol)[start:-1]
        yield tuple(map(int, text.split(","))) if text else ()


_SYMMETRIC = frozenset({"dt-diff", "eq-diff1", "eq-diff2", "prp-pdw", "prp-adp"})
"""Rules that find what they find both ways round; it is told once."""
_SENTENCES = {
    "dt-not-type": "a literal is not one of its datatype",
    "dt-type": "a literal is in a datatype that does not hold it",
    "dt-diff": "different values would have to be the same",
    "eq-diff1": "two things are both the same and different",
    "eq-diff2": "two members of a set of different things are the same",
    "prp-irp": "an irreflexive property relates something to itself",
    "prp-asyp": "an asymmetric property holds both ways",
    "prp-pdw": "two disjoint properties relate the same things",
    "prp-adp": "two disjoint properties relate the same things",
    "prp-npa": "a property is both asserted and denied",
    "cls-nothing2": "something is in the empty class",
    "cls-com": "something is in a class and its complement",
    "cls-maxc1": "a property that has at most 0 values has one",
    "cls-maxqc1": "a property that has at most 0 values has one",
    "cax-dw": "something is in two disjoint classes",
    "cax-adc": "something is in two disjoint classes",
}


Subject = Iri | Blank
_FIRST, _REST = Iri(RDF + "first"), Iri(RDF + "rest")
_RANGE = Iri(NAMESPACES["rdfs"] + "range")
_DATATYPE = Iri(NAMESPACES["rdfs"] + "Datatype")
_NEW = tuple(Iri(f"urn:citywise:new:{letter}") for letter in "abc")
"""Things of which a premise says nothing."""


def _owl(name: str) -> Iri:
    return Iri(NAMESPACES["owl"] + name)


_STRUCTURE = frozenset(
    map(_owl, ("onProperty", "minCardinality", "unionOf", "intersectionOf", "oneOf"))
) | {_FIRST, _REST}
"""What says how a class expression or a list is made up."""
_KINDS = frozenset(map(_owl, ("Class", "Restriction"))) | {Iri(RDF + "List")}


def follows(premise: Sequence[Triple], conclusion: Sequence[Triple], regime: Regime) -> bool:
    """Whether a graph follows from a premise; its blank nodes are variables.

    Sound; complete as far as the regime's rules are, with the tests named above for OWL 2 RL.
    Everything follows from what is inconsistent.
    """
    known = _Known(premise, regime)
    if known.closure.inconsistencies:
        return True
    if regime != "owl-rl":
        return known.has(conclusion)
    asked = _Asked(conclusion, known)
    return asked.holds() and known.has(asked.rest)


def has(known: Iterable[Triple], conclusion: Sequence[Triple]) -> bool:
    """Whether a graph, whose blank nodes are variables, is a part of another one."""
    facts = "".join(f"t({','.join(map(_constant, triple))}).\n" for triple in known)
    body = ", ".join(f"t({','.join(map(_variable, triple))})" for triple in conclusion)
    control = clingo.Control(["--warn=none"])
    control.add("base", [], f"{facts} yes{' :- ' if body else ''}{body}.")
    control.ground([("base", [])])
    return any(control.symbolic_atoms.by_signature("yes", 0))


class _Known:
    """A premise and what follows from it."""

    def __init__(self, premise: Sequence[Triple], regime: Regime) -> None:
        self._premise, self._regime = tuple(premise), regime

    @cached_property
    def closure(self) -> Closure:
        """What follows."""
        return closure(self._premise, self._regime)

    def denies(self, *more: Triple) -> bool:
        """Whether the premise contradicts more triples."""
        return bool(self._with(*more).closure.inconsistencies)

    def gives(self, found: Triple, *more: Triple) -> bool:
        """Whether a triple follows with more triples."""
        known = self._with(*more).closure
        return bool(known.inconsistencies) or found in known.inferred

    def ranges(self, predicate: Subject) -> frozenset[str]:
        """The datatypes that a property's values are all in."""
        known = (*self._premise, *self.closure.inferred)
        return frozenset(
            o.value for s, p, o in known if s == predicate and p == _RANGE and isinstance(o, Iri)
        )

    def has(self, conclusion: Sequence[Triple]) -> bool:
        """Whether a graph is an instance of what is known."""
        return has((*self._premise, *self.closure.inferred), conclusion)

    def _with(self, *more: Triple) -> _Known:
        return _Known((*self._premise, *more), self._regime)


def _constant(term: Term) -> str:
    """A term as a string of ASP; literals by their values."""
    if isinstance(term, Literal):
        try:
            value = datatypes.value(term)
        except IllTypedError:
            value = None
        return str(clingo.String(f"{term if value is None else value}"))
    return str(clingo.String(ntriples.write(term)))


def _variable(term: Term) -> str:
    return f"B{term.label.encode().hex()}" if isinstance(term, Blank) else _constant(term)


class _Asked:
    """A conclusion, taken apart into what is tested and the rest."""

    def __init__(self, conclusion: Sequence[Triple], known: _Known) -> None:
        self.rest = [t for t in conclusion if t[1:] != (TYPE, _owl("Ontology"))]
        """What is to be among the facts."""
        self._known = known

    def holds(self) -> bool:
        """Whether the tests hold; what they were about is no more in the rest."""
        for triple in list(self.rest):
            test = self._test(triple)
            if test is not None:
                self.rest.remove(triple)
                if not test():
                    return False
        self._leave_out_expressions()
        return True

    def _test(self, triple: Triple) -> Callable[[], bool] | None:
        """What tests a triple; None if it is a fact like others."""
        subject, predicate, value = triple
        known, (a, b, c) = self._known, _NEW
        match predicate, value:
            case (_, Iri() | Blank()) if predicate == _owl("differentFrom"):
                return lambda: known.denies(Triple(subject, _owl("sameAs"), value))
            case (_, Iri()) if predicate == _owl("propertyDisjointWith"):
                return lambda: known.denies(_triple(a, subject, b), _triple(a, value, b))
            case (_, Iri()) if predicate == _owl("disjointWith"):
                return lambda: known.denies(_triple(a, TYPE, subject), _triple(a, TYPE, value))
            case (_, Iri()) if triple[1:] == (TYPE, _owl("TransitiveProperty")):
                steps = _triple(a, subject, b), _triple(b, subject, c)
                return lambda: known.gives(_triple(a, subject, c), *steps)
            case (_, Iri(name)) if predicate == _RANGE and name.startswith(XSD):
                return lambda: _is_within(known.ranges(subject), name)
            case (_, Iri()) if triple[1:] == (TYPE, _DATATYPE) and isinstance(subject, Iri):
                return lambda: subject.value in datatypes.DATATYPES
            case (_, Iri()) if triple[1:] == (TYPE, _owl("AllDifferent")):
                things = list(self._members(subject))
                return lambda: all(
                    known.denies(_triple(one, _owl("sameAs"), other))
                    for number, one in enumerate(things)
                    for other in things[number + 1 :]
                )
            case (_, Blank()) if predicate == TYPE and (other := self._complement(value)):
                return lambda: known.denies(_triple(subject, TYPE, other))
        return None

    def _members(self, subject: Subject) -> Iterator[Term]:
        """The members of what lists them; the list is no more in the rest."""
        found = self._take(subject, _owl("members"), _owl("distinctMembers"))
        while isinstance(found, Blank):
            member = self._take(found, _FIRST)
            if member is not None:
                yield member
            found = self._take(found, _REST)

    def _complement(self, class_: Subject) -> Term | None:
        """What a class is the complement of; its description is no more in the rest."""
        found = self._take(class_, _owl("complementOf"))
        if found is not None:
            self._take(class_, TYPE)
        return found

    def _take(self, subject: Subject, *predicates: Iri) -> Term | None:
        for triple in self.rest:
            if triple.subject == subject and triple.predicate in predicates:
                self.rest.remove(triple)
                return triple.object
        return None

    def _leave_out_expressions(self) -> None:
        """Class expressions and lists of which nothing is said exist (Direct Semantics)."""
        used = {t.object for t in self.rest if t.predicate not in _STRUCTURE}
        said = {t.subject for t in self.rest if not _describes(t)}
        self.rest = [
            t for t in self.rest
            if not isinstance(t.subject, Blank) or t.subject in used | said
        ]  # fmt: skip


def _describes(triple: Triple) -> bool:
    """Whether it only says how an expression is made up."""
    predicate, value = triple.predicate, triple.object
    return predicate in _STRUCTURE or (predicate == TYPE and value in _KINDS)


def _triple(subject: Term, predicate: Term, value: Term) -> Triple:
    assert isinstance(subject, Iri | Blank)
    assert isinstance(predicate, Iri)
    return Triple(subject, predicate, value)


def _is_within(given: Iterable[str], datatype: str) -> bool:
    """Whether what is in all given datatypes is in another one."""
    given = list(given)
    if datatype in given:
        return True
    limits = [datatypes.limits(one) for one in given]
    whole = [one for one in limits if one is not None]
    wanted = datatypes.limits(datatype)
    if wanted is None or not whole:
        return False
    low, high = max(one[0] for one in whole), min(one[1] for one in whole)
    return low > high or (wanted[0] <= low and high <= wanted[1])
