"""RDFS and OWL 2 RL entailment: rule by rule, and on the W3C's tests."""

from __future__ import annotations

import gzip
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import rdflib
from rdflib.collection import Collection

from citywise.reasoning.model.request import Entailment
from citywise.reasoning.rdf import datatypes, parsing
from citywise.reasoning.rdf.datatypes import IllTypedError
from citywise.reasoning.rdf.entailment import closure, follows
from citywise.reasoning.rdf.mapping import XSD, Iri, Literal, Triple
from tests.rdf.graphs import turtle

MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
RDFS = [
    ":p rdfs:domain :C . :a :p :b . => :a a :C .",
    ":p rdfs:range :C . :a :p :b . => :b a :C .",
    ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r . :a :p :b . => :a :q :b; :r :b .",
    ":C rdfs:subClassOf :D . :D rdfs:subClassOf :E . :a a :C . => :a a :D, :E .",
    ":C rdfs:subClassOf :D . :D rdfs:subClassOf :E . => :C rdfs:subClassOf :E .",
    ":a rdf:_7 :b . => :a rdfs:member :b .",
    ":a :p :b . => :p a rdf:Property .",
]
OWL_RL = [
    ":a owl:sameAs :b . :b owl:sameAs :c . :a :p :x . :y :p :a . => :c :p :x . :y :p :c .",
    ":p owl:sameAs :q . :a :p :b . => :a :q :b .",
    ":p a owl:FunctionalProperty . :a :p :b, :c . => :b owl:sameAs :c .",
    ":p a owl:InverseFunctionalProperty . :b :p :a . :c :p :a . => :b owl:sameAs :c .",
    ":p a owl:SymmetricProperty . :a :p :b . => :b :p :a .",
    ":p a owl:TransitiveProperty . :a :p :b . :b :p :c . :c :p :d . => :a :p :d .",
    ":p owl:propertyChainAxiom (:q :r :s) . :a :q :b . :b :r :c . :c :s :d . => :a :p :d .",
    ":p owl:equivalentProperty :q . :a :p :b . :c :q :d . => :a :q :b . :c :p :d .",
    ":p owl:inverseOf :q . :a :p :b . :c :q :d . => :b :q :a . :d :p :c .",
    (":C owl:hasKey (:p :q) . :a a :C; :p 1; :q 2 . :b a :C; :p 1; :q 2 . => :a owl:sameAs :b ."),
    ":C owl:intersectionOf (:D :E :F) . :a a :D, :E, :F . :b a :C . => :a a :C . :b a :E .",
    ":C owl:unionOf (:D :E) . :a a :E . => :a a :C .",
    ":C owl:someValuesFrom :D; owl:onProperty :p . :a :p :b . :b a :D . => :a a :C .",
    ":C owl:someValuesFrom owl:Thing; owl:onProperty :p . :a :p :b . => :a a :C .",
    ":C owl:allValuesFrom :D; owl:onProperty :p . :a a :C; :p :b . => :b a :D .",
    ":C owl:hasValue :v; owl:onProperty :p . :a a :C . :b :p :v . => :a :p :v . :b a :C .",
    (
        ':C owl:maxCardinality "1"^^xsd:nonNegativeInteger; owl:onProperty :p . :a a :C; :p '
        ":b, :c . => :b owl:sameAs :c ."
    ),
    (
        ':C owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger; owl:onProperty :p; '
        "owl:onClass :D . :a a :C; :p :b, :c, :e . :b a :D . :c a :D . => :b owl:sameAs :c ."
    ),
    ":C owl:oneOf (:a :b) . => :b a :C .",
    ":C owl:equivalentClass :D . :a a :C . :b a :D . => :a a :D . :b a :C .",
    ":C rdfs:subClassOf :D . :D rdfs:subClassOf :C . => :C owl:equivalentClass :D .",
    (
        ":p rdfs:domain :C . :C rdfs:subClassOf :D . :q rdfs:subPropertyOf :p . => :q "
        "rdfs:domain :D ."
    ),
    ":C owl:intersectionOf (:D :E) . => :C rdfs:subClassOf :D, :E .",
]


MOST = 2**63 - 1
"""Of xsd:long."""


@pytest.mark.parametrize(
    ("regime", "rule"), [("rdfs", rule) for rule in RDFS] + [("owl-rl", rule) for rule in OWL_RL]
)
def test_a_rule_of_the_regime_derives_its_conclusion(regime: Entailment, rule: str) -> None:
    premise, conclusion = rule.split("=>")
    given, expected = turtle(premise), turtle(conclusion, "c")
    assert not set(expected) <= set(given)
    assert follows(given, expected, regime)


