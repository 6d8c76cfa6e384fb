"""The rules are requests like any other: checked, run by hand, explained."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings

from citywise.apps.travel_planner.decisions import (
    Constraint,
    Direction,
    Op,
    Option,
    Question,
    QuestionError,
    Wish,
    decide,
    facts,
)
from citywise.apps.travel_planner.decisions.encoding import ranked
from citywise.apps.travel_planner.decisions.running import RULES, answers
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse_file
from citywise.reasoning.model.engine import WindowFacts
from citywise.reasoning.run.language import check
from tests.command import Folder
from tests.decisions.questions import questions

QUESTION = Question(
    [
        Option("fast", {"time": 600, "cost": 12}),
        Option("cheap", {"time": 900, "cost": 4}),
        Option("neither", {"time": 1000, "cost": 12}),
        Option("dear", {"time": 500, "cost": 30}),
    ],
    [Constraint("cost", "<=", 20)],
    [Wish("time", "minimise")],
    {"cost": "minimise"},
)


@pytest.mark.parametrize("rules", sorted(RULES.glob("*.casp")), ids=lambda path: path.stem)
def test_check_finds_nothing_in_the_rules(rules: Path) -> None:
    assert check(rules) == []


@settings(max_examples=8)
@given(questions())
def test_names_and_values_give_the_answer_that_positions_and_ranks_give(
    question: Question,
) -> None:
    """What people run by hand is what `decide` runs."""
    engine = SolverEngine(parse_file(RULES / "choose.casp"))
    (by_name,) = engine.answer_sets(WindowFacts(facts(question)))
    (by_rank,) = engine.answer_sets(WindowFacts(ranked(question)))
    positions = {f'"{option.id}"': str(o) for o, option in enumerate(question.options)}
    renamed = [re.sub('"[^"]*"', lambda name: positions[name[0]], a) for a in by_name.atoms]
    assert sorted(renamed) == sorted(by_rank.atoms)


def test_new_values_are_no_new_terms() -> None:
    """clingo keeps every term: decisions over values in the same order share all."""
    other = Question(
        [
            Option("p", {"time": 61.5, "cost": 1.2}),
            Option("q", {"time": 99, "cost": 0.4}),
            Option("r", {"time": 1000, "cost": 1.2}),
            Option("s", {"time": 5, "cost": 1.9}),
        ],
        [Constraint("cost", "<=", 1.5)],
        [Wish("time", "minimise")],
        {"cost": "minimise"},
    )
    assert ranked(other) == ranked(QUESTION)
    assert facts(other) != facts(QUESTION)


@pytest.mark.slow
def test_an_answer_is_explained_on_the_command_line(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("question.lp", facts(QUESTION))
    rules = str(RULES / "choose.casp")
    done = folder.run(
        "explain", rules, "--kb", "question.lp", "--atom", 'dominated_by("neither","fast")'
    )
    assert done.returncode == 0
    assert 'loss("neither",1,1000000)' in done.stdout
    assert "600000 < 1000000" in done.stdout
    refused = folder.run(
        "explain", rules, "--kb", "question.lp", "--not", "--atom", 'admissible("dear")'
    )
    assert "30000 > 20000" in refused.stdout


def test_threads_decide_at_the_same_time() -> None:
    asked = [
        Question(QUESTION.options, [Constraint("cost", "<=", most)], QUESTION.wishes)
        for most in range(1, 33)
    ]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(decide, asked)) == [decide(question) for question in asked]


def test_minimal_conflicts_are_the_answer_sets_of_one_rule() -> None:
    """No superset of a conflict is an answer, though it is violated by all options as well."""
    violated = "violates(0,0). violates(0,1). violates(1,1). violates(1,2)."
    found = [sorted(atoms["conflicting"]) for atoms in answers("conflict", violated)]
    assert sorted(found) == [[(0,), (2,)], [(1,)]]


@pytest.mark.parametrize(
    ("options", "constraints", "wishes", "message"),
    [
        ([Option("a", {}), Option("a", {})], [], [], "two options are called `a`"),
        ([Option("a", {"t": float("nan")})], [], [], "option `a` has t = nan"),
        ([Option("a", {"t": 3e12})], [], [], "from -1,000,000,000,000 to 1,000,000,000,000"),
        ([], [Constraint("t", "<", float("inf"))], [], "on t has no number"),
        ([], [Constraint("t", "<", n) for n in range(17)], [], "17 constraints; at most 16"),
    ],
)
def test_a_question_that_cannot_be_put_says_why(
    options: list[Option], constraints: list[Constraint], wishes: list[Wish], message: str
) -> None:
    with pytest.raises(QuestionError, match=re.escape(message)):
        Question(options, constraints, wishes)


def test_values_beyond_32_bits_are_decided_by_rank_but_not_written() -> None:
    options = [Option("dear", {"t": 72_000_000.5}), Option("less", {"t": 72_000_000.25})]
    question = Question(options, [Constraint("t", "<=", 72_000_000.4)], [Wish("t", "minimise")])
    assert decide(question).chosen == "less"
    assert list(decide(question).violated) == ["dear"]
    with pytest.raises(QuestionError, match="only values from -2,000,000 to 2,000,000"):
        facts(question)
    small = Question([Option("a", {"t": 1})], [Constraint("t", "<=", 1e300)])
    assert f'"<=",{2_000_000_001})' in facts(small)


def test_operators_directions_and_steps_that_do_not_exist_are_refused() -> None:
    unknown_op: Op = "!="  # type: ignore[assignment]
    unknown_way: Direction = "least"  # type: ignore[assignment]
    with pytest.raises(QuestionError, match="`!=` compares nothing"):
        Question([], [Constraint("t", unknown_op, 1)])
    with pytest.raises(QuestionError, match="`least` is no direction"):
        Question([], wishes=[Wish("t", unknown_way)])
    with pytest.raises(QuestionError, match="the step of t is 0"):
        Question([], steps={"t": 0})
