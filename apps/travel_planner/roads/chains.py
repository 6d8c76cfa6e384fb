"""Chains of edges on which there is nothing to choose between two junctions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from citywise.apps.travel_planner.roads.network import I32, I64, Bools, RoadNetwork


class Chains:
    """Which edges of a connected part of a network go on to which without a choice."""

    def __init__(self, network: RoadNetwork, edges: I64, twins: I32) -> None:
        """Of edges (sorted), with the other direction of each street (`snapping.twins_of`)."""
        self._network, self._twins = network, twins
        self._edges = edges
        self._leaving = _Sorted(network.tail, edges, network.nodes)
        self._entering = _Sorted(network.head, edges, network.nodes)
        self._next: I64 = np.full(network.edges, -1, dtype=np.int64)
        used = (self._leaving.counts > 0) | (self._entering.counts > 0)
        self.junctions: Bools = used.copy()
        """Which nodes are not in the middle of a chain; of a mere ring one is."""
        for number in (1, 2):
            self._join(number)
        if not self.junctions.any() and used.any():
            first = int(np.argmax(used))
            self.junctions[first] = True
            self._next[self.entering[first]] = -1

    @property
    def leaving(self) -> list[list[int]]:
        """The edges that begin at each node."""
        return self._leaving.lists

    @property
    def entering(self) -> list[list[int]]:
        """The edges that end at each node."""
        return self._entering.lists

    def _join(self, number: int) -> None:
        """Pass the nodes with so many edges in and out at which whoever comes can only go on,
        to one way out.

        In a street of two directions nobody gains by turning round: a point in it is a point
        of its twin, too. That does not hold of two one-way streets side by side.
        """
        counts = self._leaving.counts, self._entering.counts
        nodes = np.flatnonzero((counts[0] == number) & (counts[1] == number))
        into, out = self._entering.at(nodes, number), self._leaving.at(nodes, number)
        before, after = self._network.tail[into], self._network.head[out]
        if number == 1:
            passed = before[:, 0] != after[:, 0]
        else:
            passed = (np.sort(self._twins[out], axis=1) == into).all(axis=1)
            passed &= before[:, 0] != before[:, 1]
        passed &= (before != nodes[:, None]).all(axis=1)
        onward = np.where(after[:, :1] != before, out[:, :1], out[:, -1:])
        self._next[into[passed]] = onward[passed]
        self.junctions[nodes[passed]] = False

    def arcs(self) -> tuple[I64, I64]:
        """The edges of all chains between junctions in the order of travel, and where each
        chain begins in them (and the last ends).

        Chains of the same junctions are neighbours; loops come last, as no way needs them.
        """
        firsts = self._edges[self.junctions[self._network.tail[self._edges]]]
        chain, edges = self._followed(firsts)
        counts = np.bincount(chain, minlength=len(firsts))
        tail = self._network.tail[firsts]
        head = self._network.head[edges[np.cumsum(counts) - 1]]
        order = np.lexsort((firsts, head, tail, tail == head))
        place = np.empty(len(firsts), dtype=np.int64)
        place[order] = np.arange(len(firsts))
        begins = np.concatenate(([0], np.cumsum(counts[order]))).astype(np.int64)
        return edges[np.argsort(place[chain], kind="stable")], begins

    def _followed(self, firsts: I64) -> tuple[I64, I64]:
        """Each chain's number and edges, from its first edge to the next junction."""
        chain, edge = np.arange(len(firsts)), firsts
        chains, edges = [chain], [edge]
        while len(edge):
            onward = self._next[edge]
            chain, edge = chain[onward >= 0], onward[onward >= 0]
            chains.append(chain)
            edges.append(edge)
        found = np.concatenate(chains)
        order = np.argsort(found, kind="stable")
        return found[order], np.concatenate(edges)[order]


class _Sorted:
    """Edges by the node that they have at one end."""

    def __init__(self, ends: I32, edges: I64, nodes: int) -> None:
        self.counts: I64 = np.bincount(ends[edges], minlength=nodes)
        self._begins = np.concatenate(([0], np.cumsum(self.counts)))
        self._edges = edges[np.argsort(ends[edges], kind="stable")]
        flat = self._edges.tolist()
        self.lists: list[list[int]] = [flat[a:b] for a, b in pairwise(self._begins.tolist())]

    def at(self, nodes: I64, number: int) -> I64:
        """The edges of nodes that have so many each, a row for each node."""
        return np.asarray(self._edges[self._begins[nodes][:, None] + np.arange(number)])
