"""A theory is evaluated from one instant to the next."""

from __future__ import annotations

import pytest

from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.errors import ItemError, SolvingError
from citywise.reasoning.languages.rif.compile import compiled
from citywise.reasoning.languages.rif.evaluation import Inbox, WindowedEvaluation
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.values import value
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.rdf.datatypes import EXAMPLES
from citywise.reasoning.rdf.entailment import closure
from citywise.reasoning.rdf.mapping import RDF, RDFS, XSD, Iri, Literal, Triple
from citywise.reasoning.rdf.regimes import NAMESPACES
from tests.rif.written import EX, at_once, holding, text, theory_of, triple

COPY = "Forall ?x ?y (ex:h(?x ?y) :- ?x[ex:p -> ?y])"
ANY = "Forall ?x ?p ?y (ex:any(?p) :- ?x[?p -> ?y])"
INVERSE = "Forall ?x ?p ?y ?q (?y[?q -> ?x] :- And(?p[ex:inverse -> ?q] ?x[?p -> ?y]))"


def _moved(evaluation: WindowedEvaluation) -> tuple[list[str], list[str]]:
    return sorted(map(text, evaluation.came())), sorted(map(text, evaluation.gone()))


# -- what is looked at ----------------------------------------------------------------------


def test_triples_that_no_rule_sees_do_not_come_in() -> None:
    evaluation = WindowedEvaluation(theory_of(COPY))
    evaluation.insert([triple("a p b"), triple("a q b")], 9)
    evaluation.step(1)
    assert holding(evaluation) == ["h(a,b)"]
    assert compiled(theory_of(COPY)).inputs == {f"<{EX}p>"}


def test_triples_with_an_object_that_no_rule_looks_for_do_not_come_in() -> None:
    rules = "Forall ?x (ex:h(?x) :- ?x[ex:p -> ex:a]) Forall ?x (ex:k(?x) :- ?x[ex:p -> ex:b])"
    found = compiled(theory_of(rules))
    assert found.placed(f"<{EX}p>", ("<s>", f"<{EX}a>")) is not None
    assert found.placed(f"<{EX}p>", ("<s>", f"<{EX}c>")) is None
    inbox, evaluation = Inbox(found), RuleEvaluation(found.program)
    inbox.insert(map(triple, ("s p a", "s p b", "s p c")), 1)
    inbox.deliver(evaluation, 1)
    evaluation.step(1)
    assert len(evaluation.given(f"<{EX}p>")) == 2
    assert at_once(f"{rules} {ANY}", "s p c") == ["any(p)"]


def test_programs_without_variable_properties_have_no_relation_of_all_triples() -> None:
    rules = compiled(theory_of(COPY, "a p b", "a q b")).program.rules
    assert not any("triple" in str(rule) for rule in rules)


def test_a_variable_property_sees_what_comes_and_what_is_derived() -> None:
    rules = f"{ANY} Forall ?x ?y (?x[ex:k -> ?y] :- ?x[ex:p -> ?y]) ex:s[ex:f -> ex:o]"
    assert at_once(rules, "a p b", "a q b") == [
        "a k b", "any(f)", "any(k)", "any(p)", "any(q)", "s f o",
    ]  # fmt: skip


def test_what_is_derived_of_a_variable_property_is_seen_by_rules_of_that_property() -> None:
    rules = f"{INVERSE} {COPY} ex:q[ex:inverse -> ex:p]"
    assert at_once(rules, "a q b") == ["b p a", "h(b,a)", "q inverse p"]


def test_a_fact_of_a_variable_property_is_shown_once() -> None:
    """A rule names the property, another derives it through a variable."""
    rules = f"{INVERSE} Forall ?x ?y (?y[ex:p -> ?x] :- ?x[ex:q -> ?y])"
    inverse = "q inverse p", "r inverse p"
    assert at_once(rules, *inverse, "a q b", "c r d") == ["b p a", "d p c"]


def test_membership_is_the_triple_of_rdf_type() -> None:
    rules = "Forall ?x (ex:h(?x) :- ?x # ex:C) Forall ?x (ex:k(?x) :- ?x[rdf:type -> ex:C])"
    evaluation = WindowedEvaluation(theory_of(rules))
    evaluation.insert([Triple(Iri(EX + "a"), Iri(RDF + "type"), Iri(EX + "C"))], None)
    evaluation.step(1)
    assert holding(evaluation) == ["h(a)", "k(a)"]


def test_an_ill_typed_literal_lets_none_of_its_triples_count() -> None:
    evaluation = WindowedEvaluation(theory_of(COPY))
    odd = Triple(Iri(EX + "a"), Iri(EX + "p"), Literal("x", XSD + "integer"))
    with pytest.raises(ItemError):
        evaluation.insert([triple("a p b"), odd], 9)
    evaluation.step(1)
    assert holding(evaluation) == []


