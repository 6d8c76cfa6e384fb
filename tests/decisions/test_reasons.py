"""Every option says why it was chosen, or why not."""

from __future__ import annotations

from citywise.apps.travel_planner.decisions import (
    Constraint,
    Decision,
    Option,
    Question,
    Reason,
    Wish,
    decide,
)

NAMES = ("time", "cost", "walk")


def decided(wish: str, *constraints: Constraint, **options: tuple[float | None, ...]) -> Decision:
    """Options by time, cost and walk."""
    return decide(
        Question(
            [
                Option(name, dict(zip(NAMES, values, strict=True)))
                for name, values in options.items()
            ],
            constraints,
            [Wish(wish, "minimise")],
            {"time": "minimise", "cost": "minimise", "walk": "minimise"},
        )
    )


def test_the_chosen_one_says_what_decided_and_by_how_much() -> None:
    found = decided("time", fast=(600, 40, 0), slow=(720.5, 10, 0), slowest=(900, 5, 0))
    assert found.order == ("fast", "slow", "slowest")
    assert found.reasons["fast"] == (
        Reason(
            "best", "time", 600, "slow", 720.5, 120.5, wished=True,
            better=("time",), worse=("cost",), equal=("walk",),
        ),
    )  # fmt: skip
    assert found.reasons["slowest"] == (
        Reason(
            "behind", "time", 900, "fast", 600, 300, wished=True,
            better=("cost",), worse=("time",), equal=("walk",),
        ),
    )  # fmt: skip


def test_where_the_wishes_do_not_decide_a_criterion_does() -> None:
    found = decided("walk", a=(600, 40, 0), b=(700, 40, 0))
    (reason,) = found.reasons["a"]
    assert (reason.code, reason.on, reason.wished, reason.against) == ("best", "time", False, "b")
    assert reason.level == ("walk",)


def test_what_is_level_is_told_before_what_decides() -> None:
    """The cheapest of all is not chosen: it is slower."""
    found = decided("time", a=(600, 40, 5), b=(600, 50, 0), cheapest=(900, 10, 0))
    assert found.order == ("a", "b", "cheapest")
    assert [(r.code, r.on, r.level) for r in found.reasons["a"]] == [("best", "cost", ("time",))]
    assert [(r.on, r.level) for r in found.reasons["cheapest"]] == [("time", ())]


def test_against_dominated_ones_the_best_of_them_counts() -> None:
    found = decided("time", worst=(900, 90, 9), best=(600, 40, 0), second=(601, 40, 0))
    assert found.order == ("best",)
    assert found.dominated == {"worst": "best", "second": "best"}
    assert found.reasons["best"][0].against == "second"
    (reason,) = found.reasons["second"]
    assert (reason.code, reason.on, reason.by) == ("dominated", "time", 1)
    assert (reason.worse, reason.equal) == (("time",), ("cost", "walk"))


def test_ties_are_shown_and_the_first_asked_for_is_chosen() -> None:
    found = decided("time", b=(600, 40, 0), a=(600, 40, 0), c=(700, 10, 0))
    assert (found.chosen, found.ties) == ("b", ("a",))
    assert [(r.code, r.against) for r in found.reasons["b"]] == [("best", "c"), ("tie", "a")]
    assert found.reasons["a"] == (Reason("tie", against="b"),)


def test_of_two_that_dominate_alike_the_first_is_named() -> None:
    found = decided("time", b=(600, 40, 0), worse=(900, 40, 0), a=(600, 40, 0))
    assert found.dominated == {"worse": "b"}


def test_the_only_admissible_one_is_chosen_for_that() -> None:
    cheap = Constraint("cost", "<=", 20)
    found = decided("time", cheap, a=(600, 40.5, 0), b=(900, 10, 0))
    assert found.reasons["b"] == (Reason("only"),)
    assert found.reasons["a"] == (
        Reason("violates", "cost", 40.5, other=20, by=20.5, constraint=cheap),
    )


def test_what_is_not_known_is_said_and_is_worst() -> None:
    walk = Constraint("walk", "<=", 300)
    found = decided("time", walk, a=(None, 10, 0), b=(900, 10, 0), c=(100, 1, None))
    assert found.chosen == "b"
    assert found.dominated == {"a": "b"}
    first, second = found.reasons["a"]
    assert (first.code, first.on, first.value, first.other, first.by) == (
        "dominated", "time", None, 900, None,
    )  # fmt: skip
    assert second == Reason("unknown", "time", wished=True)
    assert found.reasons["c"] == (Reason("unknown", "walk", other=300, constraint=walk),)


def test_a_wish_turns_a_criterion_round() -> None:
    options = [Option("long", {"walk": 900, "time": 1}), Option("short", {"walk": 100, "time": 1})]
    wishes = [Wish("walk", "maximise"), Wish("walk", "minimise")]
    found = decide(Question(options, (), wishes, {"walk": "minimise", "time": "minimise"}))
    assert (found.chosen, found.dominated) == ("long", {"short": "long"})


def test_values_equal_to_the_thousandth_are_equal() -> None:
    found = decided("time", a=(600.0004, 40, 0), b=(600.0001, 40, 0))
    assert found.ties == ("b",)
