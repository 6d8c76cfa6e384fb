"""The part of a network that a mode can travel, with its chains of nodes contracted.

Between two junctions of a road there are often nodes that leave no choice: bends, changes of
name, the ends of side streets that cars may not use. The edges through them are one arc of
the graph that is searched. What an arc weighs is the sum over its edges, so that new weights
cost one pass over the edges (docs/decisions/routing.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from citywise.apps.travel_planner.roads.chains import Chains
from citywise.apps.travel_planner.roads.network import F64, I32, I64, Bools, Mode, RoadNetwork
from citywise.apps.travel_planner.roads.spurs import Spurs


class Position(NamedTuple):
    """A point of an edge, from which or up to which the edge is travelled."""

    edge: int
    share: float


class Tree(NamedTuple):
    """Shortest ways from some seeds to all junctions."""

    weight: F64
    before: I32
    """The junction before each; `ModeGraph.size` where the way begins with a seed."""


class _Rows(NamedTuple):
    """Where the slots of a graph lie in a sparse matrix."""

    indices: I32
    indptr: I32
    order: I64


class ModeGraph:
    """Junctions and the arcs between them, of the largest part of a network in which a mode
    can go from everywhere to everywhere."""

    def __init__(
        self, network: RoadNetwork, mode: Mode, twins: I32, edges: I64 | None = None
    ) -> None:
        """Of the main part, or of edges from each of which all others can be reached; with
        the other direction of each street (`snapping.twins_of`)."""
        self.network = network
        self.mode = mode
        self._twins = twins
        if edges is None:
            allowed = network.allows(mode)
            main = _main_part(network, allowed)
            edges = np.flatnonzero(allowed & main[network.tail] & main[network.head])
        self.edges: I64 = edges
        """Those that can be used."""
        chains = Chains(network, edges, twins)
        self.leaving = chains.leaving
        """The edges that begin at each node."""
        self.entering = chains.entering
        """The edges that end at each node."""
        self.nodes: I64 = np.flatnonzero(chains.junctions)
        """The node of each junction."""
        self.size = len(self.nodes)
        self._set_arcs(*chains.arcs())
        self._set_rows()

    @cached_property
    def spurs(self) -> Spurs:
        """Its dead ends."""
        return Spurs(self.network, self.leaving, self.entering)

    @cached_property
    def core(self) -> ModeGraph:
        """All of it but the dead ends: half of the junctions."""
        rest = self.edges[~self.spurs.holds[self.edges]]
        return ModeGraph(self.network, self.mode, self._twins, rest)

    def _set_arcs(self, edges: I64, begins: I64) -> None:
        self.arc_edges: I64 = edges
        self.arc_at: I64 = begins
        counts = np.diff(begins)
        junction = np.full(self.network.nodes, -1, dtype=np.int32)
        junction[self.nodes] = np.arange(self.size)
        self.junction: I32 = junction
        """The junction at each node of the network, -1 where there is none."""
        self.arc_tail: I32 = junction[self.network.tail[self.arc_edges[self.arc_at[:-1]]]]
        self.arc_head: I32 = junction[self.network.head[self.arc_edges[self.arc_at[1:] - 1]]]
        self.arc_of: I32 = np.full(self.network.edges, -1, dtype=np.int32)
        self.arc_of[self.arc_edges] = np.repeat(np.arange(len(counts)), counts)
        self.within: I64 = np.full(self.network.edges, -1, dtype=np.int64)
        """Where each edge is in `arc_edges`."""
        self.within[self.arc_edges] = np.arange(len(self.arc_edges))

    def _set_rows(self) -> None:
        """Parallel arcs share a slot: an entry of the matrix, of which the lightest counts."""
        tail, head = self.arc_tail, self.arc_head
        proper = int(np.count_nonzero(tail != head))
        new = np.ones(proper, dtype=bool)
        new[1:] = (np.diff(tail[:proper]) != 0) | (np.diff(head[:proper]) != 0)
        first = np.flatnonzero(new)
        self.slot_at: I64 = np.append(first, proper)
        self._slot_ends = tail[first].astype(np.int64) * self.size + head[first]
        self._forward = _rows(tail[first], head[first], self.size)
        self._backward = _rows(head[first], tail[first], self.size)
        self._matrix = csr_array((self.size + 1, self.size + 1))

    def slots_between(self, tails: Sequence[int], heads: Sequence[int]) -> I64:
        """The slot from each junction to a neighbour."""
        ends = np.array(tails, dtype=np.int64) * self.size + np.array(heads, dtype=np.int64)
        return np.asarray(np.searchsorted(self._slot_ends, ends))

    def search(
        self, slots: F64, seeds: Sequence[tuple[int, float]], reverse: bool, limit: float
    ) -> Tree:
        """Shortest ways from seeds (junctions and the weight to there) to all junctions.

        The seeds are the row of one more node, at which the search begins.
        """
        rows = self._backward if reverse else self._forward
        open_seeds = [seed for seed in seeds if seed[1] < math.inf]
        heads = np.array([node for node, _ in open_seeds], dtype=np.int32)
        data = np.concatenate((slots[rows.order], [weight for _, weight in open_seeds]))
        indices = np.concatenate((rows.indices, heads))
        indptr = np.append(rows.indptr, rows.indptr[-1] + np.int32(len(heads)))
        matrix = copy(self._matrix)  # making one anew takes as long as a short search
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        weight, before = dijkstra(matrix, indices=self.size, return_predecessors=True, limit=limit)
        return Tree(weight[: self.size], before[: self.size])


@dataclass(frozen=True, eq=False)
class Weighted:
    """A mode's graph under one vector of weights."""

    graph: ModeGraph
    edges: F64
    """Weight of each edge of the network (at least 0; inf: closed)."""

    @cached_property
    def arcs(self) -> F64:
        """Weight of each arc."""
        graph = self.graph
        if not len(graph.arc_edges):
            return np.zeros(0)
        return np.asarray(np.add.reduceat(self.edges[graph.arc_edges], graph.arc_at[:-1]))

    @cached_property
    def core(self) -> Weighted:
        """The same without dead ends."""
        return Weighted(self.graph.core, self.edges)

    @cached_property
    def _slots(self) -> F64:
        at = self.graph.slot_at
        return np.minimum.reduceat(self.arcs[: at[-1]], at[:-1]) if len(at) > 1 else np.zeros(0)

    def lightest(self, tails: Sequence[int], heads: Sequence[int]) -> list[int]:
        """The arc from each junction to a neighbour that weighs least."""
        at, slots = self.graph.slot_at, self.graph.slots_between(tails, heads)
        arcs: list[int] = at[slots].tolist()
        for place in np.flatnonzero(at[slots + 1] - at[slots] > 1).tolist():
            first, end = at[slots[place] : slots[place] + 2]
            arcs[place] = int(first + np.argmin(self.arcs[first:end]))
        return arcs

    def before(self, position: Position) -> float:
        """Weight from the beginning of the arc to a position."""
        begin = int(self.graph.arc_at[self.graph.arc_of[position.edge]])
        whole = self._sum(begin, int(self.graph.within[position.edge]))
        return whole + part(position.share, self.edges[position.edge])

    def after(self, position: Position) -> float:
        """Weight from a position to the end of the arc."""
        end = int(self.graph.arc_at[self.graph.arc_of[position.edge] + 1])
        whole = self._sum(int(self.graph.within[position.edge]) + 1, end)
        return whole + part(1.0 - position.share, self.edges[position.edge])

    def between(self, start: Position, end: Position) -> float:
        """Weight from one position to another further on in the same arc; else inf."""
        graph = self.graph
        if graph.arc_of[start.edge] != graph.arc_of[end.edge]:
            return math.inf
        first, last = int(graph.within[start.edge]), int(graph.within[end.edge])
        if first == last and start.share <= end.share:
            return part(end.share - start.share, self.edges[start.edge])
        if first >= last:
            return math.inf
        ends = part(1.0 - start.share, self.edges[start.edge])
        ends += part(end.share, self.edges[end.edge])
        return ends + self._sum(first + 1, last)

    def _sum(self, first: int, end: int) -> float:
        return float(self.edges[self.graph.arc_edges[first:end]].sum()) if first < end else 0.0

    def from_positions(self, positions: Sequence[Position], limit: float = math.inf) -> Tree:
        """Shortest ways from the nearest of some positions to all junctions."""
        graph = self.graph
        seeds = [(int(graph.arc_head[graph.arc_of[p.edge]]), self.after(p)) for p in positions]
        return graph.search(self._slots, seeds, False, limit)

    def to_positions(self, positions: Sequence[Position]) -> Tree:
        """Shortest ways from all junctions to the nearest of some positions."""
        graph = self.graph
        seeds = [(int(graph.arc_tail[graph.arc_of[p.edge]]), self.before(p)) for p in positions]
        return graph.search(self._slots, seeds, True, math.inf)


def part(share: float, weight: float) -> float:
    """Nothing of a closed edge is free."""
    return float(share * weight) if share > 0.0 else 0.0


def _main_part(network: RoadNetwork, allowed: Bools) -> Bools:
    """The nodes of the largest strongly connected part."""
    tail, head = network.tail[allowed], network.head[allowed]
    matrix = coo_array((np.ones(len(tail)), (tail, head)), shape=(network.nodes, network.nodes))
    _count, label = connected_components(matrix, connection="strong")
    return np.asarray(label == np.argmax(np.bincount(label))) if len(label) else label == 0


def _rows(tail: I32, head: I32, size: int) -> _Rows:
    """The layout of a sparse matrix with an entry from each tail to its head."""
    order = np.lexsort((head, tail))
    indptr = np.searchsorted(tail[order], np.arange(size + 1)).astype(np.int32)
    return _Rows(head[order].astype(np.int32), indptr, order)
