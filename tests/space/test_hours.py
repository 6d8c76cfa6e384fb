"""The city's own time: minutes, weekdays, spans and opening hours, summer time included."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from datetime import datetime

import pytest

from citywise.backend.opening import BadHoursError, check_hours, is_open
from citywise.backend.space import LocalTime, in_span

ZONE = "Europe/Copenhagen"


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("time", "minute", "weekday", "date"),
    [
        ("2014-08-05T07:30:59Z", 9 * 60 + 30, 2, (2014, 8, 5)),
        ("2014-08-10T22:00:00Z", 0, 1, (2014, 8, 11)),
        ("2026-03-29T00:59:59.999Z", 119, 7, (2026, 3, 29)),
        ("2026-03-29T01:00:00Z", 180, 7, (2026, 3, 29)),
        ("2026-10-25T00:30:00Z", 150, 7, (2026, 10, 25)),
        ("2026-10-25T01:30:00Z", 150, 7, (2026, 10, 25)),
    ],
)
def test_clock_and_calendar_are_those_on_the_wall(
    time: str, minute: int, weekday: int, date: tuple[int, int, int]
) -> None:
    facts = LocalTime(ZONE).facts(ms(time))
    assert (facts.minute, facts.weekday, facts.date) == (minute, weekday, date)


@pytest.mark.parametrize(
    ("span", "inside", "outside"),
    [
        ((420, 570), [420, 569], [419, 570]),
        ((1320, 360), [1320, 1439, 0, 359], [360, 1319]),
        ((0, 0), [0, 700, 1439], []),
    ],
)
def test_a_span_begins_with_its_first_minute_and_may_cross_midnight(
    span: tuple[int, int], inside: list[int], outside: list[int]
) -> None:
    assert all(in_span(minute, span) for minute in inside)
    assert not any(in_span(minute, span) for minute in outside)


@pytest.mark.parametrize(
    ("text", "time", "expected"),
    [
        ("Mo-Fr 08:00-18:00", "2014-08-04T07:59:59+02:00", False),
        ("Mo-Fr 08:00-18:00", "2014-08-04T08:00:00+02:00", True),
        ("Mo-Fr 08:00-18:00", "2014-08-04T18:00:00+02:00", False),
        ("Mo-Fr 08:00-18:00", "2014-08-03T12:00:00+02:00", False),
        ("22:00-06:00", "2014-08-04T02:00:00+02:00", True),
        ("Mo-Su 08:00-18:00; PH off", "2014-12-25T12:00:00+01:00", False),
        ("Mo-Su 08:00-18:00", "2014-12-25T12:00:00+01:00", True),
        ("01:00-02:30", "2026-10-25T02:15:00+02:00", True),
        ("01:00-02:30", "2026-10-25T02:45:00+02:00", False),
        ("01:00-02:30", "2026-10-25T02:15:00+01:00", True),
        ("02:15-03:30", "2026-03-29T01:59:00+01:00", False),
        ("02:15-03:30", "2026-03-29T03:00:00+02:00", True),
        ("24/7 unknown", "2026-03-29T03:00:00+02:00", False),
    ],
)
def test_opening_hours_are_local_and_know_holidays(text: str, time: str, expected: bool) -> None:
    assert is_open(text, ms(time), ZONE) is expected


def test_danish_holidays_count_only_in_denmark() -> None:
    noon = ms("2014-12-25T12:00:00Z")
    assert is_open("Mo-Su 08:00-18:00; PH off", noon, "UTC")
    assert not is_open("Mo-Su 08:00-18:00; PH off", noon, ZONE)


def test_hours_in_another_syntax_are_refused_with_an_example() -> None:
    with pytest.raises(BadHoursError, match=r"`8 to 5` is not in OpenStreetMap's .* `Mo-Fr 08:00"):
        check_hours("8 to 5")
    with pytest.raises(BadHoursError):
        is_open("Mo-Fr 8-25h", 0, ZONE)
    check_hours("Mo-Fr 08:00-18:00; Sa 10:00-14:00; PH off")


PIECES = (
    "Mo", "Tu-Fr", "Sa,Su", "PH", "SH", "off", "unknown", "24/7", "08:00-12:00", "22:00-26:00",
    "10:00-48:00", "12:00+", "sunrise-sunset", "(sunrise+01:00)-(sunset-23:59)", "Feb 29",
    "Dec 31-Jan 1", "1900-9999", "2026+", "2026-2100/3", "week 1-53/7", "easter -364 days",
    "easter-Dec 31", "Su[5] +7 days", "Mo[1,3,-5]", "PH -7 days", "10:00-16:00/00:01", "(((", ";",
    ",", "||", "\"x\"", "\u0661", "99:99", "+9999999999 days",
)  # fmt: skip
TIMES = [ms("1970-01-01T00:00:00Z"), ms("2026-10-25T00:30:00Z"), ms("2099-12-31T23:59:00Z")]


def test_no_text_that_a_place_may_have_takes_long_or_raises_anything_else() -> None:
    """500 characters are what the ingest accepts; a long rule may be said many times in them."""
    chance = random.Random(1)
    read, slowest = 0, 0.0
    for _ in range(3000):
        rule = " ".join(chance.choices(PIECES, k=chance.randint(1, 5)))
        text = "; ".join([rule] * chance.choice([1, 2, 100]))[:500]
        began = time.process_time()
        with suppress(BadHoursError):
            for t_ms in TIMES:
                is_open(text, t_ms, ZONE)
            read += 1
        slowest = max(slowest, time.process_time() - began)
    assert read > 300
    assert slowest < 5
