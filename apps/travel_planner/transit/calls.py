"""The times of a trip: rows of stop_times.txt as calls, with those filled in that are missing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from citywise.apps.travel_planner.transit.tables import Row

_TIME = re.compile(r"(\d{1,3}):([0-5]\d):([0-5]\d)")
_MOST_SECONDS = 7 * 86_400
_YEARS = range(1900, 2201)


@dataclass(frozen=True, slots=True)
class Call:
    """A trip at a stop; seconds of the service day."""

    stop: str
    arrives: int
    departs: int
    pickup: int
    drop_off: int
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class Raw:
    line: int
    sequence: int
    stop: str
    arrives: int | None
    departs: int | None
    along: float | None
    pickup: int
    drop_off: int
    fault: str = ""


class CallError(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def raw_call(line: int, row: Row) -> Raw:
    arrives, departs = clock_s(row["arrival_time"]), clock_s(row["departure_time"])
    if arrives is None:
        arrives = departs
    if departs is None:
        departs = arrives
    dist = row.get("shape_dist_traveled", "")
    types = [int(row.get(name) or "0") for name in ("pickup_type", "drop_off_type")]
    if not all(0 <= kind <= 3 for kind in types):
        raise ValueError("pickup and drop-off types are 0 to 3")
    along = float(dist) if dist else None
    if along is not None and not math.isfinite(along):
        raise ValueError("`shape_dist_traveled` is no length")
    sequence = int(row["stop_sequence"])
    return Raw(line, sequence, row["stop_id"], arrives, departs, along, types[0], types[1])


def timed_calls(raws: Sequence[Raw]) -> tuple[Call, ...]:
    """The calls of a trip with all times; raises `CallError` where they cannot be."""
    for raw in raws:
        if raw.fault:
            raise CallError(raw.line, raw.fault)
    if len(raws) < 2:
        raise CallError(raws[0].line if raws else 0, "has fewer than two stops")
    known = [at for at, raw in enumerate(raws) if raw.arrives is not None]
    if not known or known[0] != 0 or known[-1] != len(raws) - 1:
        raise CallError(raws[0].line, "has no time at its first or last stop")
    times = {at: (raws[at].arrives or 0, raws[at].departs or 0) for at in known}
    for low, high in pairwise(known):
        _interpolate(raws, low, high, times)
    calls, before = [], -1
    for at, raw in enumerate(raws):
        arrives, departs = times[at]
        if arrives < before or departs < arrives:
            raise CallError(raw.line, "goes back in time")
        if at and raw.sequence == raws[at - 1].sequence:
            raise CallError(raw.line, f"has `stop_sequence` {raw.sequence} twice")
        before = departs
        calls.append(Call(raw.stop, arrives, departs, raw.pickup, raw.drop_off, raw.sequence))
    return tuple(calls)


def _interpolate(
    raws: Sequence[Raw], low: int, high: int, times: dict[int, tuple[int, int]]
) -> None:
    """Fill in the times between two known ones: by length, else evenly, rounded down."""
    start, span = times[low][1], times[high][0] - times[low][1]
    lengths = [raw.along for raw in raws[low : high + 1]]
    known = [length for length in lengths if length is not None]
    by_length = len(known) == len(lengths) and known == sorted(known) and known[0] < known[-1]
    for at in range(low + 1, high):
        if by_length:
            passed, whole = known[at - low] - known[0], known[-1] - known[0]
            time = start + math.floor(span * passed / whole)  # a 49th of 49 s is one second
        else:
            time = start + span * (at - low) // (high - low)
        times[at] = (time, time)


def clock_s(text: str) -> int | None:
    """`25:10:00` as seconds; None where nothing stands."""
    if not text:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"found the time {text!r}, expected HH:MM:SS")
    hours, minutes, seconds = map(int, match.groups())
    found = hours * 3600 + minutes * 60 + seconds
    if found > _MOST_SECONDS:
        raise ValueError(f"found the time {text!r}, expected at most 168:00:00")
    return found


def day_of(text: str) -> date:
    if len(text) != 8 or not text.isdecimal():
        raise ValueError(f"found the date {text!r}, expected YYYYMMDD")
    if int(text[:4]) not in _YEARS:
        raise ValueError(f"found the date {text!r}, expected a year from 1900 to 2200")
    return date(int(text[:4]), int(text[4:6]), int(text[6:]))
