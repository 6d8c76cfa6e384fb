"""What runs within a span of time: patterns of stops with their runs, in order of time."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from citywise.apps.travel_planner.transit.feed import Feed, Trip
from citywise.apps.travel_planner.transit.ground import Ground, Line


@dataclass(frozen=True)
class Run:
    """A trip on a day, or two that one stays seated in; Unix seconds at each of its calls."""

    feed: int
    trips: tuple[Trip, ...]
    shifts: tuple[int, ...]
    """From a trip's times to Unix seconds."""
    stops: tuple[int, ...]
    boards: tuple[bool, ...]
    alights: tuple[bool, ...]
    arrives: tuple[int, ...]
    departs: tuple[int, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(trip.id for trip in self.trips)


@dataclass
class Pattern:
    """Runs that call at the same stops and do not overtake each other."""

    leaves: Line
    takes: Line
    stops: tuple[int, ...]
    boards: tuple[bool, ...]
    alights: tuple[bool, ...]
    runs: list[Run] = field(default_factory=list)
    arrives: list[list[int]] = field(default_factory=list)
    """By call, then by run."""
    departs: list[list[int]] = field(default_factory=list)

    def first(self, call: int, ready: int) -> int:
        """The first run that departs from a call at a time or later."""
        return bisect_left(self.departs[call], ready)


def runs_between(feeds: Sequence[Feed], ground: Ground, start: int, end: int) -> list[Run]:
    """All runs that touch a span of time, on whatever service day they are."""
    found: list[Run] = []
    for at, feed in enumerate(feeds):
        latest = max((t.calls[-1].arrives + t.runs[-1] for t in feed.trips if t.runs), default=0)
        for day in _days(feed, start - latest, end):
            shift = feed.midnight(day)
            of_day = [trip for trip in feed.trips if day in feed.days.get(trip.service, ())]
            single = [
                run
                for trip in of_day
                for offset in trip.runs
                for run in [_run(at, trip, shift + offset, ground)]
            ]
            found += single
            found += _continued(single)
    return [run for run in found if run.arrives[-1] >= start and run.departs[0] <= end]


def _days(feed: Feed, start: int, end: int) -> Iterator[date]:
    day = datetime.fromtimestamp(start, UTC).astimezone(feed.zone).date() - timedelta(1)
    last = datetime.fromtimestamp(end, UTC).astimezone(feed.zone).date() + timedelta(1)
    while day <= last:
        yield day
        day += timedelta(1)


def _run(at: int, trip: Trip, shift: int, ground: Ground) -> Run:
    calls = trip.calls
    return Run(
        at,
        (trip,),
        (shift,),
        tuple(ground.index[at, call.stop] for call in calls),
        tuple(call.pickup != 1 for call in calls),
        tuple(call.drop_off != 1 for call in calls),
        tuple(call.arrives + shift for call in calls),
        tuple(call.departs + shift for call in calls),
    )


def _continued(runs: list[Run]) -> Iterator[Run]:
    """Each pair of runs that one vehicle makes one after the other, from where it ends."""
    blocks: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if run.trips[0].block and not run.trips[0].is_frequency:
            blocks[run.trips[0].block].append(run)
    for block in blocks.values():
        for one in block:
            for two in block:
                fits = one.stops[-1] == two.stops[0] and two.departs[0] >= one.arrives[-1]
                if one is not two and fits:
                    yield _joined(one, two)


def _joined(one: Run, two: Run) -> Run:
    """One gets on in the first trip and off in the second."""
    before, after = len(one.stops), len(two.stops) - 1
    return Run(
        one.feed,
        one.trips + two.trips,
        one.shifts + two.shifts,
        one.stops + two.stops[1:],
        one.boards[:-1] + (False,) * (after + 1),
        (False,) * before + two.alights[1:],
        one.arrives + two.arrives[1:],
        (*one.departs[:-1], two.departs[0], *two.departs[1:]),
    )


def patterns_of(runs: Sequence[Run], ground: Ground) -> list[Pattern]:
    """Runs sorted into patterns, of which no run overtakes another."""
    found: dict[object, list[Pattern]] = defaultdict(list)
    for run in sorted(runs, key=lambda each: (each.departs, each.arrives, each.ids)):
        lines = [ground.line(run.feed, trip) for trip in run.trips]
        key = (lines[0], lines[-1], run.stops, run.boards, run.alights)
        for pattern in found[key]:
            last = pattern.runs[-1]
            if _follows(last.departs, run.departs) and _follows(last.arrives, run.arrives):
                break
        else:
            pattern = Pattern(lines[-1], lines[0], run.stops, run.boards, run.alights)
            found[key].append(pattern)
        pattern.runs.append(run)
    every = [pattern for same in found.values() for pattern in same]
    for pattern in every:
        calls = range(len(pattern.stops))
        pattern.arrives = [[run.arrives[call] for run in pattern.runs] for call in calls]
        pattern.departs = [[run.departs[call] for run in pattern.runs] for call in calls]
    return every


def _follows(before: Sequence[int], after: Sequence[int]) -> bool:
    return all(one <= other for one, other in zip(before, after, strict=True))


def mirrored(pattern: Pattern) -> Pattern:
    """The same against the direction of time: seconds are negative, one gets on where one got
    off."""
    runs = pattern.runs[::-1]
    return Pattern(
        pattern.takes,
        pattern.leaves,
        pattern.stops[::-1],
        pattern.alights[::-1],
        pattern.boards[::-1],
        runs,
        [[-time for time in times[::-1]] for times in pattern.departs[::-1]],
        [[-time for time in times[::-1]] for times in pattern.arrives[::-1]],
    )
