"""Garages say what was counted, how old that is, and what is to be expected."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.apps.travel_planner.roads.garages import Garage, counted, garage_of, trend, usually
from citywise.apps.travel_planner.roads.learned import SLOTS, slot
from citywise.apps.travel_planner.roads.tariffs import ASSUMED, Tariff
from citywise.backend.times import to_ms
from tests.roads.avenue import MINUTE_MS, NOW_MS, garage

HOUR_MS = 60 * MINUTE_MS


def after(*counts: tuple[float, int], capacity: int = 100, **place: object) -> Garage:
    """A garage after counts of (minutes ago, cars)."""
    given = [(NOW_MS - round(ago * MINUTE_MS), cars) for ago, cars in counts]
    found = counted(garage_of(garage(**place), ASSUMED), given, capacity)
    return replace(found, at_ms=NOW_MS)


def local(*moment: int) -> int:
    return to_ms(datetime(*moment, tzinfo=ZoneInfo("Europe/Copenhagen")))  # type: ignore[misc, arg-type]


def test_what_is_free_is_never_below_none_and_too_many_cars_are_told() -> None:
    full, over = after((5, 100)), after((5, 130))
    assert (full.free, full.overfull) == (0, False)
    assert (over.free, over.overfull) == (0, True)


def test_the_capacity_that_comes_with_a_count_is_the_newer_one() -> None:
    assert after((5, 100), capacity=150).free == 50


def test_a_garage_that_nobody_counted_has_a_capacity_but_no_places() -> None:
    unknown = replace(garage_of(garage(), ASSUMED), at_ms=NOW_MS)
    assert (unknown.capacity, unknown.free, unknown.age_s) == (100, None, None)
    assert unknown.stale
    assert unknown.expected(NOW_MS) is None


@pytest.mark.parametrize(("ago", "stale"), [(0, False), (90, False), (91, True)])
def test_a_count_is_old_after_ninety_minutes(ago: float, stale: bool) -> None:
    found = after((ago, 10))
    assert (found.age_s, found.stale) == (ago * 60, stale)


def test_one_odd_count_does_not_change_the_trend() -> None:
    steady = [(NOW_MS + m * MINUTE_MS, 20 + m // 3) for m in range(0, 121, 10)]
    odd = [(t, 400 if i == 11 else cars) for i, (t, cars) in enumerate(steady)]
    assert trend(steady) == pytest.approx(20, rel=0.05)
    assert trend(odd) == pytest.approx(20, rel=0.2)


def test_counts_of_before_the_last_two_hours_tell_nothing_of_the_trend() -> None:
    assert trend([(NOW_MS - 121 * MINUTE_MS, 0), (NOW_MS - MINUTE_MS, 50), (NOW_MS, 50)]) == 0


def test_places_are_expected_to_go_on_as_in_the_last_two_hours_but_ever_less() -> None:
    filling = after((60, 20), (30, 30), (0, 40), capacity=200)
    soon, later = filling.expected(NOW_MS + HOUR_MS // 2), filling.expected(NOW_MS + 9 * HOUR_MS)
    assert soon is not None
    assert later is not None
    assert soon.free == 160 - round(20 * (1 - np.exp(-0.5)))
    assert later.free == 140
    assert later.high - later.low > soon.high - soon.low


def test_where_it_is_known_how_a_garage_usually_fills_that_counts() -> None:
    week = np.full(SLOTS, 0.2)
    week[slot(NOW_MS + 2 * HOUR_MS)] = 0.6
    found = usually(after((0, 40), capacity=200), week)
    expected = found.expected(NOW_MS + 2 * HOUR_MS + HOUR_MS // 2)
    assert expected is not None
    assert expected.free == 80


@pytest.mark.parametrize(("days", "free"), [(0, 40), (2, 46), (364, 80)])
def test_days_ahead_a_garage_is_expected_to_be_as_usual_at_that_hour(days: int, free: int) -> None:
    """Usually 95 of 100 places are taken by day and 20 by night; what is unusual fades."""
    week = np.tile([0.2] * 7 + [0.95] * 12 + [0.2] * 5, 7)
    night = local(2014, 8, 6, 2, 0) + days * 24 * HOUR_MS
    as_usual, fuller = (usually(after((0, cars)), week) for cars in (95, 135))
    expected, more = as_usual.expected(night), fuller.expected(night)
    assert expected is not None
    assert more is not None
    assert expected.free == 80
    assert expected.chance_full < 0.05
    assert more.free == pytest.approx(free, abs=2)


def test_a_garage_that_fills_is_ever_more_likely_to_be_full() -> None:
    filling = after((60, 40), (30, 60), (0, 80))
    chances = [filling.expected(NOW_MS + m * MINUTE_MS) for m in (0, 15, 30, 60)]
    likely = [chance.chance_full for chance in chances if chance]
    assert likely == sorted(likely)
    assert likely[0] < 0.01
    assert likely[-1] > 0.5


COUNTS = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 2000)), min_size=1, max_size=12)


@settings(max_examples=20)
@given(COUNTS, st.integers(1, 1500), st.integers(-60, 3000))
def test_what_is_expected_lies_within_its_own_bounds(
    counts: list[tuple[int, int]], capacity: int, ahead: int
) -> None:
    ordered = sorted(counts, reverse=True)
    expected = after(*ordered, capacity=capacity).expected(NOW_MS + ahead * MINUTE_MS)
    assert expected is not None
    assert 0 <= expected.low <= expected.free <= expected.high <= capacity
    assert 0 <= expected.chance_full <= 1


def test_opening_hours_say_when_it_is_open_and_when_it_opens_next() -> None:
    found = after((5, 10), opening_hours="Mo-Fr 06:20-22:00; Sa-Su off")
    friday_night = local(2014, 8, 8, 23, 5)
    assert found.open
    assert found.open_at(friday_night) is False
    assert found.opens_after(friday_night) == local(2014, 8, 11, 6, 20)
    assert found.opens_after(found.at_ms) == NOW_MS


@pytest.mark.parametrize("hours", [None, "when we like"])
def test_hours_that_nobody_says_or_understands_are_not_known(hours: str | None) -> None:
    found = after((5, 10), opening_hours=hours)
    assert (found.open, found.opens_after(found.at_ms)) == (None, None)


def test_a_garage_that_never_opens_has_no_time_at_which_it_does() -> None:
    found = after((5, 10), opening_hours="off")
    assert found.opens_after(found.at_ms) is None


@pytest.mark.parametrize(
    ("minutes", "cost"),
    [(0, 0), (20, 0), (21, 10), (80, 10), (81, 20), (740, 50), (1460, 50), (1461, 60), (3000, 120)],
)
def test_each_hour_begun_costs_after_the_free_time_and_a_day_has_a_most(
    minutes: float, cost: float
) -> None:
    assert Tariff(per_hour=10, day_most=50, free_minutes=20).cost(minutes) == cost


def test_a_garage_asks_its_own_price_or_the_assumed_one() -> None:
    assert after((5, 10)).tariff is ASSUMED
    own = after((5, 10), price={"per_hour": 22, "free_minutes": 10}).tariff
    assert own == Tariff(per_hour=22, free_minutes=10)
    assert not own.assumed
