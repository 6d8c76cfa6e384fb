"""Places on the map to places on the network: the nearest point of an edge."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import shapely

from citywise.apps.travel_planner.roads.network import I32, I64, RoadNetwork
from citywise.apps.travel_planner.roads.paths import stretch
from citywise.backend.app import geometry

MOST_SNAP_M = 1500.0
"""Metres: what is further from all streets is not in the city."""
_CORNER_M = 1.0
"""Metres: so near to the end of an edge a point is at its node, where all edges begin."""


@dataclass(frozen=True)
class Snap:
    """A point of an edge, and how far it is from what was asked for."""

    edge: int
    share: float
    """Part of the edge before the point: 0 is its tail, 1 its head."""
    lon: float
    lat: float
    metres: float
    twin: int = -1
    """The same street the other way, of the same mode; -1: one-way."""


class Snapper:
    """An index of some edges of a network by where they lie."""

    def __init__(self, network: RoadNetwork, edges: I64, twins: I32) -> None:
        """Of the edges given (sorted), and which edge is the same street the other way."""
        own = np.zeros(network.edges, dtype=bool)
        own[edges] = True
        self._network = network
        self._twins = np.where((twins >= 0) & own[twins], twins, -1)
        other = self._twins[edges]
        self._streets = edges[(other < 0) | (edges < other)]
        self._lines = _lines(network, self._streets)
        self._tree = shapely.STRtree(list(self._lines))

    def snap(self, lon: float, lat: float, most_m: float = MOST_SNAP_M) -> Snap | None:
        """The nearest point, or None if there is none within so many metres."""
        at = geometry.project(np.array([lon]), np.array([lat]))
        point, factor = shapely.Point(at.x[0], at.y[0]), float(at.factor[0])
        found = self._tree.query_nearest(point, max_distance=2 * most_m / factor)
        if not len(found):
            return None
        street = int(found.min())
        line = self._lines[street]
        share = float(shapely.line_locate_point(line, point, normalized=True))
        there = shapely.line_interpolate_point(line, share, normalized=True)
        metres = float(geometry.between(at, np.array([there.x]), np.array([there.y]))[0])
        return self._at(street, share, metres) if metres <= most_m else None

    def _at(self, street: int, share: float, metres: float) -> Snap:
        edge = int(self._streets[street])
        length = self._network.length_m[edge]
        if share * length <= _CORNER_M or length == 0:
            share = 0.0
        elif (1 - share) * length <= _CORNER_M:
            share = 1.0
        planar = shapely.get_coordinates(self._lines[street])
        lon, lat = stretch(self._network.line(edge), share, share, planar)[0]
        return Snap(edge, share, float(lon), float(lat), metres, int(self._twins[edge]))


def _lines(network: RoadNetwork, edges: I64) -> geometry.Shapes:
    """Planar polylines of edges."""
    counts = network.shape_at[edges + 1] - network.shape_at[edges]
    owner = np.repeat(np.arange(len(edges)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    points = network.shape[network.shape_at[edges][owner] + within]
    at = geometry.project(points[:, 0], points[:, 1])
    return np.asarray(shapely.linestrings(np.column_stack((at.x, at.y)), indices=owner))


def twins_of(network: RoadNetwork) -> I32:
    """For each edge the one with the same line the other way, -1 where there is none."""
    twins = [-1] * network.edges
    alone: defaultdict[tuple[int, int, bytes], list[int]] = defaultdict(list)
    ends = zip(network.tail.tolist(), network.head.tolist(), strict=True)
    lines = pairwise(network.shape_at.tolist())
    for edge, ((tail, head), (first, last)) in enumerate(zip(ends, lines, strict=True)):
        line = network.shape[first:last]
        if waiting := alone.get((head, tail, line[::-1].tobytes())):
            twins[edge] = waiting.pop(0)
            twins[twins[edge]] = edge
        else:
            alone[tail, head, line.tobytes()].append(edge)
    return np.array(twins, dtype=np.int32)
