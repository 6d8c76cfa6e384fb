"""Where on their routes users are, from what their devices say of the position.

`along_m` counts if the device gives it. Else it is the nearest point of the route, where a
route may come by more than once: of all stretches within the nearest distance and 30 m the
first one whose direction is within 60 degrees of the heading, or without such the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from citywise.backend.space.geometry import (
    Bools,
    Floats,
    Ints,
    Points,
    between,
    foot,
    project,
    ranges,
)
from citywise.backend.space.paths import Run
from citywise.backend.space.slots import grown

TIE_M = 0.01
"""Points that differ by less in distance are equally near: a way there and back is one."""
_SAME_STREET_M = 30.0
_AGREES = 0.5  # cosine of 60 degrees
UNKNOWN = -1.0


class Positions:
    """Positions by slot, and what follows for the route: `progress` and `off`, metres."""

    def __init__(self) -> None:
        self.at = Points(*(np.zeros(0) for _ in Points._fields))
        self.progress: Floats = np.zeros(0)
        self.off: Floats = np.zeros(0)
        self._there: Bools = np.zeros(0, dtype=bool)
        self._heading: Floats = np.zeros(0)
        self._along: Floats = np.zeros(0)
        self._pending: dict[int, tuple[float, ...] | None] = {}
        """Longitude, latitude, heading and metres along; NaN for what is not known."""

    def __contains__(self, slot: int) -> bool:
        """Whether there is a position, as of the last flush."""
        return bool(slot < len(self._there) and self._there[slot])

    def put(self, slot: int, position: Mapping[str, Any] | None) -> None:
        """Set or remove a position; it counts from the next flush."""
        self._pending[slot] = None if position is None else _numbers(position)

    def flush(self, size: int) -> None:
        """Let what is pending count, with room for `size` slots."""
        self.at = Points(*(grown(column, size) for column in self.at))
        for name in ("progress", "off", "_there", "_heading", "_along"):
            setattr(self, name, grown(getattr(self, name), size))
        gone = [slot for slot, position in self._pending.items() if position is None]
        self._there[gone] = False
        put = {slot: p for slot, p in self._pending.items() if p is not None}
        if put:
            self._write(np.array(list(put)), np.array(list(put.values())).T)
        self._pending = {}

    def follow(self, changed: Bools, runs: list[tuple[Run, Ints]]) -> None:
        """Compute progress and distance anew for the changed slots, whose routes are given."""
        self.progress[: len(changed)][changed] = UNKNOWN
        self.off[: len(changed)][changed] = UNKNOWN
        for run, paths in runs:
            known = paths[self._there[run.paths.slots[paths]]]
            for part in np.array_split(known, max(1, len(known) // 2000)):
                if len(part):
                    self._project(run, part)

    def _write(self, slots: Ints, numbers: Floats) -> None:
        lon, lat, self._heading[slots], self._along[slots] = numbers
        for column, values in zip(self.at, project(lon, lat), strict=True):
            column[slots] = values
        self._there[slots] = True

    def _project(self, run: Run, paths: Ints) -> None:
        slots, counts = run.paths.slots[paths], run.paths.counts[paths] - 1
        seg = ranges(run.first[paths], counts)
        user = np.repeat(slots, counts)
        starts = np.cumsum(counts) - counts
        px, py = self.at.x[user], self.at.y[user]
        ax, ay, along = run.paths.x[seg], run.paths.y[seg], run.paths.along[seg]
        vx, vy = run.paths.x[seg + 1] - ax, run.paths.y[seg + 1] - ay
        share = foot(px, py, ax, ay, vx, vy)
        here = Points(*(column[user] for column in self.at))
        distance = between(here, ax + share * vx, ay + share * vy)
        nearest = np.minimum.reduceat(distance, starts)
        group = np.repeat(np.arange(len(paths)), counts)
        agrees = self._agrees(user, vx, vy)
        best = _first_stretch(distance, nearest, agrees, starts, group)
        projected = along[best] + share[best] * (run.paths.along[seg[best] + 1] - along[best])
        given = np.clip(self._along[slots], 0.0, run.paths.along[run.first[paths + 1] - 1])
        self.progress[slots] = np.where(np.isnan(given), projected, given)
        self.off[slots] = nearest

    def _agrees(self, user: Ints, vx: Floats, vy: Floats) -> Bools:
        """Whether segments run about as their users are heading (unknown: they do not)."""
        heading = np.radians(self._heading[user])
        ahead = np.sin(heading) * vx + np.cos(heading) * vy
        length = np.sqrt(vx * vx + vy * vy)
        agrees: Bools = (ahead >= _AGREES * length) & (length > 0)
        return agrees


def _first_stretch(
    distance: Floats, nearest: Floats, agrees: Bools, starts: Ints, group: Ints
) -> Ints:
    """For each group of rows the nearest row of the first stretch that may be meant."""
    rows = np.arange(len(distance))
    near = distance <= nearest[group] + _SAME_STREET_M
    agrees = agrees & near
    meant = np.where(np.logical_or.reduceat(agrees, starts)[group], agrees, near)
    begin = _first(meant, rows, starts)
    end = _first(~meant & (rows > begin[group]), rows, starts)
    inside = meant & (rows < end[group])
    inner = np.where(inside, distance, np.inf)
    least = np.minimum.reduceat(inner, starts)
    return _first(inner <= least[group] + TIE_M, rows, starts)


def _first(chosen: Bools, rows: Ints, starts: Ints) -> Ints:
    """The first chosen row of each group; the number of rows where there is none."""
    first: Ints = np.minimum.reduceat(np.where(chosen, rows, len(rows)), starts)
    return first


def _numbers(position: Mapping[str, Any]) -> tuple[float, ...]:
    """A position as numbers, at once: what is none is the fault of this one alone."""
    heading, along = position.get("heading"), position.get("along_m")
    return (
        float(position["lon"]),
        float(position["lat"]),
        np.nan if heading is None else float(heading),
        np.nan if along is None else float(along),
    )
