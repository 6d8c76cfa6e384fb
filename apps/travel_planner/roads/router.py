"""Shortest ways and true alternatives between points of streets, under any weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from citywise.apps.travel_planner.roads.graph import ModeGraph, Weighted
from citywise.apps.travel_planner.roads.network import F64, Mode, RoadNetwork
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.roads.snapping import Snap, Snapper, twins_of
from citywise.apps.travel_planner.roads.ways import Reach, Search, Way

MOST_DETOUR = 1.6
"""An alternative weighs at most so many times the shortest way, and so does each stretch of
it beside what it replaces."""
_SLACK = 0.02
"""Of the shortest way's weight: so small a detour does no harm."""
_PENALTY = 1.35
"""So many times heavier are the edges of a way that was found in the next search."""
_A_LITTLE_MORE = 1 + 1e-9
"""No way is heavier than one that is known, but for the rounding of sums."""
_TRIES = 4
"""Searches for each alternative that is wanted."""


class Router:
    """Ways through one network: built once (0.3 s in Aarhus), then only read, by any thread."""

    def __init__(self, network: RoadNetwork) -> None:
        self.network = network
        twins = twins_of(network)
        self._graphs = {mode: ModeGraph(network, mode, twins) for mode in Mode}
        for graph in self._graphs.values():
            _ = graph.core  # now, so that threads only read
        self._snappers = {
            mode: Snapper(network, graph.edges, twins) for mode, graph in self._graphs.items()
        }

    def graph(self, mode: Mode) -> ModeGraph:
        """What a mode can travel."""
        return self._graphs[mode]

    def snap(self, lon: float, lat: float, mode: Mode) -> Snap | None:
        """The nearest point of a street of the mode's main part, both directions considered.

        None if there is none within `MOST_SNAP_M` metres.
        """
        return self._snappers[mode].snap(lon, lat)

    def prepared(self, weights: F64, mode: Mode) -> Weighted:
        """The mode's graph under one weight per edge of the network (at least 0; inf: closed).

        Keep it as long as the weights hold.
        """
        return Weighted(self._graphs[mode], weights)

    def shortest(self, start: Snap, end: Snap, weighted: Weighted) -> Path | None:
        """The way of least weight; None if all are closed."""
        found = Search(start, end, weighted.graph).best(weighted)
        return self._path(found) if found else None

    def alternatives(
        self, start: Snap, end: Snap, weighted: Weighted, count: int, *, overlap: float = 0.7
    ) -> list[Path]:
        """Up to `count` ways on truly different roads, the shortest first.

        No two share more than `overlap` of the length of either; each weighs at most
        `MOST_DETOUR` times the shortest and nowhere makes a detour beyond that.
        """
        kept: list[tuple[float, Path]] = []
        for way in self._candidates(start, end, weighted, count):
            path = self._path(way)
            weight = path.total(weighted.edges)
            if not kept or (
                weight <= MOST_DETOUR * kept[0][0]
                and all(_shared(path, other) <= overlap for _, other in kept)
                and _sensible(path, kept[0][1], weighted.edges)
            ):
                kept.append((weight, path))
            if len(kept) == count:
                break
        return [path for _, path in sorted(kept, key=lambda pair: pair[0])]

    def _candidates(self, start: Snap, end: Snap, weighted: Weighted, count: int) -> Iterator[Way]:
        """The shortest way, and the shortest after those before were made heavier."""
        search, weights = Search(start, end, weighted.graph), weighted.edges.copy()
        limit = math.inf
        for _ in range(1 + _TRIES * (count - 1)):
            way = search.best(weighted, limit)
            if way is None:
                return
            yield way
            weights[way.edges] *= _PENALTY
            weighted = Weighted(weighted.graph, weights)
            limit = self._path(way).total(weights) * _A_LITTLE_MORE

    def distances_to(
        self, start: Snap, ends: Sequence[Snap], weighted: Weighted, *, reverse: bool = False
    ) -> F64:
        """Weight of the shortest way from a point to each of others (`reverse`: to it)."""
        reach = Reach(start, weighted, reverse)
        return np.array([reach.to(end) for end in ends])

    def _path(self, way: Way) -> Path:
        edges = np.array(way.edges, dtype=np.int32)
        return Path(edges, 1.0 - way.start.share, way.end.share, self.network)


def _shared(path: Path, other: Path) -> float:
    """The part of the shorter of two paths that both have."""
    return max(path.overlap(other), other.overlap(path))


def _sensible(path: Path, best: Path, weights: F64) -> bool:
    """Whether no stretch between two points of the best path is much heavier than it is there."""
    nodes, along = path.network.head, np.cumsum(best.shares() * weights[best.edges])
    on_best = dict(zip(nodes[best.edges[:-1]].tolist(), along.tolist(), strict=False))
    slack = _SLACK * float(along[-1])
    left = left_best = 0.0
    weight = np.cumsum(path.shares() * weights[path.edges])
    for node, here in zip(nodes[path.edges[:-1]].tolist(), weight.tolist(), strict=False):
        if node in on_best:
            if here - left > MOST_DETOUR * (on_best[node] - left_best) + slack:
                return False
            left, left_best = here, on_best[node]
    return bool(weight[-1] - left <= MOST_DETOUR * (along[-1] - left_best) + slack)
