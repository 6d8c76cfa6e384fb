"""Random situations are ranked as a few lines of Python rank them."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.situation import Situation

EVENTS = st.dictionaries(
    st.sampled_from([f"e{number}" for number in range(8)]),
    st.tuples(st.integers(1, 5), st.integers(1, 6) | st.integers(1, 60_000)),
    max_size=8,
)
"""Level and metres ahead by event; near ones are often equal."""
WEIGHTS = st.sampled_from([0, 1, 50, 100]) | st.integers(0, 100)
HORIZONS = st.sampled_from([1, 500]) | st.integers(1, 500)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


def nearness(metres: int, horizon: int) -> Fraction:
    """5 at the user, 1 at the horizon (tenths of a kilometre) and beyond, to the hundredth."""
    exact = max(Fraction(1), 5 - Fraction(4 * metres, 100 * horizon))
    return Fraction(half_up(100 * exact), 100)


def places(merits: dict[str, tuple[int | Fraction, ...]]) -> dict[str, int]:
    """1 and the number of those with a lexicographically higher merit."""
    return {name: 1 + sum(m > merits[name] for m in merits.values()) for name in merits}


def situation(events: dict[str, tuple[int, int]], **values: str | int) -> Situation:
    found = Situation().instance(**values).fact("has_position", "me")
    for name, (level, metres) in events.items():
        found.event(name, level).ahead(name, metres)
    return found


@settings(max_examples=150)
@given(EVENTS, WEIGHTS, WEIGHTS, HORIZONS)
def test_linear_criticality_is_the_weighted_mean_rounded_half_up(
    events: dict[str, tuple[int, int]], near: int, severe: int, horizon: int
) -> None:
    w, v = (near, severe) if near or severe else (1, 1)
    means = {
        name: (w * nearness(metres, horizon) + v * level) / Fraction(w + v)
        for name, (level, metres) in events.items()
    }
    values = {"weight_distance": near, "weight_level": severe, "horizon": horizon}
    found = situation(events, **values).conclude()
    assert found.of() == {name: half_up(mean) for name, mean in means.items()}
    assert found.ranks() == places({name: (mean,) for name, mean in means.items()})


@settings(max_examples=150)
@given(EVENTS, st.sampled_from(["distance", "level"]), HORIZONS, st.integers(1, 5))
def test_ordered_ranks_are_those_of_a_lexicographic_order(
    events: dict[str, tuple[int, int]], first: str, horizon: int, least: int
) -> None:
    criticality = {
        name: level if first == "level" else half_up(nearness(metres, horizon))
        for name, (level, metres) in events.items()
    }
    told = {name: found for name, found in criticality.items() if found >= least}
    merits: dict[str, tuple[int | Fraction, ...]] = {
        name: (level, -metres) if first == "level" else (-metres, level)
        for name, (level, metres) in events.items()
        if name in told
    }
    values: dict[str, str | int] = {"ranking": "ordered", "first": first, "horizon": horizon}
    found = situation(events, **values, least_criticality=least).conclude()
    assert found.of() == told
    assert found.ranks() == places(merits)
