"""A timetable's days and the changes between its stops as arrays, for the compiled search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Protocol

import numpy as np

from citywise.apps.travel_planner.transit.days import Days, Pattern
from citywise.apps.travel_planner.transit.ground import MICRO, Ground
from citywise.apps.travel_planner.transit.timetable import Times

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Seconds = np.ndarray[tuple[int, ...], np.dtype[np.int32]]


@dataclass(frozen=True, eq=False)
class Flat:
    """Patterns one behind the other, as `kernel.rounds` takes them."""

    stop_at: Ints
    stop_calls: Ints
    patterns: Ints
    calls: Ints
    base: int
    """From which times count, in half the memory: what costs a search is to fetch them."""
    arrives: Seconds
    departs: Seconds


@dataclass(frozen=True, eq=False)
class Paths:
    """Changes by the stop that they begin at, the shortest first."""

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
            calls.append((stop, int(alights[call]), int(boards[call] and call < last)))
            if boards[call] and call < last:
                at.setdefault(stop, []).append((number, call))
        arrives.append(there.T.ravel())
        departs.append(away.ravel())
        first_time += there.size
    base = min((int(there.min()) for there in arrives if there.size), default=0)
    count = len(days.timetable.stops.all)
    stop_at, stop_calls = _rows([at.get(stop, []) for stop in range(count)], 2)
    return Flat(
        stop_at,
        stop_calls,
        np.array(patterns, dtype=np.int64).reshape(-1, 4),
        np.array(calls, dtype=np.int64).reshape(-1, 3),
        base,
        _from(base, arrives),
        _from(base, departs),
    )


def _from(base: int, times: Sequence[Ints]) -> Seconds:
    every = np.concatenate(times) if times else np.zeros(0, np.int64)
    return (every - base).astype(np.int32)


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
        mine = [(each.to, each.seconds or 0, each.micro) for each in found]
        rows.append(sorted(mine, key=itemgetter(2)))
    return Paths(*_rows(rows, 3))


def _rows(rows: Sequence[Sequence[tuple[int, ...]]], width: int) -> tuple[Ints, Ints]:
    """Where the rows of each begin, and all of them."""
    at = np.zeros(len(rows) + 1, dtype=np.int64)
    at[1:] = np.cumsum([len(each) for each in rows])
    every = [row for each in rows for row in each]
    return at, np.array(every, dtype=np.int64).reshape(-1, width)


class Slices(Mapping[int, Sequence[tuple[int, int, int]]]):
    """Rows of (time, micrometres, rides) by their stop, in order of time; in Python, of those stops
    that are asked for, without those that are beaten."""

    def __init__(self, at: Ints, rows: Ints) -> None:
        self.at, self.rows = at, rows
        self._asked: dict[int, list[tuple[int, int, int]]] = {}

    @cached_property
    def _stops(self) -> dict[int, None]:
        return dict.fromkeys(np.flatnonzero(np.diff(self.at)).tolist())

    def __getitem__(self, stop: int) -> list[tuple[int, int, int]]:
        if stop not in self._asked:
            kept: list[tuple[int, int, int]] = []
            mine = self.rows[self.at[stop] : self.at[stop + 1]].tolist()
            for time, micro, rides in sorted(mine, key=itemgetter(2, 0, 1)):
                if not any(was <= time and walked <= micro for was, walked, _ in kept):
                    kept.append((time, micro, rides))
            self._asked[stop] = kept
        return self._asked[stop]

    def __contains__(self, stop: object) -> bool:
        return stop in self._stops

    def __iter__(self) -> Iterator[int]:
        return iter(self._stops)

    def __len__(self) -> int:
        return len(self._stops)


def by_when(bags: Bags) -> Mapping[int, int]:
    """By stop the latest time of a search against this direction, as this one counts."""
    if not isinstance(bags, Slices):
        return {stop: max(-time for time, _, _ in rows) for stop, rows in bags.items() if rows}
    stops = np.flatnonzero(np.diff(bags.at))
    return dict(zip(stops.tolist(), (-bags.rows[bags.at[stops], 0]).tolist(), strict=True))


class Bounds(Protocol):
    """What a journey keeps to (`search.Span`)."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def micro(self) -> int: ...
    @property
    def rides(self) -> int | None: ...


Access = Mapping[int, tuple[int, int]]
Bags = Mapping[int, Sequence[tuple[int, int, int]]]
"""By stop: times, micrometres and rides."""
Result = tuple[Slices, Slices, list[tuple[int, int, int, int]]]


