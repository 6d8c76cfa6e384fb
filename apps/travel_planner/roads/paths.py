"""A way through the network: edges, of which the first and the last are travelled in part."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from citywise.apps.travel_planner.roads.network import F64, I32, Bools, RoadNetwork
from citywise.backend.app import geometry

_DECIMALS = 6
"""Of degrees in coordinates: about a decimetre."""


@dataclass(frozen=True, eq=False)
class Path:
    """Edges in the order of travel (at least one)."""

    edges: I32
    first_share: float
    """Part of the first edge that is travelled: its end."""
    last_share: float
    """Part of the last edge that is travelled: its beginning. If the first edge is the only
    one, what is travelled is what both have in common: first_share + last_share - 1."""
    network: RoadNetwork = field(repr=False)

    def shares(self) -> F64:
        """The part of each edge that is travelled: 1 but for the ends."""
        shares = np.ones(len(self.edges))
        shares[0] = self.first_share
        shares[-1] += self.last_share - 1.0
        return shares

    def total(self, per_edge: F64) -> float:
        """The sum of a quantity of edges over what is travelled."""
        return float(self.shares() @ per_edge[self.edges])

    @property
    def length_m(self) -> float:
        """Metres."""
        return self.total(self.network.length_m)

    def coordinates(self) -> list[tuple[float, float]]:
        """The line, (lon, lat) pairs with six decimals; at least two, alike if nothing is
        travelled."""
        line, begin, end = self.network.line, 1.0 - self.first_share, self.last_share
        first, last = int(self.edges[0]), int(self.edges[-1])
        if len(self.edges) == 1:
            lines = [stretch(line(first), begin, end)]
        else:
            between = self._shape(self.edges[1:-1])
            lines = [stretch(line(first), begin, 1.0), between, stretch(line(last), 0.0, end)]
        points = np.round(np.concatenate(lines), _DECIMALS)
        keep = np.append(np.any(points[1:] != points[:-1], axis=1), True)
        kept = points[keep] if keep.sum() > 1 else points[[0, -1]]
        return list(zip(*kept.T.tolist(), strict=True))

    def _shape(self, edges: I32) -> F64:
        """The points of whole edges, one after the other."""
        begins = self.network.shape_at[edges]
        return self.network.shape[
            geometry.ranges(begins, self.network.shape_at[edges + 1] - begins)
        ]

    @cached_property
    def holds(self) -> Bools:
        """Which edges of the network it has."""
        found = np.zeros(self.network.edges, dtype=np.bool_)
        found[self.edges] = True
        return found

    def overlap(self, other: Path, network: RoadNetwork | None = None) -> float:
        """The part of this path's length that is on edges of the other too, 0 to 1."""
        metres = self.shares() * (network or self.network).length_m[self.edges]
        total = float(metres.sum())
        shared = float(metres[other.holds[self.edges]].sum())
        return shared / total if total > 0 else 1.0


def stretch(line: F64, begin: float, end: float, planar: F64 | None = None) -> F64:
    """The part of a polyline (lon, lat rows) from one share of its length to another.

    `planar` is the line as `space.geometry.project` has it, where that is known.
    """
    if begin <= 0.0 and end >= 1.0:
        return line
    along = _along(np.stack(geometry.project(*line.T)[:2], axis=1) if planar is None else planar)
    shares = np.concatenate(([begin], along[(along > begin) & (along < end)], [end]))
    return np.column_stack([np.interp(shares, along, line[:, axis]) for axis in (0, 1)])


def _along(planar: F64) -> F64:
    """Share of the length of a polyline before each of its points."""
    lengths = np.cumsum(np.hypot(*(planar[1:] - planar[:-1]).T))
    along = np.concatenate(([0.0], lengths))
    return along / along[-1] if along[-1] > 0 else np.linspace(0.0, 1.0, len(planar))
