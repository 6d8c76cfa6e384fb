"""Traffic segments: long measured roads between junctions, matched to the streets they run on.

The pack's sensors measure 449 such segments. Where the streets are mapped, a segment's speed
tells of the edges of one path; elsewhere the segments themselves are the only roads known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from citywise.apps.travel_planner.roads.building import Position
from citywise.apps.travel_planner.roads.network import F64, I32, Mode, RoadNetwork
from citywise.backend.app import geometry
from citywise.backend.city.aarhus import MOTORWAY_LIMIT_KMH, SEGMENT_COLUMNS, read_csv

Ints = npt.NDArray[np.integer[Any]]

NEAR_M = 120.0
"""How far a segment's path may begin or end from its junction; the median is 23 m."""
CANDIDATES = 20
AGREES = 0.25
"""By how much a path's length may differ from its segment's, as a share of that."""
MINOR = {"residential": 1.25, "unclassified": 1.1, "living_street": 2.0, "service": 2.5}
"""By how much longer a metre counts in matching: sensors stand on main roads."""


@dataclass(frozen=True)
class Segment:
    """One direction of a measured road between two junctions."""

    id: str
    ends: tuple[str, str]
    streets: tuple[str, str]
    """The street at each end, as far as known (else empty)."""
    towns: tuple[str, str]
    at: tuple[Position, Position]
    length_m: float
    free_flow_kmh: float
    """As the sensors' owner has it, but never above the motorway limit."""

    @property
    def street(self) -> str | None:
        """The street it runs on, if it is the same at both ends."""
        first, second = self.streets
        return first if first and first == second else None

    @property
    def is_motorway(self) -> bool:
        """Whether it is called one at either end."""
        return "motorvej" in " ".join(self.streets).casefold()


def read(folder: Path) -> list[Segment]:
    """The segments of `traffic_metadata.csv`; raises `PackError`."""
    table = read_csv(folder / "traffic_metadata.csv", SEGMENT_COLUMNS)
    return [_segment(row) for row in table.to_pylist()]


def _segment(row: Mapping[str, Any]) -> Segment:
    def both(column: str) -> tuple[Any, Any]:
        return row[f"POINT_1_{column}"], row[f"POINT_2_{column}"]

    first, second = zip(both("LNG"), both("LAT"), strict=True)
    streets, towns = both("STREET"), both("CITY")
    return Segment(
        id=str(row["REPORT_ID"]),
        ends=both("NAME"),
        streets=(_street(streets[0]), _street(streets[1])),
        towns=(towns[0] or "", towns[1] or ""),
        at=(first, second),
        length_m=row["DISTANCE_IN_METERS"],
        free_flow_kmh=min(row["NDT_IN_KMH"], MOTORWAY_LIMIT_KMH),
    )


def _street(given: str | None) -> str:
    """The name of a street; a number alone is that of a route."""
    return f"Rute {given}" if given and given.isdigit() else given or ""


def junctions(segments: Iterable[Segment]) -> dict[str, Position]:
    """Where each junction is: its segments place it up to 34 m apart, this is their mean."""
    seen: dict[str, list[Position]] = defaultdict(list)
    for segment in segments:
        for name, at in zip(segment.ends, segment.at, strict=True):
            seen[name].append(at)
    return {
        name: (fmean(lon for lon, _ in found), fmean(lat for _, lat in found))
        for name, found in seen.items()
    }


class Matcher:
    """Finds the paths of segments on a network's streets."""

    def __init__(self, network: RoadNetwork) -> None:
        self._network = network
        classes = np.array([MINOR.get(name, 1.0) for name in network.highways])
        usable = np.flatnonzero(network.allows(Mode.CAR) & ~network.outside)
        cost = network.length_m * classes[network.highway]
        self._edge = _cheapest(network, usable, cost)
        edges = np.fromiter(self._edge.values(), dtype=np.int64)
        pairs = (network.tail[edges], network.head[edges])
        self._graph = csr_array((cost[edges], pairs), shape=(network.nodes, network.nodes))
        self._on_road = np.unique(np.concatenate(pairs))

    def path(self, segment: Segment, start: Position, end: Position) -> list[int] | None:
        """The edges of the path from near one junction to near the other that fits best; None
        if the length of none agrees with the segment's."""
        (starts, before), (ends, after) = self.near(start), self.near(end)
        reach = 2 * (1 + AGREES) * segment.length_m
        cost, previous = dijkstra(
            self._graph, indices=starts, return_predecessors=True, limit=reach
        )
        fits: list[tuple[float, list[int]]] = []
        for row, column in np.argwhere(np.isfinite(cost[:, ends])).tolist():
            path = self._walk(previous[row], int(starts[row]), int(ends[column]))
            length = float(self._network.length_m[path].sum())
            off = abs(length - segment.length_m)
            if path and off <= AGREES * segment.length_m:
                minor = float(cost[row, ends[column]]) - length
                fits.append((off + minor + float(before[row] + after[column]), path))
        return min(fits)[1] if fits else None

    def near(self, at: Position) -> tuple[I32, F64]:
        """The nodes of streets that are nearest to a position, and how far they are."""
        away = self._metres(self._on_road, at)
        order = np.argsort(away)[:CANDIDATES]
        order = order[away[order] <= NEAR_M]
        return self._on_road[order], away[order]

    def _metres(self, nodes: I32, at: Position) -> F64:
        return geometry.apart_m(self._network.lon[nodes], self._network.lat[nodes], *at)

    def _walk(self, before: I32, source: int, target: int) -> list[int]:
        edges = []
        while target != source:
            previous = int(before[target])
            edges.append(self._edge[previous, target])
            target = previous
        return edges[::-1]


def _cheapest(network: RoadNetwork, usable: Ints, cost: F64) -> dict[tuple[int, int], int]:
    """Of parallel edges the cheapest, by tail and head."""
    found: dict[tuple[int, int], int] = {}
    for edge in usable[np.argsort(cost[usable], kind="stable")].tolist():
        found.setdefault((int(network.tail[edge]), int(network.head[edge])), edge)
    return found
