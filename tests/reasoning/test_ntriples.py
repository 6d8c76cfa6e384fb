"""Terms in N-Triples syntax, strictly read and written so that they read back."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest
import rdflib
from hypothesis import assume, given
from hypothesis import strategies as st

from citywise.reasoning.errors import ItemError
from citywise.reasoning.rdf import ntriples
from citywise.reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Term, Triple

characters = st.characters(codec="utf-8", exclude_categories=["Cs"])
iris = st.builds(
    "{}:{}".format,
    st.from_regex(r"[a-z][a-z0-9+.-]{0,5}", fullmatch=True),
    st.text(characters.filter(lambda c: c > " " and c not in '<>"{}|^`\\'), max_size=20),
).map(Iri)
labels = st.from_regex(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,8}[A-Za-z0-9_])?", fullmatch=True)
literals = st.one_of(
    st.builds(Literal, st.text(characters), st.none(), st.sampled_from([None, "en", "da-DK"])),
    st.builds(Literal, st.text(characters), iris.map(lambda iri: iri.value), st.none()),
)
terms = st.one_of(iris, labels.map(Blank), literals)


@given(terms)
def test_a_written_term_reads_back(term: Term) -> None:
    assert ntriples.term(ntriples.write(term)) == term


@given(terms)
def test_another_reader_reads_a_written_term_as_the_same(term: Term) -> None:
    line = f"<urn:s> <urn:p> {ntriples.write(term)} ."
    assume(not any(c.isspace() and c != " " for c in line))  # where rdflib ends lines and IRIs
    ((_s, _p, value),) = rdflib.Graph().parse(data=line, format="nt")
    if isinstance(term, Literal):
        assert isinstance(value, rdflib.Literal)
        assert value.language == term.language
        if term.datatype is None:
            assert str(value) == term.lexical
    elif isinstance(term, Iri):
        assert str(value) == term.value


@given(iris, terms)
def test_a_written_statement_reads_back(predicate: Iri, value: Term) -> None:
    triple = Triple(Blank("s.1"), predicate, value)
    for space, graph in ((" ", ""), ("", ""), ("\t", "<urn:g>")):
        line = f"{space.join(map(ntriples.write, triple))} {graph}. # said so"
        assert ntriples.statement(line) == triple


@pytest.mark.parametrize(
    ("text", "term"),
    [
        (r"<http://e/\u00e9\U0001F600>", Iri("http://e/é😀")),
        ('"a\\tb\\"\\\\\\n\\u0041"', Literal('a\tb"\\\nA')),
        (f'"x"^^<{XSD}string>', Literal("x")),
        ('"x"@en-GB', Literal("x", None, "en-GB")),
        ("_:a.b", Blank("a.b")),
    ],
)
def test_escapes_are_read_and_a_string_is_a_plain_literal(text: str, term: Term) -> None:
    assert ntriples.term(text) == term


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<relative>", "relative IRI"),
        ("<http://e/a b>", "without spaces"),
        (r"<http://e/\u0020>", "no character of an IRI"),
        ("http://e/a", "expected N-Triples syntax"),
        ("_:a.", "blank node"),
        ('"open', "a literal is"),
        ('"a" @en', "a literal is"),
        (r'"\uD800"', "no character"),
        (r'"\U00110000"', "no character"),
        (r'"\x41"', "a literal is"),
        ('"7"^^<integer>', "relative IRI"),
        ("", "expected N-Triples"),
    ],
)
def test_what_is_no_term_is_refused_with_what_was_expected(text: str, says: str) -> None:
    with pytest.raises(ItemError, match=re.escape(says)):
        ntriples.term(text)


@pytest.mark.parametrize(
    "line", ["<urn:a> <urn:b> .", "<urn:a> <urn:b> <urn:c>", '"a" <urn:b> <urn:c> .', "a b c ."]
)
def test_what_is_no_statement_is_refused(line: str) -> None:
    with pytest.raises(ItemError):
        ntriples.statement(line)


def test_the_w3c_tests_of_n_triples_pass(data_pack: Path) -> None:
    """Positive documents read as rdflib reads them, negative ones are refused."""
    archive = data_pack / "rdf_tests" / "rdf11_ntriples_turtle_trig_nquads.tar.gz"
    with tarfile.open(archive) as tar:
        members = [m for m in tar if re.search(r"rdf-n-(triples|quads)/[^/]*\.n[tq]$", m.name)]
        documents = {m.name.rpartition("/")[2]: tar.extractfile(m) for m in members}
        texts = {name: file.read().decode() for name, file in documents.items() if file}
    assert len(texts) > 100
    for name, text in texts.items():
        if "-bad-" in name:
            with pytest.raises(ItemError):
                statements(text)
        else:
            found = {triple for triple in statements(text) if triple}
            if name.endswith(".nt"):
                assert len(found) == len(rdflib.Graph().parse(data=text, format="turtle")), name


def statements(text: str) -> list[Triple | None]:
    return [ntriples.statement(line) for line in re.split(r"[\r\n]+", text)]
