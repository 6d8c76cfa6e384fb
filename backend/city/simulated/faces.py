"""Faces of the simulated town, between two rings and two radials, and points on its curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from math import hypot

from citywise.backend.city.simulated.town import Position

Curve = Callable[[float], Position]
Node = tuple[int, int]
"""A crossing of a face's grid: column from the first radial, row from the inner ring."""
Way = tuple[Node, Node]


@dataclass(frozen=True)
class Face:
    """The area between two rings and two radials: a patch of four curves, from the inner
    ring (v = 0) outwards and from the first radial (u = 0) to the second, with a grid of
    crossings on it."""

    ring: int
    sector: int
    across: int
    """How many blocks lie between the radials."""
    outwards: int
    """How many blocks lie between the rings."""
    inner: Curve
    outer: Curve
    first: Curve
    second: Curve

    def at(self, u: float, v: float) -> Position:
        """The point at two shares: on the sides exactly, between them blended (Coons)."""
        sides = ((1 - v, self.inner(u)), (v, self.outer(u)), (1 - u, self.first(v)))
        corners = (
            ((1 - u) * (1 - v), self.inner(0)),
            (u * (1 - v), self.inner(1)),
            ((1 - u) * v, self.outer(0)),
            (u * v, self.outer(1)),
        )
        parts = [*sides, (u, self.second(v)), *((-weight, at) for weight, at in corners)]
        x, y = (sum(weight * at[axis] for weight, at in parts) for axis in (0, 1))
        return round(x, 1), round(y, 1)


def ways(face: Face, rows: int) -> list[Way]:
    """All pieces of the grid's streets inside a face; those outwards in its first rows."""
    columns = range(1, face.across)
    lanes = product(range(1, face.outwards), range(face.across))
    out = [((c, r), (c, r + 1)) for c in columns for r in range(rows)]
    return out + [((c, r), (c + 1, r)) for r, c in lanes]


def bridges(face: Face, there: list[Way], missing: list[Way]) -> list[Way]:
    """Those of the missing pieces that it takes to get from the others to the measured roads,
    which lie on all sides of a face and count as one."""
    root: dict[Node, Node] = {}

    def find(node: Node) -> Node:
        if node[0] in (0, face.across) or node[1] in (0, face.outwards):
            node = (0, 0)
        while root.setdefault(node, node) != node:
            node = root[node]
        return node

    for start, end in there:
        root[find(start)] = find(end)
    used = {(0, 0), *(find(node) for way in there for node in way)}
    needed = []
    for way in missing:
        start, end = map(find, way)
        if start != end and {start, end} <= used:
            root[start] = end
            needed.append(way)
    return needed


def shares(line: tuple[Position, ...]) -> list[float]:
    """How far along it the vertices of a line are, from 0 to 1."""
    along = [0.0]
    for start, end in pairwise(line):
        along.append(along[-1] + hypot(end[0] - start[0], end[1] - start[1]))
    return [each / along[-1] for each in along]


def along(line: tuple[Position, ...], share: float) -> Position:
    """The point at a share of a line's length, to the decimetre."""
    for (before, start), (after, end) in pairwise(zip(shares(line), line, strict=True)):
        if share <= after:
            x, y = between(start, end, (share - before) / (after - before))
            return round(x, 1), round(y, 1)
    return round(line[-1][0], 1), round(line[-1][1], 1)


def between(start: Position, end: Position, share: float) -> Position:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def share_of(share: float) -> float:
    """So that a share which was computed in two ways is one."""
    return round(share, 6)
