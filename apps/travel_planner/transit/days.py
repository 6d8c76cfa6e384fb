"""What runs within a span of time: patterns of stops with their runs, made when asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol

import numpy as np

from citywise.apps.travel_planner.transit.feed import Feed
from citywise.apps.travel_planner.transit.ground import Line
from citywise.apps.travel_planner.transit.timetable import (
    Calls,
    Entry,
    Template,
    Times,
    Timetable,
)

_KEPT = 4
"""Windows of days whose patterns are kept."""
Run = tuple[Entry, int]
"""An entry, and the seconds from its planned times to Unix seconds."""


@dataclass(eq=False)
class Pattern:
    """Runs that call at the same stops and do not overtake each other; Unix seconds."""

    leaves: Line
    takes: Line
    stops: tuple[int, ...]
    boards: tuple[bool, ...]
    alights: tuple[bool, ...]
    runs: list[Run] = field(default_factory=list)
    arrives: list[list[int]] = field(default_factory=list)
    """By call, then by run."""
    departs: list[list[int]] = field(default_factory=list)
    _mirror: Pattern | None = None

    def first(self, call: int, ready: int) -> int:
        """The first run that departs from a call at a time or later."""
        return bisect_left(self.departs[call], ready)

    @property
    def mirrored(self) -> Pattern:
        """The same against the direction of time: seconds are negative, one gets on where one
        got off."""
        if self._mirror is None:
            self._mirror = Pattern(
                self.takes,
                self.leaves,
                self.stops[::-1],
                self.alights[::-1],
                self.boards[::-1],
                self.runs[::-1],
                [[-time for time in times[::-1]] for times in self.departs[::-1]],
                [[-time for time in times[::-1]] for times in self.arrives[::-1]],
            )
        return self._mirror


class Changes(Protocol):
    """What is known of today beside the timetable (`live.Live`)."""

    @property
    def extra(self) -> Sequence[Pattern]:
        """Runs at other times than planned; their numbers follow the timetable's."""

    @property
    def extra_calls(self) -> tuple[Calls, Calls]:
        """Where one gets on and off there."""

    def gone(self, template: int) -> frozenset[tuple[int, int]]:
        """Entries of a pattern that do not run as planned: place, and midnight of the day."""


class Days:
    """The patterns of some days."""

    def __init__(
        self,
        timetable: Timetable,
        midnights: Sequence[Sequence[tuple[date, int]]],
        live: Changes | None,
    ) -> None:
        self.timetable, self._live = timetable, live
        self._midnights = midnights
        self._patterns: dict[int, list[Pattern]] = {}
        self.arrays: dict[bool, Any] = {}
        """What `arrays` has made of them, by direction."""

    def boarding(self, stop: int, backwards: bool) -> Iterator[tuple[Pattern, int]]:
        """Patterns and calls where one may get on."""
        timetable = self.timetable
        calls = timetable.alighting if backwards else timetable.boarding
        for number, call in calls.get(stop, ()):
            for pattern in self.patterns(number):
                yield pattern.mirrored if backwards else pattern, call
        if self._live is not None:
            for number, call in self._live.extra_calls[backwards].get(stop, ()):
                pattern = self._live.extra[number]
                yield pattern.mirrored if backwards else pattern, call

    def patterns(self, number: int) -> list[Pattern]:
        """A template's runs on these days: one pattern, unless those of a day overtake those
        of another."""
        if number not in self._patterns:
            self._patterns[number] = list(self._made(number))
        return self._patterns[number]

    def _made(self, number: int) -> Iterator[Pattern]:
        template = self.timetable.templates[number]
        for runs, there, away in self._merged(number):
            yield pattern_of(template, runs, there.tolist(), away.tolist())

    def _merged(self, number: int) -> Iterator[tuple[list[Run], Times, Times]]:
        """Runs with their arrivals and departures, of all days that do not overtake each other."""
        template = self.timetable.templates[number]
        gone = self._live.gone(number) if self._live is not None else frozenset()
        last: tuple[list[Run], Times, Times] | None = None
        for day, midnight in self._midnights[template.entries[0].feed]:
            running = [
                place
                for place, entry in enumerate(template.entries)
                if (place, midnight) not in gone and self._runs(entry, day)
            ]
            if not running:
                continue
            runs = [(template.entries[place], midnight) for place in running]
            there = template.arrives[:, running] + midnight
            away = template.departs[:, running] + midnight
            if last is not None and (
                (last[1][:, -1] <= there[:, 0]).all() and (last[2][:, -1] <= away[:, 0]).all()
            ):
                runs, there, away = (
                    last[0] + runs,
                    np.concatenate((last[1], there), axis=1),
                    np.concatenate((last[2], away), axis=1),
                )
            elif last is not None:
                yield last
            last = runs, there, away
        if last is not None:
            yield last

    def times(self) -> Iterator[tuple[Template, Times, Times]]:
        """Arrivals and departures of all templates on these days."""
        for number, template in enumerate(self.timetable.templates):
            for _, there, away in self._merged(number):
                yield template, there, away

    def extra(self) -> Sequence[Pattern]:
        """Runs at other times than planned."""
        return self._live.extra if self._live is not None else ()

    def _runs(self, entry: Entry, day: date) -> bool:
        days = self.timetable.feeds[entry.feed].days
        return all(day in days.get(part.trip.service, ()) for part in entry.parts)


def pattern_of(
    template: Template, runs: list[Run], arrives: list[list[int]], departs: list[list[int]]
) -> Pattern:
    """Runs of a template at their times."""
    return Pattern(
        template.leaves,
        template.takes,
        template.stops,
        template.boards,
        template.alights,
        runs,
        arrives,
        departs,
    )


class Calendar:
    """The days of a timetable: those that a span of time touches, kept for the next question."""

    def __init__(self, timetable: Timetable, live: Changes | None = None) -> None:
        self.timetable, self._live = timetable, live
        self._kept: OrderedDict[object, Days] = OrderedDict()

    def between(self, start: int, end: int) -> Days:
        """All days on which something may run within a span of Unix seconds."""
        midnights = tuple(
            tuple(_midnights(feed, start - longest, end))
            for feed, longest in zip(self.timetable.feeds, self.timetable.longest, strict=True)
        )
        if midnights not in self._kept:
            self._kept[midnights] = Days(self.timetable, midnights, self._live)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(midnights)
        return self._kept[midnights]


def _midnights(feed: Feed, start: int, end: int) -> Iterator[tuple[date, int]]:
    """Service days that begin within a span, with noon minus twelve hours of each."""
    day = datetime.fromtimestamp(start, UTC).astimezone(feed.zone).date()
    while (midnight := feed.midnight(day)) <= end:
        if midnight >= start:
            yield day, midnight
        day += timedelta(1)
