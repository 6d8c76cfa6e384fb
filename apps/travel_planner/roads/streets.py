"""The streets and junctions of a network as named points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from citywise.apps.travel_planner.roads.gazetteer import Entry
from citywise.apps.travel_planner.roads.network import F64, RoadNetwork
from citywise.backend.app import geometry

BOTH = " / "
"""Between the names of a road that has one at each end, and of streets that cross."""
APART_M = 2_500.0
"""Streets of one name that are further apart are two streets."""


def entries(network: RoadNetwork) -> list[Entry]:
    """Every named street and every crossing of two of them."""
    return [*_streets(network), *_junctions(network)]


def _streets(network: RoadNetwork) -> Iterator[Entry]:
    edges: dict[int, list[int]] = defaultdict(list)
    for edge in np.flatnonzero(network.name >= 0).tolist():
        edges[int(network.name[edge])].append(edge)
    number = 0
    for index, name in enumerate(network.names):
        if BOTH in name or index not in edges:
            continue
        for lon, lat in _middles(network, edges[index]):
            number += 1
            yield Entry(f"street:{number}", name, "street", lon, lat)


def _middles(network: RoadNetwork, edges: Sequence[int]) -> Iterator[tuple[float, float]]:
    """A point on each of the streets that the edges of one name make up."""
    left = np.array([_middle(network.line(edge)) for edge in edges])
    scale = geometry.plane(left[:, 1].mean())
    while len(left):
        near = np.hypot(*((left - left[0]) * scale).T) <= APART_M
        off = np.hypot(*((left[near] - left[near].mean(axis=0)) * scale).T)
        lon, lat = left[near][off.argmin()].tolist()
        yield round(lon, 6), round(lat, 6)
        left = left[~near]


def _middle(line: F64) -> F64:
    """The middle of the middle piece of a polyline."""
    first = (len(line) - 2) // 2
    return np.asarray(line[first : first + 2].mean(axis=0))


def _junctions(network: RoadNetwork) -> Iterator[Entry]:
    streets: dict[int, set[str]] = defaultdict(set)
    for edge in np.flatnonzero(network.name >= 0).tolist():
        names = network.names[network.name[edge]].split(BOTH)
        for node in (int(network.tail[edge]), int(network.head[edge])):
            streets[node].update(names)
    seen: set[tuple[str, str]] = set()
    for node, names in sorted(streets.items()):
        for pair in combinations(sorted(names), 2):
            if pair not in seen:
                seen.add(pair)
                at = round(float(network.lon[node]), 6), round(float(network.lat[node]), 6)
                yield Entry(f"junction:{len(seen)}", BOTH.join(pair), "junction", *at)
