"""The terms that rules and values may name: our ontologies, and a pack's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from citywise.backend.kinds import Kinds
from citywise.backend.kinds.kind import ROLE
from citywise.backend.machine import REPOSITORY
from citywise.reasoning import Iri, KnowledgeSource, Literal, Triple, budget, limited
from citywise.reasoning.rdf import knowledge

ONTOLOGIES = REPOSITORY / "ontologies"
_BASE = "https://w3id.org/citywise/"
PREFIXES: Mapping[str, str] = {
    "ev": f"{_BASE}event#",
    "ctx": f"{_BASE}context#",
    "pl": f"{_BASE}place#",
    "city": f"{_BASE}city#",
    "role": ROLE,
}
"""The namespaces of our vocabularies, by the prefixes that documents give them."""

_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_CLASSES = frozenset((f"{_OWL}Class", f"{_RDFS}Class"))
_PROPERTIES = re.compile(rf"{re.escape(_OWL)}\w+Property|.*#Property")


@dataclass(frozen=True)
class Ontology:
    """What some RDF documents say about their terms, each of which is an IRI."""

    terms: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Every term that has a type, and its types."""
    parents: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The direct superclasses of classes."""
    labels: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Labels by term and language."""

    @cached_property
    def classes(self) -> frozenset[str]:
        """All classes."""
        return frozenset(t for t, kinds in self.terms.items() if kinds & _CLASSES)

    @cached_property
    def properties(self) -> frozenset[str]:
        """All properties."""
        return frozenset(
            t for t, kinds in self.terms.items() if any(map(_PROPERTIES.fullmatch, kinds))
        )

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """The namespaces in which it has terms: up to the last `#` or `/`."""
        return frozenset(iri[: -len(local_name(iri))] for iri in self.terms)

    def with_roles(self, roles: Iterable[str]) -> Ontology:
        """These terms and the properties of some roles, whether or not a kind fills them."""
        own = {ROLE + role: frozenset((f"{_OWL}DatatypeProperty",)) for role in roles}
        return Ontology({**own, **self.terms}, self.parents, self.labels)

    def with_properties(self, kinds: Kinds) -> Ontology:
        """These terms and the properties of some kinds."""
        own = {
            iri.value: frozenset((f"{_OWL}DatatypeProperty",))
            for kind in kinds.described
            for _name, iri, _datatype in kind.read
        }
        labels = {
            (iri.value, language): text
            for kind in kinds.described
            for name, iri, _datatype in kind.read
            for language, text in kind.fields[name].label.items()
        }
        return Ontology({**own, **self.terms}, self.parents, {**labels, **self.labels})

    def superclasses(self, iri: str) -> frozenset[str]:
        """A class and all classes above it."""
        found, waiting = {iri}, [iri]
        while waiting:
            fresh = self.parents.get(waiting.pop(), frozenset()) - found
            found |= fresh
            waiting += fresh
        return frozenset(found)

    def below(self, iri: str) -> tuple[str, ...]:
        """A class and all classes below it, sorted."""
        return tuple(sorted(c for c in self.classes if iri in self.superclasses(c)))


@cache
def city() -> Ontology:
    """Our own ontologies."""
    return _read(sorted(ONTOLOGIES.glob("*.ttl")))


def extended(path: Path | None) -> Ontology:
    """Our own ontologies and one more file; raises `RequestError` that names its line, and
    `LimitError` where it takes too much to read."""
    if path is None:
        return city()
    own = city()
    more = limited(lambda: _read([path]), budget.limits(), f"reading {path}")
    terms = {t: own.terms.get(t, frozenset()) | kinds for t, kinds in more.terms.items()}
    parents = {t: own.parents.get(t, frozenset()) | up for t, up in more.parents.items()}
    return Ontology(
        {**own.terms, **terms}, {**own.parents, **parents}, {**own.labels, **more.labels}
    )


def _read(paths: Iterable[Path]) -> Ontology:
    terms: dict[str, set[str]] = {}
    parents: dict[str, set[str]] = {}
    labels: dict[tuple[str, str], str] = {}
    for path in paths:
        for triple in knowledge.read(KnowledgeSource(str(path))).triples:
            _take(triple, terms, parents, labels)
    return Ontology(
        {term: frozenset(kinds) for term, kinds in terms.items()},
        {term: frozenset(above) for term, above in parents.items()},
        labels,
    )


def _take(
    triple: Triple,
    terms: dict[str, set[str]],
    parents: dict[str, set[str]],
    labels: dict[tuple[str, str], str],
) -> None:
    subject, predicate, value = triple
    if not isinstance(subject, Iri):
        return
    if predicate.value == _RDF_TYPE and isinstance(value, Iri):
        terms.setdefault(subject.value, set()).add(value.value)
    elif predicate.value == f"{_RDFS}subClassOf" and isinstance(value, Iri):
        parents.setdefault(subject.value, set()).add(value.value)
    elif predicate.value == f"{_RDFS}label" and isinstance(value, Literal):
        labels[subject.value, value.language or "en"] = value.lexical


def local_name(iri: str) -> str:
    """What follows the last `#` or `/`."""
    return re.split("[#/]", iri)[-1]


def expand(name: str) -> str:
    """The IRI of a name such as `ev:TrafficJam`; any other text as it is."""
    prefix, colon, local = name.partition(":")
    return PREFIXES[prefix] + local if colon and prefix in PREFIXES else name


def reads_as(name: str, iri: str) -> bool:
    """Whether a name means a term: by its IRI, its prefixed or its local name."""
    return iri in (name, expand(name)) or name == local_name(iri)
