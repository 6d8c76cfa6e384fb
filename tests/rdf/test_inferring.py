"""Streams whose items are completed by RDFS or OWL 2 RL: `[rdfs]` and `[owl-rl]` in C-ASP."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from citywise.reasoning.engines.choosing import Choice, engine_for
from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.casp.entailment import Read, inferring
from citywise.reasoning.languages.casp.parsing import parse, parse_file
from citywise.reasoning.languages.rif.document import Document
from citywise.reasoning.languages.rif.evaluation import WindowedEvaluation
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.values import term
from citywise.reasoning.model.request import Entailment, KnowledgeSource, Request
from citywise.reasoning.rdf import knowledge
from citywise.reasoning.rdf.entailment import closure
from citywise.reasoning.rdf.knowledge import KnowledgeBase, background
from citywise.reasoning.rdf.mapping import RDF, XSD, Blank, Iri, Literal, Mapper, Term, Triple
from citywise.reasoning.rdf.regimes import NAMESPACES
from citywise.reasoning.rdf.schema import SAME
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation
from tests.rdf.graphs import PREFIXES, instances, schema, turtle

REPOSITORY = Path(__file__).parents[2]
REGIMES: tuple[Entailment, ...] = ("rdfs", "owl-rl")
ENGINES: tuple[Choice, ...] = ("solver", "incremental")
HEAD = """
#prefix e : <http://e/>.
#prefix rdf : <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.
#from stream <http://s> [time 9s step 1s] [{regime}].
"""


def request(tmp_path: Path, text: str, knowledge: str = "", regime: Entailment = "rdfs") -> Request:
    """A request over a stream and a knowledge base of one regime."""
    (tmp_path / "kb.ttl").write_text(PREFIXES + knowledge)
    program = tmp_path / "request.casp"
    program.write_text(HEAD.format(regime=regime) + f"#from <kb.ttl> [{regime}].\n{text}")
    return parse_file(program)


def last(
    what: Request,
    items: Sequence[tuple[int, Sequence[Triple]]],
    engine: Choice = "auto",
    read: Read = knowledge.read,
) -> Evaluation:
    """The evaluation at 9, of items from 0 on."""
    known = background(what, read=read)
    made = engine_for(what, known, choice=engine)
    with closing(made), Reasoner(what, background=known, engine=made, start=0) as reasoner:
        for number, (time, triples) in enumerate(items):
            assert not list(reasoner.push(Item(time, tuple(triples), number, stream="http://s")))
        return list(reasoner.finish(9))[-1]


def answer(found: Evaluation) -> set[str]:
    """The atoms of the only answer set."""
    (one,) = found.answer_sets
    return set(one.atoms)


# -- rule by rule ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_reading_of_a_subclass_matches_a_rule_about_its_superclass(
    tmp_path: Path, engine: Choice
) -> None:
    what = request(
        tmp_path, 'hot(X) :- rdf_type(X,"e_Sensor").', ":Thermometer rdfs:subClassOf :Sensor ."
    )
    assert answer(last(what, [(9, turtle(":a a :Thermometer ."))], engine)) == {'hot("e_a")'}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_property_under_no_prefix_counts_for_one_that_rules_see(
    tmp_path: Path, engine: Choice
) -> None:
    kb = "<http://o/reads> rdfs:subPropertyOf :value ."
    what = request(tmp_path, "found(X,V,T) :- e_value(X,V,T), V > 3.", kb)
    items = [(time, turtle(f":a <http://o/reads> {time} .")) for time in (2, 5)]
    assert answer(last(what, items, engine)) == {'found("e_a",5,5)'}
    assert Mapper(what).predicate("http://o/reads") == "__reads"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_follows_from_several_items_has_the_time_of_the_latest(
    tmp_path: Path, engine: Choice
) -> None:
    kb = ":near a owl:TransitiveProperty . :c :near :d ."
    what = request(tmp_path, "close(X,Y,T) :- e_near(X,Y,T).", kb, "owl-rl")
    items = [(2, turtle(":b :near :c .")), (5, turtle(":a :near :b ."))]
    assert answer(last(what, items, engine)) == {
        'close("e_b","e_c",2)', 'close("e_b","e_d",2)', 'close("e_a","e_b",5)',
        'close("e_a","e_c",5)', 'close("e_a","e_d",5)',
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_a_window_that_contradicts_itself_has_no_answer(tmp_path: Path, engine: Choice) -> None:
    what = request(
        tmp_path, "in(X) :- rdf_type(X,_).", ":Open owl:disjointWith :Closed .", "owl-rl"
    )
    found = last(what, [(1, turtle(":a a :Open .")), (7, turtle(":a a :Closed ."))], engine)
    assert found.answer_sets == ()


def test_what_only_the_regime_derives_is_not_shown(tmp_path: Path) -> None:
    what = request(tmp_path, "seen(X) :- e_q(X,_).", ":p rdfs:subPropertyOf :q .")
    assert answer(last(what, [(1, turtle(":a :p :b ."))])) == {'seen("e_a")'}


def test_an_input_that_is_inferred_needs_no_declaration_of_what_it_is_inferred_from(
    tmp_path: Path,
) -> None:
    what = request(tmp_path, "#input e_q/2.\nseen(X) :- e_q(X,_).", ":p rdfs:subPropertyOf :q .")
    assert answer(last(what, [(1, turtle(":a :p :b ."))])) == {'seen("e_a")'}


def test_without_an_entailment_a_request_stays_as_it_is() -> None:
    what = parse("#prefix e : <http://e/>.\n#from stream <s> [time 1s step 1s].\nq :- e_p(_,_).")
    assert inferring(what) is what


def test_the_request_of_the_documentation_does_what_it_is_said_to_do(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "casp.md").read_text(encoding="utf-8")
    _first, program, *_ = re.findall(r"```casp\n(.*?)```", text, re.DOTALL)
    (tmp_path / "sensors.ttl").write_text("""
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix e: <http://example.org/> .
        e:Sauna rdfs:subClassOf e:Thermometer .
        <http://other.org/reads> rdfs:subPropertyOf e:value .
    """)
    (tmp_path / "hot.casp").write_text(program)
    what = parse_file(tmp_path / "hot.casp")
    read = turtle(
        "<http://example.org/s> a <http://example.org/Sauna>; <http://other.org/reads> 90 ."
    )
    known = background(what)
    with Reasoner(what, background=known, start=0) as reasoner:
        list(reasoner.push(Item(200, read, stream="http://example.org/readings")))
        assert answer(list(reasoner.finish(300))[-1]) == {'hot("e_s",200)'}


# -- scales ------------------------------------------------------------------------------------


def test_a_scale_holds_for_the_properties_whose_values_are_inferred(tmp_path: Path) -> None:
    text = "#scale e_price 100.\ndear(X) :- e_price(X,V), V > 250."
    what = request(tmp_path, text, ":cost rdfs:subPropertyOf :price .")
    items = [(1, turtle(":a :cost 2.51 . :b :cost 2.5 ."))]
    assert answer(last(what, items)) == {'dear("e_a")'}


def test_scales_that_do_not_fit_each_other_are_refused(tmp_path: Path) -> None:
    text = "#scale e_price 100.\n#scale e_cost 10.\ndear(X) :- e_price(X,V), V > 250."
    with pytest.raises(RequestError, match=r"#scale e_cost 10.*#scale e_price 100.*one scale"):
        request(tmp_path, text, ":cost rdfs:subPropertyOf :price .")


def test_a_decimal_that_would_be_compared_is_refused_in_a_subproperty_too(tmp_path: Path) -> None:
    what = request(tmp_path, "dear(X) :- e_price(X,V), V > 2.", ":cost rdfs:subPropertyOf :price .")
    known = background(what)
    with Reasoner(what, background=known, start=0) as reasoner:
        list(reasoner.push(Item(1, turtle(":a :cost 2.5 ."), stream="http://s")))
        list(reasoner.finish(9))
        assert "declare `#scale e_cost 100.`" in str(reasoner.refused)


# -- the directive -----------------------------------------------------------------------------


def test_an_unknown_entailment_is_refused_with_those_there_are() -> None:
    with pytest.raises(RequestError, match=r"`\[owl\]` is no entailment .* rdfs, owl-rl"):
        parse("#from stream <s> [time 1s step 1s] [owl].\np.")


def test_streams_of_one_request_are_completed_alike() -> None:
    text = "#from stream <a> [time 1s step 1s] [rdfs].\n#from stream <b> [count 1 step 1].\np."
    with pytest.raises(RequestError, match="behind each of them or behind none"):
        parse(text)


# -- against the closure -----------------------------------------------------------------------

SHOWN = "#show e_p/2. #show e_q/2. #show e_r/2. #show rdf_type/2."
LITERALS = {"1.0": Literal("3", XSD + "integer"), "x": Literal("x")}
"""What is one term in ASP and another to the regimes is replaced."""
MEMBER = Iri(RDF + "_1")
SAYING_MORE = {Iri(XSD + "integer"), Iri(NAMESPACES["rdfs"] + "subClassOf")}
LOST = {"dt-type", "dt-diff"}
"""Rules that ask for values of literals, which terms of ASP do not tell."""


def plain(triples: Sequence[Triple]) -> tuple[Triple, ...]:
    """The triples with literals that ASP tells apart as the regimes do, and without those by
    which a stream would say what classes and properties mean (docs/casp.md)."""
    named = {Iri(f"http://e/{name}") for name in "CDEFpqr"}
    kept = [t for t in triples if t.predicate != SAME or not named & {t.subject, t.object}]
    kept = [t for t in kept if t.predicate != MEMBER and t.object not in SAYING_MORE]
    return tuple(t._replace(object=_simple(t.object)) for t in kept)


def _simple(term: Term) -> Term:
    return LITERALS.get(term.lexical, term) if isinstance(term, Literal) else term


def over(
    regime: Entailment, static: tuple[Triple, ...], text: str
) -> tuple[Request, Callable[[KnowledgeSource, str], KnowledgeBase]]:
    """A request over a knowledge base of these triples, and what reads it."""
    source = KnowledgeSource("kb.ttl", regime)

    def read(_source: KnowledgeSource, _scope: str) -> KnowledgeBase:
        return KnowledgeBase(source, static)

    bare = parse(HEAD.format(regime=regime) + text)
    return inferring(replace(bare, knowledge=(source,)), read), read


def agrees(regime: Entailment, data: st.DataObject) -> None:
    """Both engines answer what the closure says, or nothing where it contradicts itself."""
    static, items = (plain(data.draw(drawn)) for drawn in (schema(regime), instances(regime)))
    assume(not closure(static, regime).inconsistencies)
    what, read = over(regime, static, SHOWN)
    known = closure([*static, *items], regime)
    rules = {told.partition("(rule ")[2].partition(")")[0] for told in known.inconsistencies}
    assume(not rules & LOST)
    for engine in ENGINES:
        found = last(what, [(1, items)], engine, read)
        assert bool(found.answer_sets) is not bool(rules)
        if not rules:
            mapper = Mapper(what)
            everything = (*static, *items, *known.inferred)
            expected = {a for t in everything for a in mapper.facts(t) if a.split("(")[0] in NAMES}
            assert {a for a in answer(found) if is_triple(a)} == expected


NAMES = {"e_p", "e_q", "e_r", "rdf_type"}


@pytest.mark.parametrize("regime", ["rdfs", "owl-rl"])
@settings(max_examples=4)
@given(data=st.data())
def test_a_window_has_the_atoms_of_its_closure(regime: Entailment, data: st.DataObject) -> None:
    agrees(regime, data)


@pytest.mark.slow
@settings(max_examples=25)
@given(regime=st.sampled_from(REGIMES), data=st.data())
def test_more_windows_have_the_atoms_of_their_closures(
    regime: Entailment, data: st.DataObject
) -> None:
    agrees(regime, data)


def entailed(
    regime: Entailment, static: tuple[Triple, ...], items: Sequence[tuple[int, Sequence[Triple]]]
) -> Iterator[tuple[Triple, int]]:
    """What is asserted, and the instances that follow by the evaluation of RIF."""
    theory = Theory(Document("t"), (), static, regime)
    evaluation = WindowedEvaluation(theory, instances=True)
    for at, triples in items:
        yield from ((triple, at) for triple in triples)
        evaluation.insert(triples, None)
        evaluation.step(at)
        for (name, row), since, _last in evaluation.entailed():
            subject, predicate, other = map(term, (row[0], name, row[1]))
            if isinstance(subject, Iri | Blank):
                yield Triple(subject, cast("Iri", predicate), cast("Term", other)), since


@settings(max_examples=8)
@given(regime=st.sampled_from(REGIMES), data=st.data())
def test_times_of_atoms_are_the_instants_of_instances(
    regime: Entailment, data: st.DataObject
) -> None:
    static = plain(data.draw(schema(regime)) + data.draw(instances(regime, most=2)))
    items = [(at, plain(data.draw(instances(regime, most=3)))) for at in (2, 4, 6)]
    everything = [*static, *(t for _at, triples in items for t in triples)]
    assume(not closure(everything, regime).inconsistencies)
    what, read = over(regime, static, SHOWN.replace("/2", "/3"))
    mapper = Mapper(what)
    known = {
        a for t in (*static, *closure(static, regime).inferred) for a in mapper.facts(t, 0)[-1:]
    }
    expected = {a for t, at in entailed(regime, static, items) for a in mapper.facts(t, at)[-1:]}
    for engine in ENGINES:
        found = {a for a in answer(last(what, items, engine, read)) if is_triple(a)}
        assert _new(found, known) == _new(expected, known)


def is_triple(atom: str) -> bool:
    """Whether the subject is none of the literals of these tests."""
    return atom.partition("(")[2].startswith(('"e_', '"rdf_', '"http', '"_:'))


def _new(found: Iterable[str], known: Collection[str]) -> set[str]:
    """Atoms of the predicates that are shown, without those that always hold."""
    always = {atom.rpartition(",")[0] for atom in known}
    return {a for a in found if a.split("(")[0] in NAMES and a.rpartition(",")[0] not in always}


@pytest.mark.long
@settings(max_examples=80)
@given(regime=st.sampled_from(REGIMES), data=st.data())
def test_many_windows_have_the_atoms_of_their_closures(
    regime: Entailment, data: st.DataObject
) -> None:
    agrees(regime, data)
