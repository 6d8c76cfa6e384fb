"""Requests that are behind the others: when each is tried again, and over how much of the log.

A request that fails or is slow stays where it is, and the others go on. It is tried again ever
more seldom, over a stretch that is no longer than a batch, so that it costs the others little.
A city's request loses nothing: the log is kept for it. A template that is too far behind begins
anew at what stands now, as what its users were told is outdated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

_SOONEST_S, _LATEST_S = 0.5, 60.0


@dataclass
class _Wait:
    """Where a request stood when it was tried last, and when it is tried again."""

    position: int
    pause: float
    due: float


class Behind:
    """The requests that are behind, by name; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waits: dict[str, _Wait] = {}

    def tries(self, request: str, position: int) -> bool:
        """Whether a request that stands at a log position behind the others is to be tried now;
        if it then stays there, that is not at once again."""
        now, known = self._clock(), self._waits.get(request)
        if known is None or known.position != position:
            self._waits[request] = _Wait(position, _SOONEST_S, now + _SOONEST_S)
            return True
        if now < known.due:
            return False
        known.pause = min(2 * known.pause, _LATEST_S)
        known.due = now + known.pause
        return True

    def caught_up(self, request: str) -> None:
        """A request is behind no more."""
        self._waits.pop(request, None)

    def keep(self, requests: Collection[str]) -> None:
        """Forget all others: they run no more."""
        for gone in self._waits.keys() - set(requests):
            del self._waits[gone]

    @property
    def is_due(self) -> bool:
        """Whether any is to be tried now."""
        now = self._clock()
        return any(wait.due <= now for wait in self._waits.values())
