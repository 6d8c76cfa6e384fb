"""What follows from triples under RDFS or OWL 2 RL: a positive program, run by clingo."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import clingo

from reasoning.program import Entailment
from reasoning.rdf import datatypes, ntriples
from reasoning.rdf.datatypes import IllTypedError, Value
from reasoning.rdf.mapping import RDF, Blank, Iri, Literal, Term, Triple
from reasoning.rdf.regimes import RULES

_NAMESPACES = {
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}
_NAME = re.compile(r"\b(rdfs?|owl)_(\w+)")
_MEMBERSHIP = re.compile(re.escape(RDF) + r"_[1-9][0-9]*")


@dataclass(frozen=True)
class Closure:
    """What a set of triples entails beyond itself."""

    inferred: tuple[Triple, ...]
    """Triples that follow and were not given; without those whose subject is a literal."""
    inconsistencies: tuple[str, ...]
    """What cannot be true together, a sentence each; from an inconsistent graph anything
    follows, so do not answer from it."""


def closure(triples: Sequence[Triple], regime: Entailment) -> Closure:
    """The closure of `triples` under the rules of `regimes.RULES`.

    Sound, and for OWL 2 RL complete for ground triples as far as the profile's rules are
    (OWL 2 Profiles, Theorem PR1), less what `regimes` says is left out.
    """
    coded = _Coded(triples)
    rules = _NAME.sub(lambda name: coded.vocabulary(*name.groups()), RULES[regime])
    control = clingo.Control(["--warn=none"])
    control.add("base", [], rules)
    control.add("base", [], "".join(coded.facts()))
    control.ground([("base", [])])
    return Closure(tuple(coded.inferred(control)), tuple(coded.inconsistencies(control)))


class _Coded:
    """Triples as facts over numbers, and back."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self._codes: dict[Term, int] = {}
        self._terms: list[Term] = []
        self._given = [tuple(map(self._code, triple)) for triple in triples]

    def vocabulary(self, prefix: str, name: str) -> str:
        """The number of a term of the vocabularies, as text."""
        return str(self._code(Iri(_NAMESPACES[prefix] + name)))

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
                elif _MEMBERSHIP.fullmatch(term.value):
                    yield f"membership({code}).\n"

    def inferred(self, control: clingo.Control) -> Iterator[Triple]:
        """The triples that the program derived."""
        given = set(self._given)
        for atom in control.symbolic_atoms.by_signature("t", 3):
            row = tuple(argument.number for argument in atom.symbol.arguments)
            if row not in given:
                subject, predicate, value = (self._terms[code] for code in row)
                if isinstance(subject, Iri | Blank) and isinstance(predicate, Iri):
                    yield Triple(subject, predicate, value)

    def inconsistencies(self, control: clingo.Control) -> Iterator[str]:
        """What the program found to be impossible."""
        for atom in control.symbolic_atoms.by_signature("false", 3):
            rule, *terms = atom.symbol.arguments
            first, second = (ntriples.write(self._terms[term.number]) for term in terms)
            about = first if first == second else f"{first} and {second}"
            yield f"{_SENTENCES.get(rule.string, 'contradiction')} (rule {rule.string}): {about}"

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
        if value in (("number", 0), ("number", 1)):
            yield f"count({code},{value[1]}).\n"
        for datatype in datatypes.DATATYPES:
            other = self._codes.get(Iri(datatype))
            if other is not None and datatypes.allows(datatype, value):
                yield f"may_be({code},{other}).\n"


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
