"""Items as facts: what an engine reads as text, and what as rows of values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.reasoning.engines.programs import IncrementalEngine
from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.values import parsed_many
from citywise.reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Triple
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Encoder, Item

RULES = """
#prefix t : <http://t.org/>.
#from stream <urn:s> [time 2s step 1s].
both(X) :- t_both(X,Y), t_both(X,Y,T).
pair(X,Y) :- t_pair(X,Y).
timed(X,Y) :- t_timed(X,Y,T), Y > 1.
"""
IRIS = st.sampled_from(["both", "pair", "timed", "unread", "1st"]).map("http://t.org/{}".format)
TEXTS = st.text(st.sampled_from('ab1 ,;()\\"\n-%éö'), max_size=6)
LITERALS = st.one_of(
    st.builds(Literal, TEXTS),
    st.integers(-(2**31), 2**31 - 1).map(lambda n: Literal(str(n), XSD + "integer")),
    st.booleans().map(lambda b: Literal(str(b).lower(), XSD + "boolean")),
)
TERMS = st.one_of(st.builds(Iri, IRIS), st.builds(Blank, st.sampled_from("ab")), LITERALS)
TRIPLES = st.lists(
    st.builds(
        Triple, st.one_of(st.builds(Iri, IRIS), st.just(Blank("a"))), st.builds(Iri, IRIS), TERMS
    ),
    max_size=5,
)


@given(TRIPLES, st.integers(0, 100))
def test_rows_are_the_values_of_the_texts_and_supply_the_same(
    triples: list[Triple], time: int
) -> None:
    texts, rows = Encoder(parse(RULES)), Encoder(parse(RULES))
    item = Item(time + 7, tuple(triples))
    expected = parsed_many(texts.facts(item, 7))
    found: dict[str, list[tuple[object, ...]]] = {}
    for relation, row in rows.rows(triples, time):
        found.setdefault(relation, []).append(row)
    assert found == expected
    assert [list(map(type, row)) for name in expected for row in found[name]] == [
        list(map(type, row)) for name in expected for row in expected[name]
    ]
    assert rows.supplied == texts.supplied


def test_what_was_noted_as_supplied_is_noted_again_where_it_was_forgotten() -> None:
    encoder = Encoder(parse(RULES))
    triples = [Triple(Blank("a"), Iri("http://t.org/pair"), Literal("x"))]
    encoder.rows(triples, 1)
    encoder.supplied = frozenset()
    encoder.rows(triples, 1)
    assert encoder.supplied == {Signature("t_pair", 2)}


@pytest.mark.parametrize("time", [2**31, -(2**31) - 1])
def test_a_time_that_no_number_of_asp_is_gives_no_rows(time: int) -> None:
    encoder = Encoder(parse(RULES))
    with pytest.raises(ItemError, match="32 bits"):
        encoder.rows([], time)


def test_an_item_without_a_value_in_asp_is_refused_whole_by_the_incremental_engine() -> None:
    what = parse(RULES)
    reasoner = Reasoner(what, engine=IncrementalEngine(what))
    good = Triple(Blank("a"), Iri("http://t.org/pair"), Literal("x"))
    bad = Triple(Blank("b"), Iri("http://t.org/timed"), Literal("no", XSD + "integer"))
    contents = [(1, (good,)), (4, (good, bad)), (4, (good,))]
    items = [Item(time, each, n, stream="urn:s") for n, (time, each) in enumerate(contents)]
    (*_, last) = [*reasoner.push(items), *reasoner.finish(4)]
    assert last.answer_sets[0].atoms == ('pair("_:a","x")',)
    assert last.atoms == 1
    assert "is not a number" in reasoner.refused[1][1]
