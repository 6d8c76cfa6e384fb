"""What is to be said of sensors, slowly, as docs/kinds.md says it; shares no code with Citywise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import asin, ceil, cos, radians, sin, sqrt
from statistics import median
from typing import NamedTuple

MINUTE = 60_000
HOUR = 60 * MINUTE


class Told(NamedTuple):
    """One line that came: of which sensor and time, and what; None: withdrawn."""

    sensor: str
    ms: int
    level: float | None
    error: float | None = None


class Rules(NamedTuple):
    """What the file of the kind says of `level`."""

    jump: float
    apart: float
    accuracy: float
    period_s: int
    stale_s: int
    stuck_readings: int
    stuck_s: int
    near_m: int
    reliable_pct: int


def metres(one: tuple[float, float], other: tuple[float, float]) -> float:
    lat, lat2 = radians(one[0]), radians(other[0])
    east = radians(other[1] - one[1])
    half = sin((lat2 - lat) / 2) ** 2 + cos(lat) * cos(lat2) * sin(east / 2) ** 2
    return 2 * 6_371_000 * asin(sqrt(half))


def doubted(
    rules: Rules, came: Sequence[Told], places: Mapping[str, tuple[float, float]], minute: int
) -> dict[str, tuple[bool, int, float]]:
    """By sensor: whether it is reliable, its percentage, and its accuracy."""
    series: dict[str, list[Told]] = {}
    for sensor in {told.sensor for told in came}:
        last_word = {told.ms: told for told in came if told.sensor == sensor}
        newest = sorted(last_word)[-24:]
        kept = [last_word[ms] for ms in newest if ms > minute - 12 * HOUR]
        if said := [told for told in kept if told.level is not None]:
            series[sensor] = said

    def level(told: Told) -> float:
        assert told.level is not None
        return told.level

    def same(one: Told, other: Told) -> bool:
        return (one.level, one.error) == (other.level, other.error)

    def is_stuck(sensor: str, index: int) -> bool:
        own = series[sensor]
        first = last = index
        while first > 0 and same(own[first - 1], own[index]):
            first -= 1
        while last + 1 < len(own) and same(own[last + 1], own[index]):
            last += 1
        others = [name for name in series if name != sensor]
        twice = 2 if len(others) < 3 else 1
        if last - first + 1 < twice * rules.stuck_readings:
            return False
        if own[last].ms - own[first].ms < twice * rules.stuck_s * 1000:
            return False
        end = own[last + 1].ms if last + 1 < len(own) else 10**18
        changed = 0
        for name in others:
            theirs = series[name]
            changed += any(
                own[first].ms < theirs[i].ms < end and not same(theirs[i - 1], theirs[i])
                for i in range(1, len(theirs))
            )
        return not others or 2 * changed >= len(others)

    def is_apart(sensor: str, told: Told) -> bool:
        theirs = []
        for name, other in series.items():
            if name == sensor or metres(places[name], places[sensor]) > rules.near_m:
                continue
            before = [one for one in other if one.ms <= told.ms]
            if before and told.ms - before[-1].ms <= rules.stale_s * 1000:
                theirs.append(level(before[-1]))
        return len(theirs) >= 2 and abs(level(told) - median(theirs)) > rules.apart

    def is_wrong(sensor: str, index: int) -> bool:
        own = series[sensor]
        jumps = index > 0 and abs(level(own[index]) - level(own[index - 1])) > rules.jump
        return jumps or is_stuck(sensor, index) or is_apart(sensor, own[index])

    found = {}
    for sensor, own in series.items():
        gaps = [own[i].ms - own[i - 1].ms for i in range(1, len(own))]
        usual = median(gaps) if len(own) > 2 else 0
        limit = max(3 * usual, rules.stale_s * 1000)
        missing = sum(
            min(24, max(1, ceil(gap / (rules.period_s * 1000)) - 1)) for gap in gaps if gap > limit
        )
        wrong = [is_wrong(sensor, index) for index in range(len(own))]
        percent = 100 * wrong.count(False) // (len(own) + missing)
        silent = minute - own[-1].ms > limit
        reliable = not silent and not wrong[-1] and percent >= rules.reliable_pct
        off = own[-1].error
        found[sensor] = reliable, percent, rules.accuracy if off is None else off
    return found
