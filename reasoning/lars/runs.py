"""□ over points of time: which atoms have been arriving at every point, and since when."""

from __future__ import annotations

from collections.abc import Collection

from reasoning.engines.incremental.terms import Row
from reasoning.lars.feeds import Sink


class Runs:
    """Since when atoms of a predicate have arrived at every point.

    `came` and `broke` are what began to arrive, and ceased, at the last point.
    """

    def __init__(self, static: frozenset[Row]) -> None:
        self.since: dict[Row, int] = {}
        self.first: int | None = None
        self.came: Collection[Row] = ()
        self.broke: dict[Row, int] = {}
        self._static = static

    def resume(self, first: int, since: dict[Row, int]) -> None:
        """Go on from what another has seen."""
        self.first = first
        self.since = {row: start for row, start in since.items() if row not in self._static}

    def point(self, time: int, rows: Collection[Row]) -> None:
        """What arrives at the next point."""
        if self.first is None:
            self.first = time
        since = self.since
        if not rows and not since:
            self.came, self.broke = (), {}
            return
        found = set(rows).difference(self._static)
        self.came = found.difference(since)
        self.broke = {row: since.pop(row) for row in since.keys() - found}
        since.update(dict.fromkeys(self.came, time))

    def late(self, time: int, rows: Collection[Row]) -> None:
        """What joins the last point."""
        for row in rows:
            if row not in self.since and row not in self._static:
                self.since[row] = self.broke.pop(row, time)


class Boxes:
    """□ over the last points: a row is in once it has arrived at all of them."""

    def __init__(self, relation: str, size: int, runs: Runs, sink: Sink) -> None:
        self._relation, self._size, self._runs, self._sink = relation, size, runs, sink
        self._begun: dict[int, set[Row]] = {}

    def resume(self, time: int) -> None:
        """Go on, before a point of time, with runs that have been going on."""
        for row, start in self._runs.since.items():
            if start != self._runs.first and start + self._size >= time:
                self._begun.setdefault(start, set()).add(row)

    def point(self, time: int) -> None:
        runs = self._runs
        if runs.broke:
            self._sink.retract(self._relation, runs.broke)
            for row, start in runs.broke.items():
                if start in self._begun:
                    self._begun[start].discard(row)
        if runs.came:
            if time == runs.first:
                self._sink.insert(self._relation, runs.came)
            else:
                self._begun[time] = set(runs.came)
        due = self._begun.pop(time - self._size, None)
        if due:
            self._sink.insert(self._relation, due)
