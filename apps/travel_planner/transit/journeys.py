"""The Pareto set of journeys between two places: exact, each value by its best journey.

Three searches: the values; for each of them the latest departure (or it is the value itself,
where the arrival is given); within these times the fewest legs and the smallest trip ids.
"""

from __future__ import annotations

from dataclasses import dataclass

from citywise.apps.travel_planner.transit.days import Calendar, Pattern, Run
from citywise.apps.travel_planner.transit.ground import (
    DETOUR,
    MICRO,
    Ground,
    straight_m,
)
from citywise.apps.travel_planner.transit.search import Ends, Found, Label, Search, Span

DAY_S = 86_400


@dataclass(frozen=True)
class Place:
    """An end of a journey: a position, or the stops where nobody walks."""

    lat: float
    lon: float
    name: str = ""
    stops: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ride:
    """On one run of a pattern from a call to another."""

    pattern: Pattern
    number: int
    on: int
    off: int

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
    walked: tuple[int, int] = (0, 0)
    """Seconds of the walks before the first ride and after the last."""

    @property
    def changes(self) -> int:
        """Rides but one."""
        return max(0, len(self.rides) - 1)


Value = tuple[int, int, int]


def journeys(
    calendar: Calendar, ground: Ground, origin: Place, target: Place, at: int, arrive: bool
) -> list[Journey]:
    """Journeys from a time on (Unix seconds), or up to it, within 24 h; the best first."""
    start, end = (at - DAY_S, at) if arrive else (at, at + DAY_S)
    return _Journeys(calendar, ground, (origin, target), (start, end), arrive).best()


class _Journeys:
    def __init__(
        self,
        calendar: Calendar,
        ground: Ground,
        places: tuple[Place, Place],
        span: tuple[int, int],
        arrive: bool,
    ) -> None:
        self._ground, self._places, self._arrive = ground, places, arrive
        self._start, self._end = span
        self._ends = [_ends(place, ground) for place in places]
        days = calendar.between(*span)
        self._ahead = Search(ground, days, backwards=False)
        self._back = Search(ground, days, backwards=True)

    def best(self) -> list[Journey]:
        on_foot = self._on_foot()
        limit = self._ground.walk.limit
        if self._arrive:
            span = Span(-self._end, -self._start, limit)
            ends = self._back.journeys(self._ends[1], self._ends[0], span)
        else:
            span = Span(self._start, self._end, limit)
            ends = self._ahead.journeys(self._ends[0], self._ends[1], span)
        values = {(found.time, found.rides - 1, _metres(found.micro)) for found in ends}
        foot_value = None
        if on_foot:
            time = -on_foot.departs if self._arrive else on_foot.arrives
            foot_value = (time, 0, on_foot.metres)
            values.add(foot_value)
        found = []
        for value in _front(values):
            found += [self._of_value(value, on_foot if value == foot_value else None)]
        return found

    def _on_foot(self) -> Journey | None:
        one, other = self._places
        if one.stops or other.stops:
            return None
        metres = DETOUR * straight_m(one.lat, one.lon, other.lat, other.lon)
        seconds, micro = self._ground.walk.seconds(metres), round(metres * MICRO)
        if micro > self._ground.walk.limit or seconds > DAY_S:
            return None
        departs = self._end - seconds if self._arrive else self._start
        return Journey(departs, departs + seconds, _metres(micro), ())

    def _of_value(self, value: Value, on_foot: Journey | None) -> Journey:
        """The journey of these values that departs last, then has fewest legs, then the
        smallest trip ids."""
        time, changes, metres = value
        micro = min(metres * MICRO, self._ground.walk.limit)
        start, end = self._start, self._end
        if self._arrive:
            start = -time
        else:
            end = time
            span = Span(-end, -start, micro, changes + 1)
            back = self._back.journeys(self._ends[1], self._ends[0], span)
            if on_foot and (not back or -min(each.time for each in back) <= on_foot.departs):
                return on_foot
            start = -min(each.time for each in back)
        span = Span(start, end, micro, changes + 1)
        ahead = self._ahead.journeys(self._ends[0], self._ends[1], span, keyed=True)
        if on_foot and (not ahead or min(each.key[0] for each in ahead) >= 1):
            return on_foot
        return self._journey(min(ahead, key=lambda each: (each.key, each.time)))

    def _journey(self, found: Found) -> Journey:
        labels: list[Label] = []
        label: Label | None = found.label
        while label is not None:
            labels.insert(0, label)
            label = label.before
        rides = tuple(Ride(each.pattern, each.run, each.on, each.off) for each in labels)
        before = self._ends[0][rides[0].ends[0]][0]
        after = self._ends[1][rides[-1].ends[1]][0]
        departs, arrives = rides[0].departs - before, rides[-1].arrives + after
        return Journey(departs, arrives, _metres(found.micro), rides, (before, after))


def _ends(place: Place, ground: Ground) -> Ends:
    if place.stops:
        return dict.fromkeys(place.stops, (0, 0))
    return ground.reach(place.lat, place.lon)


def _metres(micro: int) -> int:
    return -(-micro // MICRO)


def _front(values: set[Value]) -> list[Value]:
    """Those that no other beats, in order."""
    found: list[Value] = []
    for value in sorted(values):
        if not any(all(a <= b for a, b in zip(one, value, strict=True)) for one in found):
            found.append(value)
    return found
