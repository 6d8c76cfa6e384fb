"""Whose areas may hold a point: an index of the boxes around the areas of many owners."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from shapely import Point, STRtree, linestrings

from citywise.backend.space.areas import Box, Here

Owned = tuple[str, Box]
"""An owner's id and the box around one of its areas."""
_FEW = 64
"""So many boxes are looked through faster than they are put into a tree."""


class Boxes:
    """Finds owners by a point: all whose areas hold it, and some whose areas do not.

    Most boxes are in a tree, the latest in a list. When that has grown the tree is built
    again of what `there_are` then gives, so owners need not be removed: who is there no
    longer, or has other areas, may be found until then.
    """

    def __init__(self, there_are: Callable[[], Iterable[Owned]]) -> None:
        self._there_are = there_are
        self._owners: list[str] = []
        self._tree = STRtree([])
        self._latest: list[tuple[str, Box]] = []

    def add(self, owner: str, boxes: Iterable[Box]) -> None:
        """An owner has areas from now on."""
        self._latest.extend((owner, box) for box in boxes)

    def near(self, point: Here) -> list[str]:
        """The owners with a box that holds a point, in order of their ids."""
        if len(self._latest) > max(_FEW, len(self._owners) // _FEW):
            self._build()
        found = {owner for owner, box in self._latest if box.holds(point)}
        found.update(self._owners[i] for i in self._tree.query(Point(point.x, point.y)))
        return sorted(found)

    def _build(self) -> None:
        owned = list(self._there_are())
        self._owners = [owner for owner, _box in owned]
        corners = np.array([box for _owner, box in owned], dtype=np.float64).reshape(-1, 2, 2)
        # A box's diagonal is smaller than the box as a polygon, and has the same envelope.
        self._tree = STRtree(np.asarray(linestrings(corners)))
        self._latest = []
