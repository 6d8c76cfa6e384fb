"""The incremental engine keeps to its limits, wherever it is, and holds no more than it must."""

from __future__ import annotations

import time

import pytest

from citywise.reasoning.asp.translation.program import UnsupportedError, translate
from citywise.reasoning.engines.incremental.component import Watch
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.relation import Relation
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.engine import AspProgram as Rules
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import (
    Between,
    Compare,
    NestingError,
    Program,
    Rule,
    Scan,
    without_copies,
)
from citywise.reasoning.model.values import Compound, Constant, Row, Variable

X, Y, Z = map(Variable, "XYZ")
_BOUND_S = 60.0
"""Far more than a limit of 0.2 s, far less than any of these would take."""


def _one(term: Variable) -> Scan:
    return Scan("e", (term,))


ENDLESS = {
    "a product of three": Rule("p", (X, Y, Z), (_one(X), _one(Y), _one(Z))),
    "an interval": Rule("p", (X,), (_one(Y), Between(X, Constant(1), Constant(10**9)))),
    "an interval of its own": Rule("p", (X,), (Between(X, Constant(1), Constant(10**9)),)),
    "many partners": Rule(
        "p", (X, Y, Z), (Scan("f", (X, Constant(1))), Scan("f", (Y, Constant(1))), _one(Z))
    ),
}


@pytest.mark.parametrize("rule", ENDLESS.values(), ids=ENDLESS)
def test_a_rule_that_joins_for_ever_is_stopped_in_time(rule: Rule) -> None:
    program = Program((rule,), (), frozenset({"e", "f"}))
    evaluation = RuleEvaluation(program, Limits(seconds=0.2))
    evaluation.insert("e", [(number,) for number in range(3000)])
    evaluation.insert("f", [(number, 1) for number in range(3000)])
    started = time.monotonic()
    with pytest.raises(LimitError, match=r"more than 0\.2 s"):
        evaluation.step(0)
    assert time.monotonic() - started < _BOUND_S


def test_a_step_that_eats_memory_is_stopped() -> None:
    rule = ENDLESS["an interval of its own"]
    limits = Limits(seconds=60, megabytes=50, atoms=10**9)
    evaluation = RuleEvaluation(Program((rule,), (), frozenset({"e"})), limits)
    with pytest.raises(LimitError, match="more than 50 MB"):
        evaluation.step(0)


def test_memory_that_was_there_before_a_step_is_not_the_steps() -> None:
    """The process of the tests holds far more than 10 MB; the rule, which finds nothing, none."""
    circle = (Compare("<", X, Y), Compare("<", Y, Z), Compare("<", Z, X))
    rule = Rule("p", (X,), (_one(X), _one(Y), _one(Z), *circle))
    limits = Limits(seconds=0.3, megabytes=10)
    evaluation = RuleEvaluation(Program((rule,), (), frozenset({"e"})), limits)
    evaluation.insert("e", [(number,) for number in range(3000)])
    with pytest.raises(LimitError, match=r"more than 0\.3 s"):
        evaluation.step(0)


def test_a_quick_step_with_too_many_rows_is_stopped_too() -> None:
    rule = Rule("p", (X, Y), (_one(X), _one(Y)))
    evaluation = RuleEvaluation(Program((rule,), (), frozenset({"e"})), Limits(atoms=500))
    evaluation.insert("e", [(number,) for number in range(22)])
    with pytest.raises(LimitError, match=r"more than 500 ground atoms; what grew: p \(484 atoms\)"):
        evaluation.step(0)


def test_rows_that_come_and_are_withdrawn_again_leave_nothing() -> None:
    relation = Relation("r")
    rows: list[Row] = [(number,) for number in range(100)]
    for step in range(1000):
        relation.give(dict.fromkeys(rows, 10_000 + step), 10_000 + step)
        relation.drop(rows)
        relation.settle()
    assert relation.scheduled < 5000


def test_rows_that_hold_longer_again_and_again_leave_nothing() -> None:
    relation = Relation("r")
    relation.absorb([(2,)], [20_000])
    for step in range(5000):
        relation.absorb([(1,)], [10_000 + step])
        relation.settle()
    assert relation.scheduled < 2000
    relation.expire(0, 14_999)
    assert relation.horizons == {(1,): 14_999, (2,): 20_000}
    relation.expire(14_999, 15_000)
    assert relation.horizons == {(2,): 20_000}
    relation.expire(15_000, 20_001)
    assert not relation.horizons


def test_terms_that_nest_in_recursion_are_left_to_the_solver() -> None:
    """Python's recursion over them ends the process, clingo's does not."""
    deeper = Rule("n", (Compound("f", (X,)),), (Scan("n", (X,)),), "3")
    with pytest.raises(NestingError, match="rule 3 may nest terms deeper and deeper"):
        RuleEvaluation(Program((deeper,)))
    built = Rule("n", (Compound("f", (X,)),), (_one(X),))
    RuleEvaluation(Program((built,), (), frozenset({"e"})))
    rules = Rules("r", "n(0).\nn(f(X)) :- n(X), e(X).\n")
    with pytest.raises(UnsupportedError, match="line 2 may nest terms deeper and deeper"):
        translate(rules, frozenset({Signature("e", 1)}))


def test_time_in_which_nothing_is_computed_does_not_count() -> None:
    watch = Watch("r", Limits(seconds=0.1), list)
    watch.begin()
    for _pause in range(3):
        time.sleep(0.15)
        watch.look()
    with pytest.raises(LimitError, match=r"more than 0\.1 s"):
        _look_for_ever(watch)


def _look_for_ever(watch: Watch) -> None:
    while True:
        watch.look()


@pytest.mark.parametrize("distinct", [False, True])
def test_a_rule_with_thousands_of_literals_is_made_in_time_that_grows_with_them(
    distinct: bool,
) -> None:
    names = [f"e{number if distinct else 0}" for number in range(2_000)]
    rule = Rule("p", (X,), tuple(Scan(name, (X,)) for name in names))
    began = time.process_time()
    evaluation = RuleEvaluation(Program((rule,), (), frozenset(names)))
    evaluation.insert("e0", [(1,)])
    evaluation.step(0)
    assert list(evaluation.rows("p")) == ([] if distinct else [(1,)])
    assert time.process_time() - began < 5


def test_a_long_chain_of_copies_is_followed_once() -> None:
    rules = tuple(Rule(f"e{n + 1}", (X,), (Scan(f"e{n}", (X,)),)) for n in range(20_000))
    began = time.process_time()
    program, names = without_copies(Program(rules, (), frozenset({"e0"})))
    assert not program.rules
    assert set(names.values()) == {"e0"}
    assert time.process_time() - began < 3