class Arrays:
    """The arrays of some days and changes in one direction."""

    def __init__(self, times: Flat, changes: Paths, changes_to: Paths) -> None:
        self._times, self._changes, self._changes_to = times, changes, changes_to
        self._stops = len(times.stop_at) - 1
        self._none = np.zeros((self._stops, 2), np.int64)

    def searched(self, ends: Sequence[Access], span: Bounds) -> Result:
        """Where one gets off and is ready to get on, and (time, micrometres, rides, 0) at the
        target."""
        return self._searched(_seeds(ends[0], [span.start]), ends[1], span)

    def reached(self, access: Access, span: Bounds) -> Slices:
        """Where one gets off, wherever one wants to go."""
        bounds, target = (self._none, self._none), self._target({})
        seeds = _seeds(access, [span.start])
        return self._told(self._rounds(seeds, target, bounds, None, span))[0]

    def _searched(self, seeds: Ints, end: Access, span: Bounds) -> Result:
        from citywise.apps.travel_planner.transit import kernel

        times, changes, target = self._times, self._changes_to, self._target(end)
        bounds = kernel.bounds(
            target, times.patterns, times.calls, changes.change_at, changes.changes
        )
        return self._told(self._rounds(seeds, target, bounds, None, span))

    def tightened(self, ends: Sequence[Access], span: Bounds, off: Bags, ready: Bags) -> Result:
        """The least time likewise, with what a search against this direction has reached."""
        assert isinstance(off, Slices)
        assert isinstance(ready, Slices)
        seeds, target = _seeds(ends[0], [span.start]), self._target(ends[1])
        bounds = self._none, self._none
        return self._told(self._rounds(seeds, target, bounds, (off, ready), span))

    def ranged(self, ends: Sequence[Access], span: Bounds, within: int) -> tuple[Result, list[int]]:
        """Likewise for all who begin within so many seconds; and the times at which they do, the
        last first: just in time for a departure (one who does earlier gets on the same runs)."""
        times = self._times
        begins: dict[int, list[int]] = defaultdict(list)
        for stop, (seconds, _) in ends[0].items():
            for pattern, call in times.stop_calls[times.stop_at[stop] : times.stop_at[stop + 1]]:
                _, _, first, runs = times.patterns[pattern]
                first += call * runs
                departs = times.departs[first : first + runs]
                since = span.start + seconds - times.base
                low, high = np.searchsorted(departs, [since, since + within + 1])
                for time in departs[low:high].tolist():
                    begins[times.base + time - seconds].append(stop)
        starts = sorted({span.start + within, *begins}, reverse=True)
        seeds = [_seeds(ends[0], starts[:1])]
        for group, start in enumerate(starts[1:], 1):
            here = {stop: ends[0][stop] for stop in begins[start]}
            seeds.append(_seeds(here, [start], group))
        return self._searched(np.concatenate(seeds), ends[1], span), starts

    def _rounds(
        self,
        seeds: Ints,
        target: Ints,
        bounds: tuple[Ints, Ints],
        against: tuple[Slices, Slices] | None,
        span: Bounds,
    ) -> tuple[Ints, int, Ints, int, Ints]:
        from citywise.apps.travel_planner.transit import kernel

        times, changes = self._times, self._changes
        nothing = Slices(times.stop_at, times.calls)
        off, ready = against if against is not None else (nothing, nothing)
        found: tuple[Ints, int, Ints, int, Ints] = kernel.rounds(
            seeds,
            target,
            times.stop_at,
            times.stop_calls,
            times.patterns,
            times.calls,
            times.base,
            times.arrives,
            times.departs,
            changes.change_at,
            changes.changes,
            *bounds,
            against is not None,
            off.at,
            off.rows,
            ready.at,
            ready.rows,
            span.end,
            span.micro,
            kernel.FAR if span.rides is None else span.rides,
            MICRO,
        )
        return found

    def _target(self, access: Access) -> Ints:
        target = np.full((self._stops, 2), -1, dtype=np.int64)
        for stop, pair in access.items():
            target[stop] = pair
        return target

    def _told(self, found: tuple[Ints, int, Ints, int, Ints]) -> Result:
        from citywise.apps.travel_planner.transit import kernel

        off, offs, ready, readies, ends = found
        return (
            Slices(*kernel.by_stop(off, offs, self._stops)),
            Slices(*kernel.by_stop(ready, readies, self._stops)),
            [(time, micro, rides, group) for time, _, rides, group, micro in ends.tolist()],
        )


def _seeds(access: Access, starts: Sequence[int], first: int = 0) -> Ints:
    """Rows of (stop, time, micrometres, number of the start)."""
    rows = [
        (stop, start + seconds, micro, group)
        for group, start in enumerate(starts, first)
        for stop, (seconds, micro) in access.items()
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def arrays_of(days: Days, ground: Ground, backwards: bool) -> Arrays | None:
    """None where rules of changing tell lines apart."""
    for way in (backwards, not backwards):
        if way not in ground.arrays:
            ground.arrays[way] = paths(ground, way)
    changes: Paths | None = ground.arrays[backwards]
    changes_to: Paths | None = ground.arrays[not backwards]
    if changes is None or changes_to is None:
        return None
    if backwards not in days.arrays:
        days.arrays[backwards] = flat(days, backwards)
    return Arrays(days.arrays[backwards], changes, changes_to)
