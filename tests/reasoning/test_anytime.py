"""The best answer within a time."""

from __future__ import annotations

import time
from typing import cast

import pytest
from clingo import SolveHandle

from citywise.reasoning.engines.clingo.solver import AnytimeEngine, _over
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.limits import LimitError
from citywise.reasoning.model.engine import AnswerSet, WindowFacts

LEAST = "1 { pick(X) : offer(X,_) }. #minimize { C@2,X : pick(X), offer(X,C) }. #show pick/1."
QUEENS = """
1 { queen(I,J) : J = 1..n } 1 :- I = 1..n.  n(n).
:- queen(I,J), queen(K,J), I < K.
:- queen(I,J), queen(K,L), I < K, L-J = K-I.
:- queen(I,J), queen(K,L), I < K, J-L = K-I.
#minimize { I*J*(I*I+7*J)\\101@1,I,J : queen(I,J) }.
#show queen/2.
"""
PLENTY_S = 60.0


def engine(rules: str) -> AnytimeEngine:
    return AnytimeEngine(parse(rules))


def test_the_best_answer_is_found_and_known_to_be() -> None:
    found = engine(LEAST).best(WindowFacts("offer(a,3). offer(b,2)."), 10)
    assert found is not None
    assert found.answer == AnswerSet(("pick(b)",), (2,))
    assert found.is_best


def test_where_there_is_no_answer_there_is_none() -> None:
    assert engine(LEAST).best(WindowFacts(""), 10) is None


def test_without_anything_to_minimise_any_answer_is_best() -> None:
    found = engine("1 { pick(1..20) }. #show pick/1.").best(WindowFacts(""), 10)
    assert found is not None
    assert found.is_best
    assert found.answer.cost == ()


def test_a_good_answer_comes_when_the_time_is_over() -> None:
    found = engine(f"#const n=20. {QUEENS}").best(WindowFacts(""), 0.3, patience=60)
    assert found is not None
    assert not found.is_best
    assert len(found.answer.atoms) == 20


def test_no_answer_in_time_is_an_error_that_says_so() -> None:
    """There is none, which takes clingo longer to find out than anybody waits."""
    pigeons = "1 { in(P,1..14) } 1 :- P = 1..15.  :- in(P,H), in(Q,H), P < Q."
    with pytest.raises(LimitError, match="no answer was found in time; what grew: in"):
        engine(f"{pigeons} #minimize {{ H,P : in(P,H) }}.").best(WindowFacts(""), 0)


def test_the_first_answer_is_waited_for_if_there_is_patience() -> None:
    found = engine(f"#const n=24. {QUEENS}").best(WindowFacts(""), 0, patience=60)
    assert found is not None
    assert len(found.answer.atoms) == 24


def test_one_that_is_good_enough_is_waited_for() -> None:
    few = engine(f"#const n=8. {QUEENS}")
    best = few.best(WindowFacts(""), PLENTY_S)
    assert best is not None
    assert best.is_best
    below = (best.answer.cost[0] + 1,)
    found = few.best(WindowFacts(""), 0, PLENTY_S, below)
    assert found is not None
    assert found.answer.cost == best.answer.cost


def test_nothing_is_waited_for_once_the_search_is_over() -> None:
    found = engine(LEAST).best(WindowFacts("offer(a,3)."), 0, patience=1e6, below=(3,))
    assert found is not None
    assert found.is_best
    assert found.answer.cost == (3,)


class Roused:
    """A search that is over after so many waits, each of which ends too early."""

    def __init__(self, waits: int) -> None:
        self.waits = waits

    def wait(self, _seconds: float) -> bool:
        self.waits -= 1
        return self.waits <= 0


def test_who_is_roused_too_early_waits_on() -> None:
    assert _over(cast("SolveHandle", Roused(3)), time.monotonic() + 60)
    assert not _over(cast("SolveHandle", Roused(10**9)), time.monotonic() + 0.01)
