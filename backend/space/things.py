"""Where things are: events and places as points, directed roads with the way they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from shapely import STRtree, points

from citywise.backend.space.geometry import Floats, Ints, Points, Shapes, Spot, project
from citywise.backend.space.slots import Slots, grown


class Things:
    """Points by slot, `at`, with the planar direction (0, 0: none) of each, `dx` and `dy`."""

    def __init__(self) -> None:
        self.slots = Slots()
        self.at = Points(*(np.zeros(0) for _ in Points._fields))
        self.dx: Floats = np.zeros(0)
        self.dy: Floats = np.zeros(0)
        self._alive = np.zeros(0, dtype=bool)
        self._pending: dict[int, Spot | None] = {}
        self._tree: tuple[STRtree, Ints] | None = None

    def put(self, key: str, geometry: Mapping[str, Any] | None, directed: bool) -> None:
        """Set or remove a thing; it counts from the next flush."""
        if geometry is None and self.slots.get(key) is None:
            return
        spot = None if geometry is None else Spot.of(geometry, directed)
        self._pending[self.slots.of(key)] = spot

    def flush(self) -> tuple[Ints, Ints]:
        """Let what is pending count: the slots that are there now, and those that went."""
        gone = np.array([s for s, spot in self._pending.items() if spot is None], dtype=np.int64)
        put = {slot: spot for slot, spot in self._pending.items() if spot is not None}
        slots = np.array(list(put), dtype=np.int64)
        self._make_room()
        if self._pending:
            self._tree = None
        if put:
            self._write(slots, np.array(list(put.values()), dtype=np.float64).T)
        self._alive[slots] = True
        self._alive[gone] = False
        self._pending = {}
        return slots, gone

    def tree(self) -> tuple[STRtree, Ints]:
        """An index of the points there are, and their slots in its order."""
        if self._tree is None:
            slots = np.flatnonzero(self._alive)
            self._tree = STRtree(self.shapes(slots)), slots
        return self._tree

    def shapes(self, slots: Ints) -> Shapes:
        """The points of some slots."""
        return np.asarray(points(self.at.x[slots], self.at.y[slots]))

    def _make_room(self) -> None:
        size = len(self.slots)
        self.at = Points(*(grown(column, size) for column in self.at))
        self.dx, self.dy = grown(self.dx, size), grown(self.dy, size)
        self._alive = grown(self._alive, size)

    def _write(self, slots: Ints, spots: Floats) -> None:
        here, there = project(spots[0], spots[1]), project(spots[2], spots[3])
        for column, values in zip(self.at, here, strict=True):
            column[slots] = values
        self.dx[slots] = there.x - here.x
        self.dy[slots] = there.y - here.y
