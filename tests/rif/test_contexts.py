"""A name is an individual, a predicate or a built-in: one of them in all that is read together."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif import check as analysis
from citywise.reasoning.languages.rif import parsing
from citywise.reasoning.languages.rif.document import Document
from citywise.reasoning.languages.rif.theory import Context, context_faults, occurrences, theory
from citywise.reasoning.rdf.mapping import Iri

EX = "http://example.org/"
XML = f"""<Document xmlns="http://www.w3.org/2007/rif#"><directive><Import>
<location>http://e.org/prices</location></Import></directive><payload><Group><sentence><Atom>
<op><Const type="http://www.w3.org/2007/rif#iri">{EX}price</Const></op>
<args ordered="yes"><Const type="http://www.w3.org/2001/XMLSchema#integer">5</Const></args>
</Atom></sentence></Group></payload></Document>"""
PRICES = "Forall ?c (ex:shop[ex:price -> 10] :- ?c[ex:status -> 1])"


def text(rules: str, head: str = "") -> str:
    return f"Document(Prefix(ex <{EX}>) {head}\nGroup({rules}))"


def faults(rules: str) -> list[RequestError]:
    reading = parsing.read(text(rules))
    return [*reading.faults, *context_faults([reading.document])]


def found(rules: str) -> list[str]:
    return [fault.message for fault in faults(rules)]


def refused(path: Path) -> RequestError:
    with pytest.raises(RequestError) as caught:
        theory(parsing.parse_file(path))
    return caught.value


@pytest.mark.parametrize(
    "rules",
    [
        "ex:p(1) ex:a[ex:p -> 1]",
        "ex:p(1) ex:p[ex:q -> 1]",
        "ex:p(1) ex:a[ex:q -> ex:p]",
        "ex:p(ex:p)",
        "ex:p(1) ex:q(List(1 List(ex:p)))",
        "_p(1) ex:q(_p)",
        "Forall ?x (ex:p(?x) :- ?x # ex:p)",
        "Forall ?x (ex:q(?x) :- And(ex:p(?x) ?x = ex:p))",
        "Forall ?x (ex:q(?x) :- Or(ex:p(?x) Exists ?y (?x[ex:p -> ?y])))",
        "Forall ?x (ex:q(External(func:concat(?x ex:p))) :- ex:p(?x))",
        "Forall ?x (ex:q(?x) :- And(ex:p(?x) External(pred:iri-string(ex:p ?x))))",
    ],
)
def test_a_predicate_is_no_individual(rules: str) -> None:
    (message,) = found(rules)
    assert "a predicate" in message
    assert "an individual" in message


@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        ("ex:q(func:concat) ex:q(External(func:concat(1 2)))", Context.FUNCTION),
        ("ex:q(pred:is-list) :- External(pred:is-list(1))", Context.CONDITION),
        ("ex:q(1) :- External(xs:integer(1)) = xs:integer", Context.FUNCTION),
    ],
)
def test_a_built_in_is_no_individual(rules: str, kind: Context) -> None:
    (message,) = found(rules)
    assert kind in message


@pytest.mark.parametrize("name", ["pred:numeric-less-than", "func:concat", "xs:integer"])
def test_a_built_in_stands_in_external_only(name: str) -> None:
    (message,) = found(f"Forall ?x (ex:q(?x) :- And(ex:p(?x) {name}(?x 3)))")
    assert f"External({name}(…))" in message


@pytest.mark.parametrize(
    "rules",
    [
        "ex:p(1) ex:p(1 2) ex:p()",
        "ex:q(External(func:concat(1 2))) ex:q(External(func:concat(1 2 3)))",
        "ex:a[ex:b -> ex:a] Forall ?x (?x[ex:a -> 1] :- And(?x # ex:a ?x[?x -> ex:b]))",
        'ex:p("p") ex:q("http://example.org/p") ex:q(_p)',
        "ex:q(func:concat) ex:q(xs:integer)",
        "(* ex:p *) ex:p(1)",
    ],
)
def test_what_has_one_context_is_taken(rules: str) -> None:
    assert found(rules) == []


def test_each_name_at_odds_is_told_once_and_in_its_place() -> None:
    one, two = faults("\nex:p(1)\nex:q(ex:p)\nex:q(ex:p)\n ex:a[ex:q -> 1]")
    assert [(f.location.line, f.location.column, f.code) for f in (one, two)] == [
        (4, 1, "context"),
        (6, 2, "context"),
    ]
    assert "`ex:p` is an individual here and a predicate in <text>.rifps:3:1;" in one.message
    assert "`a[ex:p -> b]`" in one.message


@pytest.mark.parametrize("name", ["main.rifps", "main.rif"])
def test_an_import_is_at_odds_with_what_imports_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "prices.rifps").write_text(text(PRICES), encoding="utf-8")
    main = tmp_path / name
    imports = "Import(<http://e.org/prices>)"
    main.write_text(XML if name == "main.rif" else text("ex:price(5)", imports), encoding="utf-8")
    fault = refused(main)
    assert (fault.code, fault.location.file) == ("context", str(main))
    assert "is a predicate here and an individual in " in fault.message
    assert "prices.rifps:2:7;" in fault.message
    assert [finding.code for finding in analysis.findings(main)] == ["context"]


def test_two_imports_are_at_odds_however_deep(tmp_path: Path) -> None:
    (tmp_path / "prices.rifps").write_text(text(PRICES), encoding="utf-8")
    (tmp_path / "other.rifps").write_text(text("ex:price(5)"), encoding="utf-8")
    (tmp_path / "deep.rifps").write_text(text("", "Import(<other.rifps>)"), encoding="utf-8")
    main = tmp_path / "main.rifps"
    main.write_text(
        text("ex:r(1)", "Import(<http://e.org/prices>) Import(<deep.rifps>)"), encoding="utf-8"
    )
    assert "`ex:price` is" in refused(main).message


def test_local_names_and_graphs_are_not_at_odds_with_what_imports_them(tmp_path: Path) -> None:
    (tmp_path / "one.rifps").write_text(text("_p(1)"), encoding="utf-8")
    (tmp_path / "g.ttl").write_text(f"<{EX}a> <{EX}p> <{EX}b> .", encoding="utf-8")
    profile = "http://www.w3.org/ns/entailment/Simple"
    main = tmp_path / "main.rifps"
    head = f"Import(<one.rifps>) Import(<g.ttl> <{profile}>)"
    main.write_text(text("ex:q(_p) ex:p(1)", head), encoding="utf-8")
    assert len(theory(parsing.parse_file(main)).rules) == 3


@pytest.mark.parametrize("syntax", ["xml", "presentation"])
def test_every_document_of_the_w3c_is_refused_beside_another_use_of_its_names(
    suite: Path, tmp_path: Path, syntax: str
) -> None:
    tried = 0
    for path in sorted((suite / syntax).rglob("*.rif*")):
        if "conclusion" in path.name or "Negative" in str(path) or "Rejection" in str(path):
            continue
        document = parsing.parse_file(path)
        theory(document)
        for name, context in names(document):
            main = tmp_path / "main.rifps"
            other = f"<{name}>(1)" if context is Context.INDIVIDUAL else f"ex:new(<{name}>)"
            main.write_text(text(other, f"Import(<{path.as_uri()}>)"), encoding="utf-8")
            assert refused(main).code in ("context", "builtin"), (path.name, name)
            tried += 1
    assert tried > 100


def names(document: Document) -> list[tuple[str, Context]]:
    """The IRIs of a document, and what each is."""
    uses = occurrences(document)
    return sorted({(each.name.value, each.context) for each in uses if isinstance(each.name, Iri)})
