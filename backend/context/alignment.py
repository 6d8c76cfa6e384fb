"""Names of other vocabularies for our terms, and back (ontologies/alignments.ttl)."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from citywise.backend.errors import CitywiseError
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.activities import activities
from citywise.backend.packs.ontology import PREFIXES, city, local_name, reads_as
from citywise.backend.packs.values import show
from citywise.reasoning import Iri, KnowledgeSource
from citywise.reasoning.rdf import knowledge

EC = "http://purl.oclc.org/NET/UNIS/sao/ec#"
AC = "http://purl.oclc.org/NET/UNIS/sao/ac#"
SAO = "http://purl.oclc.org/NET/UNIS/sao/sao#"
_SOURCES = {
    "SENSOR": "sensor",
    "SOCIAL_NETWORK": "social",
    "CITIZEN": "citizen",
    "AUTHORITY": "authority",
}
"""CityPulse has the first two."""
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_MATCHES = (f"{_SKOS}exactMatch", f"{_SKOS}closeMatch")
"""Kinds of match, the better first."""


class UnknownNameError(CitywiseError):
    """A name means no term that is wanted; the message says which ones do."""


@dataclass(frozen=True)
class Alignments:
    """Matches between our terms and those of others, both as IRIs."""

    theirs: Mapping[str, tuple[str, ...]]
    """By our term, the better matches first."""
    ours: Mapping[str, str]

    def of(self, term: str, namespace: str) -> str:
        """What a namespace calls a term of ours; the term itself where it has no name for it."""
        return next((t for t in self.theirs.get(term, ()) if t.startswith(namespace)), term)

    def our(self, name: str, namespace: str, wanted: Collection[str]) -> str:
        """Our term, one of `wanted`, for a name of theirs or ours: an IRI, or a local name.

        Raises `UnknownNameError`.
        """
        theirs = name if ":" in name else namespace + name
        if (term := self.ours.get(theirs)) in wanted:
            return str(term)
        for term in sorted(wanted):
            if reads_as(name, term):
                return term
        raise UnknownNameError(self._unknown(name, namespace, wanted))

    def _unknown(self, name: str, namespace: str, wanted: Collection[str]) -> str:
        other = (t for term in wanted for t in self.theirs.get(term, ()) if t.startswith(namespace))
        known = sorted({*map(local_name, wanted), *map(local_name, other)})
        near = difflib.get_close_matches(local_name(name), known, 1)
        cure = f"did you mean `{near[0]}`?" if near else "choose one of them"
        return f"found {show(name)}, expected one of {', '.join(known)}; {cure}"


@cache
def alignments() -> Alignments:
    """Those of our ontologies."""
    path = REPOSITORY / "ontologies" / "alignments.ttl"
    triples = knowledge.read(KnowledgeSource(str(path))).triples
    found = [
        (_MATCHES.index(predicate.value), subject.value, value.value)
        for subject, predicate, value in triples
        if predicate.value in _MATCHES and isinstance(subject, Iri) and isinstance(value, Iri)
    ]
    theirs: dict[str, tuple[str, ...]] = {}
    ours: dict[str, str] = {}
    for _rank, term, other in sorted(found):
        theirs[term] = (*theirs.get(term, ()), other)
        ours.setdefault(other, term)
    return Alignments(theirs, ours)


@cache
def event_types() -> tuple[str, ...]:
    """Our classes of events, as IRIs."""
    return city().below(f"{PREFIXES['ev']}CityEvent")


def our_event_type(name: str) -> str:
    """Our class for CityPulse's name of a type or category; raises `UnknownNameError`."""
    return alignments().our(name, EC, event_types())


def our_activity(name: str) -> str:
    """Our activity for CityPulse's name of one; raises `UnknownNameError`."""
    return alignments().our(name, AC, activities())


def our_source(name: str) -> str:
    """Our kind of source for CityPulse's name of one; raises `UnknownNameError`."""
    if (found := _SOURCES.get(name.upper())) is None:
        raise UnknownNameError(f"found {show(name)}, expected one of {', '.join(_SOURCES)}")
    return found


def their_source(source: str) -> str:
    """What CityPulse calls a kind of source of ours."""
    return next((name for name, ours in _SOURCES.items() if ours == source), source.upper())


def category(event_type: str) -> str:
    """The class right above a type of events, or itself where there is none of ours."""
    above = sorted(set(city().parents.get(event_type, ())) & set(event_types()))
    return above[0] if above else event_type
