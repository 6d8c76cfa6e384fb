"""All that runs by some feeds: trips sorted into patterns once, whatever the day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import le

import numpy as np

from citywise.apps.travel_planner.transit.calls import Call
from citywise.apps.travel_planner.transit.feed import Feed, Trip
from citywise.apps.travel_planner.transit.ground import Line, Stops

Times = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Calls = dict[int, list[tuple[int, int]]]
"""By stop: patterns, and their calls there."""


@dataclass(frozen=True, slots=True)
class Part:
    """A trip of a run: the calls that are served, with their planned times."""

    trip: Trip
    calls: tuple[Call, ...]
    offset: int = 0
    """Seconds from these to the planned ones: of a trip that runs by frequency."""
    state: str = "scheduled"
    """Or `updated`, `added`."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A run of a timetable: a trip, or two that one stays seated in."""

    feed: int
    parts: tuple[Part, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(part.trip.id for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Timed:
    """An entry with its times at each call: seconds of the service day, or Unix seconds."""

    entry: Entry
    arrives: tuple[int, ...]
    departs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Template:
    """Entries that call at the same stops and do not overtake each other, in order of time."""

    leaves: Line
    takes: Line
    stops: tuple[int, ...]
    boards: tuple[bool, ...]
    alights: tuple[bool, ...]
    entries: tuple[Entry, ...]
    arrives: Times
    """By call, then by entry."""
    departs: Times


class Timetable:
    """Patterns of some feeds, and where one gets on and off."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self.feeds = tuple(feeds)
        self.stops = Stops(feeds)
        self.blocks: dict[tuple[int, str], list[Trip]] = defaultdict(list)
        self.trips: dict[tuple[int, str], Trip] = {}
        timed: list[Timed] = []
        self.longest = [0] * len(feeds)
        """Seconds from the start of a service day to its last arrival, by feed."""
        for at, feed in enumerate(feeds):
            for trip in feed.trips:
                self.trips[at, trip.id] = trip
                if trip.block and not trip.is_frequency:
                    self.blocks[at, trip.block].append(trip)
                for offset in trip.runs:
                    self.longest[at] = max(self.longest[at], trip.calls[-1].arrives + offset)
                    timed.append(planned(at, trip, offset))
        for (at, _), trips in self.blocks.items():
            timed += continued([planned(at, trip) for trip in trips], self.stops)
        self.shapes: dict[tuple[int, str], tuple[Trip, Shape]] = {}
        """Of whole trips, so that real time need not find them again."""
        self.templates = grouped(timed, self.stops, self.shapes)
        self.boarding, self.alighting = index_of(self.templates)
        self.found: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        """By trip: the entries that it is part of, as template and place in it."""
        for number, template in enumerate(self.templates):
            for place, entry in enumerate(template.entries):
                for part in entry.parts:
                    self.found[entry.feed, part.trip.id].append((number, place))


def planned(feed: int, trip: Trip, offset: int = 0) -> Timed:
    """A trip at its times of the service day."""
    return Timed(
        Entry(feed, (Part(trip, trip.calls, offset),)),
        tuple(call.arrives + offset for call in trip.calls),
        tuple(call.departs + offset for call in trip.calls),
    )


def continued(block: Sequence[Timed], stops: Stops) -> Iterator[Timed]:
    """Each pair that one vehicle makes one after the other, from where it ends: one gets on in
    the first and off in the second."""
    starts: dict[int, list[Timed]] = defaultdict(list)
    for two in block:
        starts[stops.index[two.entry.feed, two.entry.parts[0].calls[0].stop]].append(two)
    for one in block:
        end = stops.index[one.entry.feed, one.entry.parts[0].calls[-1].stop]
        for two in starts[end]:
            if one is not two and two.departs[0] >= one.arrives[-1]:
                yield Timed(
                    Entry(one.entry.feed, one.entry.parts + two.entry.parts),
                    one.arrives + two.arrives[1:],
                    (*one.departs[:-1], two.departs[0], *two.departs[1:]),
                )


def grouped(
    timed: Iterable[Timed], stops: Stops, shapes: dict[tuple[int, str], tuple[Trip, Shape]]
) -> list[Template]:
    """Entries sorted into patterns, of which none overtakes another; `shapes` are those known of
    whole trips, and get what is new."""
    found: dict[Shape, list[_Group]] = defaultdict(list)
    for each in sorted(timed, key=lambda one: (one.departs, one.arrives, one.entry.ids)):
        shape = _known(each.entry, stops, shapes)
        for group in found[shape]:
            if _follows(group.last.departs, each.departs) and _follows(
                group.last.arrives, each.arrives
            ):
                break
        else:
            group = _Group(each)
            found[shape].append(group)
        group.last = each
        group.all.append(each)
    return [_template(shape, group.all) for shape, same in found.items() for group in same]


@dataclass
class _Group:
    last: Timed
    all: list[Timed] = field(default_factory=list)


Shape = tuple[Line, Line, tuple[int, ...], tuple[bool, ...], tuple[bool, ...]]


def _known(entry: Entry, stops: Stops, shapes: dict[tuple[int, str], tuple[Trip, Shape]]) -> Shape:
    """The shape of an entry; that of a whole trip of the timetable is kept."""
    part = entry.parts[0]
    if len(entry.parts) > 1 or part.calls is not part.trip.calls or part.state == "added":
        return _shape(entry, stops)
    key = entry.feed, part.trip.id
    found = shapes.get(key)
    if found is None:
        found = shapes[key] = part.trip, _shape(entry, stops)
    return found[1] if found[0] is part.trip else _shape(entry, stops)


def _shape(entry: Entry, stops: Stops) -> Shape:
    """What the entries of a pattern have in common."""
    first, last = entry.parts[0], entry.parts[-1]
    lines = stops.line(entry.feed, last.trip), stops.line(entry.feed, first.trip)
    feed, index = entry.feed, stops.index
    if first is last:
        calls = first.calls
        boards = [call.pickup != 1 for call in calls]
        alights = [call.drop_off != 1 for call in calls]
    else:
        calls = first.calls + last.calls[1:]
        boards = [call.pickup != 1 for call in first.calls[:-1]] + [False] * len(last.calls)
        alights = [False] * len(first.calls) + [call.drop_off != 1 for call in last.calls[1:]]
    numbers = [index[feed, call.stop] for call in calls]
    return *lines, tuple(numbers), tuple(boards), tuple(alights)


def _follows(before: Sequence[int], after: Sequence[int]) -> bool:
    return all(map(le, before, after))


def _template(shape: Shape, same: Sequence[Timed]) -> Template:
    return Template(
        *shape,
        tuple(each.entry for each in same),
        np.array([each.arrives for each in same], dtype=np.int64).T,
        np.array([each.departs for each in same], dtype=np.int64).T,
    )


def index_of(templates: Sequence[Template], first: int = 0) -> tuple[Calls, Calls]:
    """Where one may get on, and off (calls counted from the end); numbers begin at `first`."""
    on: Calls = defaultdict(list)
    off: Calls = defaultdict(list)
    for number, template in enumerate(templates, first):
        most = len(template.stops) - 1
        for call, stop in enumerate(template.stops):
            if template.boards[call] and call < most:
                on[stop].append((number, call))
            if template.alights[call] and call > 0:
                off[stop].append((number, most - call))
    return on, off
