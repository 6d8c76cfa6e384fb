"""The combining handler: products of answer sets, and sums of costs."""

from __future__ import annotations

import time
from itertools import combinations

import pytest

from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.partition.combining import combined


def answer(atoms: str = "", *cost: int) -> AnswerSet:
    return AnswerSet(tuple(sorted(atoms.split())), cost)


A, B, C, D = (answer(name) for name in "abcd")

CASES: dict[str, tuple[list[list[AnswerSet]], list[AnswerSet]]] = {
    "no part has one empty answer set": ([], [answer()]),
    "one part is the whole": ([[A, B]], [A, B]),
    "every choice is one": (
        [[A, B], [C, D]],
        [answer("a c"), answer("a d"), answer("b c"), answer("b d")],
    ),
    "a part without answer sets leaves none": ([[A, B], [], [C]], []),
    "atoms of several parts are one": ([[answer("a c")], [answer("b c")]], [answer("a b c")]),
    "choices that unite to the same are one": (
        [[answer(), answer("a")], [answer(), answer("a")]],
        [answer(), answer("a")],
    ),
    "atoms are sorted as text": (
        [[answer("p(10) p(9)")], [answer("p(2) -p(1)")]],
        [answer("-p(1) p(10) p(2) p(9)")],
    ),
    "costs are added up by priority": (
        [[answer("a", 1, -2)], [answer("b")], [answer("c", 3, 4), answer("d", 3, 4)]],
        [answer("a b c", 4, 2), answer("a b d", 4, 2)],
    ),
    "those of the first part only are kept": ([[answer("a", 5)], [B]], [answer("a b", 5)]),
}


@pytest.mark.parametrize(("parts", "whole"), CASES.values(), ids=CASES)
def test_of_independent_parts(parts: list[list[AnswerSet]], whole: list[AnswerSet]) -> None:
    assert list(combined(parts, "r")) == whole
    assert set(combined(parts, "r", models=1)) <= set(whole)


def test_many_choices_that_unite_to_few_are_united_soon() -> None:
    """Twenty parts choose among the same five atoms: 32 answer sets; one by one the choices would
    take for ever."""
    every = [answer(" ".join(c)) for n in range(6) for c in combinations("abcde", n)]
    assert combined([every] * 20, "r") == tuple(sorted(every))


def test_what_is_there_anyway_is_no_choice() -> None:
    parts = [[answer(), answer("a")], [answer("a"), answer("a b")], [answer("b c")]]
    assert combined(parts, "r") == (answer("a b c"),)


def test_combining_ends_at_the_deadline() -> None:
    parts = [[answer(), answer(f"p({n})")] for n in range(30)]
    with pytest.raises(LimitError, match=r"in combining: it took more than 5 s"):
        combined(parts, "r", limits=Limits(seconds=5), deadline=time.thread_time() + 0.1)


def test_asked_for_n_it_makes_n_of_the_products() -> None:
    """20 parts of two have a million."""
    parts = [[answer(), answer(f"p({n})")] for n in range(20)]
    assert len(set(combined(parts, "r", models=3))) == 3


def test_more_answer_sets_than_the_limit_are_an_error_that_says_what_to_do() -> None:
    parts = [[answer(), answer(f"p({n})")] for n in range(20)]
    with pytest.raises(LimitError, match=r"request `r` .* more than 1,000 answer sets; add con"):
        combined(parts, "r", limits=Limits(models=1_000))
    assert len(combined(parts[:3], "r", limits=Limits(models=8))) == 8
    assert len(combined(parts, "r", models=3, limits=Limits(models=2))) == 3


def test_parts_that_have_many_do_not_matter_where_another_has_none() -> None:
    assert (
        combined([[answer(f"p({n})") for n in range(50)], []], "r", limits=Limits(models=10)) == ()
    )
