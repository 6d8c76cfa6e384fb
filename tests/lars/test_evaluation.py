"""Programs of plain LARS on the incremental engine: what is compiled, and what a step tells."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from citywise.reasoning.errors import SolvingError
from citywise.reasoning.languages.lars.compile import FIRST, compiled, loop_of, loop_text, obstacle
from citywise.reasoning.languages.lars.incremental import IncrementalEvaluator
from citywise.reasoning.languages.lars.language import LoopError, evaluator
from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.program import Point
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import StratificationError
from citywise.reasoning.model.values import Row, parsed_many

Steps = list[tuple[list[str], tuple[tuple[str, ...], tuple[str, ...]] | None]]


def run(program: str, *points: str) -> Steps:
    """The answer (there is one) and the changes of each point; arrivals are separated by
    spaces."""
    engine = IncrementalEvaluator(parse(program))
    found: Steps = []
    for time, arrivals in enumerate(points):
        answers = engine.step(Point(time, arrivals.split()))
        found.append(([a for answer in answers for a in answer.atoms], engine.changes()))
    return found


# -- what is compiled ----------------------------------------------------------------------


def test_equal_window_atoms_share_one_relation() -> None:
    program = parse("q(X) :- <> a(X) [3], not b(X). r(Y) :- <> a(Y) [3]. s(Y) :- <> a(Y) [4].")
    relations = [feed.relation for feed in compiled(program).feeds]
    assert sorted(relations) == ["<>a/1[3]", "<>a/1[4]", "b/1"]


def test_what_no_answer_needs_has_no_relation() -> None:
    program = parse("#show q/1. q(X) :- <> a(X) [3]. r(X) :- [] b(X) [9]. s :- @T r(X) [4].")
    found = compiled(program)
    assert found.program.inputs == {"<>a/1[3]", FIRST}
    assert {rule.head for rule in found.program.rules} == {"q/1"}


def test_a_window_of_one_point_is_what_holds_now() -> None:
    program = parse("q(X) :- <> a(X) [0], [] a(X) [0], a(X).")
    assert {feed.kind for feed in compiled(program).feeds} == {"now"}


def test_an_at_whose_time_is_asked_for_nowhere_is_a_diamond() -> None:
    program = parse("q(X) :- @T a(X) [3]. r(T) :- @T a(X) [3]. s :- @T a(X) [5], @T b [5].")
    relations = {feed.relation for feed in compiled(program).feeds}
    assert relations == {"<>a/1[3]", "@a/1[3]", "@a/1[5]", "@b/0[5]"}


def test_the_clock_is_in_no_rule_that_does_not_ask_for_the_time_of_what_is_derived() -> None:
    program = parse(
        "p(X) :- <> a(X) [3]. q(X) :- <> p(X) [5], not p(1). @T r(X) :- @T a(X) [3]. "
        "s(X) :- [] r(X) [2]."
    )
    assert "#now" not in str(compiled(program).program.rules)
    asked = parse("p(X) :- <> a(X) [3]. q(T) :- @T p(X) [5].")
    assert "#now" in str(compiled(asked).program.rules)


# -- what a step tells ---------------------------------------------------------------------


def test_changes_are_what_came_and_went_since_the_answer_before() -> None:
    found = run("q(X) :- <> a(X) [1].", "a(2) a(1)", "a(1)", "", "")
    assert found == [
        (["q(1)", "q(2)"], (("q(1)", "q(2)"), ())),
        (["q(1)", "q(2)"], ((), ())),
        (["q(1)"], ((), ("q(2)",))),
        ([], ((), ("q(1)",))),
    ]


def test_a_point_without_an_answer_has_lost_all_atoms_and_the_next_brings_them_back() -> None:
    found = run("q(X) :- <> a(X) [9]. :- stop.", "a(1)", "stop", "stop a(2)", "")
    assert found == [
        (["q(1)"], (("q(1)",), ())),
        ([], ((), ("q(1)",))),
        ([], ((), ())),
        (["q(1)", "q(2)"], (("q(1)", "q(2)"), ())),
    ]


def test_an_answer_is_what_it_was_when_it_is_looked_at_later() -> None:
    engine = IncrementalEvaluator(parse("q(X) :- <> a(X) [1]. r(X) :- q(X), not b."))
    points = ["a(1)", "a(2) b", "b", "a(3)", "", ""]
    kept = [engine.step(Point(t, atoms.split()))[0] for t, atoms in enumerate(points)]
    assert [answer.atoms for answer in kept] == [
        ("q(1)", "r(1)"),
        ("q(1)", "q(2)"),
        ("q(2)",),
        ("q(3)", "r(3)"),
        ("q(3)", "r(3)"),
        (),
    ]


def test_answers_looked_at_now_and_then_are_whole() -> None:
    engine = IncrementalEvaluator(parse("q(X) :- <> a(X) [3]."))
    for time in range(12):
        (answer,) = engine.step(Point(time, [f"a({time})"]))
        if time in (2, 3, 4, 8, 11):
            assert answer.atoms == tuple(
                sorted(f"q({t})" for t in range(max(0, time - 3), time + 1))
            )


def test_a_box_over_tuples_asks_for_every_point_since_the_first_of_them() -> None:
    found = run("q(X) :- [] a(X) [#3].", "a(1)", "a(2)", "a(1)", "a(1)", "a(1)", "b")
    assert [atoms for atoms, _changes in found] == [["q(1)"], [], [], [], ["q(1)"], []]


def test_deltas_are_rows() -> None:
    engine = IncrementalEvaluator(parse("q(X,Y) :- <> a(X,Y) [1]."))
    engine.step(Point(0, ['a(1,"x y")']))
    (came, gone) = engine.deltas()[Signature("q", 2)]
    assert (list(came), list(gone)) == ([(1, '"x y"')], [])


def test_a_derived_predicate_that_the_stream_supplies_later_has_both_sources() -> None:
    """Nobody said that it would: the relations are made anew, with all they hold."""
    program = "q(X) :- <> a(X) [4]. r(X) :- [] q(X) [1]. s(T) :- @T q(X) [4]. t(X) :- [] b(X) [1]."
    plain = run(f"{program} #show r/1. #show s/1. #show t/1.", "a(1)", "b(7)", "b(7) q(2)", "q(2)")
    assert [atoms for atoms, _changes in plain] == [
        ["r(1)", "s(0)"],
        ["s(1)"],
        ["s(2)", "t(7)"],
        ["r(2)", "s(2)", "s(3)"],
    ]
    assert plain[2][1] == (("s(2)", "t(7)"), ("s(1)",))


def test_of_boxes_only_what_begins_and_ceases_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def parsed(atoms: Iterable[str]) -> dict[str, list[Row]]:
        read.extend(atoms)
        return parsed_many(atoms)

    monkeypatch.setattr("citywise.reasoning.languages.lars.feeds.parsed_many", parsed)
    found = run("q(X) :- [] a(X) [1].", "a(1) a(2)", "a(1) a(2)", "a(1)", "a(1)", "a(1) a(2)")
    assert [atoms for atoms, _changes in found] == [
        ["q(1)", "q(2)"],
        ["q(1)", "q(2)"],
        ["q(1)"],
        ["q(1)"],
        ["q(1)"],
    ]
    assert sorted(read) == ["a(1)", "a(2)", "a(2)"]


@pytest.mark.parametrize("seed", range(12))
def test_boxes_by_text_are_those_by_row(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the stream comes to supply what is derived, and rows take over."""
    chance = Random(seed)
    program = (
        "q(X) :- [] a(X) [2]. r(X) :- [] a(X) [1], [] b(X,Y) [1], a(X). s(X) :- q(X), not r(X)."
    )
    atoms = ["a(1)", "a(2)", "a(3)", "b(1,1)", "b(2,1)", "c"]
    points = [" ".join(a for a in atoms if chance.random() < 0.8) for _ in range(14)]
    if seed % 2:
        points[chance.randrange(14)] += " q(9) s(2)"
    found = run(program, *points)
    monkeypatch.setattr(
        "citywise.reasoning.languages.lars.incremental.lingers", lambda _feeds: False
    )
    assert run(program, *points) == found
    assert len({tuple(answer) for answer, _changes in found}) > 3


