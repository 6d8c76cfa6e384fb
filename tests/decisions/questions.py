"""Questions for Hypothesis: few values, so that options are often equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from citywise.apps.travel_planner.decisions import Constraint, Direction, Option, Question, Wish

NAMES = ("time", "cost", "walk", "air", "free")
DIRECTIONS: st.SearchStrategy[Direction] = st.sampled_from(("minimise", "maximise"))
NUMBERS = st.sampled_from((0, 0.5, 1, 1.25, 2, 2.449, 2.45, 2.5, 3, 7, 14.5, 15, 900, -1, -2.5, -2))

values = st.dictionaries(st.sampled_from(NAMES), st.none() | NUMBERS, max_size=5) | st.tuples(
    *[st.none() | NUMBERS] * 5
).map(lambda numbers: dict(zip(NAMES, numbers, strict=True)))
constraints = st.builds(
    Constraint, st.sampled_from(NAMES), st.sampled_from(("<", "<=", "=", ">=", ">")), NUMBERS
)
wishes = st.builds(Wish, st.sampled_from(NAMES), DIRECTIONS)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Up to 12 options, 5 constraints and 5 wishes, in any contradiction."""
    given = draw(st.lists(values, max_size=12))
    return _question(draw, given, draw(st.lists(constraints, max_size=5)))


@st.composite
def impossible(draw: st.DrawFn) -> Question:
    """Questions whose options all miss something, mostly not by much."""
    amounts = st.sampled_from((600, 660, 661, 720, 840, 900.5, 960))
    least = st.builds(Constraint, st.sampled_from(NAMES[:3]), st.sampled_from(("<=", "<")),
                      st.sampled_from((600, 500.25, 400, 0)))  # fmt: skip
    given = draw(st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES[:3], amounts)), min_size=1,
                          max_size=6))  # fmt: skip
    return _question(draw, given, draw(st.lists(least | constraints, min_size=1, max_size=5)))


def _question(
    draw: st.DrawFn, given: Sequence[Mapping[str, float | None]], wanted: list[Constraint]
) -> Question:
    return Question(
        [Option(f"o{index}", found) for index, found in enumerate(given)],
        wanted,
        draw(st.lists(wishes, max_size=5)),
        draw(st.dictionaries(st.sampled_from(NAMES), DIRECTIONS)),
        draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from((0.5, 1, 60)))),
    )
