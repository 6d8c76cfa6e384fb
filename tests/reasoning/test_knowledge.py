"""Knowledge bases: every format, what the rules see of them, and files that are refused."""

from __future__ import annotations

import gzip
import os
import re
import socket
import time
from pathlib import Path

import pytest
import rdflib

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.casp.parsing import parse, parse_file
from citywise.reasoning.model.request import Entailment, KnowledgeSource, Request, Signature
from citywise.reasoning.rdf.knowledge import KnowledgeOrigin, background, read
from citywise.reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Triple
from citywise.reasoning.run.language import check
from citywise.reasoning.run.reasoner import Reasoner

A, P, B = Iri("http://e/a"), Iri("http://e/p"), Iri("http://e/b")
PREFIX = "#prefix e : <http://e/>.\n"
TURTLE = '@prefix : <http://e/> . :a :p :b, 01, 2.50, "hej"@da . _:x :p :b .\n'


def source(folder: Path, name: str, text: str | bytes) -> KnowledgeSource:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return KnowledgeSource(str(path), written=name)


def refused(folder: Path, name: str, text: str | bytes) -> str:
    with pytest.raises(RequestError) as caught:
        read(source(folder, name, text))
    assert f"asked for by `#from <{name}>`" in str(caught.value)
    return str(caught.value).replace(str(folder), "")


@pytest.mark.parametrize(
    ("name", "syntax"),
    [
        ("k.ttl", "turtle"),
        ("k.nt", "nt"),
        ("k.n3", "n3"),
        ("k.rdf", "xml"),
        ("k.xml", "xml"),
        ("k.owl", "xml"),
        ("k.owl", "turtle"),
        ("k.jsonld", "json-ld"),
        ("k.trig", "trig"),
        ("k.nq", "nt"),
        ("k.ttl.gz", "turtle"),
        ("k.RDF.GZ", "xml"),
        ("k.data", "turtle"),
    ],
)
def test_every_format_gives_the_same_triples(tmp_path: Path, name: str, syntax: str) -> None:
    graph = rdflib.Graph().parse(data=TURTLE, format="turtle")
    if name.endswith(".GZ"):
        (tmp_path / name).write_bytes(gzip.compress(graph.serialize(format=syntax).encode()))
        found = read(KnowledgeSource(str(tmp_path / name))).triples
    else:
        found = read(source(tmp_path, name, graph.serialize(format=syntax))).triples
    assert {triple._replace(subject=_nameless(triple.subject)) for triple in found} == {
        Triple(A, P, B),
        Triple(A, P, Literal("1", XSD + "integer")),
        Triple(A, P, Literal("2.50", XSD + "decimal")),
        Triple(A, P, Literal("hej", None, "da")),
        Triple(Blank(""), P, B),
    }


def _nameless(term: Iri | Blank) -> Iri | Blank:
    return Blank("") if isinstance(term, Blank) else term


def test_literals_keep_their_lexical_form_in_every_format(tmp_path: Path) -> None:
    line = f'<http://e/a> <http://e/p> "1.0E3"^^<{XSD}double> .'
    for name in ("k.nt", "k.ttl", "k.n3", "k.trig"):
        (triple,) = read(source(tmp_path, name, line)).triples
        assert triple.object == Literal("1.0E3", XSD + "double")


def test_all_graphs_of_a_document_count(tmp_path: Path) -> None:
    text = "@prefix : <http://e/> . :g { :a :p :b } { :a :q :b } :h { :a :r _:x }"
    assert len(read(source(tmp_path, "k.trig", text)).triples) == 3


def test_what_a_formula_of_n3_quotes_is_not_said(tmp_path: Path) -> None:
    text = "{ <urn:a> <urn:b> <urn:c> } . <urn:x> <urn:p> <urn:y> ."
    (triple,) = read(source(tmp_path, "k.n3", text)).triples
    assert triple.subject == Iri("urn:x")


def test_blank_nodes_of_two_files_are_different_and_named_alike_in_every_run(
    tmp_path: Path,
) -> None:
    files = [source(tmp_path, name, "_:x <http://e/p> [] .\n") for name in ("a.ttl", "b.ttl")]
    files.append(source(tmp_path, "c.nt", "_:x <http://e/p> _:y ."))
    found = background(request("a(X) :- e_p(X,Y)."), files).facts
    assert found == (
        'e_p("_:k0-b0","_:k0-b1")',
        'e_p("_:k1-b0","_:k1-b1")',
        'e_p("_:k2-x","_:k2-y")',
    )


def request(rules: str) -> Request:
    return parse(PREFIX + rules + "\n")


