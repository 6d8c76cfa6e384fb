"""What one does where one street of a way ends and the next begins: told from the geometry alone.

A turn is the angle between the last metres of one edge and the first of the next. A roundabout
is a small ring of one-way edges that is as round as a circle, nearly; its exits are counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from citywise.apps.travel_planner.roads import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.network import F64, I64
from citywise.backend.app import geometry

_LOOK_M = 15.0
"""Metres of a street that say whereto it leads, before and behind a corner."""
_STRAIGHT, _SLIGHT, _SHARP, _BACK = 25.0, 55.0, 125.0, 165.0
"""Degrees, from which one turns slightly, plainly, sharply, and goes back."""
_FORK = 3
"""Streets that meet where one may also go elsewhere."""
_RING_EDGES, _RING_M, _ROUND = 32, 320.0, 0.84
"""The most edges and metres of a roundabout, and how round it is: 4π times its area by the square
of its length. A circle has 1, a regular hexagon 0.91, a block of four streets at most 0.79."""


@dataclass(frozen=True)
class Turn:
    """Where a step begins: what one does there, and by which exit one leaves a roundabout."""

    kind: str
    exit: int | None = None


@dataclass(frozen=True)
class Stretch:
    """The edges of a way from one turn to the next, as positions in it."""

    begin: int
    end: int
    turn: Turn


def stretches(network: RoadNetwork, edges: Sequence[int], mode: Mode) -> list[Stretch]:
    """A way cut wherever its street changes, one turns off, or comes to a roundabout."""
    corners = _of(network)
    none: frozenset[int] = frozenset()  # Who walks goes beside it.
    rings = [none if mode is Mode.WALK else corners.ring(edge) for edge in edges]
    begins, turns = [0], [Turn("depart")]
    at = 0
    while at < len(edges):
        ring = rings[at]
        if ring:
            left = next((n for n in range(at, len(edges)) if edges[n] not in ring), len(edges))
            turn = Turn("roundabout", corners.exits(edges[at:left], ring))
            if at:
                begins.append(at)
                turns.append(turn)
            at = left + 1  # The street behind it belongs to it.
            continue
        if at:
            kind = corners.kind(edges[at - 1], edges[at])
            is_corner = kind not in ("straight", "slight-left", "slight-right")
            if network.name[edges[at]] != network.name[edges[at - 1]] or (
                is_corner and corners.streets(edges[at]) >= _FORK
            ):
                begins.append(at)
                turns.append(Turn(kind))
        at += 1
    ends = [*begins[1:], len(edges)]
    return [Stretch(*each) for each in zip(begins, ends, turns, strict=True)]


def turn_of(degrees: float) -> str:
    """A change of direction in words; to the right is positive."""
    size, side = abs(degrees), "right" if degrees > 0 else "left"
    if size < _STRAIGHT:
        return "straight"
    if size < _SLIGHT:
        return f"slight-{side}"
    if size < _SHARP:
        return side
    return f"sharp-{side}" if size < _BACK else "back"


class _Corners:
    """The corners of a network, looked at when a way comes by."""

    def __init__(self, network: RoadNetwork) -> None:
        self._network = network
        self._order: I64 = np.argsort(network.tail, kind="stable")
        self._first = np.searchsorted(network.tail[self._order], np.arange(network.nodes + 1))
        self._scale = geometry.plane(float(network.lat.mean()))
        self._drivable = network.allows(Mode.CAR)
        self._rings: dict[int, frozenset[int]] = {}

    def kind(self, before: int, after: int) -> str:
        """What one does from one edge to the next."""
        return turn_of(_apart(self._heading(before, last=True), self._heading(after)))

    def streets(self, edge: int) -> int:
        """Whereto one may go from where an edge begins, back included."""
        tail = int(self._network.tail[edge])
        return len({int(self._network.head[each]) for each in self._out(tail)})

    def exits(self, edges: Sequence[int], ring: frozenset[int]) -> int:
        """Where one leaves a ring: the how many-th of its exits, counted from where one enters."""
        heads = (int(self._network.head[edge]) for edge in edges)
        return sum(any(out not in ring for out in self._driven(head)) for head in heads)

    def ring(self, edge: int) -> frozenset[int]:
        """The edges of the roundabout that an edge is of; none if it is of none."""
        if edge not in self._rings:
            ring = self._ring(edge)
            self._rings.update(dict.fromkeys(ring or (edge,), ring))
        return self._rings[edge]

    def _ring(self, edge: int) -> frozenset[int]:
        """Follows the one-way edges that bend the same way until they are back."""
        for side in (-1.0, 1.0):  # Left about where one drives on the right, and the other way.
            found, metres = [edge], float(self._network.length_m[edge])
            while self._is_one_way(found[-1]) and len(found) <= _RING_EDGES and metres <= _RING_M:
                if self._network.head[found[-1]] == self._network.tail[edge]:
                    if self._is_round(found):
                        return frozenset(found)
                    break
                inward = self._next(found[-1], side)
                if inward is None or inward in found:
                    break
                found.append(inward)
                metres += float(self._network.length_m[inward])
        return frozenset()

    def _next(self, edge: int, side: float) -> int | None:
        """Of the one-way edges after an edge the one that bends most to a side."""
        here = self._heading(edge, last=True)
        out = self._driven(int(self._network.head[edge]))
        bends = {
            each: side * _apart(here, self._heading(each)) for each in out if self._is_one_way(each)
        }
        return max(bends, key=bends.__getitem__, default=None)

    def _is_round(self, edges: Sequence[int]) -> bool:
        points = np.concatenate([self._network.line(edge)[:-1] for edge in edges]) * self._scale
        if len(points) < 3:
            return False
        x, y = (points - points[0]).T
        area = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
        length = float(np.hypot(np.roll(x, -1) - x, np.roll(y, -1) - y).sum())
        return length > 0 and 4 * math.pi * area / length**2 >= _ROUND

    def _is_one_way(self, edge: int) -> bool:
        """For cars: who walks may go either way."""
        network, tail = self._network, self._network.tail[edge]
        after = self._driven(int(network.head[edge]))
        return bool(self._drivable[edge]) and not any(network.head[each] == tail for each in after)

    def _driven(self, node: int) -> list[int]:
        return [edge for edge in self._out(node) if self._drivable[edge]]

    def _out(self, node: int) -> list[int]:
        found = self._order[self._first[node] : self._first[node + 1]]
        return [int(edge) for edge in found]

    def _heading(self, edge: int, *, last: bool = False) -> float:
        """Degrees from north, of the first metres of an edge or of its last."""
        line: F64 = self._network.line(edge) * self._scale
        line = line[::-1] if last else line
        lengths = np.cumsum(np.hypot(*(line[1:] - line[:-1]).T))
        there = min(int(np.searchsorted(lengths, _LOOK_M)) + 1, len(line) - 1)
        east, north = (line[there] - line[0]) * (-1 if last else 1)
        return math.degrees(math.atan2(east, north))


def _apart(before: float, after: float) -> float:
    """Degrees from one heading to another: from -180 to 180, to the right positive."""
    return (after - before + 180.0) % 360.0 - 180.0


@lru_cache(maxsize=2)
def _of(network: RoadNetwork) -> _Corners:
    return _Corners(network)
