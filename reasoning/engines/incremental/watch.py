"""The limits on an evaluation, looked at while rules are joined."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import psutil

from reasoning.engines.incremental.relation import Horizons
from reasoning.engines.incremental.terms import Row
from reasoning.engines.limits import LimitError, Limits, exceeded

CHUNK = 1_000
"""Changed rows that are joined at a time; limits are looked at in between."""
_LOOK_S = 0.1
"""How often time, memory and the number of rows are looked at."""


class Watch:
    """Sees to the limits while rules are joined."""

    def __init__(
        self, name: str, limits: Limits | None, sizes: Callable[[], Iterable[tuple[str, int]]]
    ) -> None:
        self._name = name
        self._limits = limits
        self._sizes = sizes
        self._deadline = float("inf")
        self._next_look = 0.0
        self._had_mb: float | None = None

    def begin(self) -> None:
        """A step begins: its time counts from now."""
        if self._limits is not None:
            now = time.monotonic()
            self._deadline = now + self._limits.seconds
            self._next_look = now + _LOOK_S
            self._had_mb = None

    def chunks(self, rows: Horizons, found: list[Row]) -> Iterator[Horizons]:
        """The rows in pieces; looks at the limits in between."""
        if self._limits is None or len(rows) <= CHUNK:
            self.look(len(found))
            yield rows
            return
        items = iter(rows.items())
        while chunk := dict(islice(items, CHUNK)):
            self.look(len(found))
            yield chunk

    def look(self, more: int = 0) -> None:
        """Raise `LimitError` if a limit is reached, with `more` rows than the relations have."""
        if self._limits is None or (now := time.monotonic()) < self._next_look:
            return
        self._next_look = now + _LOOK_S
        if limit := self._reached(now, more):
            raise self._exceeded(limit)

    def exhausted(self) -> LimitError:
        """The error where there is no memory left."""
        return self._exceeded("the machine has no more memory for it")

    def end(self) -> None:
        """The step is over: raise `LimitError` if there are too many rows."""
        if self._limits is not None and (limit := self._too_many(0)):
            raise self._exceeded(limit)

    def _reached(self, now: float, more: int) -> str | None:
        assert self._limits is not None
        if now > self._deadline:
            return f"it took more than {self._limits.seconds:g} s"
        if limit := self._too_many(more):
            return limit
        resident_mb = psutil.Process().memory_info().rss / 1e6
        if self._had_mb is None:
            self._had_mb = resident_mb  # what was there before may be other requests'
        if resident_mb - self._had_mb > self._limits.megabytes:
            return f"it used more than {self._limits.megabytes:,} MB"
        return None

    def _too_many(self, more: int) -> str | None:
        assert self._limits is not None
        if sum(size for _name, size in self._sizes()) + more > self._limits.atoms:
            return f"it has more than {self._limits.atoms:,} ground atoms"
        return None

    def _exceeded(self, limit: str) -> LimitError:
        sizes = sorted(self._sizes(), key=lambda found: (-found[1], found[0]))
        grown = {name: size for name, size in sizes if size and not name.startswith("#")}
        grown = dict(islice(grown.items(), 3))
        return exceeded(self._name, limit, "evaluation", grown)
