"""Shown atoms as the triples they came from (thesis, Definition 4.7; DESIGN A5)."""

from __future__ import annotations

from decimal import Decimal

import clingo
from clingo import SymbolType

from reasoning.program import Request
from reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Mapper, Term, Triple

_BOOLEANS = (clingo.Function("true"), clingo.Function("false"))


class Inverse:
    """Turns atoms of a request back into triples, by its prefixes and scales.

    Names of resources, blank nodes and plain text come back exactly. What an atom does not
    keep comes back as what it became: a dateTime as an integer, a typed or tagged literal
    as its text, `"01"^^xsd:integer` as 1. A scaled value is divided again and an
    `xsd:decimal`.
    """

    def __init__(self, request: Request, mapper: Mapper | None = None) -> None:
        self._request = request
        self._mapper = mapper or Mapper(request)

    def triple(self, atom: clingo.Symbol) -> Triple | None:
        """The triple of an atom, or None: its predicate carries no prefix, it has not two
        arguments, or they are nothing RDF can hold."""
        if len(atom.arguments) != 2 or not atom.positive:
            return None
        predicate = self._mapper.predicate_iri(atom.name)
        subject = self.term(atom.arguments[0])
        value = self.term(atom.arguments[1], self._request.scales.get(atom.name))
        if predicate is None or value is None or not isinstance(subject, Iri | Blank):
            return None
        return Triple(subject, Iri(predicate), value)

    def term(self, symbol: clingo.Symbol, scale: int | None = None) -> Term | None:
        """The RDF term that a term of ASP stands for, or None."""
        if symbol.type == SymbolType.Number:
            return _number(symbol.number, scale)
        if symbol.type == SymbolType.String:
            return self._named(symbol.string)
        if symbol in _BOOLEANS:
            return Literal(symbol.name, XSD + "boolean")
        return None

    def _named(self, text: str) -> Term:
        if text.startswith("_:"):
            return Blank(text[2:])
        iri = self._mapper.iri(text)
        return Iri(iri) if iri is not None else Literal(self._mapper.unescape(text))


def _number(value: int, scale: int | None) -> Literal | None:
    if scale is None:
        return Literal(str(value), XSD + "integer")
    quotient = Decimal(value) / Decimal(scale)
    if quotient * scale != value:
        return None
    return Literal(f"{quotient.normalize():f}", XSD + "decimal")