@pytest.mark.parametrize(
    ("premise", "says"),
    [
        (":a owl:sameAs :b; owl:differentFrom :b .", "both the same and different"),
        ("[] a owl:AllDifferent; owl:members (:a :b) . :a owl:sameAs :b .", "eq-diff2"),
        (":p a owl:IrreflexiveProperty . :a :p :a .", "prp-irp"),
        (":p a owl:AsymmetricProperty . :a :p :b . :b :p :a .", "prp-asyp"),
        (":p owl:propertyDisjointWith :q . :a :p :b; :q :b .", "prp-pdw"),
        ("[] a owl:AllDisjointProperties; owl:members (:p :q) . :a :p :b; :q :b .", "prp-adp"),
        (
            "[] owl:sourceIndividual :a; owl:assertionProperty :p; owl:targetValue 1 . :a :p 1 .",
            "both asserted and denied",
        ),
        (":a a owl:Nothing .", "the empty class"),
        (":C owl:complementOf :D . :a a :C, :D .", "cls-com"),
        (
            (
                ':C owl:maxCardinality "0"^^xsd:nonNegativeInteger; owl:onProperty :p . '
                ":a a :C; :p 1 ."
            ),
            "cls-maxc1",
        ),
        (":C owl:disjointWith :D . :a a :C, :D .", "two disjoint classes"),
        ("[] a owl:AllDisjointClasses; owl:members (:C :D) . :a a :C, :D .", "cax-adc"),
        (":p a owl:FunctionalProperty . :a :p 1, 2 .", "different values"),
        (':a :p "x"^^xsd:integer .', "not one of its datatype"),
        (":p rdfs:range xsd:string . :a :p 1 .", "dt-type"),
    ],
)
def test_what_cannot_be_true_together_is_an_inconsistency_in_words(premise: str, says: str) -> None:
    told = closure(turtle(premise), "owl-rl").inconsistencies
    assert any(says in one for one in told), told


def test_values_that_are_equal_contradict_nothing() -> None:
    premise = turtle(':p a owl:FunctionalProperty . :a :p 1, "01"^^xsd:integer, 1.0 .')
    assert closure(premise, "owl-rl").inconsistencies == ()


def test_a_closure_says_nothing_about_what_the_graph_does_not_classify() -> None:
    given = turtle(":a :p :b .")
    found = closure(given, "rdfs").inferred
    assert not {given[0].subject, given[0].object} & {t.subject for t in found}
    assert len(found) < 20
    assert closure(given, "owl-rl").inferred == ()


def test_literals_are_never_subjects() -> None:
    given = turtle(':p rdfs:range :C; rdfs:domain :C . :a :p "x" .')
    assert {t.subject for t in closure(given, "owl-rl").inferred} == {Iri("http://e/a")}


@pytest.mark.parametrize(
    ("datatype", "text", "known"),
    [
        ("byte", "127", True),
        ("byte", "128", False),
        ("integer", "1.0", False),
        ("decimal", ".5", True),
        ("boolean", "yes", False),
        ("double", "-INF", True),
        ("float", "1e", False),
        ("dateTime", "noon", False),
        ("dateTime", "2024-03-15T24:00:00Z", True),
        ("dateTime", "-0044-03-15T00:00:00Z", True),
        ("dateTime", "12024-03-15T00:00:00", True),
        ("dateTime", "2024-03-15", False),
        ("dateTime", "2024-W11-5", False),
        ("dateTime", "20240315T000000Z", False),
        ("dateTimeStamp", "2024-03-15T00:00:00", False),
        ("date", "2024-02-30", False),
        ("hexBinary", "aB", True),
        ("token", "a  b", False),
    ],
)
def test_a_literal_is_ill_typed_where_its_datatype_does_not_allow_it(
    datatype: str, text: str, known: bool
) -> None:
    if known:
        assert datatypes.value(Literal(text, XSD + datatype)) is not None
    else:
        with pytest.raises(IllTypedError):
            datatypes.value(Literal(text, XSD + datatype))


HOLDS = [
    ("integer 7", "decimal long nonNegativeInteger integer", "double string negativeInteger"),
    ("decimal 7.5", "decimal", "integer"),
    ("string a b", "string token normalizedString", "NCName anyURI boolean"),
    ("dateTime 2024-03-15T00:00:00Z", "dateTime dateTimeStamp", "date time"),
    ("dateTime 2024-03-15T00:00:00", "dateTime", "dateTimeStamp"),
    ("duration P1D", "duration dayTimeDuration", "yearMonthDuration"),
    ("duration P0M", "duration dayTimeDuration yearMonthDuration", "time"),
]
"""Literals, the datatypes that hold their values, and some that do not."""


@pytest.mark.parametrize(("literal", "holding", "others"), HOLDS)
def test_a_value_is_in_the_datatypes_whose_value_spaces_hold_it(
    literal: str, holding: str, others: str
) -> None:
    datatype, _, text = literal.partition(" ")
    value = datatypes.value(Literal(text, XSD + datatype))
    assert value is not None
    wanted = {**dict.fromkeys(holding.split(), True), **dict.fromkeys(others.split(), False)}
    assert {name: datatypes.allows(XSD + name, value) for name in wanted} == wanted
    assert datatypes.allows("http://e/weight", value) is None


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("2024-03-15T00:00:00Z", "2024-03-15T01:00:00+01:00", False),
        ("2024-03-15T24:00:00Z", "2024-03-16T00:00:00.0+00:00", True),
        ("-0044-03-15T00:00:00Z", "12024-03-15T00:00:00Z", False),
    ],
)
def test_moments_are_the_same_where_they_are_identical_and_differences_are_told_once(
    left: str, right: str, same: bool
) -> None:
    """OWL 2 Structural Specification, 4.7: equal moments of two time zones are not identical."""
    moments = ", ".join(f'"{text}"^^xsd:dateTime' for text in (left, right))
    told = closure(turtle(f":p a owl:FunctionalProperty . :a :p {moments} ."), "owl-rl")
    assert ["dt-diff" in one for one in told.inconsistencies] == ([] if same else [True])


