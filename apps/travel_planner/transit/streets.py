"""Walks and rides on the streets of a city, between positions."""

from __future__ import annotations

from collections.abc import Sequence

from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.graph import Weighted
from citywise.apps.travel_planner.roads.network import F64
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.roads.snapping import Snap

NEAR_M = 200.0
"""So far from all streets a position is not on them: walks from there are straight lines."""
_MOST_SNAPS = 50_000
"""Positions whose places on the streets are kept."""


class Streets:
    """The ways of one mode, by their length."""

    def __init__(self, router: Router, mode: Mode = Mode.WALK) -> None:
        self._router, self._mode = router, mode
        self._weighted: Weighted = router.prepared(router.network.length_m, mode)
        self._snaps: dict[tuple[float, float], Snap | None] = {}

    def known(self, lat: float, lon: float) -> bool:
        """Whether a position is next to a street of the mode."""
        return self._snap(lat, lon) is not None

    def metres(
        self, lat: float, lon: float, others: Sequence[tuple[float, float]]
    ) -> Sequence[float]:
        """Of the shortest way to each of other known positions; inf where there is none."""
        start, ends = self._snap(lat, lon), [self._snap(*other) for other in others]
        known = [end for end in ends if end is not None]
        assert start is not None
        assert len(known) == len(ends)
        found: F64 = self._router.distances_to(start, known, self._weighted)
        return [
            0.0 if (lat, lon) == other else float(far) + start.metres + end.metres
            for far, other, end in zip(found, others, known, strict=True)
        ]

    def way(self, one: tuple[float, float], other: tuple[float, float]) -> Path | None:
        """The shortest way between two positions; None where there is none on streets."""
        start, end = self._snap(*one), self._snap(*other)
        if start is None or end is None:
            return None
        return self._router.shortest(start, end, self._weighted)

    def _snap(self, lat: float, lon: float) -> Snap | None:
        if (lat, lon) not in self._snaps:
            if len(self._snaps) >= _MOST_SNAPS:
                self._snaps.clear()
            found = self._router.snap(lon, lat, self._mode)
            near = found is not None and found.metres <= NEAR_M
            self._snaps[lat, lon] = found if near else None
        return self._snaps[lat, lon]
