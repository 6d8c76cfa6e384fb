"""RDF terms in ASP and back (docs/casp.md)."""

from __future__ import annotations

import time
from collections.abc import Callable

import clingo
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.languages.rif.document import Local
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.rdf.mapping import XSD, Blank, Inverse, Iri, Literal, Mapper, Term, Triple

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
        (Literal("Warning: jam"), '"Warning: jam"'),
        (Literal("'<urn:x"), "\"''<urn:x\""),
        (Iri("http://t.org/a b"), '"\'<http://t.org/a b"'),
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
    assert value(Literal("1.005000000000000000000000000000000001", XSD + "decimal"), scale) == "101"
    for absurd in ("1e9999", "1e999999999", "1" + "0" * 2000, "INF"):
        with pytest.raises(ItemError):
            value(Literal(absurd, XSD + "double"), scale)


def test_a_predicate_that_is_only_shown_is_seen() -> None:
    shown = Mapper(parse(PREFIXES + "#show tl_p/2. "))
    assert list(shown.facts(Triple(Blank("s"), P, Literal("x")), 1)) == ['tl_p("_:s","x")']


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
        "#minimize { 1@X,Y : tl_p(Y,X) }. ",
        "a(Y) :- tl_p(Y,_), tl_p(Y,X,T), X > 3. ",
        "a(Y) :- tl_p(Y,X), not X <= 3. ",
        "a(Y) :- tl_p(Y,X), 1 < Y = X < 5. ",
        "a(Y) :- tl_p(Y,X), Z = X, Z > 3. ",
        "a(Y) :- tl_p(Y,X), X = Z, Z > 3. ",
        "a(Y) :- tl_p(Y,X), not Z != X, b(Z), Z > 3. ",
        "a(Y) :- tl_p(Y,X), (Z,_) = (X,1), Z > 3. ",
        "a(Y) :- tl_p(Y,X), (Z,W) = (1,(X,2)), W = (V,_), V > 3. ",
        "a(Y) :- tl_p(Y,X), (X,1) > (3,0). ",
        "a(Z) :- tl_p(Y,X), Z = 1..X. ",
        "b(f(Y,X)) :- tl_p(Y,X).\na(Y) :- b(f(Y,X)), X > 3. ",
        "b(Y,(X,1)) :- tl_p(Y,X).\na(Y) :- b(Y,(X,_)), X > 3. ",
        "b(Y,f(g(h(X)))) :- tl_p(Y,X).\na(Y) :- b(Y,f(g(h(X)))), X > 3. ",
        "b(f(Y,X)) :- tl_p(Y,X).\na :- b(Z), c(W), Z < W. ",
        "b(Y,X) :- tl_p(Y,X).\nc(Z) :- b(Y,X), Z = f(X).\na(X) :- c(f(X)), X > 3. ",
        "b(Y,(X;1)) :- tl_p(Y,X).\na(Y) :- b(Y,X), X > 3. ",
        "b(Y,X;Y,X) :- tl_p(Y,X).\na(Y) :- b(Y,X), X > 3. ",
        "-b(Y,X) :- tl_p(Y,X).\na(Y) :- -b(Y,X), X > 3. ",
        "{ b(Y,X) : tl_p(Y,X) }.\na(Y) :- b(Y,X), X > 3. ",
        "b(X) | c(X) :- tl_p(Y,X).\na :- c(X), X > 3. ",
        "a(Y) :- tl_p(Y,X), #sum { 1,Z : b(Z) } < X. ",
        "a(Y) :- tl_p(Y,X), X = #sum { 1,Z : b(Z) }. ",
        "a(Y) :- tl_p(Y,X), Z = X, Z = #count { W : b(W) }. ",
        "a(Y) :- tl_p(Y,X), 1 { b(_) } X. ",
        "1 { c(Z) : b(Z) } X :- tl_p(Y,X). ",
        "a :- N = #max { X : tl_p(_,X) }. ",
        "a :- 3 < #min { X,1 : tl_p(_,X) }. ",
        "#feedback b/2. #show b/2. b(Y,X) :- tl_p(Y,X).\na(Y) :- prev_b(Y,X), X > 3. ",
        "#external b(X) : tl_p(Y,X).\na :- b(X), X > 3. ",
        "#show X+1 : tl_p(Y,X). ",
        "b(Y,X) :- tl_p(Y,X).\nb(Y,X) :- b(X,Y).\na :- b(X,Y), X > 3. ",
        "b(f(X)) :- tl_p(Y,X).\nb(X) :- b(f(X)).\na :- b(X), X > 3. ",
    ],
)
def test_a_decimal_is_refused_also_where_it_is_computed_with_later(rules: str) -> None:
    with pytest.raises(ItemError, match="#scale tl_p 100"):
        value(Literal("2.5", XSD + "decimal"), rules=rules)


