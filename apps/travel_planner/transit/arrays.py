"""A timetable's days and the changes between its stops as arrays, for the compiled search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from citywise.apps.travel_planner.transit.days import Days, Pattern
from citywise.apps.travel_planner.transit.ground import MICRO, Ground
from citywise.apps.travel_planner.transit.timetable import Times

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Flat:
    """Patterns one behind the other, as `kernel.rounds` takes them."""

    stop_at: Ints
    stop_calls: Ints
    patterns: Ints
    calls: Ints
    arrives: Ints
    departs: Ints


@dataclass(frozen=True, eq=False)
class Paths:
    """Changes by the stop that they begin at; None where rules tell lines apart."""

    change_at: Ints
    changes: Ints


_Shape = tuple[tuple[int, ...], Sequence[bool], Sequence[bool], Times, Times]


def flat(days: Days, backwards: bool) -> Flat:
    """All that runs on some days."""
    at: dict[int, list[tuple[int, int]]] = {}
    patterns: list[tuple[int, ...]] = []
    calls: list[tuple[int, ...]] = []
    arrives, departs = [], []
    first_time = 0
    for number, shape in enumerate(_shapes(days)):
        stops, boards, alights, there, away = _mirrored(shape) if backwards else shape
        last = len(stops) - 1
        patterns.append((len(calls), len(stops), first_time, there.shape[1]))
        for call, stop in enumerate(stops):
            calls.append((stop, int(alights[call])))
            if boards[call] and call < last:
                at.setdefault(stop, []).append((number, call))
        arrives.append(there.ravel())
        departs.append(away.ravel())
        first_time += there.size
    count = len(days.timetable.stops.all)
    stop_at, stop_calls = _rows([at.get(stop, []) for stop in range(count)], 2)
    return Flat(
        stop_at,
        stop_calls,
        np.array(patterns, dtype=np.int64).reshape(-1, 4),
        np.array(calls, dtype=np.int64).reshape(-1, 2),
        np.concatenate(arrives) if arrives else np.zeros(0, np.int64),
        np.concatenate(departs) if departs else np.zeros(0, np.int64),
    )


def _shapes(days: Days) -> Iterator[_Shape]:
    for template, there, away in days.times():
        yield template.stops, template.boards, template.alights, there, away
    for pattern in days.extra():
        yield _of_pattern(pattern)


def _of_pattern(pattern: Pattern) -> _Shape:
    there = np.array(pattern.arrives, dtype=np.int64)
    away = np.array(pattern.departs, dtype=np.int64)
    return pattern.stops, pattern.boards, pattern.alights, there, away


def _mirrored(shape: _Shape) -> _Shape:
    """Against the direction of time (`days.Pattern.mirrored`)."""
    stops, boards, alights, there, away = shape
    return stops[::-1], alights[::-1], boards[::-1], -away[::-1, ::-1], -there[::-1, ::-1]


def paths(ground: Ground, backwards: bool) -> Paths | None:
    """All changes between stops."""
    rows = []
    for stop in range(len(ground.stops.all)):
        found = ground.changes(stop, backwards)
        if any(change.rules for change in found):
            return None
        rows.append([(each.to, each.seconds or 0, each.micro) for each in found])
    return Paths(*_rows(rows, 3))


def _rows(rows: Sequence[Sequence[tuple[int, ...]]], width: int) -> tuple[Ints, Ints]:
    """Where the rows of each begin, and all of them."""
    at = np.zeros(len(rows) + 1, dtype=np.int64)
    at[1:] = np.cumsum([len(each) for each in rows])
    every = [row for each in rows for row in each]
    return at, np.array(every, dtype=np.int64).reshape(-1, width)


class Sliced(Mapping[int, Sequence[tuple[int, int, int]]]):
    """Rows of (stop, time, micrometres, rides) by their stop, but for those that others beat."""

    def __init__(self, rows: Ints, stops: int) -> None:
        order = np.argsort(rows[:, 0], kind="stable")
        self._rows = rows[order]
        self._at = np.searchsorted(self._rows[:, 0], np.arange(stops + 1))
        self._read: dict[int, list[tuple[int, int, int]]] = {}

    def __getitem__(self, stop: int) -> list[tuple[int, int, int]]:
        if stop not in self._read:
            rows = self._rows[self._at[stop] : self._at[stop + 1], 1:].tolist()
            kept: list[tuple[int, int, int]] = []
            for time, micro, rides in sorted(rows, key=lambda row: (row[2], row[0], row[1])):
                if not any(was <= time and walked <= micro for was, walked, _ in kept):
                    kept.append((time, micro, rides))
            self._read[stop] = kept
        return self._read[stop]

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._at) - 1))

    def __len__(self) -> int:
        return len(self._at) - 1


class Bounds(Protocol):
    """What a journey keeps to (`search.Span`)."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def micro(self) -> int: ...


def searched(
    days: Days,
    ground: Ground,
    backwards: bool,
    ends: Sequence[Mapping[int, tuple[int, int]]],
    span: Bounds,
) -> tuple[Sliced, Sliced, list[tuple[int, int, int]]] | None:
    """Where one gets off and is ready to get on, and (time, micrometres, rides) at the target;
    None where rules of changing tell lines apart."""
    from citywise.apps.travel_planner.transit import kernel

    if backwards not in ground.arrays:
        ground.arrays[backwards] = paths(ground, backwards)
    changes: Paths | None = ground.arrays[backwards]
    if changes is None:
        return None
    if backwards not in days.arrays:
        days.arrays[backwards] = flat(days, backwards)
    times: Flat = days.arrays[backwards]
    stops = len(times.stop_at) - 1
    seeds = [(stop, span.start + seconds, micro) for stop, (seconds, micro) in ends[0].items()]
    target = np.full((stops, 2), -1, dtype=np.int64)
    for stop, pair in ends[1].items():
        target[stop] = pair
    off, ready, found = kernel.rounds(
        np.array(seeds, dtype=np.int64).reshape(-1, 3),
        target,
        times.stop_at,
        times.stop_calls,
        times.patterns,
        times.calls,
        times.arrives,
        times.departs,
        changes.change_at,
        changes.changes,
        span.end,
        span.micro,
        MICRO,
    )
    rows = [(time, micro, rides) for time, micro, rides in found.tolist()]
    return Sliced(off, stops), Sliced(ready, stops), rows
