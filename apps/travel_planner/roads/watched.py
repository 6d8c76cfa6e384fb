"""Which streets of an imported network the city's sensors watch.

The files of the pack and of the simulated town say so themselves. An OpenStreetMap file knows
of no sensors: there each measured road is matched to the path between its ends that fits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from citywise.apps.travel_planner.roads.building import Position, metres
from citywise.apps.travel_planner.roads.network import RoadNetwork
from citywise.apps.travel_planner.roads.segments import Matcher, Segment
from citywise.backend.ingest.payloads import LineString, Place

_Road = tuple[Position, Position, float]
"""Both ends of a measured road, and its length in metres."""


class Watched:
    """Matches roads to a network, each once; a road has sensors of kinds that measure speeds."""

    def __init__(self, network: RoadNetwork, speeds: Collection[str]) -> None:
        self._network, self._speeds = network, frozenset(speeds)
        self._paths: dict[_Road, list[int] | None] = {}

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self._network)

    def by(self, places: Iterable[Place]) -> RoadNetwork:
        """The network with the sensors of the roads among some places that have a path on it;
        the same where it names its sensors itself."""
        if self._network.sensors:
            return self._network
        roads = {p.id: r for p in places if self._speeds & {*p.sensors} and (r := _road(p))}
        paths = {name: path for name, road in roads.items() if (path := self._path(road))}
        return replace(
            self._network,
            sensors=tuple(paths),
            sensed=np.array([e for path in paths.values() for e in path], dtype=np.int32),
            sensed_at=np.cumsum([0, *map(len, paths.values())], dtype=np.int64),
        )

    def _path(self, road: _Road) -> list[int] | None:
        if road not in self._paths:
            start, end, length_m = road
            none = ("", "")
            segment = Segment("", none, none, none, (start, end), length_m, 0.0)
            self._paths[road] = self._matcher.path(segment, start, end)
        return self._paths[road]


def _road(place: Place) -> _Road | None:
    """The road that a place is, if it is one."""
    line = place.geometry
    if not isinstance(line, LineString):
        return None
    points = line.coordinates
    return points[0], points[-1], place.length_m or metres(points)
