"""How a user stands to a thing, the slow way: one user, one thing, one segment at a time.

Written from docs/space.md with geodesics, for tests and benchmarks to compare with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pyproj import Geod

EARTH = Geod(ellps="WGS84")
Lonlat = Sequence[float]
UNCLEAR = 0.01
"""Cosines nearer to a right angle are not judged: a projection may bend them."""


@dataclass(frozen=True)
class Stand:
    """A relation; `opposite` None: too close to a right angle to tell."""

    route_m: float | None
    ahead_m: float | None
    behind: bool
    opposite: bool | None
    away_m: float | None


@dataclass(frozen=True)
class Pass:
    """Where a segment of the route comes nearest to a point."""

    segment: int
    distance: float
    along: float
    direction: tuple[float, float]


def polar(origin: Lonlat, point: Lonlat) -> tuple[float, float]:
    """Metres east and north of the origin."""
    azimuth, _, distance = EARTH.inv(origin[0], origin[1], point[0], point[1])
    return distance * math.sin(math.radians(azimuth)), distance * math.cos(math.radians(azimuth))


def metres(a: Lonlat, b: Lonlat) -> float:
    return float(EARTH.inv(a[0], a[1], b[0], b[1])[2])


def without_repeats(route: Sequence[Lonlat]) -> list[Lonlat]:
    line = [p for i, p in enumerate(route) if i == 0 or list(p) != list(route[i - 1])]
    return line if len(line) > 1 else [line[0], line[0]]


def length(route: Sequence[Lonlat]) -> float:
    return sum(metres(a, b) for a, b in pairwise(route))


def passes(point: Lonlat, route: Sequence[Lonlat], begin: float = 0.0) -> Iterator[Pass]:
    """Where each segment comes nearest to the point, on the route from `begin` metres on."""
    route = without_repeats(route)
    done, last = 0.0, len(route) - 2
    for number, (a, b) in enumerate(pairwise(route)):
        span = metres(a, b)
        if done + span > begin or number == last:
            yield _nearest(number, point, a, b, done, span, begin)
        done += span


def _nearest(
    number: int, point: Lonlat, a: Lonlat, b: Lonlat, done: float, span: float, begin: float
) -> Pass:
    (ax, ay), (bx, by) = polar(point, a), polar(point, b)
    vx, vy = bx - ax, by - ay
    square = vx * vx + vy * vy
    share = min(1.0, max(0.0, -(ax * vx + ay * vy) / square)) if square else 0.0
    if span and begin > done:
        share = max(share, min(1.0, (begin - done) / span))
    return Pass(number, math.hypot(ax + share * vx, ay + share * vy), done + share * span, (vx, vy))


def cosine(a: tuple[float, float], b: tuple[float, float]) -> float:
    size = math.hypot(*a) * math.hypot(*b)
    return (a[0] * b[0] + a[1] * b[1]) / size if size else 0.0


def progress(route: Sequence[Lonlat], position: Mapping[str, Any]) -> float:
    """Metres along the route of a position, as docs/space.md chooses among stretches."""
    if position.get("along_m") is not None:
        return min(max(0.0, float(position["along_m"])), length(route))
    found = list(passes((position["lon"], position["lat"]), route))
    nearest = min(each.distance for each in found)
    near = [each for each in found if each.distance <= nearest + 30]
    if position.get("heading") is not None:
        turn = math.radians(position["heading"])
        heading = (math.sin(turn), math.cos(turn))
        near = [each for each in near if cosine(each.direction, heading) >= 0.5] or near
    stretch = [each for i, each in enumerate(near) if each.segment == near[0].segment + i]
    best = min(each.distance for each in stretch)
    return next(each.along for each in stretch if each.distance <= best + 0.01)


def middle(geometry: Mapping[str, Any]) -> tuple[Lonlat, tuple[float, float]]:
    """Where a thing is, and the way its line runs there (0, 0: a point)."""
    at = geometry["coordinates"]
    if geometry["type"] == "Point":
        return at, (0.0, 0.0)
    before = (len(at) - 1) // 2
    a, b = at[before], at[before + 1]
    spot = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
    return spot, polar(spot, b)


def stand(
    geometry: Mapping[str, Any],
    directed: bool,
    route: Sequence[Lonlat] | None,
    position: Mapping[str, Any] | None,
    reach: float,
) -> Stand | None:
    """How the user stands to the thing; None: out of reach."""
    spot, direction = middle(geometry)
    away = metres((position["lon"], position["lat"]), spot) if position else math.inf
    near = away if away <= reach else None
    if not route or min(each.distance for each in passes(spot, route)) > reach:
        return None if near is None else Stand(None, None, False, False, near)
    begin = progress(route, position) if position else 0.0
    rest = list(passes(spot, route, begin))
    least = min(each.distance for each in rest)
    if least > reach:
        return Stand(None, None, True, False, near)
    rest = [each for each in rest if each.distance <= least + 0.01]
    cosines = [cosine(each.direction, direction) if directed else 1.0 for each in rest]
    along = [each for each, c in zip(rest, cosines, strict=True) if c >= 0] or rest
    unclear = directed and any(direction) and min(map(abs, cosines)) < UNCLEAR
    opposite = None if unclear else max(cosines) < 0
    ahead = min(each.along for each in along) - begin if position else None
    return Stand(least, ahead, False, opposite, near)
