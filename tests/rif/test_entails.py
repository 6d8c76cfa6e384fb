"""Whether a theory entails a conclusion: rules, graphs, equality, contradictions."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.reasoning.errors import RequestError, SolvingError
from citywise.reasoning.languages.rif.entails import entails, entails_graph
from citywise.reasoning.languages.rif.parsing import parse_file, parse_formula
from citywise.reasoning.languages.rif.theory import Theory, theory
from citywise.reasoning.limits import Limits
from citywise.reasoning.rdf import parsing

EX = "http://example.org/"
PREFIXES = {
    "ex": EX,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "func": "http://www.w3.org/2007/rif-builtin-function#",
    "pred": "http://www.w3.org/2007/rif-builtin-predicate#",
}
TURTLE = (
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix ex: <http://example.org/> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
)
FEW = Limits(atoms=5_000)


def given(folder: Path, rules: str, graph: str = "", profile: str = "Simple") -> Theory:
    """The theory of some rules and a graph."""
    prefixes = "".join(f"Prefix({name} <{iri}>)" for name, iri in PREFIXES.items())
    (folder / "g.ttl").write_text(TURTLE + graph, encoding="utf-8")
    main = folder / "main.rifps"
    imported = f"Import(<g.ttl> <http://www.w3.org/ns/entailment/{profile}>)" if graph else ""
    main.write_text(f"Document({prefixes} {imported} Group({rules}))", encoding="utf-8")
    return theory(parse_file(main))


def holds(what: Theory, conclusion: str) -> bool:
    return entails(what, parse_formula(conclusion, PREFIXES), FEW)


RULES = """
    ex:p(1)  ex:p(2)  ex:a[ex:r -> ex:b]
    Forall ?x ?y (ex:q(?x ?y) :- And(ex:p(?x) ex:p(?y) External(pred:numeric-less-than(?x ?y))))
