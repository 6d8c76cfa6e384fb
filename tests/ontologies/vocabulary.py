"""The ontology files as graphs, and what their terms are."""

from __future__ import annotations

from functools import cache

import pyshacl
from rdflib import Graph, URIRef
from rdflib import Literal as RdfLiteral
from rdflib.namespace import OWL, RDF, SH
from rdflib.term import Node

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.rdf.mapping import Blank, Iri, Term, Triple

FOLDER = REPOSITORY / "ontologies"
FILES = sorted(FOLDER.glob("*.ttl"))
BASE = "https://w3id.org/citywise/"
NAMESPACES = {name: f"{BASE}{name}#" for name in ("city", "place", "event", "context", "shapes")}
STREAMS = BASE + "stream/"

Violation = tuple[str, str]
"""Focus node, and the local name of the path or, where there is none, of the constraint."""


@cache
def graph(*names: str) -> Graph:
    """The files of these names as one graph; all files without names."""
    found = Graph()
    for path in FILES:
        if not names or path.stem in names:
            found.parse(path)
    return found


def is_ours(node: Node) -> bool:
    """Whether a node is a term of our vocabularies (not a place, an event, …)."""
    return isinstance(node, URIRef) and str(node).startswith((*NAMESPACES.values(), STREAMS))


def declared() -> set[URIRef]:
    """Our terms that have a type: classes, properties, individuals, shapes."""
    return {s for s in graph().subjects(RDF.type) if isinstance(s, URIRef) and is_ours(s)}


def local(node: Node | None) -> str:
    """The last part of an IRI."""
    return str(node).rsplit("/", 1)[-1].rsplit("#", 1)[-1]


def rdf(triples: tuple[Triple, ...]) -> Graph:
    """Our triples as rdflib's."""
    found = Graph()
    for s, p, o in triples:
        found.add((_node(s), _node(p), _node(o)))
    return found


def _node(term: Term) -> Node:
    if isinstance(term, Iri):
        return URIRef(term.value)
    assert not isinstance(term, Blank)
    datatype = URIRef(term.datatype) if term.datatype else None
    return RdfLiteral(term.lexical, datatype=datatype, lang=term.language, normalize=False)


def violations(data: Graph) -> set[Violation]:
    """What the shapes find wrong."""
    together = data + graph("city", "place", "event", "context")
    conforms, report, text = pyshacl.validate(together, shacl_graph=graph("shapes"))
    assert isinstance(report, Graph), text
    found = set()
    for result in report.objects(None, SH.result):
        path = report.value(result, SH.resultPath)
        what = (
            path if isinstance(path, URIRef) else report.value(result, SH.sourceConstraintComponent)
        )
        found.add((str(report.value(result, SH.focusNode)), local(what)))
    assert conforms == (not found)
    return found


def classes() -> set[URIRef]:
    """Our classes."""
    return {s for s in declared() if (s, RDF.type, OWL.Class) in graph()}
