"""Where one changes: distances between stops, and how long a change takes between two rides.

Lengths are whole micrometres, so that sums do not depend on their order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from citywise.apps.travel_planner.transit.feed import Feed, Rule, Stop, Trip

RADIUS_M = 6_371_000.0
DETOUR = 1.3
"""A walk's length over the straight line, where no streets are known."""
WITHIN_STATION_S = 120
MICRO = 1_000_000
MOST_REACHES = 64
"""Positions whose stops in reach are kept."""


@dataclass(frozen=True)
class Walk:
    """How far one walks in all (metres), and how fast (metres per second)."""

    max_m: float = 1000.0
    speed_ms: float = 1.33

    @property
    def limit(self) -> int:
        """The most that may be walked, micrometres."""
        return math.floor(self.max_m * MICRO)

    def seconds(self, metres: float) -> int:
        """Of a walk, rounded up."""
        return math.ceil(metres / self.speed_ms)


def straight_m(lat: float, lon: float, to_lat: float, to_lon: float) -> float:
    """The great circle between two positions (haversine)."""
    phi, to_phi = math.radians(lat), math.radians(to_lat)
    half = math.sin((to_phi - phi) / 2) ** 2
    half += math.cos(phi) * math.cos(to_phi) * math.sin(math.radians(to_lon - lon) / 2) ** 2
    return 2 * RADIUS_M * math.asin(math.sqrt(min(half, 1.0)))


@dataclass(frozen=True)
class Line:
    """What the rules of changing tell rides apart by: a route, and the trips they name."""

    feed: int
    route: str
    trip: str


@dataclass(frozen=True, slots=True)
class Change:
    """From one stop to another: seconds where no rule speaks of lines (None: never)."""

    to: int
    seconds: int | None
    micro: int
    rules: tuple[tuple[Rule, int | None], ...] = ()
    """Those that name routes or trips, the most specific first, with their seconds."""
    soonest: int = 0
    """The least seconds that any line needs."""

    def between(self, leaves: Line, takes: Line) -> int | None:
        """Seconds from a ride to the next; None: never."""
        for rule, seconds in self.rules:
            if (
                rule.from_route in ("", leaves.route)
                and rule.to_route in ("", takes.route)
                and rule.from_trip in ("", leaves.trip)
                and rule.to_trip in ("", takes.trip)
            ):
                return seconds
        return self.seconds


