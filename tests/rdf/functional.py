"""The few axioms of OWL's functional syntax that occur in the W3C's tests, as triples."""

from __future__ import annotations

import re

from citywise.reasoning.rdf.mapping import Triple
from tests.rdf.graphs import turtle

_TERM = r"\s*([^\s()]+)\s*"
_AXIOMS = {
    rf"Declaration\(\s*(?:Object|Data)Property\({_TERM}\)\s*\)": "",
    rf"Declaration\(\s*(?:Class|NamedIndividual)\({_TERM}\)\s*\)": "",
    rf"DisjointClasses\({_TERM}{_TERM}\)": "{} owl:disjointWith {} .",
    rf"DisjointObjectProperties\({_TERM}{_TERM}\)": "{} owl:propertyDisjointWith {} .",
    rf"ObjectPropertyDomain\({_TERM}{_TERM}\)": "{} rdfs:domain {} .",
    rf"(?:Object|Data)PropertyRange\({_TERM}{_TERM}\)": "{} rdfs:range {} .",
    rf"FunctionalDataProperty\({_TERM}\)": "{} a owl:FunctionalProperty .",
    rf"DataPropertyAssertion\({_TERM}{_TERM}{_TERM}\)": "{1} {0} {2} .",
    rf"ClassAssertion\(DataHasValue\({_TERM}{_TERM}\){_TERM}\)": (
        "{2} a [ owl:onProperty {0}; owl:hasValue {1} ] ."
    ),
}
_ONTOLOGY = re.compile(r"Ontology\((.*)\)\s*\Z", re.DOTALL)


def triples(text: str, scope: str) -> tuple[Triple, ...]:
    """The triples of an ontology whose default prefix is <http://example.org/>."""
    ontology = _ONTOLOGY.search(text)
    assert ontology is not None
    rest, found = ontology[1], []
    while rest := rest.strip():
        match, template = next(
            (match, template)
            for pattern, template in _AXIOMS.items()
            if (match := re.match(pattern, rest))
        )
        found.append(template.format(*match.groups()))
        rest = rest[match.end() :]
    return turtle("\n".join(found), scope)
