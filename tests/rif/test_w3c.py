"""The W3C test cases of RIF Core (the data pack's `rif`): entailment and rejected imports.

Each runs in both syntaxes: RIF/XML that imports RDF/XML, and the presentation syntax that
imports Turtle. Its syntax cases are in test_syntax_w3c.py.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif.entails import entails, entails_graph
from citywise.reasoning.languages.rif.parsing import parse_file, parse_formula_file
from citywise.reasoning.languages.rif.theory import Theory, theory
from citywise.reasoning.model.request import KnowledgeSource
from citywise.reasoning.rdf.knowledge import read

KINDS = {
    "PositiveEntailmentTest": (
        "Builtin_literalnotidentical",
        "Builtins_Binary",
        "Builtins_List",
        "Builtins_Numeric",
        "Builtins_PlainLiteral",
        "Builtins_String",
        "Builtins_XMLLiteral",
        "Builtins_anyURI",
        "Builtins_boolean",
        "Chaining_strategy_numericadd_1",
        "Factorial_Forward_Chaining",
        "Frames",
        "Guards_and_subtypes",
        "IRI_from_RDF_Literal",
        "OWL_Combination_Vocabulary_Separation_Inconsistency_1",
        "OWL_Combination_Vocabulary_Separation_Inconsistency_2",
        "RDF_Combination_Blank_Node",
        "RDF_Combination_Constant_Equivalence_1",
        "RDF_Combination_Constant_Equivalence_2",
        "RDF_Combination_Constant_Equivalence_4",
        "RDF_Combination_Constant_Equivalence_Graph_Entailment",
    ),
    "NegativeEntailmentTest": (
        "Local_Constant",
        "Local_Predicate",
        "NonAnnotation_Entailment",
        "RDF_Combination_SubClass",
    ),
    "ImportRejectionTest": (
        "OWL_Combination_Invalid_DL_Formula",
        "OWL_Combination_Invalid_DL_Import",
        "RDF_Combination_Invalid_Constant_1",
        "RDF_Combination_Invalid_Constant_2",
        "RDF_Combination_Invalid_Profiles_1",
    ),
}
REJECTED_FOR = {
    "OWL_Combination_Invalid_DL_Formula": "the variable `?x` stands for a property",
    "OWL_Combination_Invalid_DL_Import": "it has no ontology header",
    "RDF_Combination_Invalid_Constant_1": "RDF has no literals of http://www.w3.org/2007/rif#iri",
    "RDF_Combination_Invalid_Constant_2": 'write "with language tag"@en',
    "RDF_Combination_Invalid_Profiles_1": "none is the highest",
}
SYNTAXES = ("xml", "presentation")
UNDECLARED = {"ex": "http://example.org/example#"}
"""What conclusions in presentation syntax, which is not normative, mean by it."""
NOT_PASSING = {
    ("RDF_Combination_Constant_Equivalence_4", "xml"): (
        "its RDF/XML has the datatype file:///C:/…/XMLSchema#string, "
        "which is not xs:string; its Turtle says what is meant"
    )
}
"""Cases that do not pass, and why."""


def file_of(suite: Path, syntax: str, kind: str, case: str, part: str) -> Path:
    """The file of a case that is called `…-{part}`; of a conclusion the graph, if it is one."""
    folder = suite / syntax / "Core" / kind / case
    (found,) = folder.glob(f"*-{part}.*")
    return found


def premise(suite: Path, syntax: str, kind: str, case: str, part: str = "premise") -> Theory:
    return theory(parse_file(file_of(suite, syntax, kind, case, part)))


def follows(what: Theory, conclusion: Path) -> bool:
    if conclusion.suffix in (".rdf", ".ttl"):
        return entails_graph(what, read(KnowledgeSource(str(conclusion))).triples)
    prefixes = {**UNDECLARED, **what.document.prefixes}
    return entails(what, parse_formula_file(conclusion, prefixes))


def cases(kind: str) -> pytest.MarkDecorator:
    """The cases of a kind, in each syntax."""
    return pytest.mark.parametrize(
        ("case", "syntax"), [marked(case, syntax) for case in KINDS[kind] for syntax in SYNTAXES]
    )


def marked(case: str, syntax: str) -> object:
    reason = NOT_PASSING.get((case, syntax))
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(case, syntax, marks=marks)


@cases("PositiveEntailmentTest")
def test_the_premise_entails_the_conclusion(suite: Path, syntax: str, case: str) -> None:
    kind = "PositiveEntailmentTest"
    what = premise(suite, syntax, kind, case)
    assert follows(what, file_of(suite, syntax, kind, case, "conclusion"))


@cases("NegativeEntailmentTest")
def test_the_premise_does_not_entail_the_conclusion(suite: Path, syntax: str, case: str) -> None:
    kind = "NegativeEntailmentTest"
    what = premise(suite, syntax, kind, case)
    assert not follows(what, file_of(suite, syntax, kind, case, "nonconclusion"))


@cases("ImportRejectionTest")
def test_the_combination_is_rejected(suite: Path, syntax: str, case: str) -> None:
    with pytest.raises(RequestError) as caught:
        premise(suite, syntax, "ImportRejectionTest", case, "input")
    assert REJECTED_FOR[case] in caught.value.message


def test_these_are_all_cases_of_the_pack(data_pack: Path) -> None:
    with (data_pack / "rif" / "index.csv").open(encoding="utf-8", newline="") as file:
        listed = {(row["test_type"], row["case"]) for row in csv.DictReader(file)}
    ours = {(kind, case) for kind, names in KINDS.items() for case in names}
    assert {each for each in listed if "Syntax" not in each[0]} == ours
