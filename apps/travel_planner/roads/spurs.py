"""Dead ends: trees of two-way streets that hang at the rest of a network by one node each.

No shortest way passes through them, so ways between other points need not look at them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from citywise.apps.travel_planner.roads.network import I32, Bools, RoadNetwork


class Spurs:
    """The dead ends of what a mode can travel."""

    def __init__(
        self,
        network: RoadNetwork,
        leaving: Sequence[Sequence[int]],
        entering: Sequence[Sequence[int]],
    ) -> None:
        """Of the edges that leave and enter each node."""
        self._network = network
        self.out: I32 = np.full(network.nodes, -1, dtype=np.int32)
        """The edge towards the rest at each node of a dead end; -1 at all others."""
        self.back: I32 = self.out.copy()
        """The edge from there."""
        self._find(_Left(leaving), _Left(entering))
        self.holds: Bools = np.zeros(network.edges, dtype=bool)
        """Which edges are part of a dead end."""
        self.holds[self.out[self.out >= 0]] = True
        self.holds[self.back[self.back >= 0]] = True

    def _find(self, leaving: _Left, entering: _Left) -> None:
        """Take away ends until there are none, which makes new ends of what led to them."""
        tail, head = self._network.tail.tolist(), self._network.head.tolist()
        waiting = [node for node, count in enumerate(leaving.counts) if count == 1]
        while waiting:
            node = waiting.pop()
            if leaving.counts[node] != 1 or entering.counts[node] != 1:
                continue
            out, back = leaving.sums[node], entering.sums[node]
            rest = head[out]
            if rest != tail[back] or rest == node:
                continue
            self.out[node], self.back[node] = out, back
            leaving.remove(out, node)
            entering.remove(back, node)
            leaving.remove(back, rest)
            entering.remove(out, rest)
            waiting.append(rest)

    def way_out(self, node: int) -> tuple[list[int], int]:
        """The edges from a node to the rest, and the node of the rest."""
        edges: list[int] = []
        while self.out[node] >= 0:
            edges.append(int(self.out[node]))
            node = int(self._network.head[edges[-1]])
        return edges, node

    def way_in(self, node: int) -> tuple[list[int], int]:
        """The edges from the rest to a node, and the node of the rest."""
        edges: list[int] = []
        while self.back[node] >= 0:
            edges.append(int(self.back[node]))
            node = int(self._network.tail[edges[-1]])
        return edges[::-1], node


class _Left:
    """The edges that are left at each node: how many, and the sum of their numbers, which is
    the edge itself where there is one."""

    def __init__(self, edges: Sequence[Sequence[int]]) -> None:
        self.counts = [len(found) for found in edges]
        self.sums = [sum(found) for found in edges]

    def remove(self, edge: int, node: int) -> None:
        """Take away an edge at a node."""
        self.counts[node] -= 1
        self.sums[node] -= edge
