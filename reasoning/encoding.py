"""Stream items as facts of a request: what its rules can see of them (DESIGN A5)."""

from __future__ import annotations

from collections.abc import Iterable

from reasoning import atoms
from reasoning.errors import ItemError
from reasoning.program import Request, Signature
from reasoning.rdf.mapping import Mapper, Triple
from reasoning.streams import Item


class Encoder:
    """Turns the items of a request's streams into facts, and notes which predicates its
    streams supply."""

    def __init__(self, request: Request) -> None:
        self.mapper = Mapper(request)
        self.supplied: frozenset[Signature] = frozenset()
        """Predicates of which the streams have supplied atoms so far."""
        self._request = request
        self._known = request.used | request.derived | request.shows
        self._names = {signature.name.removeprefix("-") for signature in self._known}
        self._triples: dict[str, frozenset[Signature]] = {}

    def facts(self, item: Item, base: int = 0) -> tuple[str, ...]:
        """The atoms of an item as text, its time counted from `base`; those that the
        request does not read are left out.

        Raises `ItemError` when a literal has no value in ASP.
        """
        if isinstance(item.content, str):
            return self._atom(item.content)
        time = item.time - base
        if not atoms.SMALLEST <= time <= atoms.LARGEST:
            raise ItemError("its time is too far from the window's to fit the 32 bits of ASP")
        self.supply(item.content)
        return tuple([fact for triple in item.content for fact in self.mapper.facts(triple, time)])

    def supply(self, triples: Iterable[Triple]) -> None:
        """Note which predicates triples of a stream supply."""
        for triple in triples:
            self._supply(self.signatures(triple.predicate.value))

    def signatures(self, iri: str) -> frozenset[Signature]:
        """The predicates of which triples with a predicate give atoms, if anything reads or
        derives those."""
        if iri not in self._triples:
            name = self.mapper.predicate(iri)
            inputs = {signature.name for signature in self._request.inputs}
            both = {Signature(name, 2), Signature(name, 3)} if name else set()
            seen = not inputs or name in inputs
            self._triples[iri] = frozenset(both & self._known if seen else ())
        return self._triples[iri]

    def _atom(self, atom: str) -> tuple[str, ...]:
        found = atoms.signature(atom)
        if self._request.inputs and found not in self._request.inputs:
            return ()
        if found.name.removeprefix("-") not in self._names:
            return ()
        self._supply(frozenset({found}))
        return (atom,)

    def _supply(self, found: frozenset[Signature]) -> None:
        if not found <= self.supplied:
            self.supplied |= found
