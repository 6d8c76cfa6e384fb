"""Stream items as facts of a request: what its rules can see of them (docs/casp.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reasoning.errors import ItemError
from reasoning.model import atoms
from reasoning.model.request import Request, Signature
from reasoning.rdf.mapping import Iri, Mapper, Triple
from reasoning.streams.items import Item

if TYPE_CHECKING:
    from reasoning.model.values import Row, Value


class Encoder:
    """Turns the items of a request's streams into facts, and notes which predicates its
    streams supply."""

    def __init__(self, request: Request) -> None:
        self.mapper = Mapper(request)
        self.supplied = frozenset()
        self._request = request
        self._time = 0
        """A time that fits."""
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
        time = _fitting(item.time - base)
        self.supply(item.content)
        if len(item.content) == 1:
            return self.mapper.facts(item.content[0], time)
        return tuple([fact for triple in item.content for fact in self.mapper.facts(triple, time)])

    def rows(self, triples: Iterable[Triple], time: int) -> list[tuple[str, Row]]:
        """The atoms of an item's triples as rows of values, each with its relation: `p/2`;
        `time` counts as it does in them.

        Raises `ItemError` as `facts` does.
        """
        if time != self._time:
            self._time = _fitting(time)
        found: list[tuple[str, Row]] = []
        relations, resource, term = self._relations, self.mapper.resource, self.mapper.term
        for given, predicate, other in triples:
            # One look-up says all of a predicate: this loop sees each triple of each item, and
            # most have a predicate that has been met.
            name, pair, timed = relations.get(predicate.value) or self._related(predicate.value)
            if not name:
                continue
            subject = resource(given.value) if type(given) is Iri else term(given, name)
            value = resource(other.value) if type(other) is Iri else _value(term(other, name))
            if pair:
                found.append((pair, (subject, value)))
            if timed:
                found.append((timed, (subject, value, time)))
        return found

    def _related(self, iri: str) -> tuple[str, str, str]:
        """The predicate symbol of an IRI and the relations of its atoms, noted as supplied;
        empty: not wanted."""
        self._supplied |= self.signatures(iri)
        name, binary, ternary = self.mapper.form(iri)
        wanted = name if binary or ternary else ""
        self._relations[iri] = wanted, binary * f"{name}/2", ternary * f"{name}/3"
        return self._relations[iri]

    @property
    def supplied(self) -> frozenset[Signature]:
        """Predicates of which the streams have supplied atoms so far."""
        return self._supplied

    @supplied.setter
    def supplied(self, signatures: frozenset[Signature]) -> None:
        self._supplied = signatures
        # Emptied, for what is in here counts as noted, and the new set may not have it.
        self._relations: dict[str, tuple[str, str, str]] = {}
        """What `rows` needs to know of predicates, of which it has noted that they are supplied."""

    def supply(self, triples: Iterable[Triple]) -> None:
        """Note which predicates triples of a stream supply."""
        known, supplied = self._triples, self._supplied
        for triple in triples:
            found = known.get(triple.predicate.value)
            if found is None:
                found = self.signatures(triple.predicate.value)
            if not found <= supplied:
                self._supplied = supplied = supplied | found

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
        if found not in self.supplied:
            self.supplied |= {found}
        return (atom,)


def _fitting(time: int) -> int:
    """A time of an atom, if it fits ASP's numbers."""
    if not atoms.SMALLEST <= time <= atoms.LARGEST:
        raise ItemError("its time is too far from the window's to fit the 32 bits of ASP")
    return time


def _value(text: str) -> Value:
    """What the text of a term, a string, number or boolean, stands for."""
    return int(text) if text[0] != '"' and text[-1].isdigit() else text
