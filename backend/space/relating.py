"""How paths stand to points near them: nearest points on what remains, all vectorised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from citywise.backend.space.geometry import Bools, Floats, Ints, Points, between, foot, ranges
from citywise.backend.space.paths import Run
from citywise.backend.space.progress import TIE_M, UNKNOWN
from citywise.backend.space.things import Things

_CHUNK = 16_000
"""Pairs of piece and thing that are worked on at once: bounds the memory."""


class Near(NamedTuple):
    """Users and things within reach of their paths, by slots; metres, -1: none or unknown."""

    user: Ints
    thing: Ints
    route: Floats
    ahead: Floats
    opposite: Bools

    @classmethod
    def joined(cls, parts: list[Near]) -> Near:
        """All of several."""
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            return cls(none, none, np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool))
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def near_things(run: Run, put: Ints, skip: Bools, things: Things) -> Iterator[tuple[Ints, Ints]]:
    """Pairs (piece, thing) within reach for things that are new, but for users to skip."""
    for part in _parts(put, 64):
        index, piece = run.tree.query(things.shapes(part))
        owner = run.piece_path[piece]
        kept = run.alive[owner] & ~skip[run.paths.slots[owner]]
        yield piece[kept], part[index[kept]]


def near_paths(run: Run, paths: Ints, things: Things) -> Iterator[tuple[Ints, Ints]]:
    """Pairs (piece, thing) within reach for the run's paths that are new."""
    tree, slots = things.tree()
    for part in _parts(paths, 512):
        first, last = run.pieces[part], run.pieces[part + 1]
        pieces = ranges(first, last - first)
        index, thing = tree.query(run.boxes(pieces))
        yield pieces[index], slots[thing]


def relate(run: Run, pairs: tuple[Ints, Ints], things: Things, progress: Floats) -> Near:
    """How the paths stand to the things of the pairs, which hold whole paths of each thing."""
    piece, thing = pairs
    order = np.argsort(thing * len(run.piece_path) + piece)
    piece, thing = piece[order], thing[order]
    path = run.piece_path[piece]
    begins = np.ones(len(piece), dtype=bool)
    begins[1:] = (path[1:] != path[:-1]) | (thing[1:] != thing[:-1])
    starts = np.flatnonzero(begins)
    found = []
    for low, high in _chunks(starts, len(piece)):
        part = slice(low, high)
        found.append(_relate(run, piece[part], thing[part], begins[part], things, progress))
    return Near.joined(found)


def _relate(
    run: Run, piece: Ints, thing: Ints, begins: Bools, things: Things, progress: Floats
) -> Near:
    """The relation of each group of pairs (one path, one thing) that `begins` marks."""
    rows = _Rows(run, piece, thing, begins, things)
    path, what = run.piece_path[piece[begins]], thing[begins]
    user, reach = run.paths.slots[path], run.paths.reach[path]
    within = np.minimum.reduceat(rows.distance, rows.starts) <= reach
    if not within.all():
        kept = within[np.cumsum(begins) - 1]
        if not within.any():
            return Near.joined([])
        return _relate(run, piece[kept], thing[kept], begins[kept], things, progress)
    done = progress[user]
    distance, at = rows.remaining(done, run.paths.along[run.first[path + 1] - 1])
    least = np.minimum.reduceat(distance, rows.starts)
    nearest = distance <= least[rows.group] + TIE_M
    along = nearest & rows.along
    some = np.logical_or.reduceat(along, rows.starts)
    meant = np.where(some[rows.group], along, nearest)
    first = np.minimum.reduceat(np.where(meant, at, np.inf), rows.starts)
    ahead = np.where((done == UNKNOWN) | (least > reach), UNKNOWN, first - done)
    return Near(
        user, what, np.where(least > reach, UNKNOWN, least), ahead, ~some & (least <= reach)
    )


class _Rows:
    """Every segment of the pieces with the thing it is paired with."""

    def __init__(self, run: Run, piece: Ints, thing: Ints, begins: Bools, things: Things) -> None:
        counts = run.piece_segments[piece]
        seg = ranges(run.piece_first[piece], counts)
        own = np.repeat(thing, counts)
        self.starts = (np.cumsum(counts) - counts)[begins]
        self.group = np.repeat(np.cumsum(begins) - 1, counts)
        self._thing = Points(*(column[own] for column in things.at))
        self._ax, self._ay = run.paths.x[seg], run.paths.y[seg]
        self._vx, self._vy = run.paths.x[seg + 1] - self._ax, run.paths.y[seg + 1] - self._ay
        self._from, self._to = run.paths.along[seg], run.paths.along[seg + 1]
        at, corners = self._thing, (self._ax, self._ay, self._vx, self._vy)
        self._share = foot(at.x, at.y, *corners)
        self.distance = self._distance(slice(None), self._share)
        self.along = things.dx[own] * self._vx + things.dy[own] * self._vy >= 0

    def remaining(self, done: Floats, length: Floats) -> tuple[Floats, Floats]:
        """Distance and place along the path of the nearest point, from `done` of it on.

        A segment that is behind is infinitely far; of a path at its end the end remains.
        """
        begin = np.minimum(done, np.nextafter(length, -1.0))[self.group]
        distance = np.where(self._to <= begin, np.inf, self.distance)
        at = self._from + self._share * (self._to - self._from)
        late = np.flatnonzero((at < begin) & (self._to > begin))
        cut = np.maximum(done[self.group[late]], self._from[late])
        rest = self._to[late] - self._from[late]
        rest[rest == 0] = 1.0
        distance[late] = self._distance(late, np.minimum((cut - self._from[late]) / rest, 1.0))
        at[late] = cut
        return distance, at

    def _distance(self, rows: Ints | slice, share: Floats) -> Floats:
        thing = Points(*(column[rows] for column in self._thing))
        x = self._ax[rows] + share * self._vx[rows]
        y = self._ay[rows] + share * self._vy[rows]
        return between(thing, x, y)


def _parts(slots: Ints, size: int) -> Iterator[Ints]:
    """The slots in parts of at most `size`."""
    return (slots[low : low + size] for low in range(0, len(slots), size))


def _chunks(starts: Ints, total: int) -> Iterator[tuple[int, int]]:
    """Parts of `total` pairs that end where groups do and hold about _CHUNK."""
    ends = np.append(starts, total)  # the last group may begin before a multiple of _CHUNK
    edges = np.unique(np.append(ends[np.searchsorted(ends, np.arange(0, total, _CHUNK))], total))
    return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