def test_the_greatest_number_of_a_datatype_belongs_to_it_and_the_next_does_not() -> None:
    greatest, next_ = (datatypes.value(Literal(str(n), XSD + "integer")) for n in (MOST, MOST + 1))
    assert greatest is not None
    assert next_ is not None
    assert datatypes.allows(XSD + "long", greatest)
    assert not datatypes.allows(XSD + "long", next_)


@dataclass(frozen=True)
class Case:
    """A test of the W3C: a premise, and what follows (None: it is inconsistent) or does not."""

    name: str
    regime: Entailment
    premise: tuple[Triple, ...]
    conclusion: tuple[Triple, ...] | None
    positive: bool

    def passes(self) -> bool:
        if self.conclusion is None:
            return bool(closure(self.premise, self.regime).inconsistencies) == self.positive
        return follows(self.premise, self.conclusion, self.regime) == self.positive


@cache
def rdfs_cases(archive: Path) -> dict[str, Case]:
    """The cases of the RDF 1.1 semantics tests, by name."""
    with tarfile.open(archive) as tar:
        files = {
            member.name.rpartition("rdf-mt/")[2]: file.read()
            for member in tar
            if member.isfile() and (file := tar.extractfile(member))
        }
    base = "http://t/"
    manifest = rdflib.Graph().parse(data=files["manifest.ttl"], format="turtle", publicID=base)
    entries = manifest.value(predicate=MF.entries, subject=rdflib.URIRef(base))
    assert entries is not None
    cases = {}
    for entry in Collection(manifest, entries):
        kind = str(manifest.value(entry, rdflib.RDF.type))
        premise, result = (
            _document(files, manifest.value(entry, p)) for p in (MF.action, MF.result)
        )
        assert premise is not None
        name = str(manifest.value(entry, MF.name))
        cases[name] = Case(name, "rdfs", premise, result, "Positive" in kind)
    return cases


def _document(files: dict[str, bytes], node: object) -> tuple[Triple, ...] | None:
    if not isinstance(node, rdflib.URIRef):
        return None
    path = str(node).removeprefix("http://t/")
    syntax = parsing.FORMATS[path.rpartition(".")[2]]
    return parsing.triples(files[path], syntax, path.replace("/", ""), str(node))


RDFS_FAILURES = {
    "datatypes-non-well-formed-literal-1": "supposes that xsd:integer is not recognised",
    "literal-type": "a literal would be the subject of the triple that a blank node stands for",
}


def test_the_rdf_semantics_tests_pass_but_for_those_with_a_reason(data_pack: Path) -> None:
    cases = rdfs_cases(data_pack / "rdf_tests" / "rdf11_mt_rdfs_entailment.tar.gz")
    assert len(cases) == 48
    assert {name for name, case in cases.items() if not case.passes()} == set(RDFS_FAILURES)


@pytest.mark.slow
@pytest.mark.parametrize("regime", ["rdfs", "owl-rl"])
def test_a_university_has_the_types_and_relations_another_reasoner_finds(
    data_pack: Path, regime: Entailment
) -> None:
    owlrl = pytest.importorskip("owlrl")
    folder = data_pack / "lubm"
    ontology = (folder / "univ-bench.owl").read_bytes()
    lines = gzip.decompress((folder / "lubm1_seed0.nt.gz").read_bytes()).split(b"\n")[:600]
    given = (
        *parsing.triples(ontology, "xml", "o", "http://ub/"),
        *parsing.triples(b"\n".join(lines), "nt", "d"),
    )
    ours = {_plain(t) for t in (*given, *closure(given, regime).inferred)}
    graph = rdflib.Graph().parse(data=ontology, format="xml", publicID="http://ub/")
    graph.parse(data=b"\n".join(lines), format="nt")
    semantics = owlrl.RDFS_Semantics if regime == "rdfs" else owlrl.OWLRL_Semantics
    owlrl.DeductiveClosure(semantics).expand(graph)
    theirs = {tuple(str(term) for term in triple) for triple in graph}
    about = {line.split(b">")[0][1:].decode() for line in lines}

    def relations(triples: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
        return {t for t in triples if t[0] in about and "lehigh" in t[1] + t[2] and t[0] != t[2]}

    assert len(relations(ours)) > 700
    assert relations(ours) == relations(theirs)


def _plain(triple: Triple) -> tuple[str, ...]:
    return tuple(term.lexical if isinstance(term, Literal) else str(term[0]) for term in triple)
