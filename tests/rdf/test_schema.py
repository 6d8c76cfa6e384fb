"""Rules specialised to a schema infer of a stream what the regime infers of all of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.languages.rif.document import (
    Document,
    Frame,
    Local,
    RifAtom,
    RifConstant,
    RifRule,
    RifVariable,
)
from citywise.reasoning.languages.rif.evaluation import WindowedEvaluation
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.values import value
from citywise.reasoning.model.request import Entailment
from citywise.reasoning.rdf import ntriples, schema
from citywise.reasoning.rdf.entailment import closure
from citywise.reasoning.rdf.mapping import Iri, Literal, Triple
from citywise.reasoning.rdf.regimes import known
from tests.rdf.graphs import instances, turtle
from tests.rdf.graphs import schema as schemas

REGIMES: tuple[Entailment, ...] = ("rdfs", "owl-rl")
Values = set[tuple[object, object, object]]
DOCUMENT = Document("test.rifps")


def everything(regime: Entailment, static: Sequence[Triple]) -> WindowedEvaluation:
    """Shows all that is inferred: a theory without rules."""
    return WindowedEvaluation(Theory(DOCUMENT, (), tuple(static), regime))


def shown(evaluation: WindowedEvaluation) -> Values:
    """The triples that are shown; literals are no subjects of triples."""
    found = {(row[0], relation, row[1]) for relation, row in evaluation.shown()}
    return {row for row in found if str(row[0])[0] in "<_"}


def values(triples: Sequence[Triple]) -> Values:
    return {(value(s), value(p), value(o)) for s, p, o in triples}


def inferred(
    regime: Entailment, static: Sequence[Triple], stream: Sequence[Triple]
) -> tuple[Values, set[str]]:
    """What follows from all triples and neither is given nor follows from the static ones;
    and the rules that say that they contradict each other."""
    found = closure([*static, *stream], regime)
    known = values(static) | values(closure(static, regime).inferred)
    rules = {told.partition("(rule ")[2].partition(")")[0] for told in found.inconsistencies}
    return values(found.inferred) - known - values(stream), rules


def rules_that_deny(evaluation: WindowedEvaluation) -> set[str]:
    told = evaluation.inconsistencies()
    return {one.partition("(rule ")[2].partition(")")[0] for one in told}


def agrees(regime: Entailment, data: st.DataObject) -> None:
    """Two windows over one schema, of which the second may bring some of its own."""
    static = data.draw(schemas(regime)) + data.draw(instances(regime, most=2))
    evaluation = everything(regime, static)
    windows = [data.draw(instances(regime)) for _ in range(2)]
    if data.draw(st.integers(0, 5)) == 0:
        windows[1] += data.draw(schemas(regime, most=1))
    for now, window in enumerate(windows):
        evaluation.insert(window, now)
        evaluation.step(now)
        expected, denied = inferred(regime, static, window)
        assert shown(evaluation) == expected
        assert rules_that_deny(evaluation) == denied


@pytest.mark.parametrize("regime", REGIMES)
@settings(max_examples=4)
@given(data=st.data())
def test_what_is_inferred_of_a_window_is_the_closure_of_schema_and_window(
    regime: Entailment, data: st.DataObject
) -> None:
    agrees(regime, data)


@pytest.mark.slow
@settings(max_examples=12)
@given(regime=st.sampled_from(REGIMES), data=st.data())
def test_what_is_inferred_of_more_windows_is_the_closure(
    regime: Entailment, data: st.DataObject
) -> None:
    agrees(regime, data)


@pytest.mark.long
@settings(max_examples=500)
@given(regime=st.sampled_from(REGIMES), data=st.data())
def test_what_is_inferred_of_many_windows_is_the_closure(
    regime: Entailment, data: st.DataObject
) -> None:
    agrees(regime, data)


SEEN = "_seen/1"


def asking(asked: Iri, of: Iri | None) -> RifRule:
    """A rule that sees what has a property, or a type."""
    x = RifVariable("x")
    found = RifVariable("y") if of is None else RifConstant(of)
    body = Frame(x, ((RifConstant(asked), found),))
    return RifRule((RifAtom(Local("seen"), (x,)),), body)


def seen(evaluation: WindowedEvaluation) -> set[object]:
    """What the rule sees, without literals."""
    found = {row[0] for relation, row in evaluation.shown() if relation == SEEN}
    return {one for one in found if str(one)[0] in "<_"}


@settings(max_examples=12)
@given(regime=st.sampled_from(REGIMES), data=st.data())
def test_a_rule_sees_all_that_is_inferred_of_what_it_asks_for(
    regime: Entailment, data: st.DataObject
) -> None:
    static, window = data.draw(schemas(regime)), data.draw(instances(regime))
    asked, of = data.draw(
        st.sampled_from(
            [(Iri("http://e/p"), None), (schema.TYPE, Iri("http://e/C")), (schema.TYPE, None)]
        )
    )
    evaluation = WindowedEvaluation(Theory(DOCUMENT, (asking(asked, of),), static, regime))
    evaluation.insert(window, 1)
    evaluation.step(1)
    everything = values([*static, *window, *closure([*static, *window], regime).inferred])
    expected = {s for s, p, o in everything if p == value(asked) and (of is None or o == value(of))}
    assert seen(evaluation) == expected


def specialised(regime: Entailment, text: str, *wanted: schema.SchemaKey) -> schema.Specialised:
    return schema.specialised(regime, turtle(text), wanted or None)


def test_each_property_has_a_rule_of_its_own_and_classes_share_a_table() -> None:
    text = ":p rdfs:subPropertyOf :q . :C rdfs:subClassOf :D . :D rdfs:subClassOf :E ."
    found = specialised("rdfs", text)
    named = [rule.name for rule in found.rules]
    assert named.count("rdfs7") == 1
    assert named.count("rdfs9") == 1
    rows = next(rows for name, rows in found.tables.items() if name.startswith("rdfs9"))
    pairs = {tuple(ntriples.write(term)[10:-1] for term in row) for row in rows}
    assert {("C", "D"), ("C", "E"), ("D", "E")} <= pairs


def test_rules_on_which_nothing_depends_are_left_out() -> None:
    text = ":p rdfs:domain :C . :q rdfs:domain :D . :C rdfs:subClassOf :E ."
    wanted = schema.SchemaKey("t", schema.TYPE, Iri("http://e/E"))
    found = specialised("owl-rl", text, wanted)
    domains = [rule for rule in found.rules if rule.name == "prp-dom"]
    asked = [terms[1] for rule in domains for terms in [next(iter(rule.looks.values())).terms]]
    assert list(map(known, asked)) == [Iri("http://e/p")]


def test_without_anything_that_makes_things_equal_no_rule_copies_triples() -> None:
    assert not [r for r in specialised("owl-rl", ":p a owl:SymmetricProperty .").rules
                if r.name.startswith("eq-rep")]  # fmt: skip
    assert [r for r in specialised("owl-rl", ":p a owl:FunctionalProperty .").rules
            if r.name.startswith("eq-rep")]  # fmt: skip


def test_schema_that_comes_on_the_stream_counts_while_it_is_there() -> None:
    evaluation = everything("rdfs", turtle(":C rdfs:subClassOf :D ."))
    evaluation.insert(turtle(":a a :C ."), 9)
    evaluation.step(1)
    is_a = {(s, o) for s, p, o in shown(evaluation) if p == value(schema.TYPE)}
    assert ("<http://e/a>", "<http://e/D>") in is_a
    evaluation.insert(turtle(":D rdfs:subClassOf :E ."), 2)
    evaluation.step(2)
    assert ("<http://e/a>", value(schema.TYPE), "<http://e/E>") in shown(evaluation)
    evaluation.step(3)
    assert ("<http://e/a>", value(schema.TYPE), "<http://e/E>") not in shown(evaluation)
    assert ("<http://e/a>", value(schema.TYPE), "<http://e/D>") in shown(evaluation)


def test_what_documents_state_of_classes_is_schema() -> None:
    subclass = RifConstant(Iri("http://www.w3.org/2000/01/rdf-schema#subClassOf"))
    said = RifRule(
        (Frame(RifConstant(Iri("http://e/C")), ((subclass, RifConstant(Iri("http://e/D"))),)),)
    )
    rule = asking(schema.TYPE, Iri("http://e/D"))
    evaluation = WindowedEvaluation(Theory(DOCUMENT, (said, rule), (), "rdfs"))
    evaluation.insert(turtle(":a a :C ."), 1)
    evaluation.step(1)
    assert seen(evaluation) == {"<http://e/a>"}


@pytest.mark.parametrize(
    ("static", "stream", "rule"),
    [
        (":C owl:disjointWith :D .", ":a a :C, :D .", "cax-dw"),
        (":p rdfs:range xsd:string .", ":a :p 1 .", "dt-type"),
        (":p a owl:FunctionalProperty .", ":a :p 1, 2 .", "dt-diff"),
        (":C owl:hasValue 1; owl:onProperty :p . :p rdfs:range :D . :D owl:complementOf :D .",
         ":a a :C .", "cls-com"),
    ],
)  # fmt: skip
def test_an_inconsistency_is_told_in_words_while_it_is_there(
    static: str, stream: str, rule: str
) -> None:
    evaluation = everything("owl-rl", turtle(static))
    evaluation.insert(turtle(stream), 1)
    evaluation.step(1)
    assert rule in rules_that_deny(evaluation)
    evaluation.step(2)
    assert not evaluation.inconsistencies()


def test_values_that_are_equal_are_not_told_apart() -> None:
    evaluation = everything("owl-rl", turtle(":p a owl:FunctionalProperty ."))
    one = Triple(
        Iri("http://e/a"),
        Iri("http://e/p"),
        Literal("01", "http://www.w3.org/2001/XMLSchema#integer"),
    )
    evaluation.insert([*turtle(":a :p 1, 1.0 ."), one], 1)
    evaluation.step(1)
    assert not evaluation.inconsistencies()