ENDLESS = "p(X) :- a(X). p(X+1) :- p(X). r(X) :- [] b(X) [2]. "


@pytest.mark.parametrize(
    ("more", "gone"),
    [("q(X) :- <> b(X) [2].", ("r(1)",)), ("q(X) :- [] b(X) [1].", ("q(1)", "r(1)"))],
)
def test_after_a_stopped_evaluation_windows_have_what_they_had(
    more: str, gone: tuple[str, ...]
) -> None:
    program = parse(ENDLESS + more)
    engine = IncrementalEvaluator(program, limits=Limits(atoms=1000))
    (before,) = engine.step(Point(0, ["b(1)", "b(2)"]))
    assert before.atoms == ("q(1)", "q(2)", "r(1)", "r(2)")
    for time in (1, 2):
        with pytest.raises(LimitError, match="more than 1,000"):
            engine.step(Point(time, ["b(1)", "a(1)", "b(5)"]))
    assert engine.step(Point(3, ["b(1)", "b(5)"]))[0].atoms[-2:] == ("r(1)", "r(5)")
    assert engine.changes() is None
    (after,) = engine.step(Point(4, ["b(5)"]))
    assert "r(5)" in after.atoms
    assert engine.changes() == ((), gone)


# -- what is fed back ----------------------------------------------------------------------


