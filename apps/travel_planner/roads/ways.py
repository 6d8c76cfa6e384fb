"""Searches between points within edges: how they enter the graph of a mode and leave it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from citywise.apps.travel_planner.roads.graph import ModeGraph, Position, Tree, Weighted
from citywise.apps.travel_planner.roads.network import I32
from citywise.apps.travel_planner.roads.snapping import Snap
from citywise.backend.app import geometry

_MOST_WAYS = 1.5
"""Most ways are no longer than so many times the distance as the crow flies."""


@dataclass(frozen=True)
class Way:
    """A way found: all its edges, and where it begins and ends in the first and the last."""

    start: Position
    end: Position
    edges: list[int]


class Search:
    """Ways from one point to another.

    Points in different dead ends are sought for where these begin, in the rest of the graph.
    """

    def __init__(self, start: Snap, end: Snap, graph: ModeGraph) -> None:
        self._out, self._in = _way_out(start, graph), _way_in(end, graph)
        self._in_core = None in (self._out.node, self._in.node) or self._out.node != self._in.node
        if self._in_core:
            graph = graph.core
            begins = starts(start, graph) if not self._out.edges else _leaving(self._out, graph)
            stops = ends(end, graph) if not self._in.edges else _entering(self._in, graph)
        else:
            begins, stops = starts(start, graph), ends(end, graph)
        same = _node(start, graph) is not None and _node(start, graph) == _node(end, graph)
        self._standing = Position(start.edge, start.share) if same else None
        self._between = _Between(begins, stops, graph)
        self._start, self._end = start, end
        self._crow_m = float(geometry.apart_m(start.lon, start.lat, end.lon, end.lat))

    def best(self, weighted: Weighted, limit: float = math.inf) -> Way | None:
        """The shortest way, None if all are closed, or weigh more than `limit`."""
        if self._standing:
            return Way(self._standing, self._standing, [self._standing.edge])
        if not self._in_core:
            return self._between.best(weighted, self._limits(weighted, limit))
        ends = np.array([*self._out.edges, *self._in.edges], dtype=np.int64)
        found = self._between.best(weighted.core, self._limits(weighted, limit))
        if found is None or np.isinf(weighted.edges[ends]).any():
            return None
        start, end = self._out.position or found.start, self._in.position or found.end
        return Way(start, end, [*self._out.edges, *found.edges, *self._in.edges])

    def _limits(self, weighted: Weighted, limit: float) -> tuple[float, ...]:
        """How far to look, one after the other: without a limit first as far as most ways are,
        by how far it is as the crow flies and what a metre weighs at either end."""
        if limit < math.inf:
            return (limit,)
        ends = [self._start.edge, self._end.edge]
        metres = np.maximum(weighted.graph.network.length_m[ends], 1.0)
        first = _MOST_WAYS * self._crow_m * float((weighted.edges[ends] / metres).max())
        return (first, limit) if 0.0 < first < math.inf else (limit,)


@dataclass(frozen=True)
class _Spur:
    """The way between a point in a dead end and the rest; no edges: the point is in the rest."""

    edges: list[int]
    position: Position | None
    """Of the point, in the first of the edges (on the way out) or in the last."""
    node: int | None
    """The node at which the rest is reached, or at which the point is in the rest."""


def _way_out(snap: Snap, graph: ModeGraph) -> _Spur:
    spurs, network, node = graph.spurs, graph.network, _node(snap, graph)
    if node is not None:
        edges, root = spurs.way_out(node)
        return _Spur(edges, Position(edges[0], 0.0) if edges else None, root)
    if not spurs.holds[snap.edge]:
        return _Spur([], None, None)
    tail, head = int(network.tail[snap.edge]), int(network.head[snap.edge])
    if spurs.out[tail] == snap.edge:
        edges, root = spurs.way_out(head)
        return _Spur([snap.edge, *edges], Position(snap.edge, snap.share), root)
    if snap.twin >= 0:
        edges, root = spurs.way_out(tail)
        return _Spur([snap.twin, *edges], Position(snap.twin, 1.0 - snap.share), root)
    edges, root = spurs.way_out(head)  # on to the end, and back
    return _Spur([snap.edge, *edges], Position(snap.edge, snap.share), root)


def _way_in(snap: Snap, graph: ModeGraph) -> _Spur:
    spurs, network, node = graph.spurs, graph.network, _node(snap, graph)
    if node is not None:
        edges, root = spurs.way_in(node)
        return _Spur(edges, Position(edges[-1], 1.0) if edges else None, root)
    if not spurs.holds[snap.edge]:
        return _Spur([], None, None)
    tail, head = int(network.tail[snap.edge]), int(network.head[snap.edge])
    if spurs.back[head] == snap.edge:
        edges, root = spurs.way_in(tail)
        return _Spur([*edges, snap.edge], Position(snap.edge, snap.share), root)
    if snap.twin >= 0:
        edges, root = spurs.way_in(head)
        return _Spur([*edges, snap.twin], Position(snap.twin, 1.0 - snap.share), root)
    edges, root = spurs.way_in(tail)  # in to the end, and back
    return _Spur([*edges, snap.edge], Position(snap.edge, snap.share), root)


def _leaving(spur: _Spur, graph: ModeGraph) -> list[Position]:
    assert spur.node is not None
    return [Position(edge, 0.0) for edge in graph.leaving[spur.node]]


def _entering(spur: _Spur, graph: ModeGraph) -> list[Position]:
    assert spur.node is not None
    return [Position(edge, 1.0) for edge in graph.entering[spur.node]]


class _Between:
    """Ways from any of some positions to any of others."""

    def __init__(
        self, begins: Sequence[Position], stops: Sequence[Position], graph: ModeGraph
    ) -> None:
        self._graph, self._starts, self._ends = graph, begins, stops

    def best(self, weighted: Weighted, limits: Sequence[float]) -> Way | None:
        """The shortest way, None if all are closed, or weigh more than the last of the limits
        that are tried."""
        for limit in limits:
            tree = weighted.from_positions(self._starts, limit)
            weight, end = _last(tree, self._ends, weighted)
            if weight <= limit < math.inf:
                break
        direct = [(weighted.between(s, e), s, e) for s in self._starts for e in self._ends]
        if direct and min(direct)[0] < math.inf and min(direct)[0] <= weight:
            return self._within(*min(direct)[1:])
        return self._along(tree, end, weighted) if end else None

    def _within(self, start: Position, end: Position) -> Way:
        """Along one arc."""
        first, last = self._graph.within[[start.edge, end.edge]]
        return Way(start, end, self._graph.arc_edges[first : last + 1].tolist())

    def _along(self, tree: Tree, end: Position, weighted: Weighted) -> Way:
        """Back from the end of a tree, junction by junction."""
        graph = self._graph
        before = tree.before
        junctions = [int(graph.arc_tail[graph.arc_of[end.edge]])]
        while (junction := int(before[junctions[-1]])) != graph.size:
            junctions.append(junction)
        junction = junctions[-1]
        junctions.reverse()
        arcs = weighted.lightest(junctions[:-1], junctions[1:])
        here = (s for s in self._starts if graph.arc_head[graph.arc_of[s.edge]] == junction)
        start = min(here, key=weighted.after)
        last = int(graph.arc_at[graph.arc_of[end.edge]])
        begins = np.array([graph.within[start.edge], *graph.arc_at[arcs], last])
        chosen = np.array([graph.arc_of[start.edge], *arcs], dtype=np.int64)
        stops = np.append(graph.arc_at[chosen + 1], graph.within[end.edge] + 1)
        edges = graph.arc_edges[geometry.ranges(begins, stops - begins)].tolist()
        return Way(start, end, edges)


class Reach:
    """All that can be reached from one point, or from which it can be reached."""

    def __init__(self, point: Snap, weighted: Weighted, reverse: bool) -> None:
        self._point, self._weighted = point, weighted
        self._graph, self._reverse = weighted.graph, reverse
        if reverse:
            self._own = ends(point, self._graph)
            self._tree = weighted.to_positions(self._own)
        else:
            self._own = starts(point, self._graph)
            self._tree = weighted.from_positions(self._own)

    def to(self, other: Snap) -> float:
        """Weight of the shortest way to (or from) another point; inf: there is none."""
        graph, weighted = self._graph, self._weighted
        node = _node(other, graph)
        if node is not None and node == _node(self._point, graph):
            return 0.0
        if self._reverse:
            theirs = starts(other, graph)
            weight, _start = _first(self._tree, theirs, weighted)
            direct = [weighted.between(start, end) for start in theirs for end in self._own]
        else:
            theirs = ends(other, graph)
            weight, _end = _last(self._tree, theirs, weighted)
            direct = [weighted.between(start, end) for start in self._own for end in theirs]
        return min([weight, *direct])


def _last(
    tree: Tree, positions: Sequence[Position], weighted: Weighted
) -> tuple[float, Position | None]:
    """The least weight to one of the positions by way of the junction before it."""
    return _least(tree, positions, weighted.graph, weighted.graph.arc_tail, weighted.before)


def _first(
    tree: Tree, positions: Sequence[Position], weighted: Weighted
) -> tuple[float, Position | None]:
    """The least weight from one of the positions by way of the junction after it."""
    return _least(tree, positions, weighted.graph, weighted.graph.arc_head, weighted.after)


def _least(
    tree: Tree,
    positions: Sequence[Position],
    graph: ModeGraph,
    junctions: I32,
    beside: Callable[[Position], float],
) -> tuple[float, Position | None]:
    """The position of the least weight: that of the tree at the junction of its arc, and that of
    what lies between them."""
    found: tuple[float, Position | None] = (math.inf, None)
    for position in positions:
        junction = junctions[graph.arc_of[position.edge]]
        weight = float(tree.weight[junction]) + beside(position)
        if weight < found[0]:
            found = weight, position
    return found


def starts(snap: Snap, graph: ModeGraph) -> list[Position]:
    """Where a way can begin at a point: in both directions of its street, or at a node with
    any of the edges that leave it."""
    node = _node(snap, graph)
    if node is not None:
        return [Position(edge, 0.0) for edge in graph.leaving[node]]
    return _both(snap)


def ends(snap: Snap, graph: ModeGraph) -> list[Position]:
    """Where a way can end at a point."""
    node = _node(snap, graph)
    if node is not None:
        return [Position(edge, 1.0) for edge in graph.entering[node]]
    return _both(snap)


def _both(snap: Snap) -> list[Position]:
    here = [Position(snap.edge, snap.share)]
    return here if snap.twin < 0 else [*here, Position(snap.twin, 1.0 - snap.share)]


def _node(snap: Snap, graph: ModeGraph) -> int | None:
    """The node at which a point is, if it is at the end of its edge."""
    if snap.share <= 0.0:
        return int(graph.network.tail[snap.edge])
    return int(graph.network.head[snap.edge]) if snap.share >= 1.0 else None
