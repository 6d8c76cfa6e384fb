"""Programs of plain LARS on clingo: all answer streams, in this process and guarded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial

import pytest

from citywise.reasoning.engines.clingo.solver import Solving
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.languages.lars.incremental import IncrementalEvaluator
from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.program import Evaluator, LarsProgram, Point
from citywise.reasoning.languages.lars.solver import OneShot, solver
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.request import Signature
from citywise.reasoning.rdf.knowledge import Background

Make = Callable[[LarsProgram, Background], Evaluator]
Arrivals = Mapping[int, Sequence[str]]
GUARDED = partial(solver, limits=Limits())


def known(*facts: str) -> Background:
    """Knowledge of some facts."""
    supplied = frozenset(Signature(f.partition("(")[0], f.count(",") + 1) for f in facts)
    return Background(facts, supplied=supplied)


def answers(
    make: Make, text: str, arrivals: Arrivals, until: int, knowledge: Background | None = None
) -> list[list[str] | str]:
    """At each point of time the answer streams, the atoms of each in one text; or the error."""
    found: list[list[str] | str] = []
    with closing(make(parse(text), knowledge or known())) as engine:
        for time in range(min(arrivals), until + 1):
            try:
                sets = engine.step(Point(time, arrivals.get(time, ())))
            except SolvingError as error:
                found.append(str(error))
                continue
            found.append([" ".join(answer.atoms) for answer in sets])
    return found


def test_where_nothing_changes_nothing_is_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """But where a rule looks at the time, it is."""
    solved: list[str] = []
    ground = Solving.ground

    def counted(self: Solving, *parts: str) -> None:
        solved.append("")
        ground(self, *parts)

    monkeypatch.setattr(Solving, "ground", counted)
    arrivals = {0: ["a(1)"], 9: ["a(2)"]}
    quiet = answers(OneShot, "b(X) :- <> a(X) [2], not c(X). c(X) :- d(X).", arrivals, 12)
    assert [line[0] for line in quiet] == ["b(1)"] * 3 + [""] * 6 + ["b(2)"] * 3 + [""]
    assert len(solved) == 4
    timed = answers(OneShot, "b(T+0) :- <> a(1) [20], @T a(X) [2].", arrivals, 3)
    assert [line[0] for line in timed] == ["b(0)"] * 3 + [""]


CASES = {
    "an even loop has two answer streams": (
        "a :- <> p [1], not b. b :- <> p [1], not a.",
        {0: ["p"]}, 2, [["a", "b"], ["a", "b"], [""]],
    ),
    "an odd loop has none": ("a :- p, not a.", {0: ["p"]}, 1, [[], [""]]),
    "a loop of positive atoms supports nothing": (
        "a :- <> b [3]. b :- <> a [3]. c :- not a.", {0: ["p"]}, 0, [["c"]],
    ),
    "a loop through a window over what is derived has two answer streams": (
        "a :- p, not <> b [2]. b :- p, not <> a [2].", {0: ["p"]}, 0, [["a", "b"]],
    ),
    "a constraint takes answer streams away at its point of time only": (
        "a :- not b. b :- not a. :- a, x.", {0: ["x"]}, 1, [["b"], ["a", "b"]],
    ),
    "a window does not see what was derived at an earlier point": (
        "q :- p. r :- <> q [5].", {0: ["p"]}, 1, [["q r"], [""]],
    ),
    "what a head places in the window is seen there": (
        "@T q :- @T p [5]. r :- <> q [1]. s :- [] q [1].",
        {0: ["p"], 1: ["p"]}, 3, [["q r s"], ["q r s"], ["r"], [""]],
    ),
    "there is no answer stream where a head's time is not on the timeline": (
        "@(T+1) q :- @T p [1]. @(T-1) q :- @T r [0].",
        {0: ["p"], 1: [], 2: ["r"], 5: ["r"]}, 5, [[], ["q"], [""], [""], [""], [""]],
    ),
    "a head's time that is no integer gives no instance": (
        "@X q :- p(X).", {0: ["p(a)", "p(0)"]}, 0, [["q"]],
    ),
    "[] holds where the data have a point and rules the other": (
        "p :- x. y :- [] p [1]. #show y/0.", {0: ["p"], 1: ["x"], 2: ["x"]}, 2,
        [["y"], ["y"], [""]],
    ),
    "the last tuples are the last that arrived, whatever reads them": (
        "q(X) :- <> p(X) [#2]. r(X) :- [] p(X) [#3].",
        {0: ["p(1)"], 1: ["p(2)", "p(2)"], 2: ["x"]}, 3,
        [["q(1) r(1)"], ["q(1) q(2)"], ["q(2)"], ["q(2)"]],
    ),
    "points of time are counted, not atoms": (
        ("many(X) :- p(X) at least 2 [2]. few(X) :- <> p(X) [9], p(X) at most 1 [2]. "
         "n(N,X) :- p(X) count N [2]."),
        {0: ["p(a)", "p(a)"], 1: ["p(a)"]}, 3,
        [["few(a) n(1,a)"], ["many(a) n(2,a)"], ["many(a) n(2,a)"], ["few(a) n(1,a)"]],
    ),
    "a count that gives a variable its values needs no other atom": (
        "q(X) :- p(X,_) count 1 [3], X != b.", {0: ["p(a,1)", "p(b,1)"]}, 0, [["q(a)"]],
    ),
    "`not` before a count is its complement, where it is recursive too": (
        "p :- not p at least 1 [0], not x.", {0: ["x"]}, 1, [[""], []],
    ),
    "p and -p exclude each other now, not at other points": (
        "q :- p, x. r :- -p, x. s :- <> p [3], <> -p [3].",
        {0: ["p"], 1: ["-p"], 2: ["p", "-p"]}, 3, [[""], ["s"], [], ["s"]],
    ),
    "p and -p exclude each other now where windows alone read them": (
        "s :- <> p [3], <> -p [3].", {0: ["p"], 1: ["-p", "p"]}, 2, [[""], [], ["s"]],
    ),
    "a head that moves on comes to an end": (
        "@(T+1) p :- @T p, T < 9. @T p :- @T a [9]. @(T-1) q :- @T q, T > 1. @T q :- @T b [9].",
        {0: ["x"], 2: ["b"], 4: ["a"]}, 4, [[""], [""], ["q"], [""], []],
    ),
    "what is fed back is seen at later points, shown or not": (
        ("q(X) :- p(X). q(X) :- <> q(X) [1], not stop. r(X) :- [] q(X) [2]. "
         "#stream q/1. #show r/1."),
        {0: ["p(1)"], 4: ["stop"]}, 6,
        [["r(1)"], ["r(1)"], ["r(1)"], ["r(1)"], [""], [""], [""]],
    ),
    "what is fed back is among the last tuples, after what arrived": (
        "q(2) :- p(1). r(X) :- <> q(X) [#1]. #stream q/1. #show r/1.",
        {0: ["p(1)"], 2: ["p(3)"]}, 2, [[""], ["r(2)"], [""]],
    ),
    "an answer shows what holds now": (
        "@T q(X) :- @T p(X) [3]. #show q/1. #show p/1.",
        {0: ["p(1)"], 1: ["p(2)"]}, 2, [["p(1) q(1)"], ["p(2) q(2)"], [""]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    text, arrivals, until, expected = CASES[case]
    assert answers(OneShot, text, arrivals, until) == expected


def test_knowledge_holds_at_every_point_of_every_window() -> None:
    text = """
    a(X) :- k(X), x. b(X) :- <> k(X) [#2]. c(X) :- [] k(X) [3]. d(X,T) :- @T k(X) [1], x.
    e(X) :- k(X) count 2 [1]. f(X) :- [] m(X) [1]. m(2) :- x.
    """
    found = answers(OneShot, text, {0: ["x"], 1: ["x"]}, 1, known("k(1)", "m(1)"))
    assert found == [
        ["a(1) b(1) c(1) d(1,0) f(1) f(2)"],
        ["a(1) b(1) c(1) d(1,0) d(1,1) e(1) f(1)"],
    ]


def test_feeding_back_demands_one_answer_stream_and_feeds_nothing_back_without() -> None:
    text = "a :- <> p [0], not b. b :- <> p [0], not a. c :- <> a [2]. #stream a/0."
    first, *others = answers(OneShot, text, {0: ["p"]}, 2)
    assert "feeds back (`#stream a/0.`) but has 2 answer streams" in first
    assert others == [[""], [""]]


def test_models_bounds_the_answer_streams() -> None:
    engine = OneShot(parse("a :- not b. b :- not a."), known())
    assert len(engine.step(Point(0), models=1)) == 1
    assert len(engine.step(Point(1))) == 2


def test_what_the_stream_supplies_is_shown_no_more() -> None:
    engine = OneShot(parse("q :- p. r :- p."), known())
    assert [a.atoms for a in engine.step(Point(0, ["p"]))] == [("q", "r")]
    supplied = frozenset({Signature("q", 0)})
    assert [a.atoms for a in engine.step(Point(1, ["q", "p"], supplied))] == [("r",)]


@pytest.mark.slow
def test_a_process_of_its_own_says_the_same() -> None:
    for case in sorted(CASES)[::4]:
        text, arrivals, until, expected = CASES[case]
        assert answers(GUARDED, text, arrivals, until) == expected


@pytest.mark.slow
def test_large_knowledge_is_ground_once_and_answers_are_the_same() -> None:
    text = "q(X) :- <> p(X) [2], k(X), not r(X). r(X) :- [] k(X) [1], p(X)."
    knowledge = known(*(f"k({number})" for number in range(1500)))
    arrivals = {0: ["p(1)"], 1: ["p(2)", "p(9999)"], 2: ["p(1)"]}
    found = [answers(make, text, arrivals, 3, knowledge) for make in (OneShot, solver)]
    assert found[0] == found[1] == [["r(1)"], ["q(1) r(2)"], ["q(2) r(1)"], ["q(1) q(2)"]]


@pytest.mark.slow
def test_what_goes_beyond_a_limit_is_stopped_and_the_next_point_goes_on() -> None:
    text = "n(0) :- big. n(X+1) :- n(X), X < 100000000. q :- <> p [1]. #show q/0."
    engine = solver(parse(text), known(), Limits(seconds=0.5, atoms=100_000))
    with closing(engine):
        with pytest.raises(LimitError, match="was stopped"):
            engine.step(Point(0, ["big", "p"]))
        assert [answer.atoms for answer in engine.step(Point(1))] == [("q",)]


@pytest.mark.parametrize("make", [OneShot, IncrementalEvaluator])
def test_what_stands_for_an_underscore_behind_not_may_be_anything(make: Make) -> None:
    text = """
    b(X) :- a(X), not c(X,_).
    d(X) :- a(X), not <> c(X,f(_,1)) [1].
    e(X) :- a(X), not @_ c(X,_) [1].
    g    :- not <> c(_,_) [0].
    """
    arrivals = {0: ["a(1)", "a(2)", "c(1,f(3,1))"], 1: ["a(1)", "c(1,2)", "a(3)"], 2: ["a(1)"]}
    expected = [["b(2) d(2) e(2)"], ["b(3) d(3) e(3)"], ["b(1) d(1) g"]]
    assert answers(make, text, arrivals, 2) == expected
