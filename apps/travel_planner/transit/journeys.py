"""The Pareto set of journeys between places: exact, each value by its best journey.

Three searches: the values; for each of them the latest departure (or it is the value itself,
where the arrival is given); within these times the fewest legs and the smallest trip ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from citywise.apps.travel_planner.transit.days import Calendar, Pattern, Run
from citywise.apps.travel_planner.transit.ground import MICRO, Ground
from citywise.apps.travel_planner.transit.search import (
    Chain,
    Ends,
    Found,
    Label,
    Reached,
    Search,
    Span,
)

DAY_S = 86_400


class Lead(Protocol):
    """Legs by one's own means to a stop (`leads`)."""

    def legs(self, telling: Any, place: Place, stop: int, until: int) -> Iterable[dict[str, Any]]:
        """In time for a departure (Unix seconds)."""


@dataclass(frozen=True)
class Place:
    """An end of a journey, or a place on the way: a position, or the stops where nobody walks."""

    lat: float
    lon: float
    name: str = ""
    stops: tuple[int, ...] = ()
    access: Ends | None = None
    lead: Lead | None = None
    """How one gets from there to stops otherwise than on foot, and tells of it."""


@dataclass(frozen=True)
class Ride:
    """On one run of a pattern from a call to another."""

    pattern: Pattern
    number: int
    on: int
    off: int
    layer: int = 0
    """How many of the places on the way are behind when one gets on."""

    @property
    def run(self) -> Run:
        return self.pattern.runs[self.number]

    @property
    def departs(self) -> int:
        return self.pattern.departs[self.on][self.number]

    @property
    def arrives(self) -> int:
        return self.pattern.arrives[self.off][self.number]

    @property
    def ends(self) -> tuple[int, int]:
        """The stops where one gets on and off."""
        return self.pattern.stops[self.on], self.pattern.stops[self.off]


@dataclass(frozen=True)
class Journey:
    """Unix seconds at its ends; `metres` are walked, rounded up; no rides: all on foot."""

    departs: int
    arrives: int
    metres: int
    rides: tuple[Ride, ...]

    @property
    def changes(self) -> int:
        """Rides but one."""
        return max(0, len(self.rides) - 1)


Value = tuple[int, int, int]


def journeys(
    calendar: Calendar,
    ground: Ground,
    places: Sequence[Place],
    at: int,
    arrive: bool,
    compiled: bool = False,
) -> list[Journey]:
    """Journeys along some places from a time on (Unix seconds), or up to it, within 24 h; the
    best first. `compiled`: see `Search`."""
    start, end = (at - DAY_S, at) if arrive else (at, at + DAY_S)
    span = start, end
    return _Journeys(calendar, chain_of(places, ground), ground, span, arrive, compiled).best()


def chain_of(places: Sequence[Place], ground: Ground) -> Chain:
    """How each of some places is reached from stops, and on foot from the one before."""
    ends = tuple(ends_of(place, ground) for place in places)
    return Chain(ends, tuple(_foot(one, other, ground) for one, other in pairwise(places)))


def ends_of(place: Place, ground: Ground) -> Ends:
    """Seconds and micrometres between a place and the stops around it."""
    if place.stops:
        return dict.fromkeys(place.stops, (0, 0))
    return place.access if place.access is not None else ground.reach(place.lat, place.lon)


def _foot(one: Place, other: Place, ground: Ground) -> tuple[int, int] | None:
    """Seconds and micrometres between two places; None where nobody walks."""
    if one.stops or other.stops or one.access is not None or other.access is not None:
        return None
    return ground.between((one.lat, one.lon), (other.lat, other.lon))


class _Journeys:
    def __init__(
        self,
        calendar: Calendar,
        chain: Chain,
        ground: Ground,
        span: tuple[int, int],
        arrive: bool,
        compiled: bool,
    ) -> None:
        self._chain, self._arrive, self._limit = chain, arrive, ground.walk.limit
        self._start, self._end = span
        days = calendar.between(*span)
        self._ahead = Search(ground, days, backwards=False, compiled=compiled)
        self._back = Search(ground, days, backwards=True, compiled=compiled)

    def best(self) -> list[Journey]:
        on_foot = self._on_foot()
        if self._arrive:
            span = Span(-self._end, -self._start, self._limit)
            ends, reached = self._back.journeys(self._chain.reverse, span)
        else:
            span = Span(self._start, self._end, self._limit)
            ends, reached = self._ahead.journeys(self._chain, span)
        values = {(found.time, found.rides - 1, _metres(found.micro)) for found in ends}
        foot_value = None
        if on_foot:
            time = -on_foot.departs if self._arrive else on_foot.arrives
            foot_value = (time, 0, on_foot.metres)
            values.add(foot_value)
        return [
            self._of_value(value, on_foot if value == foot_value else None, reached)
            for value in front(values)
        ]

    def _on_foot(self) -> Journey | None:
        seconds = micro = 0
        for walk in self._chain.foot:
            if walk is None:
                return None
            seconds, micro = seconds + walk[0], micro + walk[1]
        if micro > self._limit or seconds > DAY_S:
            return None
        departs = self._end - seconds if self._arrive else self._start
        return Journey(departs, departs + seconds, _metres(micro), ())

    def _of_value(self, value: Value, on_foot: Journey | None, reached: list[Reached]) -> Journey:
        """The journey of these values that departs last, then has fewest legs, then the
        smallest trip ids; `reached` is what the first search found."""
        time, changes, metres = value
        micro = min(metres * MICRO, self._limit)
        start, end = self._start, self._end
        if self._arrive:
            start = -time
        else:
            end = time
            span = Span(-end, -start, micro, changes + 1)
            back, reached = self._back.journeys(self._chain.reverse, span, against=reached)
            if on_foot and (not back or -min(each.time for each in back) <= on_foot.departs):
                return on_foot
            start = -min(each.time for each in back)
        span = Span(start, end, micro, changes + 1)
        ahead, _ = self._ahead.journeys(self._chain, span, keyed=True, against=reached)
        if on_foot and (not ahead or min(each.key[0] for each in ahead) >= len(self._chain.foot)):
            return on_foot
        return self._journey(min(ahead, key=lambda each: (each.key, each.time)))

    def _journey(self, found: Found) -> Journey:
        labels: list[Label] = []
        label: Label | None = found.label
        while label is not None:
            labels.insert(0, label)
            label = label.before
        rides = tuple(
            Ride(each.pattern, each.run, each.on, each.off, each.layer) for each in labels
        )
        ends, foot = self._chain.ends, self._chain.foot
        first, last = rides[0], rides[-1]
        before = ends[first.layer][first.ends[0]][0]
        before += sum(walk[0] for walk in foot[: first.layer] if walk)
        after = ends[last.layer + 1][last.ends[1]][0]
        after += sum(walk[0] for walk in foot[last.layer + 1 :] if walk)
        departs, arrives = first.departs - before, last.arrives + after
        return Journey(departs, arrives, _metres(found.micro), rides)


def _metres(micro: int) -> int:
    return -(-micro // MICRO)


def front(values: set[Value]) -> list[Value]:
    """Those that no other beats, in order."""
    found: list[Value] = []
    for value in sorted(values):
        if not any(all(a <= b for a, b in zip(one, value, strict=True)) for one in found):
            found.append(value)
    return found