"""


@pytest.mark.parametrize(
    ("conclusion", "expected"),
    [
        ("ex:q(1 2)", True),
        ("ex:q(2 1)", False),
        ("And(ex:p(1) ex:q(1 2))", True),
        ("And(ex:p(1) ex:q(2 1))", False),
        ("Or(ex:q(2 1) ex:p(2))", True),
        ("Or(ex:q(2 1) ex:p(3))", False),
        ("Exists ?x (ex:q(?x 2))", True),
        ("Exists ?x (ex:q(?x ?x))", False),
        ("Exists ?x ?y (And(ex:q(?x ?y) ?x = 1))", True),
        ("Exists ?x ?y (And(ex:q(?x ?y) ?x = 2))", False),
        ("Exists ?x (And(ex:p(?x) External(pred:numeric-greater-than(?x 1))))", True),
        ("Exists ?x (And(ex:p(?x) External(pred:numeric-greater-than(?x 2))))", False),
        ("ex:p(External(func:numeric-add(1 1)))", True),
        ("ex:p(External(func:numeric-add(1 2)))", False),
        ("ex:a[ex:r -> ex:b]", True),
        ("Exists ?p (ex:a[?p -> ex:b])", True),
        ("Exists ?p (ex:b[?p -> ex:a])", False),
        ("And()", True),
        ("Or()", False),
        ('1 = "1.0"^^xs:decimal', True),
        ('1 = "1"^^xs:string', False),
        ("ex:a = ex:a", True),
        ("ex:a = ex:b", False),
        ("ex:never()", False),
    ],
)
def test_a_conclusion_holds_or_not(tmp_path: Path, conclusion: str, expected: bool) -> None:
    assert holds(given(tmp_path, RULES), conclusion) is expected


def test_local_names_of_a_conclusion_are_not_those_of_the_document(tmp_path: Path) -> None:
    what = given(tmp_path, "_p(1) ex:p(_a) _conclusion()")
    assert not holds(what, "_p(1)")
    assert not holds(what, "ex:p(_a)")
    assert not holds(what, "_conclusion()")
    assert holds(what, "Exists ?x (ex:p(?x))")


def test_a_conclusion_with_a_free_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"\?x is free"):
        holds(given(tmp_path, RULES), "ex:p(?x)")


def test_blank_nodes_of_a_graph_to_be_concluded_are_existential(tmp_path: Path) -> None:
    what = given(tmp_path, "", "_:n ex:p ex:a ; ex:q ex:b .")
    for text, expected in (
        ("_:m ex:p ex:a .", True),
        ("_:m ex:p _:n .", True),
        ("_:m ex:p ex:a ; ex:q ex:b .", True),
        ("_:m ex:p ex:a ; ex:q ex:a .", False),
        ("_:m ex:p _:m .", False),
    ):
        graph = parsing.triples((TURTLE + text).encode(), "turtle", "c")
        assert entails_graph(what, graph) is expected, text


@pytest.mark.parametrize(
    ("profile", "expected"), [("Simple", False), ("RDFS", True), ("OWL-RDF-Based", True)]
)
def test_the_profile_decides_what_a_graph_entails(
    tmp_path: Path, profile: str, expected: bool
) -> None:
    graph = "ex:C rdfs:subClassOf ex:D . ex:a a ex:C ."
    what = given(tmp_path, "Forall ?x (ex:p(?x) :- ?x # ex:D)", graph, profile)
    assert holds(what, "ex:a # ex:D") is expected
    assert holds(what, "ex:p(ex:a)") is expected


def test_what_rules_derive_is_inferred_from_again(tmp_path: Path) -> None:
    graph = "ex:r rdfs:subPropertyOf ex:s ."
    what = given(tmp_path, "Forall ?x (?x[ex:r -> 1] :- ex:p(?x)) ex:p(ex:a)", graph, "RDFS")
    assert holds(what, "ex:a[ex:s -> 1]")


def test_what_is_the_same_is_equal_under_owl(tmp_path: Path) -> None:
    graph = "ex:a owl:sameAs ex:b ."
    assert holds(given(tmp_path, "", graph, "OWL-RDF-Based"), "ex:b = ex:a")
    assert not holds(given(tmp_path, "", graph, "RDFS"), "ex:a = ex:b")


@pytest.mark.parametrize(
    ("graph", "profile"),
    [
        ("ex:p rdfs:range xsd:string . ex:a ex:p 1 .", "RDFS"),
        ("ex:C owl:disjointWith ex:D . ex:a a ex:C, ex:D .", "OWL-RDF-Based"),
    ],
)
def test_a_contradiction_entails_everything(tmp_path: Path, graph: str, profile: str) -> None:
    assert holds(given(tmp_path, "", graph, profile), "ex:a = ex:b")


@pytest.mark.parametrize(
    ("rules", "graph"),
    [
        ("ex:a[ex:p -> 1]", "ex:p a owl:ObjectProperty ."),
        ("ex:a[ex:p -> ex:b]", "ex:p a owl:DatatypeProperty ."),
        ("ex:a[rdf:type -> xs:integer]", "ex:a a ex:C ."),
        ("ex:a[rdf:type -> rdf:XMLLiteral]", "ex:a a ex:C ."),
        ("ex:a[rdf:type -> ex:D]", "ex:D a rdfs:Datatype ."),
        ("ex:a[ex:p -> ex:b]", "ex:p a owl:DatatypeProperty ; rdfs:range xsd:string ."),
    ],
)
def test_things_are_no_values_in_owl_direct(tmp_path: Path, rules: str, graph: str) -> None:
    graph += " ex:onto a owl:Ontology ."
    assert holds(given(tmp_path, rules, graph, "OWL-Direct"), "ex:a = ex:b")
    assert not holds(given(tmp_path, "", graph, "OWL-Direct"), "ex:a = ex:b")


COUNTING = """
    ex:n(0)
    Forall ?x (ex:n(External(func:numeric-add(?x 1))) :- ex:n(?x))
"""


def test_rules_that_count_for_ever_entail_what_they_come_to(tmp_path: Path) -> None:
    what = given(tmp_path, COUNTING)
    assert holds(what, "ex:n(40)")
    with pytest.raises(SolvingError):
        holds(what, "ex:n(-1)")
