"""The air's index along streets, from stations at points and along roads.

The index of a reading is the highest of its pollutants', as in CityBench. A station
that is a road tells of its own edges; every other edge has the mean of the stations nearest
to its middle, each by the inverse of its distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from citywise.apps.travel_planner.roads.network import F64, I64, RoadNetwork
from citywise.backend.app import geometry

OLDEST_MS = 3 * 3_600_000
"""Readings that are older are left out."""
_NEAREST = 4
_LEAST_M = 50.0
"""A station that is nearer counts as if it were so far away."""


class Station(NamedTuple):
    """Where readings of the air are made."""

    id: str
    lon: float
    lat: float


def index(reading: Mapping[str, Any], pollutants: Iterable[str]) -> float | None:
    """The air-quality index of a reading: the highest of those pollutants that it knows; None
    where it knows none."""
    known = [found for name in pollutants if (found := reading.get(name)) is not None]
    return float(max(known)) if known else None


class AirMap:
    """Which stations tell of which edges; built once for a network and its stations."""

    def __init__(self, network: RoadNetwork, stations: Sequence[Station]) -> None:
        self.stations = tuple(stations)
        self._edges = network.edges
        at = {station.id: number for number, station in enumerate(stations)}
        own = np.array([at.get(sensor, -1) for sensor in network.sensors], dtype=np.int64)
        watching = np.repeat(own, np.diff(network.sensed_at))
        self._own_station = watching[watching >= 0]
        self._own_edge = network.sensed[watching >= 0].astype(np.int64)
        self._nearest = self._around(network) if stations else None

    def _around(self, network: RoadNetwork) -> tuple[I64, F64]:
        """The nearest stations of each edge and their weights: rows by edge."""
        lon, lat = np.array([station[1:] for station in self.stations], dtype=np.float64).T
        places, middles = geometry.project(lon, lat), geometry.project(*_middles(network).T)
        count = min(_NEAREST, len(self.stations))
        tree = cKDTree(np.column_stack((places.x, places.y)))
        ranks = list(range(1, count + 1))
        planar, near = tree.query(np.column_stack((middles.x, middles.y)), k=ranks)
        return near, 1 / np.maximum(planar * middles.factor[:, None], _LEAST_M)

    def along(self, indices: F64) -> F64 | None:
        """The index of each edge from those of the stations (NaN: nothing known).

        Edges without a station nearby that knows have the mean of all. None where no
        station knows anything.
        """
        known = ~np.isnan(indices)
        if self._nearest is None or not known.any():
            return None
        near, weight = self._nearest
        worth = weight * known[near]
        total, filled = worth.sum(axis=1), np.where(known, indices, 0.0)
        sums = (worth * filled[near]).sum(axis=1)
        mean = float(indices[known].mean())
        around = np.where(total > 0, sums / np.where(total > 0, total, 1.0), mean)
        own = np.bincount(self._own_edge, known[self._own_station], self._edges)
        level = np.bincount(self._own_edge, filled[self._own_station], self._edges)
        return np.where(own > 0, level / np.where(own > 0, own, 1.0), around)


def _middles(network: RoadNetwork) -> F64:
    """A point on each edge: the middle of its middle piece."""
    before = network.shape_at[:-1] + (np.diff(network.shape_at) - 1) // 2
    after = np.minimum(before + 1, network.shape_at[1:] - 1)
    return np.asarray((network.shape[before] + network.shape[after]) / 2)
