"""Distances on the sphere: good enough for what is far or asked of from outside, and light.

What needs paths, or metres that agree with those of rules, takes `backend.space.geometry`.
"""

from __future__ import annotations

import math

_EARTH_M = 6_371_000.0


def distance_m(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Metres between two points on a sphere (haversine, radius 6,371,000 m)."""
    south, north = math.radians(lat), math.radians(other_lat)
    half = math.sin((north - south) / 2) ** 2
    half += math.cos(south) * math.cos(north) * math.sin(math.radians(other_lon - lon) / 2) ** 2
    return 2 * _EARTH_M * math.asin(min(1.0, math.sqrt(half)))
