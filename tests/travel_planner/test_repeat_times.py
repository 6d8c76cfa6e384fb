"""When repeating trips are looked at: compared with the definition, minute by minute."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from citywise.apps.travel_planner.repeat_times import (
    Pattern,
    instant,
    next_day,
    next_look,
    run,
)

MINUTE = 60_000
CITY = ZoneInfo("Europe/Copenhagen")


def shown(day: date, clock: str) -> int:
    """The definition: the first minute at which the clocks of the city show that day and time;
    where they never do, the one so long after midnight as the time says."""
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=3)
    minutes = [begin + timedelta(minutes=n) for n in range(30 * 60)]
    local = [(at, at.astimezone(CITY)) for at in minutes]
    of_day = [(at, here) for at, here in local if here.date() == day]
    found = [at for at, here in of_day if here.strftime("%H:%M") == clock]
    hours, rest = map(int, clock.split(":"))
    chosen = found[0] if found else of_day[0][0] + timedelta(hours=hours, minutes=rest)
    return round(chosen.timestamp() * 1000)


@pytest.mark.parametrize(
    ("day", "clock"),
    [
        ("2026-03-29", "01:59"),
        ("2026-03-29", "02:30"),
        ("2026-03-29", "03:00"),
        ("2026-10-25", "02:30"),
        ("2026-10-25", "03:30"),
        ("2026-03-29", "08:00"),
        ("2026-10-25", "08:00"),
        ("2026-05-04", "00:00"),
        ("2026-12-31", "23:59"),
    ],
)
def test_a_time_of_day_is_when_the_clocks_show_it_on_days_with_other_hours_too(
    day: str, clock: str
) -> None:
    assert instant(date.fromisoformat(day), clock) == shown(date.fromisoformat(day), clock)


def days_by_definition(pattern: Pattern, now_ms: int) -> str | None:
    """The first day whose trip is not over, that the pattern has and its user has not left out."""
    begin = datetime.fromtimestamp(now_ms / 1000, CITY).date() - timedelta(days=1)
    for number in range(367):
        day = begin + timedelta(days=number)
        text = day.isoformat()
        runs = text in pattern.dates if pattern.dates else day.isoweekday() in pattern.weekdays
        is_out = text in pattern.skipped or (pattern.until is not None and text > pattern.until)
        ends = shown(day, pattern.at) + (0 if pattern.by == "arrive" else 120 * MINUTE)
        if runs and not is_out and ends > now_ms and not pattern.paused:
            return text
    return None


@pytest.mark.parametrize("seed", range(20))
def test_the_next_day_and_what_is_told_of_it_are_as_defined(seed: int) -> None:
    chance = random.Random(seed)
    now = datetime(2026, chance.choice((3, 10)), 23, tzinfo=UTC)
    now += timedelta(minutes=chance.randrange(6 * 1440))
    now_ms = round(now.timestamp() * 1000)

    def some_days(most: int) -> tuple[str, ...]:
        picked = {chance.randrange(-2, 9) for _ in range(chance.randrange(most))}
        return tuple(sorted((now.date() + timedelta(days=n)).isoformat() for n in picked))

    pattern = Pattern(
        at=f"{chance.randrange(24):02}:{chance.randrange(60):02}",
        by=chance.choice(("depart", "arrive")),
        weekdays=tuple(sorted({chance.randrange(1, 8) for _ in range(3)})),
        dates=some_days(4) if chance.random() < 0.3 else (),
        skipped=some_days(4),
        until=None if chance.random() < 0.6 else (now.date() + timedelta(days=4)).isoformat(),
        paused=chance.random() < 0.1,
        evening=chance.choice(("20:00", "02:30", None)),
        before_min=chance.choice((60, 15, None)),
    )
    day = next_day(pattern, now_ms)
    assert (None if day is None else day.isoformat()) == days_by_definition(pattern, now_ms)
    if day is None:
        return
    found = run(pattern, day)
    begins = shown(day, pattern.at) - (120 * MINUTE if pattern.by == "arrive" else 0)
    evening = pattern.evening and shown(day - timedelta(days=1), pattern.evening)
    before = begins - 15 * MINUTE
    if pattern.before_min is not None:
        before = begins - pattern.before_min * MINUTE
    due = [at for at in (evening, before) if at] + [found.arrives_ms]
    assert next_look(pattern, found, "waiting", now_ms) == max(min(due), now_ms + 1)


def test_what_was_told_is_not_looked_at_again_before_the_next_moment() -> None:
    pattern = Pattern(at="08:00", weekdays=(1,))
    found = run(pattern, date(2026, 5, 4))
    evening = shown(date(2026, 5, 3), "20:00")
    assert found.evening_ms == evening
    assert next_look(pattern, found, "evening", evening) == shown(date(2026, 5, 4), "07:00")


def test_a_trip_of_last_night_is_still_under_way_after_midnight() -> None:
    pattern = Pattern(at="23:50", weekdays=(1,))
    assert next_day(pattern, shown(date(2026, 5, 5), "00:30")) == date(2026, 5, 4)
    assert next_day(pattern, shown(date(2026, 5, 5), "02:30")) == date(2026, 5, 11)
