"""`citywise entails`: whether a document entails a condition or a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.reasoning.rdf.mapping import RDF, XSD
from tests.command import Folder

DOCUMENT = """
Document(
  Prefix(ex <http://e/>)
  Import(<streets.ttl> <http://www.w3.org/ns/entailment/{profile}>)
  5 s
  Group(Forall ?x (?x[ex:slow -> 1] :- ?x # ex:Street))
)
"""
PREFIXES = """
@prefix e: <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
STREETS = "e:Lane rdfs:subClassOf e:Street . e:a a e:Lane . "
RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
<e:Street rdf:about="http://e/a"/></rdf:RDF>"""
XML = """<Frame xmlns="http://www.w3.org/2007/rif#">
<object><Const type="http://www.w3.org/2007/rif#iri">http://e/a</Const></object>
<slot ordered="yes"><Const type="http://www.w3.org/2007/rif#iri">http://e/slow</Const>
<Const type="http://www.w3.org/2001/XMLSchema#integer">{value}</Const></slot></Frame>"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.write("streets.ttl", PREFIXES + STREETS)
    for name, profile in (("simple", "Simple"), ("rdfs", "RDFS"), ("owl", "OWL-RDF-Based")):
        found.write(f"{name}.rifps", DOCUMENT.format(profile=profile))
    return found


def answer(folder: Folder, document: str, conclusion: str, *options: str) -> str:
    """What is printed; the exit code is to say the same."""
    done = folder.run("entails", document, conclusion, *options)
    assert not done.stderr
    assert done.returncode == (0 if done.stdout == "yes\n" else 1)
    return done.stdout


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("c.rifps", "Exists ?x (And(?x[ex:slow -> 1] ?x # ex:Street))", "yes\n"),
        ("c.rifps", "Exists ?x (?x[ex:slow -> 2])", "no\n"),
        ("c.rif", XML.format(value=1), "yes\n"),
        ("c.rif", XML.format(value=2), "no\n"),
        ("c.rdf", RDF_XML, "yes\n"),
        ("c.nt", "<http://e/a> <http://e/b> <http://e/c> .", "no\nmissing: "),
        ("c.ttl", PREFIXES + "_:x e:slow 1 ; a e:Street .", "yes\n"),
    ],
)
def test_a_conclusion_is_a_condition_or_a_graph(
    folder: Folder, name: str, text: str, expected: str
) -> None:
    folder.write(name, text)
    assert answer(folder, "rdfs.rifps", name).startswith(expected)


def test_the_triples_that_are_missing_are_named(folder: Folder) -> None:
    folder.write("c.ttl", PREFIXES + "e:a e:slow 1, 2 . e:b a e:Street . _:x e:slow 1 .")
    assert answer(folder, "rdfs.rifps", "c.ttl").splitlines() == [
        "no",
        f'missing: <http://e/a> <http://e/slow> "2"^^<{XSD}integer> .',
        f"missing: <http://e/b> <{RDF}type> <http://e/Street> .",
    ]


def test_no_triple_is_missing_where_only_a_blank_node_stands_between(folder: Folder) -> None:
    folder.write("k.ttl", PREFIXES + "e:b e:wide 3 .")
    folder.write("c.ttl", PREFIXES + "_:x e:slow 1 ; e:wide 3 .")
    assert answer(folder, "rdfs.rifps", "c.ttl", "--kb", "k.ttl") == "no\n"


def test_the_profile_and_knowledge_bases_count(folder: Folder) -> None:
    folder.write("k.ttl", PREFIXES + "e:a a e:Street .")
    folder.write("c.rifps", "ex:a[ex:slow -> 1]")
    assert answer(folder, "simple.rifps", "c.rifps") == "no\n"
    assert answer(folder, "simple.rifps", "c.rifps", "--kb", "k.ttl") == "yes\n"


def test_what_owl_only_refutes_is_entailed(folder: Folder) -> None:
    disjoint = "e:Lane owl:disjointWith e:Road . e:b a e:Road ."
    folder.write("streets.ttl", PREFIXES + STREETS + disjoint)
    folder.write("c.ttl", PREFIXES + "e:a owl:differentFrom e:b .")
    folder.write("d.ttl", PREFIXES + "e:a owl:differentFrom e:c .")
    assert answer(folder, "owl.rifps", "c.ttl") == "yes\n"
    assert answer(folder, "owl.rifps", "d.ttl") == "no\n"
    assert answer(folder, "rdfs.rifps", "c.ttl").startswith("no\nmissing: ")


def test_a_document_that_contradicts_itself_entails_the_empty_alternative(folder: Folder) -> None:
    folder.write("k.ttl", PREFIXES + "e:Lane owl:disjointWith e:Street .")
    folder.write("c.rifps", "Or()")
    assert answer(folder, "owl.rifps", "c.rifps") == "no\n"
    assert answer(folder, "owl.rifps", "c.rifps", "--kb", "k.ttl") == "yes\n"


@pytest.mark.parametrize(
    ("document", "conclusion", "text", "told"),
    [
        ("rdfs.rifps", "c.rifps", "?x # ex:C", "c.rifps:1:1: error conclusion: ?x is free"),
        (
            "rdfs.rifps",
            "c.rifps",
            "Exists ?x (External(pred:numeric-less-than(?x 1)))",
            "c.rifps:1:1: error conclusion: nothing gives ?x a value",
        ),
        ("rdfs.rifps", "c.rifps", "Exists ?x (", "c.rifps:1:11: error syntax: "),
        ("rdfs.rifps", "c.lp", "p(1).", "neither a condition (.rif or .rifps) nor a graph (.nt"),
        ("streets.ttl", "c.nt", "", "streets.ttl:1:1: error file: by its name this is no document"),
        ("rdfs.rifps", "c.nt", "<http://e/a> 7", "c.nt"),
    ],
)
def test_a_fault_is_told_and_is_no_answer(
    folder: Folder, document: str, conclusion: str, text: str, told: str
) -> None:
    folder.write(conclusion, text)
    done = folder.run("entails", document, conclusion)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr


def test_a_limit_ends_what_computes_for_ever(folder: Folder) -> None:
    count = "ex:n(0) Forall ?x (ex:n(External(func:numeric-add(?x 1))) :- ex:n(?x))"
    folder.write("count.rifps", f"Document(Prefix(ex <http://e/>) Group({count}))")
    folder.write("c.rifps", "ex:n(40)")
    folder.write("d.rifps", "ex:n(-1)")
    assert answer(folder, "count.rifps", "c.rifps", "--atom-limit", "2500") == "yes\n"
    done = folder.run("entails", "count.rifps", "d.rifps", "--atom-limit", "2500")
    assert (done.returncode, done.stdout) == (1, "")
    assert "count.rifps` was stopped in evaluation" in done.stderr
