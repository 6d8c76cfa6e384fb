"""Documents as text: what is written reads back, and the manual's documents are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.languages.rif import document
from citywise.reasoning.languages.rif.check import findings
from citywise.reasoning.languages.rif.document import (
    FUNC,
    PRED,
    And,
    Equal,
    Exists,
    Frame,
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
    Sequence,
)
from citywise.reasoning.languages.rif.parsing import parse_formula, read
from citywise.reasoning.languages.rif.unparse import formula_text, rule_text, term_text
from citywise.reasoning.rdf.mapping import RDF, XSD, Blank, Iri, Literal
from citywise.reasoning.run.language import check

DOCS = Path(__file__).parent.parent.parent / "docs"

# --- Unparsing -----------------------------------------------------------------------------

PREFIXES = {
    "ex": "http://example.org/",
    "": "http://example.org/a#",
    "xs": "http://example.org/not-xs#",
    "a-b.c": "urn:x:",
}
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
NAMES = st.sampled_from(["x", "y1", "a-b", "a->b", "x y", 'q"\\', "æ", "7", "%"])
IRIS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["http://example.org/", "http://example.org/a#", "urn:x:", XSD, FUNC]),
        st.sampled_from(["", "a", "a/b", "1M", "-a", "a.b-c", "a->b", "(", "æ", "a:b", "%20", "."]),
    ),
).filter(lambda iri: ">" not in iri)
NO = st.none()
LITERALS = st.one_of(
    st.builds(Literal, TEXTS, NO, st.sampled_from([None, "en", "de-AT"])),
    st.builds(Literal, st.sampled_from(["7", "-07", "+1"]), st.just(XSD + "integer"), NO),
    st.builds(Literal, st.sampled_from(["7", "-0.5", ".5", "1."]), st.just(XSD + "decimal"), NO),
    st.builds(Literal, st.sampled_from(["7", "1e3", "-INF"]), st.just(XSD + "double"), NO),
    st.builds(Literal, TEXTS, st.sampled_from(["http://example.org/dt", "urn:x:dt"]), NO),
    st.builds(Literal, st.just("<a/>"), st.just(RDF + "XMLLiteral"), NO),
)
CONSTANTS = st.builds(RifConstant, st.one_of(st.builds(Iri, IRIS), NAMES.map(Local), LITERALS))
LISTS = st.recursive(
    CONSTANTS, lambda inner: st.builds(Sequence, st.lists(inner, max_size=3).map(tuple))
)
SUM = Iri(FUNC + "numeric-add")
TERMS: st.SearchStrategy[RifTerm] = st.recursive(
    st.one_of(LISTS, st.builds(RifVariable, NAMES)),
    lambda inner: st.builds(RifComputed, st.just(SUM), st.tuples(inner, inner)),
    max_leaves=4,
)
PREDICATES = st.one_of(st.builds(Iri, IRIS), NAMES.map(Local))
HEADS = st.one_of(
    st.builds(RifAtom, PREDICATES, st.lists(TERMS, max_size=3).map(tuple)),
    st.builds(Frame, TERMS, st.lists(st.tuples(TERMS, TERMS), max_size=3).map(tuple)),
)
FORMULAS: st.SearchStrategy[RifFormula] = st.recursive(
    st.one_of(
        HEADS,
        st.builds(Member, TERMS, TERMS),
        st.builds(Equal, TERMS, TERMS),
        st.builds(document.Test, st.just(Iri(PRED + "numeric-equal")), st.tuples(TERMS, TERMS)),
    ),
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Exists, st.tuples(st.builds(RifVariable, NAMES)), inner),
    ),
    max_leaves=5,
)
RULES = st.builds(
    RifRule,
    st.lists(HEADS, min_size=1, max_size=2).map(tuple),
    st.one_of(st.none(), FORMULAS),
    st.lists(st.builds(RifVariable, NAMES), max_size=2).map(tuple),
    st.just(0),
    st.just(1),
    st.sampled_from(["", "r1", "slow-street"]),
)


@given(FORMULAS)
@settings(max_examples=50)
def test_a_formula_reads_back_as_it_was(formula: RifFormula) -> None:
    assert parse_formula(formula_text(formula, PREFIXES), PREFIXES) == formula
    assert parse_formula(formula_text(formula)) == formula


@given(RULES)
@settings(max_examples=40)
def test_a_rule_reads_back_as_it_was(written: RifRule) -> None:
    declared = " ".join(f"Prefix({name} <{iri}>)" for name, iri in PREFIXES.items())
    for text in (rule_text(written), f"{declared} {rule_text(written, PREFIXES)}"):
        (again,) = read(f"Document({text})").document.rules
        assert again == written
        assert again.label == written.label


def test_terms_are_as_short_as_they_can_be() -> None:
    prefixes = {"long": "http://example.org/a/", "ex": "http://example.org/"}
    terms: dict[RifTerm, str] = {
        RifConstant(Iri("http://example.org/a")): "ex:a",
        RifConstant(Iri("http://example.org/a/b")): "long:b",
        RifConstant(Iri("http://example.org/a b")): '"http://example.org/a b"^^rif:iri',
        RifConstant(Iri("http://example.com/a")): "<http://example.com/a>",
        RifConstant(Literal("7", XSD + "integer")): "7",
        RifConstant(Literal("7", XSD + "int")): '"7"^^xs:int',
        RifConstant(Literal("a\n", None, "en")): '"a\\n"@en',
        RifConstant(Blank("b0")): "_:b0",
    }
    assert {term: term_text(term, prefixes) for term in terms} == terms


def test_a_long_rule_has_a_line_for_each_condition() -> None:
    parts = tuple(RifAtom(Local("p" * 30), (RifVariable("x"),)) for _ in range(3))
    rule = RifRule(
        (RifAtom(Local("q"), (RifVariable("x"),)),), And(parts), (RifVariable("x"),), label="r1"
    )
    part = "    " + "_" + "p" * 30 + "(?x)"
    lines = ["(* <#r1> *)", "Forall ?x (", "  _q(?x) :- And(", *[part] * 3, "  )", ")"]
    assert rule_text(rule) == "\n".join(lines)


# --- The manual ----------------------------------------------------------------------------


def test_the_documents_of_the_manual_are_read() -> None:
    blocks = [
        block
        for manual in sorted(DOCS.glob("rif*.md"))
        for block in re.findall(
            r"^```\w*\n(.*?)^```", manual.read_text("utf-8"), re.DOTALL | re.MULTILINE
        )
    ]
    documents = [block for block in blocks if re.match(r"Document\(|<Document", block)]
    assert len(documents) >= 3
    for block in documents:
        suffix = "rif" if block.startswith("<") else "rifps"
        assert read(block, file=f"d.{suffix}").faults == ()


def test_the_manual_says_what_each_finding_is() -> None:
    """The codes in the sources of the reader and of `check` are those of the manual's table."""
    found = (DOCS.parent / "reasoning" / "languages" / "rif").glob("*.py")
    sources = [path for path in found if path.name not in ("compile.py", "entails.py")]
    code = re.compile(r'(?:error|fault|RequestError|_warning)\([^"]{0,60}"([a-z-]+)"')
    used = {name for path in sources for name in code.findall(path.read_text("utf-8"))}
    table = (DOCS / "rif.md").read_text("utf-8").partition("## What check says")[2]
    documented = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.M))))
    assert used <= documented
    assert {"syntax", "unsafe", "growth", "window", "profile"} <= used