def test_static_triples_hold_for_ever() -> None:
    evaluation = WindowedEvaluation(theory_of(COPY, "a p b"))
    evaluation.insert([triple("a p c")], 2)
    evaluation.step(2)
    assert holding(evaluation) == ["h(a,b)", "h(a,c)"]
    evaluation.step(1000)
    assert holding(evaluation) == ["h(a,b)"]
    assert _moved(evaluation) == ([], ["h(a,c)"])


def test_of_several_ends_the_last_counts() -> None:
    evaluation = WindowedEvaluation(theory_of(COPY))
    evaluation.insert([triple("a p b")], 5)
    evaluation.insert([triple("a p b")], 3)
    evaluation.step(1)
    evaluation.step(4)
    assert holding(evaluation) == ["h(a,b)"]
    evaluation.insert([triple("a p b")], None)
    evaluation.step(5)
    evaluation.step(6)
    assert holding(evaluation) == ["h(a,b)"]


# -- instances ------------------------------------------------------------------------------


def _instances(evaluation: WindowedEvaluation) -> tuple[list[str], list[str]]:
    told = (evaluation.entailed(), evaluation.negated())
    first, second = (sorted(f"{text(f)} {s}..{e}" for f, s, e in found) for found in told)
    return first, second


def test_an_instance_has_the_latest_instant_and_the_earliest_end_of_its_justification() -> None:
    both = "Forall ?x (ex:h(?x) :- And(?x[ex:p -> ex:o] ?x[ex:q -> ex:o]))"
    evaluation = WindowedEvaluation(theory_of(both), instances=True)
    evaluation.insert([triple("a p o")], 3)
    evaluation.step(1)
    assert _instances(evaluation) == ([], [])
    evaluation.insert([triple("a q o")], 4)
    evaluation.step(2)
    assert _instances(evaluation) == (["h(a) 2..3"], [])
    evaluation.step(4)
    assert _instances(evaluation) == ([], ["h(a) 2..3"])


def test_a_fact_derived_again_is_another_instance_and_not_another_fact() -> None:
    evaluation = WindowedEvaluation(theory_of(COPY), instances=True)
    evaluation.insert([triple("a p b")], 4)
    evaluation.step(1)
    evaluation.insert([triple("a p b")], 5)
    evaluation.step(2)
    assert _instances(evaluation) == (["h(a,b) 2..5"], [])
    assert _moved(evaluation) == ([], [])
    evaluation.step(5)
    assert _instances(evaluation) == ([], ["h(a,b) 1..4"])
    assert holding(evaluation) == ["h(a,b)"]


def test_what_rests_on_static_facts_alone_is_no_instance_of_the_stream() -> None:
    evaluation = WindowedEvaluation(theory_of(COPY, "a p b"), instances=True)
    evaluation.step(1)
    assert _instances(evaluation) == ([], [])
    assert _moved(evaluation) == (["h(a,b)"], [])
    evaluation.insert([triple("a p b")], None)
    evaluation.step(2)
    assert _instances(evaluation) == (["h(a,b) 2..None"], [])


# -- limits ---------------------------------------------------------------------------------

COUNTING = """
Forall ?x ?n (?x[ex:n -> External(func:numeric-add(?n 1))] :- And(?x[ex:n -> ?n] ex:go(?x)))
"""


@pytest.mark.parametrize("instances", [False, True])
def test_after_a_limit_it_goes_on_with_what_counts(instances: bool) -> None:
    evaluation = WindowedEvaluation(theory_of(COUNTING + COPY), instances, Limits(atoms=2000))
    evaluation.insert([triple("a p b")], 3)
    evaluation.insert([triple("a n 1")], 9)
    evaluation.step(1)
    evaluation.insert_facts([(f"<{EX}go>/1", (f"<{EX}a>",))], 2)
    evaluation.insert([triple("a p c")], 5)
    with pytest.raises(LimitError, match=r"`citywise check`.*: ex:n \([0-9,]+ atoms\), ex:p \("):
        evaluation.step(2)
    evaluation.insert([triple("a p d")], 9)
    evaluation.step(4)
    assert holding(evaluation) == ["h(a,c)", "h(a,d)"]
    assert _moved(evaluation) == (["h(a,c)", "h(a,d)"], ["h(a,b)"])
    if instances:
        expected = ["h(a,c) 2..5", "h(a,d) 4..9"], ["h(a,b) 1..3"]
        assert _instances(evaluation) == expected
    evaluation.step(6)
    assert _moved(evaluation) == ([], ["h(a,c)"])


SQUARES = """
Forall ?x ?n (?x[ex:n -> External(func:numeric-multiply(?n ?n))] :- ?x[ex:n -> ?n])
"""


@pytest.mark.parametrize("instances", [False, True])
def test_after_a_number_that_is_too_long_it_goes_on_with_what_counts(instances: bool) -> None:
    evaluation = WindowedEvaluation(theory_of(SQUARES + COPY), instances)
    evaluation.insert([triple("a n 12")], 3)
    evaluation.insert([triple("a p b")], 9)
    with pytest.raises(SolvingError, match="1000 digits"):
        evaluation.step(1)
    evaluation.step(4)
    assert holding(evaluation) == ["h(a,b)"]


