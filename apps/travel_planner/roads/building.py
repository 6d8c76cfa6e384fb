"""Building a road network street by street."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyproj import Geod

from citywise.apps.travel_planner.roads.network import EVERYBODY, RoadNetwork

Position = tuple[float, float]
"""Longitude and latitude in degrees (WGS84)."""

SPEEDS_KMH = {
    "motorway": 105.0,
    "motorway_link": 60.0,
    "trunk": 80.0,
    "trunk_link": 50.0,
    "primary": 41.0,
    "primary_link": 38.0,
    "secondary": 37.0,
    "secondary_link": 35.0,
    "tertiary": 36.0,
    "tertiary_link": 32.0,
    "unclassified": 31.0,
    "residential": 28.0,
    "living_street": 12.0,
    "service": 15.0,
    "pedestrian": 8.0,
    "track": 15.0,
}
"""Free flow by car where nobody says, crossings included: an assumption. From primary to
unclassified it is about what sensors in Aarhus measure on such streets at calm hours, and the
others were set to go with these (docs/city.md)."""
OTHERWISE_KMH = 25.0

_EARTH = Geod(ellps="WGS84")


def metres(line: Sequence[Position]) -> float:
    """Length of a polyline on the ellipsoid."""
    lon, lat = zip(*line, strict=True)
    return float(_EARTH.line_length(lon, lat))


class NetworkBuilder:
    """Collects nodes, streets and sensors; `build` makes the network of them."""

    def __init__(self) -> None:
        self._nodes: list[Position] = []
        self._tail: list[int] = []
        self._head: list[int] = []
        self._length: list[float] = []
        self._speed: list[float] = []
        self._modes: list[int] = []
        self._highway: list[int] = []
        self._name: list[int] = []
        self._lines: list[Sequence[Position]] = []
        self._outside: list[bool] = []
        self._highways: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._sensed: dict[str, list[int]] = {}

    @property
    def edges(self) -> int:
        """How many directed edges there are so far."""
        return len(self._tail)

    def add_node(self, lon: float, lat: float) -> int:
        """A new node; returns its index."""
        self._nodes.append((lon, lat))
        return len(self._nodes) - 1

    def at(self, node: int) -> Position:
        """Where a node is."""
        return self._nodes[node]

    def add_street(
        self,
        tail: int,
        head: int,
        *,
        via: Sequence[Position] = (),
        modes: int = EVERYBODY,
        back: int | None = None,
        highway: str = "residential",
        name: str | None = None,
        speed_kmh: float | None = None,
        length_m: float | None = None,
        outside: bool = False,
    ) -> tuple[int | None, int | None]:
        """A street between two nodes, through the points `via`.

        `modes` may use it from `tail` to `head`, and `back` (None: the same) the other way.
        Without a speed its class has one, without a length its shape. Returns the edges
        there and back, None where nobody may use that direction.
        """
        line = [self._nodes[tail], *via, self._nodes[head]]
        shared = (
            metres(line) if length_m is None else length_m,
            speed_kmh or SPEEDS_KMH.get(highway, OTHERWISE_KMH),
            self._highways.setdefault(highway, len(self._highways)),
            -1 if not name else self._names.setdefault(name, len(self._names)),
            outside,
        )
        there = self._edge(tail, head, modes, line, *shared)
        return there, self._edge(head, tail, modes if back is None else back, line[::-1], *shared)

    def sense(self, sensor: str, edges: Sequence[int]) -> None:
        """Let the speed that a sensor measures tell of these edges, too."""
        self._sensed.setdefault(sensor, []).extend(edges)

    def revise(self, edge: int, *, name: str | None = None, speed_kmh: float | None = None) -> None:
        """Say better of an edge what its street is called, or how fast it is."""
        if name:
            self._name[edge] = self._names.setdefault(name, len(self._names))
        if speed_kmh:
            self._speed[edge] = speed_kmh

    def build(self, source: str, licence: str) -> RoadNetwork:
        """The network of all that was added.

        `source` says what it was made of, `licence` how to name that (`© …, ODbL 1.0`).
        """
        nodes = np.array(self._nodes, dtype=np.float64).reshape(-1, 2)
        sensed = [np.array(edges, dtype=np.int32) for edges in self._sensed.values()]
        shapes = [np.array(line, dtype=np.float64) for line in self._lines]
        return RoadNetwork(
            lon=nodes[:, 0].copy(),
            lat=nodes[:, 1].copy(),
            tail=np.array(self._tail, dtype=np.int32),
            head=np.array(self._head, dtype=np.int32),
            length_m=np.array(self._length, dtype=np.float64),
            speed_kmh=np.array(self._speed, dtype=np.float32),
            modes=np.array(self._modes, dtype=np.uint8),
            highway=np.array(self._highway, dtype=np.uint8),
            name=np.array(self._name, dtype=np.int32),
            shape_at=np.cumsum([0, *map(len, shapes)], dtype=np.int64),
            shape=np.concatenate([np.empty((0, 2)), *shapes]),
            sensed_at=np.cumsum([0, *map(len, sensed)], dtype=np.int64),
            sensed=np.concatenate([np.empty(0, dtype=np.int32), *sensed]),
            outside=np.array(self._outside, dtype=np.bool_),
            highways=tuple(self._highways),
            names=tuple(self._names),
            sensors=tuple(self._sensed),
            source=source,
            licence=licence,
        )

    def _edge(
        self,
        tail: int,
        head: int,
        modes: int,
        line: Sequence[Position],
        length: float,
        speed: float,
        highway: int,
        name: int,
        outside: bool,
    ) -> int | None:
        if not modes:
            return None
        self._tail.append(tail)
        self._head.append(head)
        self._modes.append(modes)
        self._lines.append(line)
        self._length.append(length)
        self._speed.append(speed)
        self._highway.append(highway)
        self._name.append(name)
        self._outside.append(outside)
        return len(self._tail) - 1