def test_facts_of_asp_are_read_with_their_lines(tmp_path: Path) -> None:
    text = '% they said "no.\np(1). q("a.b%", -3).\n%* p(2).\n*%\nr(1..2,(a;b)).\n-s(f(0x10)). t'
    text += ".\nu(1;2,3)."
    assert read(source(tmp_path, "k.lp", text)).facts == (
        ("p(1)", 2), ('q("a.b%",-3)', 2), ("r(1,a)", 5), ("r(1,b)", 5), ("r(2,a)", 5),
        ("r(2,b)", 5), ("-s(f(16))", 6), ("t", 6), ("u(1)", 7), ("u(2,3)", 7),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p(X).", "`X` is a variable"),
        ("p :- q.", "is a rule; put rules into the program"),
        (":- q.", "is a rule"),
        ("{ p }.", "no fact"),
        ("p | q.", "no fact"),
        ("not p.", "no fact"),
        ("#const n = 3.", "`#const`"),
        ("#show p/1.", "`#show`"),
        ('#include "secret.lp".', "`#include`"),
        ("#script (python) p() #end.", "`#script`"),
        ("p(@f()).", "external functions are not called"),
        ("p(1+1).", "a computation"),
        ("p(1..1000000000).", "more than 1000000 facts"),
        ("p(1..2000,1..2000).", "more than 1000000 facts"),
        ("p((1..2000),(1..2000;a)).", "more than 1000000 facts"),
        ("p(99999999999).", "32-bit"),
        ("p(" * 101 + "1" + ")" * 101 + ".", "brackets"),
        ('p("a\0").', "NUL"),
        ("p(é).", "`é` stands outside strings"),
        ('p("\\é").', "holds an escape other than"),
        ("p(1)", "facts end with `.`"),
        ('p("a', "a string is not closed"),
        ("p(1) q(2).", "no fact"),
    ],
)
def test_what_is_no_ground_fact_is_refused_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    told = refused(tmp_path, "k.lp", f"ok(1).\n\n{text}\n")
    assert told.startswith("/k.lp:3:1: error knowledge: ")
    assert says in told


