"""RDF terms in ASP and back (DESIGN A5)."""

from __future__ import annotations

import clingo
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoning.errors import ItemError
from reasoning.languages.casp import parse
from reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Mapper, Term, Triple, quote

PREFIXES = "#prefix tl : <http://t.org/>. #prefix tlx : <http://t.org/x/>. #prefix : <http://e/>. "
P = Iri("http://t.org/p")


def mapper(rules: str = "a(X) :- tl_p(Y,X). ", directives: str = "") -> Mapper:
    return Mapper(parse(PREFIXES + directives + rules))


def value(term: Term, directives: str = "", rules: str = "a(X) :- tl_p(Y,X). ") -> str:
    (fact,) = mapper(rules, directives).facts(Triple(Blank("s"), P, term))
    return fact.removeprefix('tl_p("_:s",').removesuffix(")")


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Iri("http://t.org/hotelA"), '"tl_hotelA"'),
        (Iri("http://t.org/x/y"), '"tlx_y"'),
        (Iri("http://e/x"), '"_x"'),
        (Iri("urn:other"), '"urn:other"'),
        (Blank("b0"), '"_:b0"'),
        (Literal("7", XSD + "integer"), "7"),
        (Literal("-3", XSD + "long"), "-3"),
        (Literal("true", XSD + "boolean"), "true"),
        (Literal("0", XSD + "boolean"), "false"),
        (Literal("2014-08-05T02:00:00+02:00", XSD + "dateTime"), "1407196800"),
        (Literal("plain"), '"plain"'),
        (Literal("tl_hotelA"), '"\'tl_hotelA"'),
        (Literal("_:b0"), '"\'_:b0"'),
        (Literal("urn:other"), '"\'urn:other"'),
        (Literal("2.5", XSD + "decimal"), '"2.5"'),
        (Literal("hej", None, "da"), '"hej"'),
    ],
)
def test_terms_become_the_terms_of_the_contract(term: Term, text: str) -> None:
    assert value(term) == text


def test_a_decimal_is_scaled_and_rounded_half_even() -> None:
    scale = "#scale tl_p 100. "
    assert value(Literal("2.505", XSD + "decimal"), scale) == "250"
    assert value(Literal("2.515", XSD + "decimal"), scale) == "252"
    assert value(Literal("7", XSD + "integer"), scale) == "700"


def test_a_decimal_that_meets_a_comparison_without_a_scale_is_refused_and_the_rule_named() -> None:
    rules = "\n\na(X) :- tl_p(Y,X), X > 3. "
    with pytest.raises(ItemError, match=r"line 3.*#scale tl_p 100"):
        value(Literal("2.5", XSD + "decimal"), rules=rules)


@pytest.mark.parametrize(
    "rules",
    [
        "b(X) :- tl_p(Y,X).\nc(X) :- b(X).\na :- c(X), X <= 3. ",
        "a(X+1) :- tl_p(Y,X). ",
        "a(N) :- N = #sum { X,Y : tl_p(Y,X) }. ",
        ":~ tl_p(Y,X). [X@1] ",
        "b(Y,X) :- tl_p(Y,X).\n#minimize { X,Y : b(Y,X) }. ",
    ],
)
def test_a_decimal_is_refused_also_where_it_is_computed_with_later(rules: str) -> None:
    with pytest.raises(ItemError, match="#scale tl_p 100"):
        value(Literal("2.5", XSD + "decimal"), rules=rules)


@pytest.mark.parametrize(
    ("literal", "says"),
    [
        (Literal("99999999999", XSD + "integer"), "32-bit"),
        (Literal("x", XSD + "integer"), "not a number"),
        (Literal("2014-08-05T02:00:00", XSD + "dateTime"), "#timezone"),
        (Literal("yesterday", XSD + "dateTime"), "not a dateTime"),
    ],
)
def test_a_literal_without_a_value_in_asp_is_refused(literal: Literal, says: str) -> None:
    with pytest.raises(ItemError, match=says):
        value(literal)


def test_a_time_without_a_zone_takes_the_declared_one() -> None:
    zone = '#timezone "Europe/Copenhagen". '
    literal = Literal("2014-08-05T02:00:00", XSD + "dateTime")
    assert value(literal, zone) == "1407196800"


def test_a_stream_triple_gives_the_arities_the_rules_mention() -> None:
    triple = Triple(Iri("http://t.org/s"), P, Literal("1", XSD + "integer"))
    both = mapper("a(X) :- tl_p(X,Y), tl_p(X,Y,T). ")
    assert list(both.facts(triple, 5)) == ['tl_p("tl_s",1)', 'tl_p("tl_s",1,5)']
    assert list(mapper("a(X) :- tl_p(X,Y,T). ").facts(triple, 5)) == ['tl_p("tl_s",1,5)']
    assert list(mapper("a(X) :- tl_p(X,Y). ").facts(triple)) == ['tl_p("tl_s",1)']


def test_predicates_that_no_rule_can_see_give_nothing() -> None:
    triple = Triple(Iri("http://t.org/s"), Iri("urn:q"), Literal("1"))
    assert list(mapper().facts(triple, 1)) == []
    listed = mapper("a(X) :- tl_p(X,Y), tl_q(X,Y). ", "#input tl_q/2. ")
    assert list(listed.facts(Triple(Iri("urn:s"), P, Literal("1")), 1)) == []


def test_two_predicates_that_would_collide_are_an_error() -> None:
    colliding = mapper("a(X) :- tl_p_q(X,Y). ")
    one, other = Iri("http://t.org/p-q"), Iri("http://t.org/p_q")
    list(colliding.facts(Triple(Blank("s"), one, Literal("1"))))
    with pytest.raises(ItemError, match="p_q"):
        list(colliding.facts(Triple(Blank("s"), other, Literal("1"))))


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)


@given(names)
def test_no_text_breaks_out_of_its_string(text: str) -> None:
    symbol = clingo.parse_term(quote(text.replace("\0", "")))
    assert symbol.string == text.replace("\0", "")


@given(names, st.sampled_from(["http://t.org/", "http://t.org/x/", "http://e/", "urn:x:"]))
def test_names_map_back_to_their_iri(local: str, namespace: str) -> None:
    one = mapper()
    iri = namespace + local
    assert one.iri(one.name(iri)) == iri


@given(names)
def test_no_literal_reads_as_a_name(text: str) -> None:
    one = mapper()
    shown = clingo.parse_term(one.term(Literal(text.replace("\0", "")), "tl_p")).string
    assert one.iri(shown) is None
