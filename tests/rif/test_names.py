"""Facts of RIF as atoms of ASP and as triples, and back."""

from __future__ import annotations

import re

import pytest

from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.rif.names import FactNames
from citywise.reasoning.languages.rif.parsing import parse
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.model.values import Row
from citywise.reasoning.rdf.mapping import Blank, Iri, Literal, Triple

E = "http://e/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
XSD = "http://www.w3.org/2001/XMLSchema#"
DOCUMENT = parse(
    """
    Document(
      Prefix(ex <http://e/>) Prefix(Big <http://big/>)
      Group(
        Forall ?x ?y (ex:both(?x ?y) :- ?x[ex:both -> ?y])
        Forall ?x ?y (?x[ex:is-in -> ?y] :- ?x[ex:in -> ?y])
        Forall ?x ?y (?x[ex:one-two -> ?y] :- ?x[ex:one_two -> ?y])
        Forall ?x ?p ?y (?x[?p -> ?y] :- _near(?x ?p ?y))
      )
    )
    """
)
NAMES = FactNames(DOCUMENT, DOCUMENT.rules)


@pytest.mark.parametrize(
    ("relation", "row", "atom"),
    [
        (f"<{E}p>", (f"<{E}a>", 7), 'ex_p("ex_a",7)'),
        (f"<{E}p>", ("_:b0", '"a b"'), 'ex_p("_:b0","a b")'),
        (TYPE, (f"<{E}a>", "<http://other/T>"), 'rdf_type("ex_a","http://other/T")'),
        ("<http://other/p>", (f"<{E}a>", 7), 'triple("ex_a","http://other/p",7)'),
        ("<http://big/p>", (f"<{E}a>", 7), 'triple("ex_a","Big_p",7)'),
        (f"<{E}p%20q>", (1, 2), 'triple(1,"ex_p%20q",2)'),
        (f"<{E}is-in>", (1, 2), "ex_is_in(1,2)"),
        (f"<{E}is_in>", (1, 2), 'triple(1,"ex_is_in",2)'),
        (f"<{E}one-two>", (1, 2), 'triple(1,"ex_one-two",2)'),
        (f"<{E}one_two>", (1, 2), "ex_one_two(1,2)"),
        (f"<{E}both>/2", (1, 2), "ex_both(1,2)"),
        (f"<{E}p>/0", (), "ex_p"),
        (f"<{E}p>/3", (1, 2, 3), "ex_p(1,2,3)"),
        ("<http://other/p>/1", (1,), 'atom("http://other/p",1)'),
        ("_near/3", (1, 2, 3), "near(1,2,3)"),
        ("_near'1/1", ("_here",), "near'1(here)"),
        ("_Near/1", ("_Here",), 'atom(local("Near"),local("Here"))'),
        ("_ex_p/1", ("_true",), 'atom(ex_p,local("true"))'),
        ("_triple/3", (1, 2, 3), 'atom(local("triple"),1,2,3)'),
        ("_near", (1, 2), "triple(1,near,2)"),
        (f"<{E}p>/2", (("", 1, ("", 2)), ("",)), "ex_p((1,(2,)),())"),
    ],
)
def test_a_fact_is_written_as_an_atom_and_read_again(relation: str, row: Row, atom: str) -> None:
    assert NAMES.atom((relation, row)) == atom
    read = NAMES.fact(atom)
    assert NAMES.atom(read) == atom
    if relation != f"<{E}p>/2":  # which no rule has: two arguments are a triple
        assert read == (relation, row)


@pytest.mark.parametrize(
    ("value", "term"),
    [
        (2**31, '"2147483648"'),
        (f'"1.5"^^<{XSD}decimal>', '"1.5"'),
        (f'"2014-08-05T00:00:00Z"^^<{XSD}dateTime>', "1407196800"),
        (f'"2014-08-05T00:00:00"^^<{XSD}dateTime>', '"2014-08-05T00:00:00"'),
        (f'"true"^^<{XSD}boolean>', "true"),
        ('"chat"@fr', '"chat"'),
        ('"ex_a"', '"\'ex_a"'),
        ('"say \\"hi\\"\\n"', '"say \\"hi\\"\\n"'),
        ('"a\\u0000b"', '"a\ufffdb"'),
    ],
)
def test_what_asp_has_not_is_written_as_text(value: str | int, term: str) -> None:
    assert NAMES.atom((f"<{E}p>", (1, value))) == f"ex_p(1,{term})"


def test_the_same_relation_in_general_form_reads_alike() -> None:
    generic = ("triple", (f"<{E}a>", f"<{E}p>", 7))
    assert NAMES.atom(generic) == 'ex_p("ex_a",7)'
    assert NAMES.triple(generic) == NAMES.triple((f"<{E}p>", (f"<{E}a>", 7)))
    assert NAMES.atom(("triple", (1, '"text"', 2))) == 'triple(1,"text",2)'


@pytest.mark.parametrize(
    ("fact", "triple"),
    [
        (
            (f"<{E}p>", ("_:b", f'"1.5"^^<{XSD}decimal>')),
            Triple(Blank("b"), Iri(f"{E}p"), Literal("1.5", f"{XSD}decimal")),
        ),
        (
            ("<http://other/p>", (f"<{E}a>", '"chat"@fr')),
            Triple(Iri(f"{E}a"), Iri("http://other/p"), Literal("chat", None, "fr")),
        ),
        ((f"<{E}both>/2", (f"<{E}a>", f"<{E}b>")), None),
        ((f"<{E}p>", (7, f"<{E}a>")), None),
        ((f"<{E}p>", (f"<{E}a>", "_here")), None),
        ((f"<{E}p>", (f"<{E}a>", ("", 1))), None),
        (("_near", (f"<{E}a>", 1)), None),
    ],
)
def test_a_fact_leaves_as_the_triple_it_is(fact: Fact, triple: Triple | None) -> None:
    assert NAMES.triple(fact) == triple


@pytest.mark.parametrize(
    ("atom", "message"),
    [
        ("-ex_p(1,2)", "negat"),
        ("ex_p(1,f(2))", "`f(2)` is no term"),
        ("ex_p(1,#inf)", "#inf"),
        ("triple(1,2,3)", "predicate"),
        ("ex_p(1,-here)", "-here"),
    ],
)
def test_an_atom_that_is_none_of_rif_is_refused(atom: str, message: str) -> None:
    with pytest.raises(ItemError, match=re.escape(message)):
        NAMES.fact(atom)
