"""`#held`, `#last` and `now/1`: what rules see of time (docs/casp.md, Time in rules)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from citywise.backend.cli import cli
from citywise.reasoning import Item, Reasoner, State, engine_for, parse
from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.model.carried import Carried

STREAM = "#from stream <s> [time 2s step 1s].\n"
engines = pytest.mark.parametrize("engine", ["incremental", "solver", "auto"])


def items(*atoms: tuple[int, str]) -> list[Item]:
    return [Item(time, atom, position) for position, (time, atom) in enumerate(atoms)]


def run(text: str, given: Iterable[Item], engine: Choice = "auto", **options: Any) -> Sequence[Any]:
    """Time and answer sets of each evaluation, or the error."""
    request = parse(text)
    choice = engine_for(request, choice=engine)
    reasoner = Reasoner(request, engine=choice, **options)
    found = [e for item in given for e in reasoner.push(item)]
    found += reasoner.finish()
    choice.close()
    return [(e.time, e.error or [list(a.atoms) for a in e.answer_sets]) for e in found]


def reason(folder: Path, text: str, lines: Sequence[tuple[int | str, str]], *more: str) -> Result:
    program, stream = folder / "r.casp", folder / "s.jsonl"
    program.write_text(text)
    stream.write_text("".join(json.dumps({"t": t, "atom": a}) + "\n" for t, a in lines))
    given = [str(program), "--stream", str(stream), *more]
    return CliRunner().invoke(cli, ["reason", *given])


def answers(result: Result) -> list[Any]:
    assert result.exit_code == 0, result.output
    return [json.loads(line)["answer_sets"][0] for line in result.stdout.splitlines()]


@engines
def test_an_atom_has_held_since_the_first_of_the_evaluations_without_a_break(
    engine: Choice,
) -> None:
    text = STREAM + "#held p/1. p(X) :- q(X). #show since_p/2."
    found = run(text, items((0, "q(1)"), (2, "q(1)"), (6, "q(1)"), (7, "q(2)")), engine)
    assert found == [
        (2, [["since_p(1,2)"]]), (3, [["since_p(1,2)"]]), (4, [["since_p(1,2)"]]), (5, [[]]),
        (6, [["since_p(1,6)"]]), (7, [["since_p(1,6)", "since_p(2,7)"]]),
    ]  # fmt: skip


@engines
def test_an_atom_held_last_in_an_evaluation_before_this_one(engine: Choice) -> None:
    text = STREAM + "#last p/0 3s. p :- q. #show p/0. #show last_p/1."
    found = run(text, items((0, "q"), (1, "q"), (9, "r")), engine)
    assert found == [
        (2, [["p"]]), (3, [["last_p(2)", "p"]]), (4, [["last_p(3)"]]), (5, [["last_p(3)"]]),
        (6, [["last_p(3)"]]), (7, [[]]), (8, [[]]), (9, [[]]),
    ]  # fmt: skip


@engines
def test_now_is_the_time_of_the_evaluation(engine: Choice) -> None:
    found = run(STREAM + "p(T) :- now(T).", items((0, "q"), (4, "q")), engine)
    assert found == [(2, [["p(2)"]]), (3, [["p(3)"]]), (4, [["p(4)"]])]


@engines
def test_the_times_of_evaluations_may_be_remembered_too(engine: Choice) -> None:
    text = STREAM + "#last now/1 9s. p(T) :- last_now(T,_)."
    found = run(text, items((0, "q"), (4, "q")), engine)
    assert found == [(2, [[]]), (3, [["p(2)"]]), (4, [["p(2)", "p(3)"]])]


@engines
@pytest.mark.parametrize("given", ["#input now/1.", "", "now(7)."])
def test_now_is_built_in_only_where_nothing_gives_it(
    engine: Choice, given: str, tmp_path: Path
) -> None:
    lines: list[tuple[int | str, str]] = [(0, "q"), (2, "q")]
    lines += [] if given == "now(7)." else [(2, "now(7)")]
    text = STREAM + given + "#show p/1. p(T) :- now(T)."
    assert answers(reason(tmp_path, text, lines, "--engine", engine)) == [["p(7)"]]


@engines
def test_what_is_negated_classically_is_remembered_apart(engine: Choice) -> None:
    text = STREAM + "#held p/1. #held -p/1. p(1) :- q. -p(1) :- not q. #show since_p/2."
    text += "#show -since_p/2."
    found = run(text, items((0, "q"), (5, "r")), engine)
    assert [atoms for _time, [atoms] in found] == [
        ["since_p(1,2)"], ["-since_p(1,3)"], ["-since_p(1,3)"], ["-since_p(1,3)"],
    ]  # fmt: skip


@engines
def test_nothing_of_it_is_shown_without_being_asked_for(engine: Choice) -> None:
    text = STREAM + "#held p/0. #last p/0 9s. p :- q. r :- since_p(_), last_p(_), now(_)."
    assert run(text, items((0, "q"), (3, "q")), engine) == [(2, [["p"]]), (3, [["p", "r"]])]


@engines
def test_an_evaluation_without_an_answer_leaves_since_and_last_as_they_were(
    engine: Choice,
) -> None:
    text = STREAM + "#held p/0. #last p/0 9s. p :- q. :- r. #show since_p/1. #show last_p/1."
    found = run(text, items((0, "q"), (2, "q"), (3, "r"), (4, "q"), (6, "q")), engine)
    assert found == [
        (2, [["since_p(2)"]]), (3, []), (4, []), (5, []),
        (6, [["last_p(2)", "since_p(2)"]]),
    ]  # fmt: skip


def test_answers_that_differ_in_what_is_held_are_several() -> None:
    text = STREAM + "#held p/0. {p}. r :- since_p(T), now(N), N-T >= 2. #show r/0."
    ((time, error),) = run(text, items((0, "q"), (2, "q")))
    assert time == 2
    assert "remembers which atoms hold but has 2 answer sets" in error


def test_optimisation_may_leave_one_of_several_answers() -> None:
    text = STREAM + "#held p/0. {p}. :~ not p. [1] r :- since_p(T), now(N), N-T >= 2. #show r/0."
    found = run(text, items((0, "q"), (4, "q")))
    assert found == [(2, [[]]), (3, [[]]), (4, [["r"]])]


@engines
def test_after_an_error_since_and_last_are_as_they_were(engine: Choice) -> None:
    if engine == "incremental":
        pytest.skip("choices are the solver's")
    text = STREAM + "#held p/0. p :- q. {a} :- r. #show since_p/1. #show a/0."
    found = run(text, items((0, "q"), (2, "q"), (3, "r"), (4, "q"), (6, "q")), engine)
    assert [time for time, answer in found if isinstance(answer, str)] == [3, 4, 5]
    assert found[-1] == (6, [["since_p(2)"]])


@engines
def test_count_windows_remember_each_of_several_evaluations_at_one_time(engine: Choice) -> None:
    text = "#from stream <s> [count 1 step 1]. #held p/1. #last p/1 9s. p(X) :- q(X)."
    text += "#show since_p/2. #show last_p/2."
    found = run(text, items((1, "q(1)"), (1, "q(1)"), (1, "q(2)"), (3, "q(1)")), engine)
    assert found == [
        (1, [["since_p(1,1)"]]), (1, [["last_p(1,1)", "since_p(1,1)"]]),
        (1, [["last_p(1,1)", "since_p(2,1)"]]),
        (3, [["last_p(1,1)", "last_p(2,1)", "since_p(1,3)"]]),
    ]  # fmt: skip


@engines
def test_times_in_milliseconds_begin_anew_with_the_count_and_are_never_too_small(
    engine: Choice, tmp_path: Path
) -> None:
    text = (
        "#from stream <s> [time 86400000ms step 1d].\n#held p/0. #last q/0. p :- r. q :- s. p :- s."
    )
    text += "#show since_p/1. #show last_q/1. #show now/1."
    first = date(2026, 1, 1)
    days = [f"{first + timedelta(days=day)}T06:00:00Z" for day in range(60)]
    lines: list[tuple[int | str, str]] = [(days[0], "s"), *((day, "r") for day in days[1:])]
    found = answers(reason(tmp_path, text, lines, "--engine", engine))
    day_ms, smallest = 86_400_000, -(2**31)
    for number, atoms in enumerate(found, 1):
        base = number // 24 * 24
        began = max((1 - base) * day_ms, smallest)
        last = [f"last_q({began})"] * (number > 1)
        assert atoms == [*last, f"now({(number - base) * day_ms})", f"since_p({began})"]
    assert len(found) == 59


def test_programs_that_give_what_a_directive_makes_are_refused(tmp_path: Path) -> None:
    for clash in ("since_p(1).", "since_p(1) :- q.", "#input since_p/1."):
        result = reason(tmp_path, STREAM + "#held p/0. p :- q." + clash, [(0, "q")])
        assert result.exit_code == 1
        assert "clash: `#held p/0` gives the rules `since_p/1`" in str(result.exception)


@pytest.mark.parametrize("more", ["", "#show since_p/1."])
def test_an_item_that_gives_what_a_directive_makes_is_refused(tmp_path: Path, more: str) -> None:
    text = STREAM + "#held p/0. p :- q." + more
    result = reason(tmp_path, text, [(0, "q"), (1, "since_p(1)"), (2, "q")])
    assert result.exit_code == 1
    assert "s.jsonl:2: `#held p/0` makes `since_p/1`, and a stream supplies it too" in result.stderr


def test_knowledge_that_gives_what_a_directive_makes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k.lp").write_text("q.\nlast_p(1).\n")
    text = STREAM + "#last p/0 9s. p :- q. #from <k.lp>."
    result = reason(tmp_path, text, [(0, "q")])
    assert result.exit_code == 1
    assert "k.lp:2:1: error clash: `last_p(1)`" in str(result.exception)


@pytest.mark.parametrize("circle", ["p :- q, not since_p(0).", "{p} :- r. r :- since_p(_), q."])
def test_what_holds_may_not_depend_on_since_when_it_holds(circle: str, tmp_path: Path) -> None:
    result = reason(tmp_path, f"{STREAM}#held p/0.\n{circle}", [(0, "q")])
    assert result.exit_code == 1
    assert "2:1: error unstratified: `p/0` depends on `since_p/1` (line 3" in str(result.exception)


@pytest.mark.parametrize(
    ("directive", "said"),
    [
        ("#last p/1 90ms.", "whole seconds"),
        ("#last p/1 30.", "expected a predicate, its arity and an age"),
        ("#last p/1 1h. #last p/1 2h.", "stands in line 2 already"),
        ("#held p.", "expected a predicate and its arity"),
        ("#hold p/1.", "did you mean `#held`?"),
    ],
)
def test_a_directive_that_is_wrong_is_told_with_its_cure(
    directive: str, said: str, tmp_path: Path
) -> None:
    result = reason(tmp_path, f"{STREAM}{directive} p(1) :- q.", [(0, "q")])
    assert result.exit_code == 1
    assert said in str(result.exception)


@engines
def test_a_reasoner_hands_out_what_it_carries_and_takes_it_back(engine: Choice) -> None:
    text = STREAM + "#held p/1. #last p/1 9s. #feedback p/1. p(X) :- q(X). p(X) :- prev_p(X), r."
    text += "#show p/1. #show since_p/2. #show last_p/2."
    given = items((0, "q(1)"), (1, "r"), (2, "q(2)"), (4, "r"), (6, "q(1)"), (9, "q(3)"))
    request = parse(text)
    for cut in range(1, len(given)):
        first = Reasoner(request, engine=engine_for(request, choice=engine))
        before = [e for item in given[:cut] for e in first.push(item)]
        state = State.from_json(json.loads(json.dumps(first.snapshot(cut).to_json())))
        second = Reasoner(request, engine=engine_for(request, choice=engine))
        second.restore(state, given[first.resume_from(cut) : cut])
        assert second.carried == first.carried
        after = [e for item in given[cut:] for e in second.push(item)] + list(second.finish())
        seen = [(e.time, [list(a.atoms) for a in e.answer_sets]) for e in [*before, *after]]
        assert seen == run(text, given, engine)


def test_what_is_carried_is_small_and_says_times_of_the_stream() -> None:
    request = parse(STREAM + "#held p/1. #last p/1 9s. p(X) :- q(X).")
    reasoner = Reasoner(request)
    for item in items((0, "q(1)"), (4, "q(2)"), (5, "q(2)")):
        list(reasoner.push(item))
    assert reasoner.carried == Carried((), (("p(2)", 4),), (("p(1)", 2), ("p(2)", 4)))


def test_states_stored_before_there_was_time_in_rules_are_read() -> None:
    values = State().to_json()
    del values["since"], values["last"]
    assert State.from_json(values) == State()
