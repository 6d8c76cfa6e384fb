"""The city's own time: minutes, weekdays, spans and opening hours, summer time included."""

from __future__ import annotations

from datetime import datetime

import pytest

from backend.space import BadHoursError, LocalTime, check_hours, in_span, is_open

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
