"""Inputs that are only joined are columns of numbers, with the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from citywise.reasoning.engines.incremental import columns, relation
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.rules import Program
from tests.incremental.changes import Change, Inserted, Retracted, Step
from tests.incremental.naive import Naive
from tests.incremental.test_core import agree
from tests.incremental.test_core_traps import rules

JOIN = rules("t(X,Z) :- a(X,Y), a(Y,Z).")
TWO = rules(
    "t(X,Z) :- a(X,Y), b(Y,Z).  u(Z,X) :- a(X,Y), a(Y,Z).  v(Y) :- b(X,Y), a(X,Y)."
    "w(X) :- t(X,Y), not u(X,Y).  x(X,Y) :- u(X,Y), w(X)."
)
MIXED = rules("t(X,Z) :- a(X,Y), a(Y,Z).  t(X,Y) :- c(X,Y), not d(Y).  r(X) :- t(X,X).")
THREE = rules("t(X,A) :- a(X,Y,K), b(K,Y,A).  u(X) :- a(X,Y,K), a(K,Y,X).")


@contextmanager
def at_once(longest: int = 16, repeated: int = 1, spare: int = 2) -> Iterator[None]:
    """Few rows are many; arrays are small."""
    with (
        patch.object(relation, "_MANY", 1),
        patch.object(columns, "_LONGEST", longest),
        patch.object(columns, "_REPEATED", repeated),
        patch.object(columns, "_SPARE", spare),
    ):
        yield


@st.composite
def moves(draw: DrawFn, program: Program) -> tuple[Step, ...]:
    """Rows of inputs that mostly hold as long as each other, and are seldom taken back."""
    now, found = 0, []
    width = draw(st.integers(0, 6))
    values = draw(st.sampled_from([4, 12, 40]))
    for _ in range(draw(st.integers(1, 12))):
        changes: list[Change] = []
        for name in draw(st.lists(st.sampled_from(sorted(program.inputs)), max_size=4)):
            value = st.integers(0, values)
            arity = int(name[-1])
            rows = draw(st.lists(st.tuples(*[value] * arity), min_size=1, max_size=8))
            odd = draw(st.integers(0, 30))
            if odd == 0:
                changes.append(Retracted(name, tuple(rows)))
            else:
                end = draw(st.none() | st.integers(now, now + 4)) if odd == 1 else now + width
                changes.append(Inserted(name, tuple(rows), end))
        found.append(Step(tuple(changes), now))
        now += draw(st.sampled_from([1, 1, 1, 0, 2, 5]))
    return tuple(found)


def compare(program: Program, steps: tuple[Step, ...], seen: int) -> None:
    """The engine says the same as its reference; inputs are looked at from a step on."""
    engine, reference = RuleEvaluation(program), Naive(program)
    heads = sorted({rule.head for rule in program.rules})
    for number, step in enumerate(steps):
        step.apply(engine)
        step.apply(reference)
        for name in [*heads, *(sorted(program.inputs) if number >= seen else [])]:
            agree(f"{number} {name}", engine.rows(name), reference.rows(name))
            agree(f"{number} came {name}", engine.came(name), reference.came(name))
            agree(f"{number} gone {name}", engine.gone(name), reference.gone(name))


@st.composite
def runs(draw: DrawFn) -> tuple[Program, tuple[Step, ...], int, int, int]:
    """A program, what happens, and when and how columns are left."""
    program = draw(st.sampled_from([TWO, MIXED, THREE]))
    steps = draw(moves(program))
    longest, repeated = draw(st.integers(2, 16)), draw(st.integers(1, 8))
    return program, steps, draw(st.integers(0, 20)), longest, repeated


@settings(max_examples=25)
@given(runs())
def test_joins_of_columns_are_those_of_the_reference(
    run: tuple[Program, tuple[Step, ...], int, int, int],
) -> None:
    program, steps, seen, longest, repeated = run
    with at_once(longest, repeated):
        compare(program, steps, seen)


@pytest.mark.slow
@settings(max_examples=1_000)
@given(runs())
def test_a_thousand_joins_of_columns_are_those_of_the_reference(
    run: tuple[Program, tuple[Step, ...], int, int, int],
) -> None:
    program, steps, seen, longest, repeated = run
    with at_once(longest, repeated):
        compare(program, steps, seen)


def in_columns(engine: RuleEvaluation, name: str) -> bool:
    return engine.relations[name].columns is not None


def test_columns_go_on_while_many_rows_come_and_are_left_when_some_are_taken_back() -> None:
    engine, reference = RuleEvaluation(JOIN), Naive(JOIN)
    with at_once():
        for now in range(30):
            rows = [(str(now * 5 + n), str((now + 1) * 5 + n)) for n in range(5)]
            for each in (engine, reference):
                each.insert("a/2", rows, now + 3)
                if now == 25:
                    each.retract("a/2", rows[:2])
                each.step(now)
            assert in_columns(engine, "a/2") is (now < 25)
            agree(f"{now}", engine.rows("t/2"), reference.rows("t/2"))
    assert len(engine.rows("t/2")) == 15


def test_values_of_all_kinds_are_told_apart() -> None:
    engine = RuleEvaluation(JOIN)
    with at_once():
        engine.insert(
            "a/2", [(0, "1"), (1, 2), ("1", '"1"'), (("f", 1), 0), ('"ø\\n"', ("f", 1))], 3
        )
        engine.step(0)
        assert in_columns(engine, "a/2")
        assert set(engine.rows("t/2")) == {(0, '"1"'), ('"ø\\n"', 0), (("f", 1), "1")}


def test_few_rows_at_a_time_are_listed() -> None:
    engine = RuleEvaluation(JOIN)
    for now in range(60):
        engine.insert("a/2", [(now * 100 + n, -n) for n in range(200 if now < 5 else 2)], now + 3)
        engine.step(now)
        assert in_columns(engine, "a/2") is (now < 37)


def test_rows_that_come_again_and_again_are_listed() -> None:
    engine = RuleEvaluation(JOIN)
    for now in range(3):
        engine.insert("a/2", [(n, n + 1000) for n in range(200)], now + 3)
        engine.step(now)
        assert in_columns(engine, "a/2") is (now < 1)


def test_rows_with_a_common_key_are_listed() -> None:
    engine = RuleEvaluation(JOIN)
    rows = [(n, 1) for n in range(200)] + [(1, n) for n in range(200)]
    engine.insert("a/2", rows, 3)
    engine.step(0)
    assert not in_columns(engine, "a/2")
    assert len(engine.rows("t/2")) == 200 * 200


def test_a_limit_on_rows_holds_for_columns() -> None:
    engine = RuleEvaluation(JOIN, Limits(atoms=300))
    engine.insert("a/2", [(n, n + 1000) for n in range(200)], 3)
    engine.step(0)
    engine.insert("a/2", [(n, n + 2000) for n in range(200)], 4)
    with pytest.raises(LimitError):
        engine.step(1)