# --- check ---------------------------------------------------------------------------------


def found(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "d.rifps"
    path.write_text(f"Document(Prefix(ex <http://e/>)\n{text})", encoding="utf-8")
    return [str(finding).removeprefix(f"{path}:") for finding in findings(path)]


def test_check_finds_faults_and_does_not_guess_beyond_them(tmp_path: Path) -> None:
    (fault,) = found(tmp_path, "Import(<none.ttl> <urn:p>) Forall ?x (ex:p(fo:a))")
    assert fault.startswith("2:44: error prefix: ")
    (fault,) = found(tmp_path, "Group(")
    assert fault.startswith("1:9: error syntax: the `(` of `Document` is not closed")


def test_check_reads_both_syntaxes_and_finds_them_in_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "fine.rifps").write_text("Document()")
    (tmp_path / "a.rifps").write_text("Document")
    (tmp_path / "deep" / "b.rif").write_text("<Document/>")
    found = [finding.location.file for finding in check(tmp_path)]
    assert found == [str(tmp_path / "a.rifps"), str(tmp_path / "deep" / "b.rif")]


def test_check_finds_imports_that_are_not_there(tmp_path: Path) -> None:
    (fault,) = found(tmp_path, "Import(<none.ttl> <http://www.w3.org/ns/entailment/RDF>)")
    assert fault.startswith("2:1: error ")
    assert "none.ttl" in fault


