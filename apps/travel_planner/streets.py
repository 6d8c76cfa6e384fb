"""All streets of the city as lines to draw: small enough to be sent to a page."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

import numpy as np
import orjson

from citywise.apps.travel_planner.roads.network import RoadNetwork

SCALE = 1e5
"""Coordinates are whole hundred-thousandths of a degree, about a metre."""
RANKS = {
    "motorway": 0,
    "trunk": 0,
    "primary": 0,
    "secondary": 1,
    "tertiary": 2,
    "unclassified": 3,
    "road": 3,
    "residential": 3,
    "living_street": 3,
    "pedestrian": 3,
    "service": 3,
}
"""How important a street is to who looks at the map: 0 is drawn first and widest."""
SMALLEST = 4


def lines(network: RoadNetwork) -> list[list[int]]:
    """Each street once: its rank, its first point (longitude, latitude) and the steps from
    point to point, in units of 1 / `SCALE` degrees."""
    points = np.rint(network.shape * SCALE).astype(np.int64)
    steps = np.diff(points, axis=0, prepend=points[:1] * 0)
    ranks = [RANKS.get(name.removesuffix("_link"), SMALLEST) for name in network.highways]
    found: dict[tuple[object, ...], list[int]] = {}
    ends = zip(network.shape_at[:-1], network.shape_at[1:], network.highway, strict=True)
    for first, after, highway in ends:
        own = steps[first:after].copy()
        own[0] = points[first]
        drawn = [ranks[highway], *own.ravel().tolist()]
        found.setdefault(_street(points[first:after]), drawn)
    return list(found.values())


def packed(path: Path) -> bytes:
    """The lines of the network in a file, and whose data they are, as compressed JSON; raises
    `NetworkError`."""
    return _packed(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=1)
def _packed(path: Path, _changed_ns: int) -> bytes:
    network = RoadNetwork.load(path)
    return gzip.compress(
        orjson.dumps({"lines": lines(network), "licence": network.licence}), compresslevel=6
    )


def _street(points: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> tuple[object, ...]:
    """What both directions of a street have in common."""
    (x, y), (to_x, to_y) = points[0], points[-1]
    ends = sorted(((int(x), int(y)), (int(to_x), int(to_y))))
    return *ends[0], *ends[1], int(points[:, 0].sum()), int(points[:, 1].sum())