def test_what_is_fed_back_is_in_windows_of_later_points_only() -> None:
    program = "#stream p/1. p(X) :- a(X). q(X) :- <> p(X) [2], not p(X). r(T) :- @T p(X) [#2]."
    found = run(f"{program} #show q/1. #show r/1.", "a(1)", "", "b", "b")
    assert [atoms for atoms, _changes in found] == [
        [],
        ["q(1)", "r(0)"],
        ["q(1)", "r(0)"],
        [],
    ]


def test_a_point_without_an_answer_feeds_nothing_back_and_says_so() -> None:
    engine = IncrementalEvaluator(parse("#stream p/1. p(X) :- a(X). q(X) :- <> p(X) [9]. :- stop."))
    assert engine.step(Point(0, ["a(1)"]))[0].atoms == ("p(1)", "q(1)")
    with pytest.raises(SolvingError, match=r"`#stream p/1\.`.*no answer stream"):
        engine.step(Point(1, ["a(2)", "stop"]))
    assert engine.step(Point(2, ["a(3)"]))[0].atoms == ("p(3)", "q(1)", "q(3)")
    assert engine.changes() == (("p(3)", "q(3)"), ("p(1)",))


# -- which engine --------------------------------------------------------------------------


def test_a_loop_through_negation_is_named_and_goes_to_the_solver() -> None:
    program = parse("p(X) :- a(X), not q(X). q(X) :- a(X), not p(X).", name="rivals")
    loop = loop_of(program)
    assert loop is not None
    assert {"p/1", "q/1"} <= set(loop)
    assert "->" in loop_text(loop)
    engine = evaluator(program)
    assert not isinstance(engine, IncrementalEvaluator)
    engine.close()
    with pytest.raises(LoopError, match=r"rivals: a loop .*p/1.*--engine auto"):
        evaluator(program, choice="incremental")


def test_a_loop_counts_also_where_it_is_not_shown() -> None:
    """There is no answer where `p :- not p` is, whatever is shown."""
    program = parse("#show q/0. q :- a. p :- not p.")
    assert loop_of(program) is not None
    with pytest.raises(StratificationError):
        IncrementalEvaluator(program)


def test_recursion_without_negation_is_no_loop() -> None:
    program = parse(
        "p(X,Y) :- <> a(X,Y) [3]. p(X,Z) :- p(X,Y), <> p(Y,Z) [2]. @T c(X) :- @T a(X,Y) [3]."
    )
    assert loop_of(program) is None
    assert isinstance(evaluator(program), IncrementalEvaluator)


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("n :- [] n [1].", "[] n/0 [1]"),
        ("@T n :- @T a [5]. n :- n at least 2 [5].", "n/0 count [5]"),
        ("p(X) :- a(X), not <> p(X) [3].", "<> p/1 [3]"),
        ("p(X) :- a(X), not <> q(X,_) [3]. q(X,1) :- p(X).", ": <> q/2 [3] -> q/2 -> p/1 -> "),
        ("p(X) :- a(X), not p(X) since b(X,_) [5].", ": p/1 since b/2 [5] -> p/1 since -> "),
        ("p :- a, not p since b [1..5]. @T b :- @T c [3].", ": p/0 since b/0 [1..5] -> "),
    ],
)
def test_a_loop_is_named_in_the_words_of_the_program(text: str, loop: str) -> None:
    why = obstacle(parse(text))
    assert why is not None
    assert why.startswith("a loop through negation, [], since or counting: ")
    assert loop in why


def test_a_limit_names_what_grew_as_it_is_written() -> None:
    program = parse("x(A,B) :- <> a(A) [9], <> a(B) [9].")
    engine = IncrementalEvaluator(program, limits=Limits(atoms=100))
    with pytest.raises(LimitError, match=r"<> a/1 \[9\] \(101 atoms\)"):
        engine.step(Point(0, [f"a({number})" for number in range(101)]))


@pytest.mark.parametrize("window", ["[40]", "[1..40]"])
def test_since_keeps_the_newest_point_of_an_atom_whatever_the_window(window: str) -> None:
    engine = IncrementalEvaluator(parse(f"h(X) :- p(X) since q(X) {window}."))
    for time in range(60):
        lasting = [f"p({n})" for n in (1, 2, 3) if (time + n) % 5]
        engine.step(Point(time, ("q(1)", "q(2)", *lasting)))
    sizes = dict(engine._evaluation.sizes())
    assert sizes[f"<q/1{window}"] == 2
    assert sizes[">p/1"] <= 3
