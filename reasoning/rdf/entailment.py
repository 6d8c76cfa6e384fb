"""What follows from triples under RDFS or OWL 2 RL: a positive program, run by clingo."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import clingo

from reasoning.rdf import datatypes, ntriples
from reasoning.rdf.datatypes import IllTypedError, Value
from reasoning.rdf.mapping import RDF, Blank, Iri, Literal, Term, Triple
from reasoning.rdf.regimes import RULES, Regime
from reasoning.rdf.rules import (
    FALSE,
    NAME,
    NAMESPACES,
    TRIPLE,
    Argument,
    EntailmentRule,
    TripleAtom,
    TripleVariable,
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
        self, triples: Sequence[Triple], regime: Regime, queries: Sequence[EntailmentRule] = ()
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

    def rule(self, rule: EntailmentRule) -> str:
        """A rule as text."""
        body = [self._atom(atom) for atom in rule.body]
        body += [f"{self._text(d.left)} != {self._text(d.right)}" for d in rule.different]
        return f"{self._atom(rule.head)} :- {', '.join(body)}.\n"

    def _atom(self, atom: TripleAtom) -> str:
        arguments = f"({','.join(map(self._text, atom.terms))})" if atom.terms else ""
        return f"{atom.relation}{arguments}"

    def _text(self, term: Argument) -> str:
        if isinstance(term, TripleVariable):
            return term.name
        return str(self._code(term) if isinstance(term, Iri | Blank | Literal) else term)

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
        values: dict[Value, int] = {}
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
        self, literal: Literal, code: int, values: dict[Value, int]
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
