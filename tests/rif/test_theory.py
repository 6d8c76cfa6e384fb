"""A document with what it imports: where files are found, how they are merged, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif.document import Local, RifAtom, RifWindow, local_names
from citywise.reasoning.languages.rif.parsing import parse_file
from citywise.reasoning.languages.rif.theory import Theory, theory
from citywise.reasoning.model.request import KnowledgeSource
from citywise.reasoning.rdf.mapping import Blank, Iri, Literal, Triple

ENTAILMENT = "http://www.w3.org/ns/entailment/"
EX = "http://example.org/"
P = Iri(EX + "p")
HEADER = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix ex: <http://example.org/> . "
ONTOLOGY = HEADER + "ex:onto a owl:Ontology . "


def imported(location: str, profile: str | None = None) -> str:
    return f"Import(<{location}>{f' <{ENTAILMENT}{profile}>' if profile else ''})"


def built(folder: Path, head: str, rules: str = "", **files: str) -> Theory:
    """The theory of a document in a folder with other files, `_` in their names for `.`."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    main = folder / "main.rifps"
    main.write_text(f"Document(Prefix(ex <{EX}>) {head} Group({rules}))", encoding="utf-8")
    return theory(parse_file(main))


def refusal(folder: Path, head: str, rules: str = "", **files: str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        built(folder, head, rules, **files)
    return caught.value


def graph(text: str) -> str:
    return f"@prefix ex: <{EX}> . {text}"


# --- Where imports are -------------------------------------------------------------------


def test_a_relative_location_is_a_file_beside_the_document(tmp_path: Path) -> None:
    what = built(tmp_path, imported("g.ttl", "Simple"), g_ttl=graph("ex:a ex:p ex:b ."))
    assert what.triples == (Triple(Iri(EX + "a"), P, Iri(EX + "b")),)
    assert what.regime == "simple"


def test_a_file_uri_is_that_file(tmp_path: Path) -> None:
    other = tmp_path / "a b.ttl"
    other.write_text(graph("ex:a ex:p 1 ."), encoding="utf-8")
    assert len(built(tmp_path, imported(other.as_uri(), "Simple")).triples) == 1


@pytest.mark.parametrize("name", ["g", "g_ttl", "g_owl"])
def test_a_web_location_is_the_file_that_is_called_like_its_last_part(
    tmp_path: Path, name: str
) -> None:
    what = built(
        tmp_path, imported("http://example.org/x/g", "RDFS"), **{name: graph("ex:a ex:p 1 .")}
    )
    assert len(what.triples) == 1


def test_a_catalogue_says_which_file_a_location_is(tmp_path: Path) -> None:
    (tmp_path / "catalog-v001.xml").write_text(
        '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        '<group><uri name="http://example.org/x/g" uri="sub/mine.ttl"/></group></catalog>'
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.ttl").write_text(graph("ex:a ex:p 1 ."))
    what = built(tmp_path, imported("http://example.org/x/g", "Simple"))
    assert what.sources[1].path == str(tmp_path / "sub" / "mine.ttl")
    assert what.sources[1].location == "http://example.org/x/g"


def test_what_is_not_there_is_not_fetched_and_the_message_says_what_to_do(tmp_path: Path) -> None:
    error = refusal(tmp_path, "\n" + imported("http://example.org/x/g", "Simple"))
    assert str(tmp_path / "g.ttl") in error.message
    assert str(tmp_path / "catalog-v001.xml") in error.message
    assert error.location.line == 2


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert str(tmp_path / "none.rifps") in refusal(tmp_path, imported("none.rifps")).message


@pytest.mark.parametrize("location", ["http://[x/g", "a" * 5000, f"http://a.org/{'a' * 5000}"])
def test_what_can_be_no_file_is_refused(tmp_path: Path, location: str) -> None:
    assert refusal(tmp_path, imported(location, "Simple")).code == "import"


def test_a_file_of_another_machine_is_not_one_of_this(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text("")
    location = f"file://elsewhere{(tmp_path / 'h.ttl').as_posix()}"
    assert "nothing is fetched" in refusal(tmp_path, imported(location, "Simple")).message


def test_a_catalogue_that_is_no_xml_is_refused(tmp_path: Path) -> None:
    error = refusal(
        tmp_path, imported("http://example.org/g", "Simple"), **{"catalog-v001_xml": "<a>"}
    )
    assert error.location.file.endswith("catalog-v001.xml")


# --- How they are merged -----------------------------------------------------------------


def test_local_names_of_imported_documents_are_their_own(tmp_path: Path) -> None:
    what = built(
        tmp_path,
        imported("one.rifps") + imported("two.rifps"),
        "_p(1) _only(1)",
        one_rifps="Document(Group(_p(2) _q(_r)))",
        two_rifps="""Document(Group(_p(3) _q("p'1"^^rif:local) _q(_r)))""",
    )
    heads = [rule.heads[0] for rule in what.rules]
    names = [head.predicate for head in heads if isinstance(head, RifAtom)]
    assert names == [Local(n) for n in ("p", "only", "p'2", "q", "p'3", "q'1", "q'1")]
    assert list(local_names(heads[3])) == ["q", "r"]
    assert list(local_names(heads[5])) == ["q'1", "p'1"]
    assert list(local_names(heads[6])) == ["q'1", "r'1"]


def test_documents_that_import_each_other_are_read_once(tmp_path: Path) -> None:
    what = built(
        tmp_path,
        imported("other.rifps"),
        "ex:p(1)",
        other_rifps=f"Document(Prefix(ex <{EX}>) {imported('main.rifps')} Group(ex:p(2)))",
    )
    assert len(what.rules) == 2


def test_an_imported_documents_imports_are_beside_that_document(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.rifps").write_text(f"Document({imported('g.ttl', 'RDFS')})")
    (tmp_path / "sub" / "g.ttl").write_text(graph("ex:a ex:p 1 ."))
    what = built(tmp_path, imported("sub/other.rifps"))
    assert len(what.triples) == 1
    assert what.regime == "rdfs"


def test_blank_nodes_of_two_files_are_two(tmp_path: Path) -> None:
    one = graph("_:x ex:p 1 .")
    what = built(
        tmp_path,
        imported("a.ttl", "Simple") + imported("b.ttl", "Simple"),
        a_ttl=one,
        b_ttl=one,
    )
    blanks = {triple.subject for triple in what.triples}
    assert len(blanks) == 2
    assert all(isinstance(each, Blank) for each in blanks)


def test_a_knowledge_base_is_merged_and_its_entailment_counts(tmp_path: Path) -> None:
    main, base = tmp_path / "main.rifps", tmp_path / "base.ttl"
    main.write_text("Document()")
    base.write_text(graph("ex:a ex:p 1 ."))
    assert theory(parse_file(main), [KnowledgeSource(str(base))]).regime is None
    what = theory(parse_file(main), [KnowledgeSource(str(base), "rdfs")])
    assert (len(what.triples), what.regime) == (1, "rdfs")
    for profile, regime in (("Simple", "rdfs"), ("OWL-RDF-Based", "owl-rl")):
        main.write_text(f"Document({imported('base.ttl', profile)})")
        assert theory(parse_file(main), [KnowledgeSource(str(base), "rdfs")]).regime == regime


def test_facts_of_asp_are_no_knowledge_of_a_rif_document(tmp_path: Path) -> None:
    main, base = tmp_path / "main.rifps", tmp_path / "base.lp"
    main.write_text("Document()")
    base.write_text("p(1).")
    with pytest.raises(RequestError, match="RDF only"):
        theory(parse_file(main), [KnowledgeSource(str(base))])


def test_an_imported_document_has_no_other_window(tmp_path: Path) -> None:
    what = built(tmp_path, imported("o.rifps") + " 10 s", o_rifps="Document(10 s Group())")
    assert what.document.window == RifWindow(10)
    error = refusal(tmp_path, imported("o.rifps"), o_rifps="Document(5 s Group())")
    assert "a window of its own" in error.message


def test_a_graph_is_not_imported_without_a_profile(tmp_path: Path) -> None:
    error = refusal(tmp_path, imported("g.ttl"), g_ttl=graph("ex:a ex:p 1 ."))
    assert "names a profile" in error.message


# --- Profiles ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profiles", "regime"),
    [
        ("RDF", "rdf"),
        ("D", "rdfs"),
        ("Simple RDFS", "rdfs"),
        ("RDFS RDF", "rdfs"),
        ("D OWL-RDF-Based Simple", "owl-rl"),
        ("OWL-Direct OWL-RDF-Based", "owl-rl"),
    ],
)
def test_the_highest_profile_counts(tmp_path: Path, profiles: str, regime: str) -> None:
    head = "".join(imported("g.ttl", profile) for profile in profiles.split())
    assert built(tmp_path, head, g_ttl="").regime == regime


@pytest.mark.parametrize("other", ["Simple", "RDF", "RDFS", "D"])
def test_owl_direct_has_no_order_with_the_profiles_of_rdf(tmp_path: Path, other: str) -> None:
    head = imported("g.ttl", "OWL-Direct") + "\n" + imported("g.ttl", other)
    error = refusal(tmp_path, head, g_ttl=ONTOLOGY)
    assert error.code == "profile"
    assert error.location.line == 2


def test_the_generic_profile_goes_with_every_other(tmp_path: Path) -> None:
    generic = "Import(<g.ttl> <http://www.w3.org/2007/rif-import-profile#Generic>)"
    assert built(tmp_path, generic, g_ttl=ONTOLOGY).regime == "simple"
    assert built(tmp_path, generic + imported("g.ttl", "OWL-Direct")).regime == "owl-rl"


def test_an_unknown_profile_is_refused_with_those_there_are(tmp_path: Path) -> None:
    error = refusal(tmp_path, imported("g.ttl", "OWL-Full"), g_ttl="")
    assert "OWL-RDF-Based" in error.message


# --- OWL -----------------------------------------------------------------------------------


def test_what_an_ontology_imports_belongs_to_it(tmp_path: Path) -> None:
    what = built(
        tmp_path,
        imported("o.ttl", "OWL-RDF-Based"),
        o_ttl=ONTOLOGY + "ex:onto owl:imports <http://example.org/part> .",
        part_ttl=graph("ex:a ex:p 1 ."),
    )
    assert Triple(Iri(EX + "a"), P, what.triples[-1].object) == what.triples[-1]
    error = refusal(
        tmp_path,
        imported("o.ttl", "OWL-RDF-Based"),
        o_ttl=ONTOLOGY + "ex:onto owl:imports <http://example.org/missing> .",
    )
    assert error.location.file == str(tmp_path / "o.ttl")


def test_rdfs_does_not_follow_imports_of_ontologies(tmp_path: Path) -> None:
    text = ONTOLOGY + "ex:onto owl:imports <http://example.org/missing> ."
    assert len(built(tmp_path, imported("o.ttl", "RDFS"), o_ttl=text).triples) == 2


def test_owl_direct_discards_annotations(tmp_path: Path) -> None:
    text = ONTOLOGY + (
        'ex:onto ex:title "t" . ex:note a owl:AnnotationProperty . ex:a ex:note "n" ; ex:p "v" ; '
        '<http://www.w3.org/2000/01/rdf-schema#label> "l" .'
    )
    direct = built(tmp_path, imported("o.ttl", "OWL-Direct"), o_ttl=text)
    values = [t.object for t in direct.triples if isinstance(t.object, Literal)]
    assert values == [Literal("v")]
    based = built(tmp_path, imported("o.ttl", "OWL-RDF-Based"))
    assert len(based.triples) == len(direct.triples) + 3


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Forall ?x ?c (ex:q(?x) :- ?x[rdf:type -> ?c])", "`?c` stands for a class"),
        ("Forall ?x ?c (ex:q(?x) :- Or(ex:r(?x) ?x # ?c))", "`?c` stands for a class"),
        ("Forall ?x ?y (?x[?y -> 1] :- ex:r(?x ?y))", "`?y` stands for a property"),
    ],
)
def test_owl_direct_wants_constants_for_properties_and_classes(
    tmp_path: Path, rule: str, said: str
) -> None:
    error = refusal(tmp_path, imported("o.ttl", "OWL-Direct"), "\n" + rule, o_ttl=ONTOLOGY)
    assert said in error.message
    assert error.location.line == 2
    built(tmp_path, imported("o.ttl", "OWL-RDF-Based"), rule)


def test_a_property_of_things_and_of_values_is_outside_owl_dl(tmp_path: Path) -> None:
    text = ONTOLOGY + "ex:p a owl:ObjectProperty, owl:DatatypeProperty ."
    error = refusal(tmp_path, imported("o.ttl", "OWL-Direct"), o_ttl=text)
    assert "is both an owl:ObjectProperty and an owl:DatatypeProperty" in error.message


@pytest.mark.parametrize(
    "written", ['"x"^^rif:iri', '"x"^^rif:local', '"x@"^^rdf:PlainLiteral', '"x"^^xsd:integer']
)
def test_literals_that_rdf_does_not_have_or_without_value_are_refused(
    tmp_path: Path, written: str
) -> None:
    text = (
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
        "@prefix rif: <http://www.w3.org/2007/rif#> . "
        "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
    ) + graph(f"ex:a ex:p {written} .")
    error = refusal(tmp_path, imported("g.ttl", "Simple"), g_ttl=text)
    assert error.code == "literal"
    assert error.location.file == str(tmp_path / "g.ttl")
