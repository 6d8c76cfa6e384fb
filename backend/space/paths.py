"""Paths of many users, indexed by short pieces, as runs that are merged now and then.

The box around a whole route covers half a city; the boxes around pieces of eight segments do
not. New paths make a small run of their own with its own index; runs of like size are merged
(a log-structured merge tree), and a path that was replaced or removed is only marked dead
until then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from shapely import STRtree, linestrings

from citywise.backend.space.geometry import Bools, Floats, Ints, Path, Shapes, ranges, widened

_PIECE = 8
"""Segments in a piece: fewer make tighter boxes and a larger index."""


@dataclass(slots=True)
class Paths:
    """Paths one after the other in the same arrays; those of each user by slot."""

    slots: Ints
    reach: Floats
    """Metres around each path that its boxes include."""
    factor: Floats
    counts: Ints
    """Vertices of each path."""
    x: Floats
    y: Floats
    along: Floats

    @classmethod
    def of(cls, paths: dict[int, tuple[Path, float]]) -> Paths:
        """The (path, reach) of each slot."""
        each = [path for path, _ in paths.values()]
        return cls(
            np.array(list(paths), dtype=np.int64),
            np.array([reach for _, reach in paths.values()]),
            np.array([path.factor for path in each]),
            np.array([len(path.x) for path in each], dtype=np.int64),
            np.concatenate([path.x for path in each]),
            np.concatenate([path.y for path in each]),
            np.concatenate([path.along for path in each]),
        )

    def only(self, keep: Bools) -> Paths:
        """Those that are to be kept."""
        vertices = np.repeat(keep, self.counts)
        own = (self.slots[keep], self.reach[keep], self.factor[keep], self.counts[keep])
        return Paths(*own, self.x[vertices], self.y[vertices], self.along[vertices])

    @classmethod
    def joined(cls, parts: list[Paths]) -> Paths:
        """All of several, in order."""
        names = cls.__slots__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class Run:
    """Paths with an index of their pieces: fixed, but that some are dead."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.alive = np.ones(len(paths.slots), dtype=bool)
        self.first = np.concatenate(([0], np.cumsum(paths.counts)))
        segments = paths.counts - 1
        pieces = -(-segments // _PIECE)
        self.pieces = np.concatenate(([0], np.cumsum(pieces)))
        self.piece_path = np.repeat(np.arange(len(pieces)), pieces)
        inner = ranges(np.zeros(len(pieces), dtype=np.int64), pieces) * _PIECE
        self.piece_first = self.first[self.piece_path] + inner
        self.piece_segments = np.minimum(segments[self.piece_path] - inner, _PIECE)
        self.tree = STRtree(self.boxes(np.arange(len(inner))))

    def boxes(self, pieces: Ints) -> Shapes:
        """Shapes whose envelopes hold all that is within reach of each piece.

        They are the diagonals of the boxes: smaller than polygons, and with the same envelope.
        """
        owner = self.piece_path[pieces]
        pad = widened(self.paths.reach[owner], self.paths.factor[owner])
        first, counts = self.piece_first[pieces], self.piece_segments[pieces] + 1
        vertices, starts = ranges(first, counts), np.cumsum(counts) - counts
        corners = np.empty((len(pieces), 2, 2))
        for axis, values in enumerate((self.paths.x[vertices], self.paths.y[vertices])):
            corners[:, 0, axis] = np.minimum.reduceat(values, starts) - pad
            corners[:, 1, axis] = np.maximum.reduceat(values, starts) + pad
        return np.asarray(linestrings(corners))


class Book:
    """The current path of every user, in runs of falling size."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._where: dict[int, tuple[Run, int]] = {}
        self._pending: dict[int, tuple[Path, float] | None] = {}

    def __contains__(self, slot: int) -> bool:
        """Whether the user has a path, pending ones included."""
        if slot in self._pending:
            return self._pending[slot] is not None
        return slot in self._where

    def put(self, slot: int, path: Path | None, reach_m: float) -> None:
        """Set or remove a user's path; it counts from the next flush."""
        self._pending[slot] = None if path is None else (path, reach_m)

    def reach(self, slot: int, reach_m: float) -> None:
        """Change the reach of a user's path, if there is one, from the next flush on."""
        pending = self._pending.get(slot)
        if pending is not None:
            self._pending[slot] = (pending[0], reach_m)
        elif slot not in self._pending and slot in self._where:
            self._pending[slot] = (self._path(*self._where[slot]), reach_m)

    def flush(self) -> None:
        """Let what is pending count."""
        for slot in self._pending:
            if slot in self._where:
                run, index = self._where.pop(slot)
                run.alive[index] = False
        new = {slot: entry for slot, entry in self._pending.items() if entry is not None}
        self._pending = {}
        if new:
            self._append(Paths.of(new))
        self._merge()

    def widen(self, reach: Floats) -> None:
        """Let every path have its slot's reach: one run with a new index."""
        self.flush()
        parts = [run.paths.only(run.alive) for run in self.runs]
        self.runs = []
        if self._where:
            paths = Paths.joined(parts)
            paths.reach = reach[paths.slots]
            self._append(paths)

    def of(self, changed: Bools) -> Iterator[tuple[Run, Ints]]:
        """Each run with the indices of its living paths whose slots have changed."""
        for run in self.runs:
            yield run, np.flatnonzero(run.alive & changed[run.paths.slots])

    def _path(self, run: Run, index: int) -> Path:
        part, paths = slice(*run.first[index : index + 2]), run.paths
        return Path(paths.x[part], paths.y[part], paths.along[part], float(paths.factor[index]))

    def _append(self, paths: Paths) -> None:
        run = Run(paths)
        self.runs.append(run)
        self._where.update((slot, (run, i)) for i, slot in enumerate(paths.slots.tolist()))

    def _merge(self) -> None:
        """Merge from the end while a run is not twice as large as the living of the next."""
        self.runs = [run for run in self.runs if run.alive.any()]
        sizes = [int(run.alive.sum()) for run in self.runs]
        first = len(sizes) - 1
        while first > 0 and sizes[first - 1] < 2 * sum(sizes[first:]):
            first -= 1
        wasteful = [i for i, run in enumerate(self.runs) if 2 * sizes[i] < len(run.alive)]
        first = min([first, *wasteful])
        if first < len(self.runs) - 1 or wasteful:
            parts = [run.paths.only(run.alive) for run in self.runs[first:]]
            del self.runs[first:]
            self._append(Paths.joined(parts))
