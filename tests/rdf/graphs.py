"""Random graphs: what classes and properties mean, and instances of them."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from citywise.reasoning.model.request import Entailment
from citywise.reasoning.rdf import parsing
from citywise.reasoning.rdf.mapping import Triple

PREFIXES = """
@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
_VOCABULARY = [
    "{p} rdfs:domain {c} .",
    "{p} rdfs:range {c} .",
    "{p} rdfs:subPropertyOf {q} .",
    "{c} rdfs:subClassOf {d} .",
]
_RARE = [
    "{p} rdfs:range xsd:integer .",
    "{p} rdfs:subPropertyOf rdfs:subClassOf .",
    "rdfs:member rdfs:subPropertyOf {p} .",
    "rdfs:Class rdfs:subClassOf {c} .",
]
_ONTOLOGY = [
    "{p} owl:inverseOf {q} .",
    "{c} owl:equivalentClass {d} .",
    "{p} owl:equivalentProperty {q} .",
    "{c} owl:disjointWith {d} .",
    "{c} owl:complementOf {d} .",
    "{p} owl:propertyDisjointWith {q} .",
    "{p} a owl:SymmetricProperty .",
    "{p} a owl:TransitiveProperty .",
    "{p} a owl:FunctionalProperty .",
    "{p} a owl:InverseFunctionalProperty .",
    "{p} a owl:IrreflexiveProperty .",
    "{p} a owl:AsymmetricProperty .",
    "{c} a owl:Class .",
    "{p} owl:propertyChainAxiom ({q} {p}) .",
    "{p} owl:propertyChainAxiom ({q} {q} {p}) .",
    "{c} owl:hasKey ({p} {q}) .",
    "{c} owl:intersectionOf ({d} {e}) .",
    "{c} owl:unionOf ({d} {e}) .",
    "{c} owl:oneOf ({a} {b}) .",
    "{c} owl:someValuesFrom {d}; owl:onProperty {p} .",
    "{c} owl:someValuesFrom owl:Thing; owl:onProperty {p} .",
    "{c} owl:allValuesFrom {d}; owl:onProperty {p} .",
    "{c} owl:hasValue {v}; owl:onProperty {p} .",
    '{c} owl:maxCardinality "1"^^xsd:nonNegativeInteger; owl:onProperty {p} .',
    '{c} owl:maxCardinality "0"^^xsd:nonNegativeInteger; owl:onProperty {p} .',
    '{c} owl:maxQualifiedCardinality "1"^^xsd:int; owl:onProperty {p}; owl:onClass {d} .',
    '{c} owl:maxQualifiedCardinality "1"^^xsd:int; owl:onProperty {p}; owl:onClass owl:Thing .',
    "[] owl:sourceIndividual {a}; owl:assertionProperty {p}; owl:targetIndividual {b} .",
    "[] a owl:AllDisjointClasses; owl:members ({c} {d}) .",
    "[] a owl:AllDisjointProperties; owl:members ({p} {q}) .",
    "[] a owl:AllDifferent; owl:distinctMembers ({a} {b}) .",
]
_INSTANCES = ["{a} a {c} .", "{a} {p} {b} .", "{a} {p} {v} ."]
_RARE_INSTANCES = {
    "rdfs": ["{a} rdf:_1 {b} .", "{a} a xsd:integer .", "{p} {q} {p} .", "{a} {p} ({b}) ."],
    "owl-rl": [
        "{a} owl:sameAs {b} .",
        "{a} owl:differentFrom {b} .",
        "{c} owl:sameAs {d} .",
        "{p} owl:sameAs {q} .",
        "{a} a owl:Nothing .",
    ],
}
_TERMS = {
    **dict.fromkeys("ab", (":a", ":b", ":i", ":j")),
    **dict.fromkeys("cde", (":C", ":D", ":E", ":F")),
    **dict.fromkeys("pq", (":p", ":q", ":r")),
    "v": (":a", "1", "2", "1.0", '"x"', '"x"@en'),
}


@st.composite
def schema(draw: DrawFn, regime: Entailment, most: int = 4) -> tuple[Triple, ...]:
    """Triples that say what classes and properties mean; seldom about the vocabulary itself."""
    known = _VOCABULARY * 4 + _RARE
    known += _ONTOLOGY if regime == "owl-rl" else []
    return draw(_graph(known, most, "s"))


@st.composite
def instances(draw: DrawFn, regime: Entailment, most: int = 5) -> tuple[Triple, ...]:
    """Triples of instances; seldom such that say more than it seems."""
    return draw(_graph(_INSTANCES * 6 + _RARE_INSTANCES[regime], most, "i"))


@st.composite
def _graph(draw: DrawFn, templates: list[str], most: int, scope: str) -> tuple[Triple, ...]:
    found = draw(st.lists(st.sampled_from(templates), max_size=most))
    text = [template.format_map(_Chosen(draw)) for template in found]
    return turtle("\n".join(text), scope)


class _Chosen(dict[str, str]):
    """Chooses a term each time one is asked for."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def __missing__(self, key: str) -> str:
        return self._draw(st.sampled_from(_TERMS[key]))


def turtle(text: str, scope: str = "g") -> tuple[Triple, ...]:
    """The triples of a text under the prefixes of these tests."""
    return parsing.triples((PREFIXES + text).encode(), "turtle", scope)
