"""What a constraint asks of a value, and the bound that a value asks of it."""

from __future__ import annotations

import pytest

from citywise.apps.travel_planner.decisions import Constraint, Op, Option, Question, decide


def meets(value: float, op: Op, bound: float) -> bool:
    question = Question([Option("a", {"x": value})], [Constraint("x", op, bound)])
    return decide(question).chosen == "a"


@pytest.mark.parametrize(
    ("value", "op", "bound", "expected"),
    [
        (1, "<", 1, False),
        (0.999, "<", 1, True),
        (1, "<=", 1, True),
        (1.001, "<=", 1, False),
        (1, ">", 1, False),
        (1, ">=", 1, True),
        (-1, ">=", -1, True),
        (-1, "<", 0, True),
    ],
)
def test_a_bound_is_within_or_without(value: float, op: Op, bound: float, expected: bool) -> None:
    assert meets(value, op, bound) is expected


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (14.499, 15, False),
        (14.5, 15, True),
        (15.499, 15, True),
        (15.5, 15, False),
        (12.449, 12.5, False),
        (12.45, 12.5, True),
        (12.55, 12.5, False),
        (0.001, 0.001, True),
        (0.002, 0.001, False),
        (2, 1.9996, True),
        (1.999, 1.9985, True),
        (-2.5, -2, True),
        (-2.5, -3, False),
        (-2.501, -3, True),
        (900, 9e2, True),
    ],
)
def test_equal_is_what_rounds_to_the_decimals_written(
    value: float, bound: float, expected: bool
) -> None:
    assert meets(value, "=", bound) is expected


@pytest.mark.parametrize(
    ("value", "op", "bound", "expected"),
    [
        (1.001, "<=", 1.0005, False),
        (1, "<=", 1.0005, True),
        (1, "<", 1.0005, True),
        (1.001, "<", 1.0005, False),
        (1, ">=", 1.0005, False),
        (1.001, ">=", 1.0005, True),
        (1, ">", 1.0005, False),
        (1.001, ">", 1.0005, True),
    ],
)
def test_bounds_between_thousandths_are_exact(
    value: float, op: Op, bound: float, expected: bool
) -> None:
    assert meets(value, op, bound) is expected


@pytest.mark.parametrize(
    ("op", "expected"), [("<=", True), ("<", True), (">", False), ("=", False)]
)
def test_a_bound_beyond_all_values_is_a_bound(op: Op, expected: bool) -> None:
    assert meets(1e12, op, 1e300) is expected


@pytest.mark.parametrize(
    ("value", "op", "bound", "step", "expected"),
    [
        (931.2, "<=", 900, 60, 960),
        (960, "<=", 900, 60, 960),
        (960, "<", 900, 60, 1020),
        (931.2, ">=", 1000, 60, 900),
        (960, ">", 1000, 60, 900),
        (931.2, ">", 1000, 60, 900),
        (12.34, "<=", 10, None, 12.34),
        (12.34, "<", 10, None, 12.341),
        (12.34, ">", 15, None, 12.339),
        (19.8, "=", 15, 60, 20),
        (19.84, "=", 12.5, None, 19.8),
        (-0.3, ">=", 0, 0.25, -0.5),
        (-2.5, "=", 7, None, -2),
    ],
)
def test_a_bound_is_loosened_outward_to_the_step(
    value: float, op: Op, bound: float, step: float | None, expected: float
) -> None:
    constraint = Constraint("x", op, bound)
    steps = {} if step is None else {"x": step}
    decision = decide(Question([Option("a", {"x": value})], [constraint], steps=steps))
    assert decision.conflict
    assert decision.conflict.relaxation
    (loosening,) = decision.conflict.relaxation.loosenings
    assert (loosening.constraint, loosening.to) == (constraint, expected)
    loosened = Question([Option("a", {"x": value})], [loosening.loosened])
    assert decide(loosened).chosen == "a"
