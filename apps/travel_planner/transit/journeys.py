"""The Pareto set of journeys between places: exact, each value by its best journey.

Three searches: the values; for each of them the latest departure (or it is the value itself,
where the arrival is given); within these times the fewest legs and the smallest trip ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


Value = tuple[int, ...]
"""Arrival (or how early one departs, negative), changes, metres; of a range the other end first."""


def journeys(
    calendar: Calendar,
    ground: Ground,
    places: Sequence[Place],
    at: int,
    arrive: bool,
    compiled: bool = False,
    within: int | None = None,
) -> list[Journey]:
    """Journeys along some places from a time on (Unix seconds), or up to it, within 24 h; the
    best first. `compiled`: see `Search`.

    With `within` (seconds) those that depart so soon (arrive so late) and that no other beats
    which departs as late and arrives as soon; one on foot alone only as of the time itself.
    """
    start, end = (at - DAY_S, at) if arrive else (at, at + DAY_S)
    chain = chain_of(places, ground)

    def search(start: int, end: int) -> _Journeys:
        return _Journeys(calendar, chain, ground, (start, end), arrive, compiled)

    if within is None:
        return search(start, end).best()
    first = search(start, end)
    found = first.ranged(within) if first.is_compiled else _one_by_one(first, search, within)
    return sorted(found, key=lambda each: (each.departs, each.arrives, each.changes, each.metres))


def _one_by_one(
    first: _Journeys, search: Callable[[int, int], _Journeys], within: int
) -> list[Journey]:
    """A range by a search for each time at which the answer changes."""
    (start, end), arrive = first.span, first.arrive
    since, until = (end - within, end) if arrive else (start, start + within)
    found = first.best()
    begin, kept = (end if arrive else start), [each for each in found if not each.rides]
    while found := [each for each in found if each.rides]:
        if arrive:
            begin = max(each.arrives for each in found) - 1
            kept += [each for each in found if each.arrives >= since]
        else:
            begin = min(each.departs for each in found) + 1
            kept += [each for each in found if each.departs <= until]
        if not since <= begin <= until:
            break
        found = search(*((start, begin) if arrive else (begin, end))).best()
    by_value: dict[Value, Journey] = {(-e.departs, e.arrives, e.changes, e.metres): e for e in kept}
    return [by_value[value] for value in front(set(by_value))]


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
        self._chain, self.arrive, self._limit = chain, arrive, ground.walk.limit
        self.span = self._start, self._end = span
        days = calendar.between(*span)
        self._ahead = Search(ground, days, backwards=False, compiled=compiled)
        self._back = Search(ground, days, backwards=True, compiled=compiled)

    @property
    def is_compiled(self) -> bool:
        """Whether a range can be found at once."""
        return self._ahead.can_compile(self._chain) and self._back.can_compile(self._chain)

    def best(self) -> list[Journey]:
        on_foot = self._on_foot()
        search, chain, span = self._first()
        ends, reached = search.journeys(chain, span)
        values: set[Value] = {(each.time, each.rides - 1, _metres(each.micro)) for each in ends}
        foot_value = None
        if on_foot:
            foot_value = (self._time_of(on_foot), 0, on_foot.metres)
            values.add(foot_value)
        return [
            self._of_value(value, on_foot if value == foot_value else None, reached)
            for value in front(values)
        ]

    def _first(self) -> tuple[Search, Chain, Span]:
        """The first search: from where the time is given."""
        if self.arrive:
            span = Span(-self._end, -self._start, self._limit)
            return self._back, self._chain.reverse, span
        return self._ahead, self._chain, Span(self._start, self._end, self._limit)

    def _time_of(self, journey: Journey) -> int:
        return -journey.departs if self.arrive else journey.arrives

    def ranged(self, within: int) -> list[Journey]:
        """Of all times at which one may begin: each value by the latest departure (with `arrive`
        the soonest arrival), if nothing beats it."""
        search, chain, span = self._first()
        ends, reached = search.range(chain, span, within)
        other = self._ahead if self.arrive else self._back
        tight: dict[Value, list[Reached]] = {}
        by_start: set[Value] = {(-at, e.time, e.rides - 1, _metres(e.micro)) for at, e in ends}
        for begin, time, changes, metres in front(by_start):
            micro = min(metres * MICRO, self._limit)
            bound = Span(-time, begin, micro, changes + 1)
            back, met = other.journeys(chain.reverse, bound, against=reached)
            tight[min(each.time for each in back), time, changes, metres] = met
        foot, foot_value = self._on_foot(), None
        if foot:
            foot_value = (-span.start, self._time_of(foot), 0, foot.metres)
        found = []
        for value in front({*tight, foot_value} if foot_value else set(tight)):
            begin, time, changes, metres = value
            if foot and value == foot_value:
                found.append(foot)
            elif -begin <= span.start + within and not (
                foot and foot.arrives - foot.departs <= time + begin and foot.metres <= metres
            ):
                if self.arrive:
                    ends_at, met = (-time, begin), reached
                else:
                    ends_at, met = (-begin, time), tight[value]
                found.append(self._least(ends_at, changes, metres, met, None))
        return found

    def _on_foot(self) -> Journey | None:
        seconds = micro = 0
        for walk in self._chain.foot:
            if walk is None:
                return None
            seconds, micro = seconds + walk[0], micro + walk[1]
        if micro > self._limit or seconds > DAY_S:
            return None
        departs = self._end - seconds if self.arrive else self._start
        return Journey(departs, departs + seconds, _metres(micro), ())

    def _of_value(self, value: Value, on_foot: Journey | None, reached: list[Reached]) -> Journey:
        """The journey of these values that departs last, then has fewest legs, then the
        smallest trip ids; `reached` is what the first search found."""
        time, changes, metres = value
        micro = min(metres * MICRO, self._limit)
        start, end = self._start, self._end
        if self.arrive:
            start = -time
        else:
            end = time
            span = Span(-end, -start, micro, changes + 1)
            back, reached = self._back.journeys(self._chain.reverse, span, against=reached)
            if on_foot and (not back or -min(each.time for each in back) <= on_foot.departs):
                return on_foot
            start = -min(each.time for each in back)
        return self._least((start, end), changes, metres, reached, on_foot)

    def _least(
        self,
        ends: tuple[int, int],
        changes: int,
        metres: int,
        reached: list[Reached],
        on_foot: Journey | None,
    ) -> Journey:
        """Of the journeys between two times the one with the fewest legs, then the smallest ids."""
        span = Span(*ends, min(metres * MICRO, self._limit), changes + 1)
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
