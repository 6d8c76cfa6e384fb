"""What cannot be met together, and the cheapest way out."""

from __future__ import annotations

import pytest

from citywise.apps.travel_planner.decisions import (
    Conflict,
    Constraint,
    Option,
    Question,
    Wish,
    decide,
)


def conflict(
    options: dict[str, dict[str, float | None]], *constraints: Constraint, wish: str = "time"
) -> Conflict:
    found = decide(
        Question(
            [Option(name, values) for name, values in options.items()],
            constraints,
            [Wish(wish, "minimise")],
        )
    ).conflict
    assert found
    return found


FAST = Constraint("time", "<=", 600)
CHEAP = Constraint("cost", "<=", 20)
NEAR = Constraint("walk", "<=", 200)


def test_two_wishes_that_exclude_each_other_are_one_conflict() -> None:
    """Either is met by some option, both by none; the third takes no part."""
    found = conflict(
        {
            "fast": {"time": 500, "cost": 40, "walk": 100},
            "cheap": {"time": 900, "cost": 10, "walk": 100},
        },
        FAST,
        CHEAP,
        NEAR,
    )
    assert found.minimal == ((FAST, CHEAP),)


def test_all_minimal_conflicts_are_told_smallest_first() -> None:
    found = conflict(
        {
            "fast": {"time": 500, "cost": 40, "walk": 900},
            "cheap": {"time": 900, "cost": 10, "walk": 900},
        },
        FAST,
        CHEAP,
        NEAR,
    )
    assert found.minimal == ((NEAR,), (FAST, CHEAP))


def test_the_smallest_relative_change_is_proposed() -> None:
    """+50 % time against +100 % cost."""
    found = conflict({"fast": {"time": 500, "cost": 40}, "cheap": {"time": 900, "cost": 10}},
                     FAST, CHEAP)  # fmt: skip
    assert found.relaxation
    assert found.relaxation.option == "cheap"
    assert [(x.constraint, x.to, x.change) for x in found.relaxation.loosenings] == [
        (FAST, 900, 0.5)
    ]
    assert found.relaxation.cost == 0.5


def test_changes_of_several_constraints_add_up() -> None:
    """40 % and 40 % are more than 70 %, and equal changes of two constraints count twice."""
    found = conflict({"both": {"time": 840, "cost": 28}, "one": {"time": 1020, "cost": 20}},
                     FAST, CHEAP)  # fmt: skip
    assert found.relaxation
    assert found.relaxation.option == "one"


def test_at_the_same_cost_fewer_constraints_are_loosened() -> None:
    """Even if the wish prefers the other option."""
    found = conflict({"two": {"time": 720, "cost": 24}, "one": {"time": 840, "cost": 20}},
                     FAST, CHEAP)  # fmt: skip
    assert found.relaxation
    assert found.relaxation.option == "one"


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_at_the_same_cost_and_number_the_wish_decides(names: tuple[str, str]) -> None:
    values: dict[str, dict[str, float | None]]
    values = {"a": {"time": 660, "cost": 20}, "b": {"time": 600, "cost": 22}}
    found = conflict({name: values[name] for name in names}, FAST, CHEAP)
    assert found.relaxation
    assert found.relaxation.option == "b"
    assert [x.constraint for x in found.relaxation.loosenings] == [CHEAP]


def test_a_smaller_change_of_two_constraints_is_before_one_of_one() -> None:
    """40 % against 40.1 %, though the wish prefers the other."""
    found = conflict({"two": {"time": 720, "cost": 24}, "one": {"time": 600, "cost": 28.02}},
                     FAST, CHEAP)  # fmt: skip
    assert found.relaxation
    assert found.relaxation.option == "two"


def test_changes_that_differ_by_less_than_a_thousandth_are_equal() -> None:
    """10.01 % counts as 10.1 %, like 10.05 %: the wish decides."""
    found = conflict({"a": {"time": 660.06, "cost": 20}, "b": {"time": 600, "cost": 22.01}},
                     FAST, CHEAP)  # fmt: skip
    assert found.relaxation
    assert found.relaxation.option == "b"


def test_changes_count_in_thousandths_begun() -> None:
    """10 % is less than 10.01 %, though the wish prefers the other."""
    found = conflict({"a": {"time": 660, "cost": 20}, "b": {"time": 600, "cost": 22.002}},
                     FAST, CHEAP)  # fmt: skip
    assert found.relaxation
    assert found.relaxation.option == "a"


def test_from_nought_any_change_is_a_whole() -> None:
    """Free is not to be had: 100 % for it, 60 % for a longer way."""
    free = Constraint("cost", "<=", 0)
    found = conflict({"paid": {"time": 500, "cost": 1}, "far": {"time": 960, "cost": 0}},
                     FAST, free)  # fmt: skip
    assert found.relaxation
    assert found.relaxation.option == "far"


def test_what_nobody_knows_is_not_relaxed() -> None:
    """An option without a value is met by no bound; if that is all of them, nothing helps."""
    found = conflict({"unknown": {"time": None}, "slow": {"time": 6000}}, FAST)
    assert found.relaxation
    assert found.relaxation.option == "slow"
    assert conflict({"unknown": {"time": None}, "empty": {}}, FAST).relaxation is None


def test_a_contradiction_in_itself_is_loosened_on_both_sides() -> None:
    late, early = Constraint("time", ">=", 1000), Constraint("time", "<", 800)
    found = conflict({"a": {"time": 900}}, late, early)
    assert found.minimal == ((late,), (early,))
    assert found.relaxation
    assert [x.to for x in found.relaxation.loosenings] == [900, 900.001]


def test_a_rounded_equal_leads_to_the_best_option_it_admits() -> None:
    """`= 12.5` becomes `= 950`, which holds for both; the wish prefers the other."""
    equal = Constraint("x", "=", 12.5)
    values: dict[str, dict[str, float | None]] = {
        "near": {"x": 949.96, "time": 9},
        "best": {"x": 950.4, "time": 1},
    }
    found = conflict(values, equal)
    assert found.relaxation
    assert [x.to for x in found.relaxation.loosenings] == [950]
    assert found.relaxation.option == "best"


def test_nothing_to_choose_from_is_no_conflict() -> None:
    decision = decide(Question([], [FAST]))
    assert (decision.chosen, decision.order, decision.conflict) == (None, (), None)
