"""Presentation syntax: what is written is what is read."""

from __future__ import annotations

import pytest

from citywise.reasoning.languages.rif import document
from citywise.reasoning.languages.rif.document import (
    FUNC,
    PRED,
    And,
    Equal,
    Exists,
    Frame,
    Import,
    Local,
    Member,
    Or,
    RifAtom,
    RifComputed,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    RifWindow,
    Sequence,
)
from citywise.reasoning.languages.rif.parsing import parse, parse_formula
from citywise.reasoning.rdf.mapping import RDF, XSD, Iri, Literal

EX = "http://example.org/"
X, Y = RifVariable("x"), RifVariable("y")
SRBENCH = """
Document(
  Prefix(<http://knoesis.wright.edu/ssw/ont/weather.owl#>)
  Prefix(ssn <http://purl.oclc.org/NET/ssnx/ssn#>)
  Prefix(ssnExt <http://example.org/ssnExt#>)
  Prefix(yago <http://dbpedia.org/class/yago/>)
  Prefix(dbpprop <http://dbpedia.org/property/>)
  10 s
  Group(
Forall ?obs ?sensor ?result ?value ?v ?hur ?hurWind (
    If And( ?obs [ssn:observedProperty -> wind_speed]
        ?obs [ssn:observedBy -> ?sensor]
            ?obs [ssn:observationResult -> ?result]
            ?result [ssn:hasValue -> ?value]
            ?value [ssnExt:hasQuantityValue -> ?v]
            ?hur [rdf:type -> yago:Hurricane111467018]
            ?hur [dbpprop:1MinWinds -> ?hurWind]
            External (pred:numeric-greater-than(?v ?hurWind)) )
    Then ?obs [ssn:observedWeatherType -> yago:Hurricane111467018] )
  )
)
"""


def iri(name: str) -> RifConstant:
    return RifConstant(Iri(EX + name))


def number(text: str, datatype: str = "integer") -> RifConstant:
    return RifConstant(Literal(text, XSD + datatype))


def text(value: str) -> RifConstant:
    return RifConstant(Literal(value))


def atom(name: str, *arguments: RifTerm) -> RifAtom:
    return RifAtom(Iri(EX + name), arguments)


def formula(written: str) -> RifFormula:
    return parse_formula(written, {"ex": EX, "": EX})


def rules(written: str) -> tuple[RifRule, ...]:
    return parse(f"Document( Prefix(ex <{EX}>) Group( {written} ) )").rules


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("?x", X),
        ('?"a b"', RifVariable("a b")),
        ("ex:a", iri("a")),
        (":a", iri("a")),
        ("ex:", iri("")),
        ("ex:1MinWinds", iri("1MinWinds")),
        ("ex:a-b.c/d", iri("a-b.c/d")),
        ("<http://example.org/a>", iri("a")),
        ('"http://example.org/a"^^rif:iri', iri("a")),
        ("_a", RifConstant(Local("a"))),
        ('"a b"^^rif:local', RifConstant(Local("a b"))),
        ("7", number("7")),
        ("-07", number("-07")),
        ("+7.50", number("+7.50", "decimal")),
        (".5", number(".5", "decimal")),
        ("1.0E-3", number("1.0E-3", "double")),
        ('"7"^^xs:int', number("7", "int")),
        ('"2014-08-04"^^<http://www.w3.org/2001/XMLSchema#date>', number("2014-08-04", "date")),
        ('"x"', text("x")),
        ('"x"^^xs:string', text("x")),
        ('"x@"^^rdf:PlainLiteral', text("x")),
        ('"a@b@en"^^rdf:PlainLiteral', RifConstant(Literal("a@b", None, "en"))),
        ('"x"@de-AT', RifConstant(Literal("x", None, "de-AT"))),
        (r'"\"\\\n\u00E6\U0001F6B2(* *)"', text('"\\\næ🚲(* *)')),
        ('"<br/>"^^rdf:XMLLiteral', RifConstant(Literal("<br/>", RDF + "XMLLiteral"))),
        ("List()", Sequence(())),
        ("List(1 List(ex:a))", Sequence((number("1"), Sequence((iri("a"),))))),
        (
            "External(func:numeric-add(?x 1))",
            RifComputed(Iri(FUNC + "numeric-add"), (X, number("1"))),
        ),
        ('External(xs:integer("1"))', RifComputed(Iri(XSD + "integer"), (text("1"),))),
    ],
)
def test_a_term_in_each_of_its_forms(written: str, term: RifTerm) -> None:
    assert formula(f"ex:p({written})") == atom("p", term)
    assert formula(f"{written} = {written}") == Equal(term, term)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("ex:p()", atom("p")),
        ("_p(1 ?x)", RifAtom(Local("p"), (number("1"), X))),
        ('"p"^^rif:local()', RifAtom(Local("p"), ())),
        ("?x[ex:p->?y]", Frame(X, ((iri("p"), Y),))),
        (
            "?x [?y -> 1 ex:q -> _a]",
            Frame(X, ((Y, number("1")), (iri("q"), RifConstant(Local("a"))))),
        ),
        ("ex:a[]", Frame(iri("a"), ())),
        ("?x#ex:C", Member(X, iri("C"))),
        ("ex:a # ?x", Member(iri("a"), X)),
        ("?x=?y", Equal(X, Y)),
        (
            "External(pred:is-list(List(1)))",
            document.Test(Iri(PRED + "is-list"), (Sequence((number("1"),)),)),
        ),
        ("And()", And(())),
        ("Or(ex:p() And(ex:q()))", Or((atom("p"), And((atom("q"),))))),
        ("Exists ?x ?y (ex:p(?x ?y))", Exists((X, Y), atom("p", X, Y))),
        ("And(?x=1 ?y = ?x)", And((Equal(X, number("1")), Equal(Y, X)))),
        (
            "External(func:count(List())) = 0",
            Equal(RifComputed(Iri(FUNC + "count"), (Sequence(()),)), number("0")),
        ),
        ("(* ex:note *) ex:p( (* one *) 1 (* two *) )", atom("p", number("1"))),
    ],
)
def test_a_formula_in_each_of_its_forms(written: str, read: RifFormula) -> None:
    assert formula(written) == read


