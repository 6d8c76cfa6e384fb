"""The W3C's files of RIF Core are read: its syntax cases, and both syntaxes alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif import parsing
from citywise.reasoning.languages.rif.document import Document
from citywise.reasoning.languages.rif.unparse import rule_text
from tests.rif.conftest import unpack

UNDECLARED = {"ex": "http://example.org/example#", "foaf": "http://xmlns.com/foaf/0.1/"}
"""Prefixes that conclusions, which are no documents, have from theirs, or from nowhere."""
FILES = 58
"""Pairs of files in the 34 cases, documents and conclusions; one conclusion is a graph."""


@pytest.mark.parametrize("syntax", ["xml", "presentation"])
@pytest.mark.parametrize("case", ["Core_Safeness", "Core_Safeness_2"])
def test_what_the_w3c_says_is_rif_core_is_read(suite: Path, syntax: str, case: str) -> None:
    (path,) = (suite / syntax / "Core" / "PositiveSyntaxTest" / case).iterdir()
    assert parsing.parse_file(path).rules


@pytest.mark.parametrize("syntax", ["xml", "presentation"])
@pytest.mark.parametrize(
    ("case", "code", "variable"),
    [("Core_NonSafeness", "unsafe", "`?y`"), ("No_free_variables", "free-variable", "`?price`")],
)
def test_what_the_w3c_says_is_none_is_refused_for_its_reason(
    suite: Path, syntax: str, case: str, code: str, variable: str
) -> None:
    (path,) = (suite / syntax / "Core" / "NegativeSyntaxTest" / case).iterdir()
    with pytest.raises(RequestError) as caught:
        parsing.parse_file(path)
    assert caught.value.code == code
    assert variable in caught.value.message


def test_a_document_says_the_same_in_both_syntaxes(suite: Path) -> None:
    compared = 0
    for path in sorted((suite / "presentation").rglob("*.rifps")):
        other = suite / "xml" / path.relative_to(suite / "presentation").with_suffix(".rif")
        compared += 1
        if "conclusion" in path.name:
            formula = parsing.parse_formula_file(path, UNDECLARED)
            assert formula == parsing.parse_formula_file(other), path.name
        else:
            one, two = parsing.read_file(path), parsing.read_file(other)
            assert said(one.document) == said(two.document), path.name
            assert [f.message for f in one.faults] == [f.message for f in two.faults]
    assert compared == FILES


def test_rules_read_back_as_they_were_from_their_text(suite: Path) -> None:
    for path in sorted(suite.rglob("*.rif*")):
        if "conclusion" not in path.name:
            rules = parsing.read_file(path).document.rules
            text = f"Document({' '.join(map(rule_text, rules))})"
            assert parsing.read(text).document.rules == rules, path.name


def said(document: Document) -> tuple[object, ...]:
    """What a document says, whatever its syntax and prefixes."""
    return document.rules, document.imports, document.window


def test_what_other_dialects_have_is_refused_and_never_breaks_the_reader(
    data_pack: Path, tmp_path: Path
) -> None:
    unpack(data_pack / "rif" / "rif_bld_prd_tests.tar.gz", tmp_path, (".rif", ".rifps"))
    codes: list[str] = []
    for path in sorted(tmp_path.rglob("*-premise.rif*")):
        try:
            parsing.parse_file(path)
        except RequestError as fault:
            codes.append(fault.code)
    assert set(codes) == {"core", "head", "unsafe"}
    assert codes.count("core") > 20