@pytest.mark.parametrize(
    "rules",
    [
        "a(X) :- tl_p(Y,X), X != 3. ",
        "a(N) :- N = #count { X : tl_p(_,X) }. ",
        "a(N,S) :- N = #count { X : tl_p(_,X) }, S = #sum { X,Y : tl_q(Y,X) }. ",
        "a(X) :- tl_p(Y,X), tl_q(Y,Z), Z > 3. ",
        "a(X) :- tl_p(Y,X), tl_q(Y,Z), X != Z, Z > 3. ",
        "b(f(Y,X,Z)) :- tl_p(Y,X), tl_q(Y,Z).\na(X) :- b(f(_,X,Z)), Z > 3. ",
        "b(f(X)) :- tl_p(Y,X).\nb(g(X)) :- tl_q(Y,X).\na :- b(g(X)), X > 3. ",
        "-b(X) :- tl_p(Y,X).\nb(X) :- tl_q(Y,X).\na :- b(X), X > 3. ",
        "a(X) :- tl_p(_,X), tl_q(_,Z), _ = Z, Z > 3. ",
    ],
)
def test_a_decimal_that_nothing_computes_with_is_text(rules: str) -> None:
    decimal = Triple(Blank("s"), P, Literal("2.5", XSD + "decimal"))
    assert list(mapper(rules).facts(decimal)) == ['tl_p("_:s","2.5")']


@pytest.mark.slow
def test_many_rules_are_followed_soon() -> None:
    """Long chains, in the worst order, and terms that could be nested without end."""
    chain = "".join(f"p{n + 1}(X,Y) :- p{n}(X,Y).\n" for n in reversed(range(1_000)))
    nests = "".join(f"p0(X,Y) :- p0(X,f{n}(Y)).\n" for n in range(1_500))
    started = time.process_time()
    request = parse(f"p0(X,Y) :- tl_p(X,Y).\n{chain}{nests}a :- p1000(X,g(Y)), Y > 3.\n")
    assert Signature("tl_p", 2) in request.compared
    assert time.process_time() - started < 30