def test_check_warns_of_what_may_not_be_meant(tmp_path: Path) -> None:
    warnings = found(
        tmp_path,
        "(* ex:a *) ex:q(1)\n(* ex:a *) Forall ?x ?y (ex:p(?x) :- ex:q(?x))",
    )
    assert [warning.partition(" `")[0] for warning in warnings] == [
        "3:12: warning repeated-label: line 2 has a rule a too; messages cannot tell them apart",
        "3:12: warning unused:",
    ]


ADD = "External(func:numeric-add(?x 1))"


def bound(test: str, arguments: str) -> str:
    return f"External(pred:numeric-{test}({arguments}))"


@pytest.mark.parametrize(
    ("rules", "grows"),
    [
        (f"Forall ?x (ex:p({ADD}) :- ex:p(?x))", "`ex:p/1`"),
        (f"Forall ?x ?y (ex:p(?y) :- And(ex:p(?x) ?y = {ADD}))", "`ex:p/1`"),
        (f"Forall ?x ?y (?y[ex:a -> {ADD}] :- ?y[ex:a -> ?x])", "`ex:a`"),
        (f"Forall ?x (ex:p({ADD}) :- ex:q(?x)) Forall ?x (ex:q(?x) :- ex:p(?x))", "`ex:p/1`"),
        (f"Forall ?x (ex:p({ADD}) :- ex:q(?x))", None),
        ("Forall ?x (ex:p(?x) :- ex:p(?x))", None),
        (f"Forall ?x (ex:p({ADD}) :- And(ex:p(?x) {bound('less-than', '?x 9')}))", None),
        (f"Forall ?x (ex:p({ADD}) :- And(ex:p(?x) {bound('greater-than', '9 ?x')}))", None),
        (f"Forall ?x (ex:p({ADD}) :- And(ex:p(?x) {bound('greater-than', '?x 0')}))", "`ex:p/1`"),
        (
            f"Forall ?x ?y (ex:p(?y) :- And(ex:p(?x) ?y = {ADD} {bound('less-than', '?y 9')}))",
            None,
        ),
        (
            f"Forall ?x ?y (ex:p(?y) :- And(ex:p(?x) ?y = {ADD} {bound('less-than', '?x ?y')}))",
            "`ex:p/1`",
        ),
        (
            f"Forall ?x ?y (ex:p({ADD}) :- And(ex:p(?x) ex:q(?y) {bound('less-than', '?y 9')}))",
            "`ex:p/1`",
        ),
        (
            f"Forall ?x (ex:p({ADD}) :- And(ex:p(?x) Or(ex:q(?x) {bound('less-than', '?x 9')})))",
            "`ex:p/1`",
        ),
    ],
)
def test_check_warns_of_rules_that_may_compute_for_ever(
    tmp_path: Path, rules: str, grows: str | None
) -> None:
    warnings = found(tmp_path, rules)
    assert len(warnings) == (grows is not None)
    for warning in warnings:
        assert warning.startswith(f"2:1: warning growth: {grows} follows from itself"), warning
        assert "`func:numeric-add`" in warning


@pytest.mark.parametrize(
    ("computed", "test"),
    [
        ("numeric-subtract(?x 1)", "greater-than"),
        ("numeric-subtract(?x -1)", "less-than"),
        ("numeric-add(-1 ?x)", "greater-than"),
        ("numeric-subtract(1 ?x)", "greater-than"),
        ("numeric-subtract(1 ?x)", "less-than"),
    ],
)
def test_a_bound_is_on_the_side_to_which_values_move(
    tmp_path: Path, computed: str, test: str
) -> None:
    rule = f"Forall ?x (ex:p(External(func:{computed})) :- And(ex:p(?x) {{}}))"
    assert found(tmp_path, rule.format(bound(test, "?x 9"))) == []
    other = found(tmp_path, rule.format(bound(test, "9 ?x")))
    assert len(other) == (not computed.startswith("numeric-subtract(1"))
