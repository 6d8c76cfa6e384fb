"""Literals and rules of the engine in the presentation syntax of RIF, for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reasoning.languages.rif import values
from reasoning.languages.rif.bodies import TRIPLE
from reasoning.languages.rif.document import Local, RifConstant
from reasoning.languages.rif.unparse import term_text
from reasoning.languages.rif.values import predicate
from reasoning.model import terms
from reasoning.model.rules import Absent, Call, Compare, Literal, Scan
from reasoning.model.terms import Value
from reasoning.rdf.mapping import Blank, Iri
from reasoning.rdf.mapping import Literal as RdfLiteral

_ODD = re.compile(r"\W")


@dataclass(frozen=True)
class Wording:
    """How what the engine has is written for the people who wrote the document."""

    properties: Mapping[str, Value]
    """The relations of frames, and the properties they are of."""
    prefixes: Mapping[str, str]

    def literal(self, literal: Literal) -> str:
        """A literal of a body."""
        match literal:
            case Scan(relation, found):
                return self.row(relation, found)
            case Absent(relation, found):
                return f"not {self.row(relation, found)}"
            case Compare(comparator, left, right):
                return f"{self.term(left)} {comparator} {self.term(right)}"
            case Call(_, arguments, result, name):
                call = f"External({name}({self._all(arguments)}))"
                return call if result is None else f"{self.term(result)} = {call}"
        raise TypeError(literal)

    def conjunction(self, literals: Iterable[Literal]) -> str:
        """Literals that hold together."""
        found = [self.literal(each) for each in literals]
        return found[0] if len(found) == 1 else f"And({' '.join(found)})"

    def row(self, relation: str, found: tuple[terms.Term, ...]) -> str:
        """An atom or a frame."""
        if relation == TRIPLE and len(found) == 3:
            return f"{self.term(found[0])}[{self.term(found[1])} -> {self.term(found[2])}]"
        if relation in self.properties:
            return f"{self.term(found[0])}[{self.relation(relation)} -> {self.term(found[1])}]"
        return f"{self.relation(relation)}({self._all(found)})"

    def relation(self, relation: str) -> str:
        """A property, a predicate, or what is no name of the document."""
        if relation in self.properties:
            return self._value(self.properties[relation])
        found = predicate(relation)
        if found is None or relation[0] not in "<_":
            return relation
        return self._value(found[0])

    def term(self, term: terms.Term) -> str:
        """A term."""
        match term:
            case terms.Variable(name):
                return f"?{_ODD.sub('_', name)}"
            case terms.Constant(value):
                return self._value(value)
            case terms.Compound(_, arguments):
                return f"List({self._all(arguments)})"
        raise TypeError(term)

    def _all(self, found: Iterable[terms.Term]) -> str:
        return " ".join(map(self.term, found))

    def _value(self, value: Value) -> str:
        found = values.term(value)
        if isinstance(found, Iri | Local | Blank | RdfLiteral):
            return term_text(RifConstant(found), self.prefixes)
        assert isinstance(value, tuple)
        return f"List({' '.join(map(self._value, value[1:]))})"