def test_both_forms_of_a_rule_are_one() -> None:
    one, two = rules("Forall ?x (ex:p(?x) :- ex:q(?x))  Forall ?x (If ex:q(?x) Then ex:p(?x))")
    assert one == two == RifRule((atom("p", X),), atom("q", X), (X,))


def test_a_conclusion_may_be_several_and_a_fact_has_no_condition() -> None:
    several, fact = rules("Forall ?x (And(ex:p(?x) ?x[ex:a -> 1]) :- ex:q(?x))  ex:p(1)")
    assert several.heads == (atom("p", X), Frame(X, ((iri("a"), number("1")),)))
    assert (fact.heads, fact.body, fact.variables) == ((atom("p", number("1")),), None, ())


def test_groups_are_brackets_and_rules_may_stand_outside() -> None:
    document = parse(
        f"Document(Prefix(ex <{EX}>) ex:a() Group(ex:b() Group() Group(Group(ex:c()))) ex:d())"
    )
    assert [rule.heads[0] for rule in document.rules] == [atom(name) for name in "abcd"]


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("(* ex:slow [] *) Forall ?x (ex:p(?x) :- ex:q(?x))", "slow"),
        ("(* <http://example.org/rules#slow> *) ex:p(1)", "slow"),
        ("(* <http://example.org/rules/slow> *) ex:p(1)", "slow"),
        ('(* "http://example.org/slow"^^rif:iri _pd[ex:title -> "(* a *) b"] *) ex:p(1)', "slow"),
        ("Forall ?x ( (* ex:slow *) ex:p(?x) :- ex:q(?x))", "slow"),
        ("(* free text *) Forall ?x (* ex:here *) ( (* ex:slow *) ex:p(?x) :- ex:q(?x))", "here"),
        ("(* ex:slow *) (* ex:other *) ex:p(1)", "slow"),
        ("(* the sensor's rule, as it's meant *) ex:p(1)", ""),
        ("ex:p( (* ex:no *) 1)", ""),
    ],
)
def test_metadata_names_the_rule_that_it_stands_before(written: str, label: str) -> None:
    (rule,) = rules(written)
    assert rule.label == label
    assert rule.name == (label or "line 1")


def test_a_rule_knows_where_it_begins() -> None:
    found = parse(f"Document(\nPrefix(ex <{EX}>)\n\n  (* ex:r *)\n   Forall ?x\n(ex:p(1)))").rules
    assert [(rule.line, rule.column) for rule in found] == [(5, 4)]


def test_relative_iris_and_bare_names_are_relative_to_the_base() -> None:
    document = parse("Document(Base(<http://example.org/a/>) <../p>(b <#c> <http://x.org/>))")
    (head,) = document.rules[0].heads
    assert head == RifAtom(
        Iri(EX + "p"), (iri("a/b"), iri("a/#c"), RifConstant(Iri("http://x.org/")))
    )
    assert document.base == "http://example.org/a/"


def test_directives_are_kept_as_they_are_written() -> None:
    document = parse(
        f"Document(Import(<kb.ttl> <http://www.w3.org/ns/entailment/RDFS>) Prefix(ex <{EX}>)\n"
        "Import(<more.rifps>) 2 m)"
    )
    assert document.prefixes == {"ex": EX}
    profile = "http://www.w3.org/ns/entailment/RDFS"
    assert document.imports == (Import("kb.ttl", profile), Import("more.rifps"))
    assert [found.line for found in document.imports] == [1, 2]


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("10 s", RifWindow(10)),
        ("10s", RifWindow(10)),
        ("20 m", RifWindow(1200)),
        ("2 h", RifWindow(7200)),
        ("500 ms", RifWindow(500, "ms")),
        ("", None),
    ],
)
def test_a_window_is_a_number_and_a_unit(written: str, window: RifWindow | None) -> None:
    document = parse(f"Document( Import(<a.ttl>) {written} Group() )")
    assert document.window == window
    assert document.unit == ("ms" if "ms" in written else "s")


def test_a_document_may_declare_a_known_prefix_as_it_likes() -> None:
    (rule,) = parse('Document(Prefix(xs <http://example.org/>) xs:p("1"^^xs:q))').rules
    assert rule.heads == (atom("p", RifConstant(Literal("1", EX + "q"))),)


def test_the_hurricane_rule_of_r4_is_read_as_it_is_printed() -> None:
    (rule,) = parse(SRBENCH).rules
    assert isinstance(rule.body, And)
    assert len(rule.body.parts) == 8
    wind = RifConstant(Iri("http://knoesis.wright.edu/ssw/ont/weather.owl#wind_speed"))
    observed = RifConstant(Iri("http://purl.oclc.org/NET/ssnx/ssn#observedProperty"))
    assert rule.body.parts[0] == Frame(RifVariable("obs"), ((observed, wind),))
    assert rule.body.parts[6] == Frame(
        RifVariable("hur"),
        ((RifConstant(Iri("http://dbpedia.org/property/1MinWinds")), RifVariable("hurWind")),),
    )
