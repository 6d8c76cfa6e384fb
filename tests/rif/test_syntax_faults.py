"""What is wrong with a document is said where it stands, with what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.reasoning.asp.statements import MAX_CHARACTERS
from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif import parsing

HEAD = "Document(Prefix(ex <http://e/>)\n"
DEEP = 120


def faults(text: str, file: str = "d.rifps") -> list[RequestError]:
    """All that is wrong with a text, or the one fault that keeps it from being read."""
    try:
        return list(parsing.read(text, file=file).faults)
    except RequestError as fault:
        return [fault]


@pytest.mark.parametrize(
    ("written", "place", "code", "words"),
    [
        # words
        ('ex:p("a))', "2:6", "syntax", ["does not end on its line", r"`\n`"]),
        (r'ex:p("\q"))', "2:7", "syntax", [r"`\q` is no escape"]),
        (r'ex:p("\uD800"))', "2:7", "syntax", [r"`\uD800` is no escape"]),
        ("ex:p(<http://a b>))", "2:6", "syntax", ["holds no white space"]),
        ("ex:p(? x))", "2:6", "syntax", ["without white space", "`?x`"]),
        ("ex:p(12abc))", "2:6", "syntax", ["a number is followed by"]),
        ("ex:p('a'))", "2:6", "syntax", ["found `'`"]),
        ("(* never closed", "2:1", "syntax", ["nowhere closed"]),
        ("ex:p() :- ex:q().)", "2:17", "syntax", ["without a full stop"]),
        # grammar
        ("ex:p(1, 2))", "2:7", "syntax", ["found `,`", "expected `)`", "without commas"]),
        ("ex:p(1 2)", "1:9", "syntax", ["the `(` of `Document` is not closed; write `)`"]),
        ("ex:p(1 2)", "1:9", "syntax", ["line 2, column 10", "at the end of `Document`"]),
        ("ex:p(1 2", "2:5", "syntax", ["the end of the text", "`)` at the end of `ex:p(`"]),
        ("Group(ex:p()", "2:6", "syntax", ["the `(` of `Group`", "a rule, or `)`"]),
        ("ex:p() ) ex:q()", "2:10", "syntax", ["found `ex:q`", "the end of the text"]),
        ("forall ?x (ex:p()))", "2:8", "syntax", ["found `?x`", "case-sensitive: `Forall`"]),
        ("Forall (ex:p()))", "2:8", "syntax", ["found `(`", "a variable after `Forall`"]),
        ("Forall ?x ex:p())", "2:11", "syntax", ["found `ex:p`", "`(` after the variables"]),
        ("Forall ?x (ex:p() ex:q()))", "2:19", "syntax", ["`)` at the end of the rule"]),
        ("If ex:p() ex:q())", "2:11", "syntax", ["found `ex:q`", "`Then`"]),
        ("ex:p() :- Exists ?x (ex:p() ex:q()))", "2:29", "syntax", ["holds one formula"]),
        ("ex:a ex:b)", "2:6", "syntax", ["`[`, `(`, `=` or `#` after `ex:a`"]),
        ("ex:a[ex:b ex:c])", "2:11", "syntax", ["found `ex:c`", "`->`"]),
        ("ex:a[ex:b -> 1", "2:5", "syntax", ["`[` of `ex:a`", "`]`, or a slot"]),
        ('"p"(1))', "2:1", "syntax", ["is a literal and no predicate"]),
        ("ex:p(And(1)))", "2:6", "syntax", ["found `And`", "expected `)`"]),
        ('ex:p("1"^^7))', "2:11", "syntax", ["found `7`", "a datatype after `^^`"]),
        ("Import(kb.ttl))", "2:8", "syntax", ["found `kb.ttl`", "the location in `<…>`"]),
        ("Base(<http://a/>) Base(<http://b/>))", "2:19", "syntax", ["one `Base`"]),
        ("Prefix(ex <http://f/>))", "2:8", "prefix", ["`ex` is declared twice"]),
        ("Prefix(7 <http://f/>))", "2:8", "syntax", ["the name of the prefix"]),
        # windows
        ("0 s)", "2:1", "window", ["0 s is too small", "1 s to 999,999,999 s"]),
        ("9999999 h)", "2:1", "window", ["9999999 h is too large", "write 1 h to 277,777 h"]),
        (f"{10**23} h)", "2:1", "window", [f"a window of {10**23} h is too large"]),
        (f"{10**50} ms)", "2:1", "window", [f" {10**39}… ms is too large", "to 999,999,999 ms"]),
        ("1.5 s)", "2:1", "window", ["`1.5` is no whole number", "`10 s`"]),
        ("-1 s)", "2:1", "window", ["`-1` is no whole number"]),
        ("10 d)", "2:1", "window", ["`d` is no unit", "ms, s, m or h"]),
        ("10 s 20 s)", "2:6", "window", ["a window already"]),
        # names and literals
        ("ex:p(fo:a fo:b))", "2:6", "prefix", ["`fo:a`", "`Prefix(fo <…>)`"]),
        ("ex:p(a))", "2:6", "prefix", ["`a` has no prefix", "`_a`", "`ex:a`"]),
        ("ex:p(_:b1))", "2:6", "prefix", ["no blank nodes", "`_b1`", "`Exists ?x (…)`"]),
        ("ex:p(<a>))", "2:6", "iri", ["relative IRI", "`Base(<…>)`"]),
        ('ex:p("a b"^^rif:iri))', "2:6", "iri", ["no IRI holds"]),
        ("Import(<a|b>))", "2:1", "iri", ["no IRI holds"]),
        ('ex:p("x"^^xs:integer))', "2:6", "literal", ['"x"^^']),
        ('ex:p(":b"^^rif:local))', "2:6", "literal", ["a blank node"]),
        ('ex:p("x"^^rdf:PlainLiteral))', "2:6", "literal", ["ends in `@`"]),
        # what RIF-Core has not
        ("ex:p() :- ex:a ## ex:b)", "2:16", "core", ["`##`", "rdfs:subClassOf"]),
        ("ex:p(a -> 1))", "2:6", "core", ["named arguments", "a frame"]),
        ("ex:p(ex:f(1)))", "2:6", "core", ["`External(func:name(…))`"]),
        ("ex:f(1) = 2)", "2:1", "core", ["`External(func:name(…))`"]),
        ("ex:p(List(1 | 2)))", "2:13", "core", ["a list with a tail"]),
        ("Forall ?x (ex:p(List(?x))))", "2:17", "core", ["no variables", "make-list"]),
        ("ex:p() :- Naf ex:q())", "2:11", "core", ["no negation"]),
        ("If ex:q() Then Do(Assert(ex:p())))", "2:16", "core", ["actions", "RIF-PRD"]),
        ("ex:p() :- External(ex:a[ex:p -> 1]))", "2:20", "core", ["holds a built-in"]),
        ("ex:a # ex:b)", "2:1", "head", ["`#`", "`a[rdf:type -> C]`"]),
        ("ex:a = ex:b :- ex:p())", "2:1", "head", ["an equation cannot be concluded"]),
        ("And(ex:p() Or(ex:q())))", "2:12", "head", ["`Or` cannot be concluded"]),
        ("External(pred:is-list(1)) :- ex:p())", "2:1", "head", ["`External`"]),
        # built-ins
        ("ex:p(External(func:numeric-ad(1 2))))", "2:6", "builtin", ["`func:numeric-add`?"]),
        ("ex:p() :- External(ex:f(1)))", "2:11", "builtin", ["`<http://e/f>`", "rif-builtins"]),
        ("ex:p(External(func:numeric-add(1))))", "2:6", "builtin", ["takes 2 arguments, found 1"]),
        ("ex:p() :- External(func:count(1)))", "2:11", "builtin", ["is a function", "= ?x"]),
        ("ex:p(External(pred:is-list(1))))", "2:6", "builtin", ["is a predicate"]),
        ("ex:p(External(func:concat(1))))", "2:6", "builtin", ["2 arguments or more"]),
        ('ex:p(External(func:substring("a"))))', "2:6", "builtin", ["2 to 3 arguments"]),
    ],
)
def test_a_fault_is_said_where_it_stands(
    written: str, place: str, code: str, words: list[str]
) -> None:
    (fault,) = faults(HEAD + written)
    assert str(fault).startswith(f"d.rifps:{place}: error {code}: "), fault
    assert all(word in fault.message for word in words), fault


@pytest.mark.parametrize(
    ("written", "place", "words"),
    [
        ("Forall ?x (ex:p(?x) :- ex:q(?x)\nForall ?x (ex:q(?x) :- ex:r(?x)))", "2:11", "`Forall`"),
        ("Forall ?x (ex:p(?x :- ex:q(?x))\nex:q(1))", "2:16", "the `(` of `ex:p` is not closed"),
        ("Forall ?x (If And(ex:p(?x) Then ex:q(?x)))", "2:18", "the `(` of `And` is not closed"),
        ("Group(\nex:p(1)\nPrefix(f <http://f/>)\nex:q(2)", "2:6", "`Group` is not closed"),
        ("  Group(\n    ex:p(1)\n)\n", "2:8", "the `(` of `Group` is not closed"),
        ("ex:p(1 2\n)", "2:5", "the `(` of `ex:p` is not closed"),
        ('ex:q(")" 1 (* ) *) <http://e/)>\n', "2:5", "the `(` of `ex:q` is not closed"),
        ("ex:a[ex:b -> 1)\n)", "2:5", "the `[` of `ex:a` is not closed; write `]`"),
        ("ex:p(1])", "2:7", "`]` does not close the `(` of `ex:p` in line 2, column 5"),
    ],
)
def test_a_bracket_that_is_not_closed_is_told_where_it_stands(
    written: str, place: str, words: str
) -> None:
    (fault,) = faults(HEAD + written)
    assert str(fault).startswith(f"d.rifps:{place}: error syntax: "), fault
    assert words in fault.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["the end of the text", "`Document`"]),
        ("Group()", ["found `Group`", "`Document`"]),
        ("document()", ["found `document`", "case-sensitive: `Document`"]),
        ("Document", ["`(` after `Document`"]),
    ],
)
def test_a_text_is_one_document(text: str, words: list[str]) -> None:
    (fault,) = faults(text)
    assert all(word in fault.message for word in words), fault


@pytest.mark.parametrize(
    "inner",
    [
        "ex:p() :- " + "And(" * DEEP + ")" * DEEP,
        "Group(" * DEEP + ")" * DEEP,
        "ex:p(" + "List(" * DEEP + ")" * DEEP + ")",
        "ex:p(" + "External(func:count(" * DEEP + "))" * DEEP + ")",
        "ex:p() :- " + "Exists ?x (" * DEEP + "ex:p()" + ")" * DEEP,
    ],
    ids=lambda inner: inner[:20],
)
def test_what_is_too_deep_is_refused_before_it_breaks_the_reader(inner: str) -> None:
    (fault,) = faults(f"{HEAD}{inner})")
    assert "more than 100 formulas, terms and groups in each other" in fault.message


def test_all_that_is_wrong_is_said_at_once_and_each_thing_once() -> None:
    found = faults(f"{HEAD}fo:p(fo:q bare)\nForall ?x (ex:p(?y ?y) :- ex:q(?y))\nex:p(?z))")
    assert [(str(f.location), f.code) for f in found] == [
        ("d.rifps:2:1", "prefix"),
        ("d.rifps:2:11", "prefix"),
        ("d.rifps:3:17", "free-variable"),
        ("d.rifps:4:6", "free-variable"),
    ]


def test_the_first_fault_is_raised_to_who_asks_for_the_document() -> None:
    with pytest.raises(RequestError, match=r"2:6: error prefix: .*fo:a"):
        parsing.parse(f"{HEAD}ex:p(fo:a fa:b))")
    with pytest.raises(RequestError, match=r"1:1: error prefix: .*`fo:p`"):
        parsing.parse_formula("fo:p(1)")
    with pytest.raises(RequestError, match=r"1:9: error syntax: .*expected the end of the text"):
        parsing.parse_formula("ex:p(1) ex:q()", {"ex": "http://e/"})


def test_a_text_of_absurd_size_or_without_characters_is_refused() -> None:
    (size,) = faults(" " * (MAX_CHARACTERS + 1))
    assert "at most 2,000,000 characters" in size.message
    (odd,) = faults("Document(\n\0)")
    assert "U+0000 is no character" in str(odd)
    assert str(odd).startswith("d.rifps:2:1: ")


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.rifps"
    path.write_bytes(b"Document(\xff)")
    with pytest.raises(RequestError, match="is not UTF-8 text"):
        parsing.parse_file(path)
    with pytest.raises(RequestError, match=r"none.rif:1:1: error file: No such file"):
        parsing.parse_file(tmp_path / "none.rif")
