"""Relations whose rows only one instance of one rule can give are not looked up, only kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.relation import Relation
from citywise.reasoning.engines.incremental.views import atom_texts, plain_texts
from citywise.reasoning.model.rules import Program
from tests.incremental.changes import Change, Example, Inserted, Retracted, Step
from tests.incremental.test_core import compare
from tests.incremental.test_core_traps import rules, steps

TRIPLES = rules("q(K,X) :- a(K,X), X != 7.  t(X,K,Y,Z) :- q(1,X), q(K,Y), q(2,Z), K < 3, Y != Z.")
PAIRS = rules("t(X,Y,Z) :- a(X,Y), b(Y,Z).  u(X,Y) :- a(X,Y), a(Y,X).  v(X,Y) :- c(X), c(Y).")


@st.composite
def arriving(draw: DrawFn) -> tuple[Step, ...]:
    """Mostly rows that are new, up to instants of their own; now and then one of before."""
    now, number, found = 0, 0, []
    for _ in range(draw(st.integers(1, 8))):
        changes: list[Change] = []
        for _ in range(draw(st.integers(0, 4))):
            number += draw(st.sampled_from([1, 1, 1, 1, 1, 0]))
            end = now + draw(st.integers(0, 4))
            pair = draw(st.integers(1, 3)), 100 + number
            name = draw(st.sampled_from(["a/2", "a/2", "b/2", "c/1"]))
            if name == "b/2" or draw(st.booleans()):
                pair = 100 + number, pair[draw(st.integers(0, 1))]
            row = pair[1:] if name == "c/1" else pair
            changes.append(Inserted(name, (row,), end))
        if draw(st.integers(0, 9)) == 0:
            changes.append(Retracted("a/2", ((1, 100 + number),)))
        found.append(Step(tuple(changes), now))
        now += draw(st.integers(0, 3))
    return tuple(found)


@settings(max_examples=40)
@given(st.sampled_from([TRIPLES, PAIRS]), arriving())
def test_rows_found_once_are_those_of_the_reference(
    program: Program, moves: tuple[Step, ...]
) -> None:
    compare(Example(program, moves))


@pytest.mark.slow
@settings(max_examples=150)
@given(st.sampled_from([TRIPLES, PAIRS]), arriving())
def test_more_rows_found_once_are_those_of_the_reference(
    program: Program, moves: tuple[Step, ...]
) -> None:
    compare(Example(program, moves))


def test_rows_found_once_are_listed_when_one_of_their_body_holds_longer() -> None:
    engine = RuleEvaluation(TRIPLES)
    for step in steps("1: a(1,3)..4 a(2,5)..6 a(2,6)..9\n2: a(1,4)..5"):
        step.apply(engine)
    relation = engine._found("t/4")
    assert _looked_up(relation) == 0
    assert len(relation) == len(engine.rows("t/4")) == 12
    (longer,) = steps("3: a(1,3)..8")
    longer.apply(engine)
    assert _looked_up(relation) == 12
    assert engine.horizons("t/4", [(3, 2, 5, 6)]) == [6]


def test_rows_that_nobody_reads_are_told_by_their_horizons() -> None:
    engine = RuleEvaluation(rules("p(X) :- a(X).  q(X) :- b(X,Y), c(Y)."))
    for step in steps("1: a(1)..4 a(2)..4 a(3)..4\n2: a(2)..6 a(3)..3 a(4)..3"):
        step.apply(engine)
    assert sorted(engine.came("p/1")) == [(4,)]
    engine.step(4)
    assert (engine.came("p/1"), engine.gone("p/1")) == ((), ((4,),))
    engine.insert("a/1", [(1,), (4,)], 7)
    engine.step(5)
    assert (engine.came("p/1"), engine.gone("p/1")) == (((4,),), ((3,),))
    assert engine.rows("p/1") == ((2,), (1,), (4,))
    assert not engine._found("p/1").listed


def test_rows_that_nobody_reads_are_listed_where_many_hold_longer() -> None:
    engine = RuleEvaluation(rules("p(X) :- a(X)."))
    many = [(1000 + number,) for number in range(400)]
    for end in range(5, 15):
        engine.insert("a/1", many[:200] if end < 14 else many, end)
        engine.insert("a/1", [(100 + end,)], end)
        engine.step(end - 4)
    assert engine._found("p/1").listed
    assert set(engine.horizons("p/1", many)) == {14}
    engine.retract("a/1", many)
    engine.step(11)
    assert sorted(engine.gone("p/1")) == [(110,), *many]


def _looked_up(relation: Relation) -> int:
    assert relation.listed is bool(relation.horizons)
    return len(relation.horizons)


def test_an_answer_without_functions_is_known_to_be_plain() -> None:
    engine = RuleEvaluation(PAIRS)
    for text, plain in (("1: a(1,2)..3", True), ("2: a(f(1),2)..3", False), ("5: c(1)", False)):
        (step,) = steps(text)
        step.apply(engine)
        assert engine.is_plain(10) is plain
    engine.step(6)
    assert engine.is_plain(10)
    assert not engine.is_plain(0)
    assert not RuleEvaluation(rules("p(f(X)) :- c(X).")).is_plain(10)


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(["a", '"b,c"', "#inf"]))))
def test_plain_atoms_are_written_as_others_are(rows: list[tuple[int, str]]) -> None:
    assert plain_texts("-p", rows) == atom_texts("-p", list(rows))
    assert plain_texts("p", [()] * len(rows)) == atom_texts("p", [()] * len(rows))