@pytest.mark.parametrize(
    ("literal", "says"),
    [
        (Literal("99999999999", XSD + "integer"), "32-bit"),
        (Literal("-2147483649", XSD + "integer"), "32-bit"),
        (Literal("x", XSD + "integer"), "not a number"),
        (Literal("1.5", XSD + "integer"), "not a number"),
        (Literal("1_000", XSD + "integer"), "not a number"),
        (Literal("٣", XSD + "integer"), "not a number"),
        (Literal("9" * 5000, XSD + "integer"), "too many digits"),
        (Literal("yes", XSD + "boolean"), "no boolean"),
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


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00"])
def test_a_time_at_the_edge_of_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(ItemError, match="does not fit the 32-bit integers"):
        value(Literal(text, XSD + "dateTime"), '#timezone "Europe/Copenhagen". ')


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


# Names that begin as one another, as a literal's escape, as a blank node or a scheme do.
characters = st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0")
namespaces = st.sampled_from(["http://e/", "http://e/x", "http://e/x_", "urn:", "http://e/x#"])
prefixes = st.dictionaries(
    st.sampled_from(["", "e", "ex", "e_x", "ex_e", "E", "urn", "http", "x-y"]),
    namespaces,
    max_size=4,
)
text = st.one_of(
    st.text(characters, max_size=8),
    st.lists(
        st.sampled_from(
            ["e", "x", "_", ":", "'", "'<", "_:", "http://e/", "urn:", '"', "\\", "\n", "b0", " "]
        ),
        max_size=5,
    ).map("".join),
)
iris = st.builds(lambda namespace, local: Iri(namespace + local), namespaces, text)
labels = st.from_regex(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,5}[A-Za-z0-9_])?", fullmatch=True)
exact = st.one_of(
    iris,
    labels.map(Blank),
    text.map(Literal),
    st.integers(-(2**31), 2**31 - 1).map(lambda n: Literal(str(n), XSD + "integer")),
    st.sampled_from([Literal(word, XSD + "boolean") for word in ("true", "false")]),
)


def _there(one: Mapper, term: Term) -> clingo.Symbol:
    return clingo.parse_term(one.term(term, "e_p"))


@given(prefixes, exact)
@example({"e": "http://e/", "e_x": "urn:"}, Iri("http://e/x_b"))
@settings(max_examples=150)
def test_a_term_comes_back_exactly(declared: dict[str, str], term: Term) -> None:
    request = Request("r", "", prefixes=declared)
    assert Inverse(request).term(_there(Mapper(request), term)) == term


@given(prefixes, exact, exact)
@example({"e": "http://e/", "e_x": "urn:"}, Iri("http://e/x_b"), Iri("urn:b"))
@settings(max_examples=150)
def test_different_terms_are_different_in_asp(
    declared: dict[str, str], one: Term, other: Term
) -> None:
    mapping = Mapper(Request("r", "", prefixes=declared))
    assert (_there(mapping, one) == _there(mapping, other)) == (one == other)


@pytest.mark.parametrize(
    ("literal", "scale", "back"),
    [
        (Literal("01", XSD + "int"), None, Literal("1", XSD + "integer")),
        (Literal("1", XSD + "boolean"), None, Literal("true", XSD + "boolean")),
        (Literal("hej", None, "da"), None, Literal("hej")),
        (Literal("2.50", XSD + "decimal"), None, Literal("2.50")),
        (Literal("2.50", XSD + "decimal"), 100, Literal("2.5", XSD + "decimal")),
        (Literal("3", XSD + "integer"), 100, Literal("3", XSD + "decimal")),
        (Literal("-1e1", XSD + "double"), 1, Literal("-10", XSD + "decimal")),
        (
            Literal("1970-01-01T00:00:07Z", XSD + "dateTime"),
            None,
            Literal("7", XSD + "integer"),
        ),
    ],
)
def test_what_asp_does_not_keep_comes_back_as_what_it_became(
    literal: Literal, scale: int | None, back: Literal
) -> None:
    request = Request("r", "", scales={"e_p": scale} if scale else {})
    assert Inverse(request).term(_there(Mapper(request), literal), scale) == back


@pytest.mark.parametrize(
    ("atom", "triple"),
    [
        ('tl_p("tl_s","tlx_o")', Triple(Iri("http://t.org/s"), P, Iri("http://t.org/x/o"))),
        ('tl_p("_:b","\'tl_o")', Triple(Blank("b"), P, Literal("tl_o"))),
        (
            'tlx_q("urn:s",7)',
            Triple(Iri("urn:s"), Iri("http://t.org/x/q"), Literal("7", XSD + "integer")),
        ),
        (
            '_q("urn:s",true)',
            Triple(Iri("urn:s"), Iri("http://e/q"), Literal("true", XSD + "boolean")),
        ),
        ('p("tl_s","tl_o")', None),
        ('tl_p("tl_s")', None),
        ('tl_p("tl_s","tl_o",3)', None),
        ('-tl_p("tl_s","tl_o")', None),
        ('tl_p("a literal","tl_o")', None),
        ('tl_p("tl_s","Warning: jam")', Triple(Iri("http://t.org/s"), P, Literal("Warning: jam"))),
        ('tl_p("tl_s","tl_x y")', Triple(Iri("http://t.org/s"), P, Literal("tl_x y"))),
        ('tl_p("tl_s","urn:{x}")', Triple(Iri("http://t.org/s"), P, Literal("urn:{x}"))),
        (
            'tl_p("tl_s","\'<http://t.org/a b")',
            Triple(Iri("http://t.org/s"), P, Iri("http://t.org/a b")),
        ),
        ('tl_p("tl_s",red)', None),
        ('tl_p("tl_s",f(1))', None),
        ('tl_p(3,"tl_o")', None),
    ],
)
def test_an_atom_of_two_resources_is_a_triple(atom: str, triple: Triple | None) -> None:
    assert Inverse(parse(PREFIXES + "a. ")).triple(clingo.parse_term(atom)) == triple


def test_a_predicate_seen_as_another_iri_comes_back_as_that() -> None:
    request = parse(PREFIXES + "a(X) :- tl_has_value(X,Y). ")
    seen = Mapper(request)
    triple = Triple(Iri("http://t.org/s"), Iri("http://t.org/has-value"), Literal("x"))
    (fact,) = seen.facts(triple, 1)
    assert Inverse(request, seen).triple(clingo.parse_term(fact)) == triple


def test_hostile_texts_are_one_fact_each_and_no_rule() -> None:
    hostile = [
        '"). evil(1). p("',
        "\\",
        '\\"',
        "a\nb",
        "\r",
        "\t",
        "%*",
        "é\u2028",
        "x" * 1_000_000,
    ]
    one = mapper()
    terms = [make(text) for text in hostile for make in (Literal, _iri, Blank)]
    facts = [fact for term in terms for fact in one.facts(Triple(Blank("s"), P, term), 1)]
    control = clingo.Control()
    control.add("base", [], "".join(f"{fact}.\n" for fact in facts))
    control.ground([("base", [])])
    found = list(control.symbolic_atoms)
    assert {(atom.symbol.name, len(atom.symbol.arguments)) for atom in found} == {("tl_p", 2)}
    assert len(found) == len(terms)


def _iri(text: str) -> Iri:
    return Iri(f"http://t.org/{text}")


@pytest.mark.parametrize("make", [Literal, _iri, Blank])
@pytest.mark.parametrize(("text", "says"), [("a\0b", "NUL"), ("a\ud800", "surrogate")])
def test_what_no_string_of_asp_can_hold_is_refused(
    make: Callable[[str], Term], text: str, says: str
) -> None:
    with pytest.raises(ItemError, match=says):
        list(mapper().facts(Triple(Blank("s"), P, make(text)), 1))


def test_terms_of_different_sorts_and_the_same_text_are_different() -> None:
    terms = {Iri("http://e/a"), Blank("http://e/a"), Local("http://e/a"), Literal("http://e/a")}
    assert len(terms) == 4
