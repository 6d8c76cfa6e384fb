"""A decision takes milliseconds: it is asked for while somebody waits.

How long it takes is measured (`citywise bench plan`); what it costs is what is ground, and
that is counted here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import median

import pytest

from citywise.apps.travel_planner.decisions import Constraint, Option, Question, Wish, decide
from citywise.reasoning.engines.clingo.solver import Solving

NAMES = ("time", "distance", "pollution", "cost", "walk")


def question(options: int, most: float, seed: int) -> Question:
    amounts = random.Random(seed)
    return Question(
        [
            Option(f"o{n}", {on: round(amounts.uniform(100, 900), 1) for on in NAMES})
            for n in range(options)
        ],
        [Constraint("time", "<=", most), Constraint("cost", "<", most)],
        [Wish("time", "minimise"), Wish("pollution", "minimise")],
        dict.fromkeys(NAMES, "minimise"),
    )


@pytest.fixture
def ground_rules(monkeypatch: pytest.MonkeyPatch) -> Callable[[Question], int]:
    """How many rules are ground, in all solvers together, to decide a question."""
    counted: list[int] = []
    solve = Solving.answer_sets

    def counting(solving: Solving, models: int = 0) -> object:
        found = solve(solving, models)
        counted.append(int(solving.control.statistics["problem"]["lp"]["rules"]))
        return found

    monkeypatch.setattr(Solving, "answer_sets", counting)

    def count(asked: Question) -> int:
        counted.clear()
        decide(asked)
        return sum(counted)

    return count


@pytest.mark.parametrize(
    ("options", "most", "limit"), [(15, 800, 460), (15, 90, 280), (60, 800, 3650), (60, 90, 1020)]
)
def test_what_is_ground_for_a_decision_is_little(
    options: int, most: float, limit: int, ground_rules: Callable[[Question], int]
) -> None:
    """At most a tenth above what it is now."""
    asked = [question(options, most, seed) for seed in range(9)]
    assert (decide(asked[0]).conflict is not None) == (most == 90)
    assert median(map(ground_rules, asked)) <= limit