def test_a_file_outside_the_declared_ones_is_not_opened_by_facts(tmp_path: Path) -> None:
    (tmp_path / "secret.lp").write_text("secret(1).")
    told = refused(tmp_path, "k.lp", f'#include "{tmp_path}/secret.lp".')
    assert "secret(1)" not in told


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("k.ttl", "@prefix : <http://e/> .\n:a :p :b ;\n  :q .. ", ":3:1: error knowledge: bad"),
        ("k.nt", "<urn:a> <urn:b> <urn:c> .\nno\n", ":2:1: error knowledge: `no` is no statement"),
        ("k.rdf", "<a>\n</b>", ":2:1: error knowledge: mismatched tag"),
        ("k.jsonld", '{\n"@id": ', ":2:1: error knowledge: not JSON"),
        ("k.ttl", b"\xff\xfe\x00", "utf-8"),
        ("k.nt", b"# \n<urn:\xff>", ":2:1: error knowledge: this is not UTF-8"),
        ("k.lp", b"p.\np(\xff).", ":2:1: error encoding: this is not UTF-8"),
        ("k.ttl.gz", b"", "error knowledge"),
        ("k.data", "nothing", "`.data` is unknown and was read as Turtle"),
        ("k.n3", "{ <urn:a> <urn:b> <urn:c> } => { <urn:c> <urn:b> <urn:a> } .", "a formula"),
        ("k.n3", "<urn:a> <urn:b> ?x .", "the variable `?x`"),
        ("k.ttl", "[ <urn:p> " * 5000, "too deep"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused_with_the_line(
    tmp_path: Path, name: str, text: str | bytes, says: str
) -> None:
    if name.endswith(".gz"):
        text = "junk"
    assert says in refused(tmp_path, name, text)


def test_a_missing_or_broken_file_is_an_error_that_says_who_asked_for_it(tmp_path: Path) -> None:
    program = tmp_path / "r.casp"
    program.write_text("#from <nowhere.ttl>.\na.\n")
    with pytest.raises(
        RequestError, match=r"there is no file `.*nowhere\.ttl`.*#from <nowhere\.ttl>"
    ):
        background(parse_file(program))
    (tmp_path / "k.ttl.gz").write_bytes(b"not gzip")
    with pytest.raises(RequestError, match="cannot be read"):
        read(KnowledgeSource(str(tmp_path / "k.ttl.gz")))


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", ".", "x" * 300])
def test_what_is_no_file_is_refused_unread_in_the_words_of_check(tmp_path: Path, name: str) -> None:
    """Reading a device or a pipe might never end."""
    os.mkfifo(tmp_path / "pipe")
    program = tmp_path / "r.casp"
    program.write_text(f"#from <{name}>.\na.\n")
    request = parse_file(program)
    with pytest.raises(RequestError) as caught:
        background(request)
    (finding,) = check(program)
    assert caught.value.message == f"{finding.message} (asked for by `#from <{name}>`)"
    assert finding.message.startswith(f"there is no file `{request.knowledge[0].path}`; ")


def test_a_file_that_no_request_names_is_not_said_to_be_asked_for_by_one(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        background(request("a."), [KnowledgeSource(str(tmp_path / "k.ttl"))])
    assert caught.value.message == f"there is no file `{tmp_path / 'k.ttl'}`"


def test_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remote contexts of JSON-LD are refused; owl:imports and schema locations do nothing."""

    def forbidden(*_arguments: object, **_named: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "create_connection", forbidden)
    for context in ('"http://e/c"', '[{}, "c.jsonld"]', '{"@import": "http://e/c"}'):
        text = f'{{"@context": {context}, "@id": "http://e/a"}}'
        assert "not fetched" in refused(tmp_path, "k.jsonld", text)
        assert "not fetched" in refused(tmp_path, "k.jsonld", f'{{"http://e/p": [{text}]}}')
    imports = "<http://e/o> <http://www.w3.org/2002/07/owl#imports> <http://e/other> ."
    assert len(read(source(tmp_path, "k.ttl", imports)).triples) == 1
    doctype = '<!DOCTYPE r SYSTEM "http://e/r.dtd">'
    assert read(source(tmp_path, "k.rdf", doctype + _xml("x"))).triples


def _xml(value: str) -> str:
    return (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
        f'<rdf:Description rdf:about="http://e/a"><e:p>{value}</e:p></rdf:Description></rdf:RDF>'
    )


def test_entities_that_grow_or_name_files_are_refused_and_abbreviations_work(
    tmp_path: Path,
) -> None:
    nested = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 20))
    bomb = f'<!DOCTYPE r [<!ENTITY e0 "ha">{nested}]>{_xml("&e19;")}'
    assert "is made of others" in refused(tmp_path, "k.rdf", bomb)
    assert "is made of others" in refused(tmp_path, "k.rdf", bomb.encode("utf-16"))
    backwards = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(9, 0, -1))
    bomb = f'<!DOCTYPE r [{backwards}<!ENTITY e0 "ha">]>{_xml("&e9;")}'
    assert "is made of others" in refused(tmp_path, "k.rdf", bomb)
    long = f'<!DOCTYPE r [<!ENTITY e "{"x" * 300}">]>{_xml("&e;" * 9)}'
    assert "has 300 characters, of at most 256" in refused(tmp_path, "k.rdf", long)
    (tmp_path / "secret").write_text("secret")
    outside = f'<!DOCTYPE r [<!ENTITY e SYSTEM "{(tmp_path / "secret").as_uri()}">]>{_xml("&e;")}'
    assert "lies outside the document" in refused(tmp_path, "k.rdf", outside)
    short = f'<!DOCTYPE r [<!ENTITY e "http://e/">]>{_xml("&e;b")}'
    (triple,) = read(source(tmp_path, "k.rdf", short)).triples
    assert triple.object == Literal("http://e/b")


@pytest.mark.parametrize("encoding", ["utf-7", "no-such-code"])
def test_an_encoding_that_xml_readers_do_not_know_is_told(tmp_path: Path, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>{_xml("a")}'
    assert "write it in UTF-8" in refused(tmp_path, "k.rdf", text)


def test_background_holds_what_the_rules_see_and_where_it_is_from(tmp_path: Path) -> None:
    ttl = source(tmp_path, "k.ttl", "@prefix : <http://e/> . :a :p :b, :c; :q :b . <urn:x> :r 1 .")
    lp = source(tmp_path, "k.lp", 'e_p("e_a","e_b").\nlimit(3).\nother(1).')
    found = background(request('a(X) :- e_p(X,"e_b"), limit(N). '), [ttl, lp])
    assert found.facts == ('e_p("e_a","e_b")', "limit(3)")
    assert found.text == 'e_p("e_a","e_b").\nlimit(3).\n'
    assert found.origins['e_p("e_a","e_b")'] == (
        KnowledgeOrigin(ttl.path, Triple(A, P, B)),
        KnowledgeOrigin(lp.path, "line 1"),
    )
    assert found.supplied >= {Signature("e_p", 2), Signature("limit", 1)}


def test_input_filters_streams_and_not_knowledge(tmp_path: Path) -> None:
    knowledge = source(tmp_path, "k.ttl", "@prefix : <http://e/> . :a :p :b .")
    found = background(request("#input e_q/2. a(X) :- e_p(X,Y), e_q(X,Y)."), [knowledge])
    assert found.facts == ('e_p("e_a","e_b")',)


def test_a_derived_predicate_that_knowledge_supplies_is_known_as_supplied(tmp_path: Path) -> None:
    knowledge = source(tmp_path, "k.ttl", "@prefix : <http://e/> . :a :p :b .")
    found = background(request('e_p("x","y") :- b. b. '), [knowledge])
    assert Signature("e_p", 2) in found.supplied


def test_a_value_that_the_rules_cannot_compute_with_names_file_and_triple(tmp_path: Path) -> None:
    knowledge = source(tmp_path, "k.ttl", "@prefix : <http://e/> . :a :p 2.5 .")
    with pytest.raises(RequestError, match=re.escape("k.ttl:1:1: error value: ")) as caught:
        background(request("a(X) :- e_p(X,Y), Y > 2. "), [knowledge])
    assert "#scale e_p 100" in str(caught.value)
    assert "<http://e/a> <http://e/p>" in str(caught.value)


@pytest.mark.parametrize("regime", ["rdfs", "owl-rl"])
def test_what_follows_is_background_too_and_says_so(tmp_path: Path, regime: Entailment) -> None:
    """The ontology and the data are two files; both ask for the entailment."""
    rdfs = "http://www.w3.org/2000/01/rdf-schema#"
    ontology = source(tmp_path, "o.ttl", f"@prefix : <http://e/> . :C <{rdfs}subClassOf> :D .")
    data = source(tmp_path, "d.ttl", "<http://e/a> a <http://e/C> .")
    plain = source(tmp_path, "p.ttl", "<http://e/b> a <http://e/C> .")
    rules = "#prefix rdf : <http://www.w3.org/1999/02/22-rdf-syntax-ns#>. a(X) :- rdf_type(X,{}). "
    sources = [KnowledgeSource(s.path, regime) for s in (ontology, data)]
    found = background(request(rules.format('"e_D"')), [*sources, plain])
    assert found.facts == ('rdf_type("e_a","e_D")',)
    (origin,) = found.origins[found.facts[0]]
    assert origin.source == f"{ontology.path} + {data.path} [{regime}]"
    assert background(request(rules.format('"e_D"')), [ontology, data]).facts == ()


def test_knowledge_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    text = "@prefix owl: <http://www.w3.org/2002/07/owl#> . <urn:a> a owl:Nothing ."
    knowledge = KnowledgeSource(source(tmp_path, "k.ttl", text).path, "owl-rl")
    with pytest.raises(RequestError, match=r"error inconsistent: .*the empty class"):
        background(request("a. "), [knowledge])


def test_hostile_names_and_texts_stay_data(tmp_path: Path) -> None:
    """Triples whose parts would end a string or a rule give one fact each, and no rule."""
    texts = ['"). evil(1). p("', "\\", '\\\\"', "a\nb", "a\rb", "\t", "é😀\u2028", "x" * 1_000_000]
    lines = [
        f"<http://e/{n}> <http://e/p> {rdflib.Literal(text).n3()} ." for n, text in enumerate(texts)
    ]
    lines.append("<http://e/\\u0022). evil(2). p(\\u0022> <http://e/p> <http://e/b> .")
    knowledge = source(tmp_path, "k.ttl", "\n".join(lines))
    rules = request("seen(N) :- N = #count { X : e_p(X,Y) }. evil(0) :- e_p(1,2). #show seen/1. "
                    "#show evil/1. ")  # fmt: skip
    found = background(rules, [knowledge])
    with Reasoner(rules, background=found) as reasoner:
        assert reasoner.once().answer_sets[0].atoms == (f"seen({len(lines)})",)


@pytest.mark.thorough
def test_the_sensor_repository_loads_in_seconds(data_pack: Path) -> None:
    """44,213 triples in both formats; what the rules do not ask for is left out."""
    rules = (
        "#prefix ct : <http://www.insight-centre.org/citytraffic#>.\n"
        "#prefix ssn : <http://purl.oclc.org/NET/ssnx/ssn#>.\n"
        "#prefix rdf : <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.\n"
        'q(P,F) :- rdf_type(P,"ct_CongestionLevel"), ssn_isPropertyOf(P,F).\n'
    )
    counts = []
    sources: list[tuple[str, Entailment | None]] = [("n3", None), ("rdf", "rdfs")]
    for name, regime in sources:
        path = data_pack / "citybench" / f"SensorRepository.{name}.gz"
        started = time.process_time()
        found = background(parse(rules), [KnowledgeSource(str(path), regime)])
        assert time.process_time() - started < 60
        counts.append(len(found.facts))
    assert len(set(counts)) == 1
    assert 0 < counts[0] < 5000
