"""Turtle that is N-Triples too is read without rdflib, and as rdflib reads it."""

from __future__ import annotations

from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.reasoning.errors import ItemError
from citywise.reasoning.rdf import ntriples, parsing
from citywise.reasoning.rdf.mapping import Blank, Triple
from tests.reasoning.test_ntriples import iris, literals

LABELLED = st.sampled_from("abc").map(Blank)
SUBJECTS = st.one_of(iris, LABELLED)
TRIPLES = st.builds(Triple, SUBJECTS, iris, st.one_of(iris, LABELLED, literals))
ENDS = st.sampled_from([" .\n", ".\r\n", " . # said so\r", " .\n\n# and\n", " . ", " <urn:g> .\n"])
"""Of statements; after the last two it is no N-Triples."""
BY_RDFLIB = "@prefix ex: <http://example.org/> .\n"
"""Before a document: it is no N-Triples."""
PLAIN = "<urn:s> <urn:p> _:x .\n_:y <urn:p> _:x .\n"


@given(st.lists(st.tuples(TRIPLES, ENDS), max_size=4))
def test_it_is_read_as_rdflib_reads_it(statements: list[tuple[Triple, str]]) -> None:
    text = "".join(" ".join(map(ntriples.write, triple)) + end for triple, end in statements)
    assert _read(text) == _read(BY_RDFLIB + text)


@pytest.mark.parametrize(
    "text",
    [
        "<s> <urn:p> <urn:o> .",
        "<urn:s> <urn:p> <o> .",
        '<urn:s> <urn:p> "x"^^<d> .',
        "<urn:s> <urn:p> 1 .",
        "<urn:s> a <urn:o> .",
        "<urn:s> <urn:p> <urn:o> , <urn:q> .",
        '<urn:s> <urn:p> "a\nb" .',
        '<urn:s> <urn:p> """a\nb""" .',
        "<urn:s> <urn:p>\n<urn:o> .",
        "<urn:s> <urn:p> <urn:o>",
        "<urn:s> <urn:p> <urn:o> <urn:g> .",
        "<nowhere:///s> <urn:p> <urn:o> .",
        "_:a <urn:p> [] .",
    ],
)
def test_any_other_is_read_by_rdflib(text: str) -> None:
    assert _read(text) == _read(BY_RDFLIB + text)
    assert parsing._plain(text.encode(), "g") is None


def test_blank_nodes_are_numbered_in_order_of_appearance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citywise.reasoning.rdf.by_rdflib.rdflib.Graph", _refuse)
    assert [" ".join(map(ntriples.write, triple)) for triple in _read(PLAIN)] == [
        "<urn:s> <urn:p> _:g-b0",
        "_:g-b1 <urn:p> _:g-b0",
    ]


def _read(text: str) -> tuple[Triple, ...]:
    """The triples of a text; none if it is not Turtle."""
    try:
        return parsing.triples(text.encode(), "turtle", "g")
    except ItemError:
        return ()


def _refuse(**_options: object) -> NoReturn:
    raise AssertionError("it was read by rdflib")
