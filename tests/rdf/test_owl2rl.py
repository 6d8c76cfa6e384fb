"""The tests of the OWL working group for OWL 2 RL: entailment, inconsistency, consistency."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from citywise.reasoning.rdf import parsing
from citywise.reasoning.rdf.entailment import closure, follows
from citywise.reasoning.rdf.mapping import Triple
from tests.conftest import PACK
from tests.rdf import functional

FILE = PACK / "owl2rl" / "owl2rl_tests.jsonl.gz"
KINDS = {
    "PositiveEntailmentTest": "Conclusion",
    "NegativeEntailmentTest": "NonConclusion",
    "InconsistencyTest": None,
    "ConsistencyTest": None,
}
FAILURES = {
    "WebOnt-I4.6-005-Direct": "annotations say nothing of what equals what they are about",
    "WebOnt-imports-011": "owl:imports are not fetched, and the imported file is not there",
}
"""Tests that do not pass, each with its reason."""


@dataclass(frozen=True)
class Case:
    """A test: what is asked of a premise, by kind."""

    premise: tuple[Triple, ...]
    asked: Mapping[str, tuple[Triple, ...] | None]

    def passes(self, kind: str) -> bool:
        """Whether the answer to what a kind asks is the W3C's."""
        conclusion = self.asked[kind]
        if conclusion is None:
            told = bool(closure(self.premise, "owl-rl").inconsistencies)
            return told == (kind == "InconsistencyTest")
        positive = kind == "PositiveEntailmentTest"
        return follows(self.premise, conclusion, "owl-rl") == positive


@cache
def cases(file: Path = FILE) -> dict[str, Case]:
    """The tests by name; without the data pack none."""
    if not file.exists():
        return {}
    found = map(json.loads, gzip.decompress(file.read_bytes()).splitlines())
    return {test["id"]: _case(test) for test in found}


def _case(test: Mapping[str, str]) -> Case:
    kinds = [kind for kind in KINDS if kind in test["types"]]
    return Case(
        _ontology(test, "Premise", "p"),
        {kind: _ontology(test, name, "c") if (name := KINDS[kind]) else None for kind in kinds},
    )


def _ontology(test: Mapping[str, str], name: str, scope: str) -> tuple[Triple, ...]:
    if xml := test.get(f"rdfXml{name}Ontology"):
        return parsing.triples(xml.encode(), "xml", scope, "http://example.org/")
    return functional.triples(test[f"fs{name}Ontology"], scope)


def test_the_pack_has_the_tests_that_its_description_names() -> None:
    if not cases():
        pytest.skip(f"no data pack in {PACK}; CITYWISE_DATA names its folder")
    assert len(cases()) == 71
    assert FAILURES.keys() <= cases().keys()


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.xfail(reason=FAILURES[name], strict=True))
    if name in FAILURES else name for name in cases()
])  # fmt: skip
def test_a_test_of_the_owl_working_group_passes(name: str) -> None:
    case = cases()[name]
    assert {kind for kind in case.asked if not case.passes(kind)} == set()