# -- regimes --------------------------------------------------------------------------------

C_IN_D = Triple(Iri(EX + "C"), Iri(RDFS + "subClassOf"), Iri(EX + "D"))


def _typed(name: str) -> Triple:
    return Triple(Iri(EX + name), Iri(RDF + "type"), Iri(EX + "C"))


@pytest.mark.parametrize("instances", [False, True])
def test_schema_on_the_stream_makes_seen_what_no_rule_looked_for(instances: bool) -> None:
    """And after a window without it all is as before."""
    said = theory_of("Forall ?x (ex:h(?x) :- ?x # ex:D)")
    theory = Theory(said.document, said.rules, (), "rdfs")
    evaluation = WindowedEvaluation(theory, instances)
    evaluation.insert([_typed("a")], 9)
    evaluation.step(1)
    assert holding(evaluation) == []
    evaluation.insert([C_IN_D], 3)
    evaluation.insert([_typed("b")], 2)
    evaluation.step(2)
    assert holding(evaluation) == ["h(a)", "h(b)"]
    assert _moved(evaluation) == (["h(a)", "h(b)"], [])
    if instances:
        assert _instances(evaluation) == (["h(a) 2..3", "h(b) 2..2"], [])
    evaluation.step(3)
    assert _moved(evaluation) == ([], ["h(b)"])
    evaluation.step(4)
    assert holding(evaluation) == []


MOMENTS = [
    ("2024-03-15T00:00:00Z", "2024-03-15T01:00:00+01:00", 1),
    ("-0044-03-15T00:00:00Z", "12024-03-15T00:00:00", 1),
    ("-0044-03-15T00:00:00Z", "-0044-03-15T00:00:00.0+00:00", 0),
    ("2024-03-15T24:00:00Z", "2024-03-16T00:00:00Z", 0),
]


@pytest.mark.parametrize(("left", "right", "contradictions"), MOMENTS)
def test_moments_of_the_stream_contradict_each_other_where_those_of_a_closure_do(
    left: str, right: str, contradictions: int
) -> None:
    """And each contradiction is told once, though it holds both ways round."""
    kind = Iri(NAMESPACES["owl"] + "FunctionalProperty")
    static = Triple(Iri(EX + "p"), Iri(RDF + "type"), kind)
    stream = [
        Triple(Iri(EX + "a"), Iri(EX + "p"), Literal(text, XSD + "dateTime"))
        for text in (left, right)
    ]
    said = theory_of(COPY)
    evaluation = WindowedEvaluation(Theory(said.document, said.rules, (static,), "owl-rl"))
    evaluation.insert(stream, 9)
    evaluation.step(1)
    told = list(evaluation.inconsistencies())
    assert told == list(closure([static, *stream], "owl-rl").inconsistencies)
    assert len(told) == contradictions


@pytest.mark.parametrize("opened", [False, True])
def test_a_literal_of_any_datatype_is_inferred_about(opened: bool) -> None:
    """Among them moments before and after the years that Python's calendar has."""
    at = Triple(Iri(EX + "p"), Iri(RDFS + "subPropertyOf"), Iri(EX + "q"))
    said = theory_of("Forall ?x ?y (ex:h(?x ?y) :- ?x[ex:q -> ?y])")
    theory = Theory(said.document, said.rules, () if opened else (at,), "rdfs")
    evaluation = WindowedEvaluation(theory)
    readings = [Literal(text, name) for name, text in EXAMPLES.items()]
    readings += [Literal(f"{year}-03-15T00:00:00Z", XSD + "dateTime") for year in ("-0044", 12024)]
    evaluation.insert([Triple(Iri(EX + "a"), Iri(EX + "p"), each) for each in readings], 9)
    evaluation.insert([at], 9)
    evaluation.step(1)
    assert {row[1] for _name, row in evaluation.shown()} == set(map(value, readings))
    assert list(evaluation.inconsistencies()) == []


# -- theories without rules -----------------------------------------------------------------


def test_without_rules_what_the_regime_infers_of_the_stream_is_shown() -> None:
    """Not what static triples entail, and not what is asserted."""
    theory = Theory(theory_of("").document, (), (C_IN_D, _typed("a")), "rdfs")
    evaluation = WindowedEvaluation(theory, instances=True)
    evaluation.insert([_typed("b")], 2)
    evaluation.step(1)
    kind = f"<{RDF}type>"
    shown = (kind, (f"<{EX}b>", f"<{EX}D>"))
    assert shown in set(evaluation.shown())
    assert [each for each in evaluation.entailed() if each.fact == shown] == [(shown, 1, 2)]
    assert (kind, (f"<{EX}a>", f"<{EX}D>")) not in set(evaluation.shown())
    assert (kind, (f"<{EX}b>", f"<{EX}C>")) not in set(evaluation.shown())
    evaluation.step(3)
    assert list(evaluation.shown()) == []
    assert shown in {each.fact for each in evaluation.negated()}
