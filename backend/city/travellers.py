"""Simulated travellers: people who drive through a city's roads, as phones would tell it.

They serve to try an app over recorded data (`citywise replay APP --travellers 200`), in
which nobody's way is recorded.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from citywise.backend.ingest.payloads import LineString, Place
from citywise.backend.ingest.records import Standing

STEP_S = 60
"""Between two positions of a traveller."""
_SPEED_KMH = 40.0
_NODE_M = 40.0
"""Ends of roads this near to each other are one junction."""
_M_PER_DEGREE = 111_195.0
_SHORTEST_M, _LONGEST_M = 1_500.0, 15_000.0

Point = tuple[float, float]
"""Longitude and latitude."""


@dataclass(frozen=True)
class Trip:
    """A way through the city and when it is travelled."""

    user: str
    departs_ms: int
    line: tuple[Point, ...]
    seconds: float

    def at(self, t_ms: int) -> tuple[Point, float]:
        """Where the traveller is at a time, and how many metres along the way."""
        share = min(1.0, max(0.0, (t_ms - self.departs_ms) / 1000 / self.seconds))
        left = along = share * length_m(self.line)
        for start, end in pairwise(self.line):
            step = distance_m(start, end)
            if left <= step and step > 0:
                part = left / step
                return (
                    start[0] + part * (end[0] - start[0]),
                    start[1] + part * (end[1] - start[1]),
                ), along
            left -= step
        return self.line[-1], along

    def arrives_ms(self) -> int:
        """When the traveller is there."""
        return self.departs_ms + round(self.seconds * 1000)


class Roads:
    """The roads of a city as a graph, from the places that traffic sensors watch."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._junctions: list[Point] = []
        self._leaving: dict[int, list[tuple[int, float, tuple[Point, ...]]]] = {}
        for place in places:
            if isinstance(place.geometry, LineString):
                self._add(tuple(place.geometry.coordinates), place.free_flow_kmh or _SPEED_KMH)

    def _add(self, line: tuple[Point, ...], speed_kmh: float) -> None:
        start, end = self._junction(line[0]), self._junction(line[-1])
        line = (self._junctions[start], *line[1:-1], self._junctions[end])
        seconds = length_m(line) / (min(speed_kmh, 110.0) / 3.6)
        self._leaving.setdefault(start, []).append((end, seconds, line))

    def _junction(self, point: Point) -> int:
        for number, known in enumerate(self._junctions):
            if distance_m(known, point) <= _NODE_M:
                return number
        self._junctions.append(point)
        return len(self._junctions) - 1

    def trips(self, count: int, first_ms: int, last_ms: int, seed: int) -> Iterator[Trip]:
        """So many trips that begin between two times (Unix ms), the same for each seed."""
        chance = random.Random(seed)  # noqa: S311 - nothing secret
        number = 0
        for _try in range(count * 200):
            if number == count or not self._junctions:
                return
            start, end = (chance.randrange(len(self._junctions)) for _ in range(2))
            found = self._way(start, end)
            if found and _SHORTEST_M <= length_m(found[0]) <= _LONGEST_M:
                number += 1
                departs = chance.randrange(first_ms, max(last_ms, first_ms + 1), STEP_S * 1000)
                yield Trip(f"traveller-{number}", departs, *found)

    def _way(self, start: int, end: int) -> tuple[tuple[Point, ...], float] | None:
        """The fastest way between two junctions, and its seconds (Dijkstra)."""
        best: dict[int, tuple[float, int, tuple[Point, ...]]] = {start: (0.0, start, ())}
        queue = [(0.0, start)]
        while queue:
            seconds, node = heapq.heappop(queue)
            if node == end:
                return self._line(best, start, end), seconds
            for there, more, line in self._leaving.get(node, ()):
                if there not in best or seconds + more < best[there][0]:
                    best[there] = seconds + more, node, line
                    heapq.heappush(queue, (seconds + more, there))
        return None

    @staticmethod
    def _line(
        best: Mapping[int, tuple[float, int, tuple[Point, ...]]], start: int, end: int
    ) -> tuple[Point, ...]:
        pieces: list[tuple[Point, ...]] = []
        while end != start:
            _seconds, end, line = best[end]
            pieces.append(line)
        line = tuple(point for piece in reversed(pieces) for point in piece)
        return tuple(p for n, p in enumerate(line) if n == 0 or p != line[n - 1])


def told(trips: Iterable[Trip], until_ms: int) -> Iterator[tuple[int, Standing]]:
    """What the travellers' phones tell of their trips, in the order of time.

    At departure the route, that they drive and where they are; then every minute where they
    are; at the end that there is no trip any more.
    """
    yield from heapq.merge(
        *(_trip_messages(trip, until_ms) for trip in trips), key=lambda found: found[0]
    )


def _trip_messages(trip: Trip, until_ms: int) -> Iterator[tuple[int, Standing]]:
    def stands(subject: str, body: dict[str, object] | None) -> Standing:
        return Standing(subject, trip.user, body, 0)

    begin, end = trip.departs_ms, trip.arrives_ms()
    yield begin, stands("route", {"coordinates": [list(point) for point in trip.line]})
    yield begin, stands("activity", {"activity": "DrivingCar"})
    for t_ms in range(begin, min(end, until_ms + 1), STEP_S * 1000):
        (lon, lat), along = trip.at(t_ms)
        yield t_ms, stands("position", {"lat": lat, "lon": lon, "along_m": round(along, 1)})
    if end <= until_ms:
        for subject in ("route", "position", "activity"):
            yield end, stands(subject, None)


def distance_m(one: Point, other: Point) -> float:
    """Metres between two near points; a few per mille off."""
    dx = (one[0] - other[0]) * math.cos(math.radians((one[1] + other[1]) / 2))
    return math.hypot(dx, one[1] - other[1]) * _M_PER_DEGREE


def length_m(line: Iterable[Point]) -> float:
    """Metres along a line."""
    return sum(distance_m(start, end) for start, end in pairwise(line))