class Stops:
    """All stops of some feeds, numbered, and the rules of changing between them."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self.keys = [(at, stop) for at, feed in enumerate(feeds) for stop in feed.stops]
        self.all: list[Stop] = [feeds[at].stops[stop] for at, stop in self.keys]
        self.index = {key: place for place, key in enumerate(self.keys)}
        self.lat = np.array([stop.lat for stop in self.all])
        self.lon = np.array([stop.lon for stop in self.all])
        self.rules: dict[tuple[int, int], list[tuple[tuple[int, ...], Rule]]] = {}
        self.ruled: tuple[dict[int, set[int]], dict[int, set[int]]] = (
            defaultdict(set),
            defaultdict(set),
        )
        """Stops that rules name together with a stop: changes from it, and to it."""
        self._named: set[tuple[int, str]] = set()
        for at, feed in enumerate(feeds):
            self._take_rules(at, feed)
        self.family: dict[tuple[int, str], list[int]] = defaultdict(list)
        for place, (at, _) in enumerate(self.keys):
            station = self.all[place].station
            if station:
                self.family[at, station].append(place)

    def _take_rules(self, at: int, feed: Feed) -> None:
        for row, rule in enumerate(feed.rules):
            self._named |= {(at, trip) for trip in (rule.from_trip, rule.to_trip) if trip}
            origins = [rule.from_stop] if rule.from_stop in feed.stops else []
            targets = [rule.to_stop] if rule.to_stop in feed.stops else []
            trips = (rule.from_trip != "") + (rule.to_trip != "")
            routes = (rule.from_route != "") + (rule.to_route != "")
            rank = (-trips, -routes, -len(origins) - len(targets), row)
            for origin in origins or feed.stations.get(rule.from_stop, []):
                for target in targets or feed.stations.get(rule.to_stop, []):
                    pair = self.index[at, origin], self.index[at, target]
                    self.rules.setdefault(pair, []).append((rank, rule))
                    self.ruled[0][pair[0]].add(pair[1])
                    self.ruled[1][pair[1]].add(pair[0])

    def line(self, feed: int, trip: Trip) -> Line:
        """What the rules know a trip by."""
        return Line(feed, trip.route, trip.id if (feed, trip.id) in self._named else "")


class Ways(Protocol):
    """Walks on streets (`streets.Streets`)."""

    def known(self, lat: float, lon: float) -> bool:
        """Whether a position is next to a street that one may walk on."""

    def metres(
        self, lat: float, lon: float, others: Sequence[tuple[float, float]]
    ) -> Sequence[float]:
        """Of the shortest walk to each of other known positions; inf where there is none."""


class Ground:
    """The changes between stops for who walks so far and so fast."""

    def __init__(self, stops: Stops, walk: Walk, ways: Ways | None = None) -> None:
        self.stops, self.walk, self._ways = stops, walk, ways
        self._changes: dict[tuple[int, bool], list[Change]] = {}
        self._lengths: dict[tuple[int, int], float] = {}
        self.arrays: dict[bool, Any] = {}
        """What `arrays` has made of all changes, by direction."""
        self._reaches: dict[tuple[float, float], dict[int, tuple[int, int]]] = {}

    def around(self, lat: float, lon: float) -> list[int]:
        """Stops that are within reach on foot, about; ways on streets are no shorter."""
        detour = 1.0 if self._ways is not None else DETOUR
        phi, east = np.radians(self.stops.lat), np.radians(self.stops.lon - lon)
        half = np.sin((phi - math.radians(lat)) / 2) ** 2
        half += np.cos(phi) * math.cos(math.radians(lat)) * np.sin(east / 2) ** 2
        metres = 2 * RADIUS_M * np.arcsin(np.sqrt(np.minimum(half, 1.0))) * detour
        return [int(place) for place in np.flatnonzero(metres <= self.walk.max_m * 1.01 + 1)]

    def reach(self, lat: float, lon: float) -> dict[int, tuple[int, int]]:
        """Seconds and micrometres to each stop that can be walked to."""
        if (lat, lon) not in self._reaches:
            near = self.around(lat, lon)
            others = [(self.stops.all[place].lat, self.stops.all[place].lon) for place in near]
            found = zip(near, self.lengths((lat, lon), others), strict=True)
            if len(self._reaches) >= MOST_REACHES:
                self._reaches.clear()
            self._reaches[lat, lon] = {
                place: (self.walk.seconds(metres), round(metres * MICRO))
                for place, metres in found
                if metres * MICRO <= self.walk.limit + 1
                and round(metres * MICRO) <= self.walk.limit
            }
        return self._reaches[lat, lon]

    def between(
        self, one: tuple[float, float], other: tuple[float, float]
    ) -> tuple[int, int] | None:
        """Seconds and micrometres of a walk between two positions; None if it is too long."""
        (metres,) = self.lengths(one, [other])
        if metres > self.walk.max_m + 1 or round(metres * MICRO) > self.walk.limit:
            return None
        return self.walk.seconds(metres), round(metres * MICRO)

    def lengths(
        self, one: tuple[float, float], others: Sequence[tuple[float, float]]
    ) -> list[float]:
        """Metres of the walks to other positions: on streets where both are next to one."""
        straight = [DETOUR * straight_m(*one, *other) for other in others]
        if self._ways is None or not self._ways.known(*one):
            return straight
        known = [at for at, other in enumerate(others) if self._ways.known(*other)]
        found = self._ways.metres(*one, [others[at] for at in known])
        for at, metres in zip(known, found, strict=True):
            straight[at] = metres
        return straight

    def changes(self, place: int, backwards: bool) -> list[Change]:
        """From a stop, or backwards to it, to all stops where one may ride on."""
        key = (place, backwards)
        if key not in self._changes:
            self._changes[key] = list(self._found(place, backwards))
        return self._changes[key]

    def _found(self, place: int, backwards: bool) -> Iterator[Change]:
        stop, (at, _) = self.stops.all[place], self.stops.keys[place]
        others = {place, *self.around(stop.lat, stop.lon)}
        others |= self.stops.ruled[backwards].get(place, set())
        if stop.station:
            others |= set(self.stops.family[at, stop.station])
        self._measure(place, others)
        for other in sorted(others):
            origin, target = (other, place) if backwards else (place, other)
            metres = self._lengths[min(place, other), max(place, other)]
            if metres > self.walk.max_m + 1:
                continue
            change = self._change(origin, target, other, metres)
            if change.micro <= self.walk.limit and (change.rules or change.seconds is not None):
                yield change

    def _measure(self, place: int, others: Iterable[int]) -> None:
        """Keep the lengths of walks from a stop: the same there and back."""
        stop, self._lengths[place, place] = self.stops.all[place], 0.0
        new = [o for o in others if (min(place, o), max(place, o)) not in self._lengths]
        ends = [(self.stops.all[other].lat, self.stops.all[other].lon) for other in new]
        for other, metres in zip(new, self.lengths((stop.lat, stop.lon), ends), strict=True):
            self._lengths[min(place, other), max(place, other)] = metres

    def _change(self, origin: int, target: int, to: int, metres: float) -> Change:
        one, other = self.stops.all[origin], self.stops.all[target]
        on_foot = self.walk.seconds(metres)
        same_feed = self.stops.keys[origin][0] == self.stops.keys[target][0]
        is_within = bool(one.station) and one.station == other.station and same_feed
        usual: int | None = WITHIN_STATION_S if is_within and origin != target else on_foot
        special: list[tuple[Rule, int | None]] = []
        ruled = self.stops.rules.get((origin, target), ())
        for _, rule in sorted(ruled, key=lambda each: each[0]):
            seconds = {0: on_foot, 1: 0, 2: rule.seconds, 3: None}[rule.type]
            if rule.from_route or rule.to_route or rule.from_trip or rule.to_trip:
                special.append((rule, seconds))
            else:
                usual = seconds
                break
        times = [usual, *(seconds for _, seconds in special)]
        soonest = min((each for each in times if each is not None), default=0)
        return Change(to, usual, round(metres * MICRO), tuple(special), soonest)
