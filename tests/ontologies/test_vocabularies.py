"""The vocabularies are whole: declared, explained, used as defined, and what the code says."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import Graph, Literal, URIRef
from rdflib.namespace import (
    DCTERMS,
    GEO,
    OWL,
    PROV,
    RDF,
    RDFS,
    SDO,
    SH,
    SKOS,
    SOSA,
    SSN,
    XSD,
    DefinedNamespace,
)

from citywise.backend.city.observations import PLACE, stream_iri
from citywise.backend.kinds import builtin
from citywise.backend.machine import REPOSITORY
from tests.ontologies.vocabulary import FILES, NAMESPACES, classes, declared, graph, is_ours

CITY, EVENT, CONTEXT = NAMESPACES["city"], NAMESPACES["event"], NAMESPACES["context"]
VALUE_OF, CARRIES = URIRef(CITY + "valueOf"), URIRef(CITY + "carries")
FIRST = ("traffic", "parking", "weather", "air")
"""Kinds whose terms are written by hand; those of others are generated."""
AFFECTS = URIRef(CONTEXT + "affects")
REQUESTS = sorted((REPOSITORY / "backend" / "city" / "requests").glob("*.casp"))
DOCUMENT = (REPOSITORY / "docs" / "ontologies.md").read_text(encoding="utf-8")
PREFIXES = {"city": "city", "place": "pl", "event": "ev", "context": "ctx", "stream": "stream"}
OTHERS: list[type[DefinedNamespace]] = [
    DCTERMS, GEO, OWL, PROV, RDF, RDFS, SDO, SH, SKOS, SOSA, SSN, XSD,
]  # fmt: skip
CITYPULSE = ("http://purl.oclc.org/NET/UNIS/sao/", "http://purl.org/NET/c4dm/timeline.owl#")


def used() -> set[URIRef]:
    """Every IRI in any of the files."""
    return {term for triple in graph() for term in triple if isinstance(term, URIRef)}


def terms_of(program: str) -> Iterator[str]:
    """The IRIs behind the prefixed names of a C-ASP program, in predicates and strings."""
    code = re.sub(r"%.*", "", program)
    for prefix, namespace in re.findall(r"#prefix (\w+) *: *<(.*?)>", code):
        for name in re.findall(rf"(?<!\w){prefix}_(\w+)", code):
            yield namespace + name


# --- The files ---------------------------------------------------------------------------


def test_there_is_a_file_for_each_vocabulary() -> None:
    assert {path.stem for path in FILES} == {*NAMESPACES, "alignments"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_a_file_parses_and_declares_its_ontology_in_both_languages(path: Path) -> None:
    ontology = URIRef(f"https://w3id.org/citywise/{path.stem}")
    found = Graph().parse(path)
    assert set(found.subjects(RDF.type, OWL.Ontology)) == {ontology}
    assert languages(found, ontology, RDFS.label) == languages(found, ontology, RDFS.comment)
    assert languages(found, ontology, RDFS.label) == ["da", "en"]
    assert found.value(ontology, DCTERMS.license)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_a_file_declares_no_prefix_that_it_does_not_use(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    body = "\n".join(line for line in text.splitlines() if not line.startswith(("@prefix", "#")))
    prefixes = re.findall(r"^@prefix (\w+):", text, re.MULTILINE)
    assert [p for p in prefixes if not re.search(rf"(?<![\w<]){p}:\w", body)] == []


def languages(found: Graph, subject: URIRef, predicate: URIRef) -> list[str]:
    texts = list(found.objects(subject, predicate))
    return sorted(text.language or "" for text in texts if isinstance(text, Literal) and text)


# --- Their terms -------------------------------------------------------------------------


@pytest.mark.parametrize("term", sorted(declared()))
def test_a_term_has_label_and_comment_in_both_languages_and_its_origin(term: URIRef) -> None:
    found = graph()
    assert {*languages(found, term, RDFS.label)} >= {"da", "en"}
    assert languages(found, term, RDFS.comment) == ["da", "en"]
    home = next((name for name, base in NAMESPACES.items() if term.startswith(base)), "city")
    assert list(found.objects(term, RDFS.isDefinedBy)) == [
        URIRef(f"https://w3id.org/citywise/{home}")
    ]


def test_no_term_of_ours_is_used_that_is_not_declared() -> None:
    assert {term for term in used() if is_ours(term)} - declared() == set()


def test_terms_of_others_exist_in_their_vocabularies() -> None:
    unknown = []
    for term in used():
        home = next((space for space in OTHERS if term.startswith(str(space))), None)
        if home is not None:
            unknown += [term] if term not in home else []
        elif not str(term).startswith(("https://w3id.org/citywise/", "https://www.apache.org/")):
            unknown += [term] if not str(term).startswith(CITYPULSE) else []
    assert unknown == []


def test_every_class_but_the_roots_has_one_parent_of_ours_and_no_cycle() -> None:
    found = graph()
    for start in classes():
        seen, node = [start], start
        while parents := [p for p in found.objects(node, RDFS.subClassOf) if is_ours(p)]:
            assert len(parents) == 1, node
            node = URIRef(str(parents[0]))
            assert node not in seen
            seen.append(node)


def test_every_term_is_in_the_document() -> None:
    missing = []
    for name, prefix in PREFIXES.items():
        base = NAMESPACES.get(name, "https://w3id.org/citywise/stream/")
        names = [term.removeprefix(base) for term in declared() if term.startswith(base)]
        missing += [f"{prefix}:{n}" for n in names if not re.search(rf"\b{prefix}:{n}\b", DOCUMENT)]
    assert missing == []


# --- What the code says ------------------------------------------------------------------


@pytest.mark.parametrize("kind", FIRST)
def test_the_values_of_observations_are_declared_as_the_code_writes_them(kind: str) -> None:
    found = graph()
    about = set()
    for _, predicate, datatype in builtin()[kind].properties:
        term = URIRef(predicate.value)
        assert (term, RDFS.subPropertyOf, SOSA.hasSimpleResult) in found
        assert (term, RDFS.range, URIRef(datatype)) in found
        about |= set(found.objects(term, VALUE_OF))
    assert about == set(found.objects(URIRef(stream_iri(kind)), CARRIES))
    assert len(about) == len(builtin()[kind].fields)
    for thing in about:
        assert (thing, RDF.type, SOSA.ObservableProperty) in found
        assert found.value(thing, SDO.unitCode)
        assert found.value(thing, SDO.unitText)


def test_no_value_is_declared_that_the_code_does_not_write() -> None:
    written = {URIRef(p.value) for kind in FIRST for _, p, _ in builtin()[kind].properties}
    assert set(graph().subjects(VALUE_OF)) == written


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: str(path.stem))
def test_a_request_uses_only_declared_terms(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    terms = {term for term in terms_of(text) if not term.startswith(PLACE)}
    ours = {URIRef(term) for term in terms if is_ours(URIRef(term))}
    assert ours - declared() == set()
    assert {term for term in terms if term.startswith(str(SOSA)) and term not in SOSA} == set()
    assert {term for term in terms if term.startswith(EVENT)}
    streams = re.findall(r"#from stream <(.*?)>", text)
    assert streams
    assert {URIRef(iri) for iri in streams} <= declared()


def test_an_undeclared_term_of_a_request_is_found() -> None:
    program = '#prefix ev : <https://w3id.org/citywise/event#>.\nshown("ev_Flood") :- xev_No(1).'
    assert list(terms_of(program)) == [EVENT + "Flood"]
    assert URIRef(EVENT + "Flood") not in declared()


def test_the_kinds_of_places_are_those_of_the_messages() -> None:
    notations = {str(value) for value in graph("place").objects(None, SKOS.notation)}
    assert notations == {"road", "garage", "weather_station", "air_station"}
    assert notations <= set(builtin().places)


# --- What affects whom -------------------------------------------------------------------


def test_only_types_of_events_affect_and_only_activities_are_affected() -> None:
    found = graph()
    assert set(found.objects(None, AFFECTS)) <= set(
        found.subjects(RDF.type, URIRef(CONTEXT + "Activity"))
    )
    city_events = set(found.transitive_subjects(RDFS.subClassOf, URIRef(EVENT + "CityEvent")))
    assert set(found.subjects(AFFECTS)) <= city_events


def test_every_type_of_event_without_subtypes_affects_some_activity() -> None:
    found = graph()
    events = set(found.transitive_subjects(RDFS.subClassOf, URIRef(EVENT + "CityEvent")))
    leaves = {event for event in events if not list(found.subjects(RDFS.subClassOf, event))}
    assert leaves == set(found.subjects(AFFECTS))


def test_the_effects_of_citypulse_hold_under_the_alignments(data_pack: Path) -> None:
    theirs, found = CITYPULSE[0], graph()

    def ours(iri: str) -> URIRef:
        matches = SKOS.exactMatch | SKOS.closeMatch
        subjects = set(found.subjects(matches, URIRef(iri)))
        assert len(subjects) == 1, iri
        return URIRef(str(subjects.pop()))

    with (data_pack / "citypulse" / "EventAffectActivity.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert rows
    for row in rows:
        event, activity = (
            ours(f"{theirs}ec#{row['Event']}"),
            ours(f"{theirs}ac#{row['Activity']}"),
        )
        assert (event, AFFECTS, activity) in found, row
