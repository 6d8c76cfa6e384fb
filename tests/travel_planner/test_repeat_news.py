"""What has changed of a repeating trip since it was told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from citywise.apps.travel_planner.repeat_news import State, Told, from_body, news, settled, told

WAY = Told(
    "2026-05-04", "transit", "2026-05-04T08:02:00+02:00", "2026-05-04T08:31:00+02:00", ("A", "B")
)
SHOWN = {"day": "2026-05-04", "departs": "08:02", "arrives": "08:31", "by": "A, B"}


def at(departs: str, arrives: str, day: str = "2026-05-04", **more: Any) -> Told:
    begin, end = (f"{day}T{clock}:00+02:00" for clock in (departs, arrives))
    return replace(WAY, day=day, departs=begin, arrives=end, **more)


def test_what_was_never_told_is_told_as_it_is() -> None:
    assert news(None, State(WAY)) == SHOWN


def test_the_same_way_on_another_day_is_no_news() -> None:
    assert news(WAY, State(at("08:02", "08:31", "2026-05-05"))) == {}


def test_the_same_clock_time_after_the_clocks_were_changed_is_no_news() -> None:
    saturday = replace(
        WAY, day="2026-10-24", departs="2026-10-24T08:02+02:00", arrives="2026-10-24T08:31+02:00"
    )
    sunday = replace(
        WAY, day="2026-10-25", departs="2026-10-25T08:02+01:00", arrives="2026-10-25T08:31+01:00"
    )
    assert news(saturday, State(sunday)) == {}


@pytest.mark.parametrize(
    ("now", "details"),
    [
        (State(at("08:02", "08:43")), {"later": 12}),
        (State(at("08:02", "08:33")), {}),
        (State(at("08:02", "08:27")), {"earlier": 4}),
        (State(at("08:01", "08:31")), {"leave_earlier": 1}),
        (State(at("08:04", "08:31")), {}),
        (State(at("08:12", "08:41")), {"leave_later": 10, "later": 10}),
        (State(at("08:02", "08:31", lines=("A", "C"))), {"lines": "A, C"}),
        (State(WAY, cancelled=("A 08:02 South",)), {"cancelled": "A 08:02 South"}),
        (State(WAY, broken_at="Change"), {"broken": "Change"}),
        (State(replace(WAY, garage="West")), {"garage": "West"}),
        (State(WAY, ahead={"e": "Ringgade", "f": "Ringgade"}), {"ahead": "Ringgade"}),
        (State(at("08:02", "08:31", mode="car", lines=())), {"by_car": ""}),
    ],
)
def test_each_change_has_its_word(now: State, details: dict[str, Any]) -> None:
    found = news(WAY, now)
    assert {name: value for name, value in found.items() if name not in SHOWN} == details
    assert bool(found) == bool(details)


def test_no_way_is_told_once_and_a_way_again_too() -> None:
    none = State(told("2026-05-04", None), cancelled=("A 08:02 South",))
    assert news(WAY, none) == {"day": "2026-05-04", "cancelled": "A 08:02 South"}
    assert news(none.way, none) == {}
    assert news(none.way, State(WAY)) == SHOWN


def test_what_does_not_run_is_named_once_a_day() -> None:
    now = State(WAY, cancelled=("A 08:02 South",))
    known = settled(WAY, now, is_told=True)
    assert news(known, now) == {}
    tomorrow = State(at("08:02", "08:31", "2026-05-05"), cancelled=("A 08:02 South",))
    assert news(known, tomorrow)["cancelled"] == "A 08:02 South"


def test_small_delays_add_up_until_they_are_told() -> None:
    known: Told | None = WAY
    for minute, expected in ((33, {}), (35, {"later": 4}), (36, {})):
        now = State(at("08:02", f"08:{minute}"))
        found = news(known, now)
        assert {name: found[name] for name in found if name not in SHOWN} == expected
        known = settled(known, now, is_told=bool(found))


def test_small_differences_of_days_add_up_too() -> None:
    today = State(at("08:02", "08:33", "2026-05-05"))
    known = settled(WAY, today, is_told=False)
    assert (known.day, known.arrives) == ("2026-05-05", "2026-05-05T06:31:00Z")
    assert news(known, State(at("08:02", "08:35", "2026-05-06")))["later"] == 4


def test_what_was_told_is_read_as_it_was_kept() -> None:
    assert from_body(vars(WAY) | {"lines": ["A", "B"], "ahead": [], "wrong": []}) == WAY
