"""Forecasts of free places: how often their bounds hold, and how far off they are.

    citywise bench forecast           # with the data pack

The garages of Aarhus, May to August 2014: learned from the counts until 15 August, tried on
those after. Each count is forecast from what was known 15, 30 and 60 minutes before it. Bounds are
to hold in 80 % of cases (`holds`). `loss` is the mean pinball loss of low, middle and high (the
10th, 50th and 90th percentile; Koenker and Bassett 1978), in per cent of the capacity; beside it
that of

- `last`: the last count stays;
- `weeks`: the mean of the same time of the week in the three weeks before, as HSL's park and ride
  forecasts are made;
- `season`: what is usual in that hour of the week, all that was learned.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from citywise.apps.travel_planner.roads.garages import (
    TREND_MS,
    counted,
    garage_of,
    usually,
)
from citywise.apps.travel_planner.roads.learned import usual, weeks_of
from citywise.apps.travel_planner.roads.tariffs import ASSUMED
from citywise.backend.city.aarhus import Pack
from citywise.backend.ingest.payloads import Place
from citywise.backend.machine import REPOSITORY
from citywise.backend.times import parse_ms

SPLIT_MS = parse_ms("2014-08-14T22:00:00Z")
HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
AHEAD_MIN = (15, 30, 60)
PERCENTILES = (0.1, 0.5, 0.9)
_NEAR_MS = 45 * 60_000
NO_PACK = "no data pack (CITYWISE_DATA)"
Counts = list[tuple[int, int]]


def run(_part: str = "") -> list[dict[str, Any]]:
    """A row of figures for each time ahead."""
    folder = Path(os.environ.get("CITYWISE_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (folder / "citybench").is_dir():
        return [{"part": "parking", "why": NO_PACK}]
    pack = Pack(folder)
    counts, capacity = _counts(pack)
    places = [place for place in pack.places() if place.id in counts]
    return [_row(minutes, places, counts, capacity) for minutes in AHEAD_MIN]


def report(rows: list[dict[str, Any]]) -> str:
    """One line a row."""
    return "\n".join("  ".join(f"{name} {value}" for name, value in row.items()) for row in rows)


def _counts(pack: Pack) -> tuple[dict[str, Counts], dict[str, int]]:
    """All counts of each garage, and what it holds."""
    counts: dict[str, Counts] = defaultdict(list)
    capacity: dict[str, int] = {}
    for t_ms, readings in pack.parking(0, SPLIT_MS + 30 * 24 * HOUR_MS):
        for body in readings:
            counts[str(body["sensor"])].append((t_ms, body["occupied"]))
            capacity[str(body["sensor"])] = body["capacity"]
    return counts, capacity


def _row(
    minutes: int, places: Sequence[Place], counts: dict[str, Counts], capacity: dict[str, int]
) -> dict[str, Any]:
    losses: dict[str, list[float]] = defaultdict(list)
    held: list[bool] = []
    for place in places:
        for found, ways in _tried(minutes, place, counts[place.id], capacity[place.id]):
            low, _, high = ways["ours"]
            held.append(low <= found <= high)
            for name, told in ways.items():
                losses[name].append(_pinball(told, found) / capacity[place.id] * 100)
    mean = {name: float(np.mean(each)) for name, each in losses.items()}
    others = {name: round(mean[name], 2) for name in ("last", "weeks", "season")}
    less = {f"below_{name}": _percent(1 - mean["ours"] / mean[name]) for name in ("last", "weeks")}
    figures = {"ahead_min": minutes, "counts": len(held), "holds": _percent(np.mean(held))}
    return {"part": "parking", **figures, "loss": round(mean["ours"], 2), **others, **less}


def _tried(
    minutes: int, place: Place, counts: Counts, capacity: int
) -> Iterator[tuple[int, dict[str, tuple[float, float, float]]]]:
    """Free places at each count after the split, and what was forecast by each way."""
    times = [at for at, _ in counts]
    known = [(at, cars) for at, cars in counts if at < SPLIT_MS]
    week = weeks_of(
        1,
        np.zeros(len(known), np.int64),
        np.array([at for at, _ in known]),
        np.array([cars / capacity for _, cars in known]),
        SPLIT_MS,
    )[0]
    plain = usually(garage_of(place, ASSUMED), week)
    for at, cars in counts[len(known) :]:
        now = at - minutes * 60_000
        last = bisect_right(times, now)
        if last == 0:
            continue
        first = bisect_right(times, times[last - 1] - TREND_MS)
        garage = replace(counted(plain, counts[first:last], capacity), at_ms=now)
        ours = garage.expected(at)
        if ours is None:
            continue
        stays = float(garage.free or 0)
        weekly = _three_weeks(counts, times, at)
        mean = stays if weekly is None else capacity - weekly
        season = capacity * (1 - float(usual(week, at)))
        ways = {"ours": (float(ours.low), float(ours.free), float(ours.high))}
        ways |= {"last": (stays,) * 3, "weeks": (mean,) * 3, "season": (season,) * 3}
        yield min(max(capacity - cars, 0), capacity), ways


def _three_weeks(counts: Counts, times: list[int], at: int) -> float | None:
    """The mean of the counts nearest to this time of the week in the three weeks before."""
    found = []
    for week in (1, 2, 3):
        then = at - week * WEEK_MS
        place = bisect_right(times, then)
        near = [counts[n] for n in (place - 1, place) if 0 <= n < len(counts)]
        near = [one for one in near if abs(one[0] - then) <= _NEAR_MS]
        if near:
            found.append(min(near, key=lambda one: abs(one[0] - then))[1])
    return float(np.mean(found)) if found else None


def _pinball(told: Sequence[float], found: float) -> float:
    """The mean pinball loss of some percentiles."""
    return float(
        np.mean(
            [
                max(share * (found - value), (share - 1) * (found - value))
                for share, value in zip(PERCENTILES, told, strict=True)
            ]
        )
    )


def _percent(share: Any) -> float:
    return round(float(share) * 100, 1)


if __name__ == "__main__":
    print(report(run()))
