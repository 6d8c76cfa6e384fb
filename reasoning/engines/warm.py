"""Worker processes that wait for whoever evaluates next.

Starting one takes some 80 ms, a short evaluation one: who answers many short questions,
each of other rules, keeps a few.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar

_MOST_USES = 500
"""After so many a process ends: clingo keeps every term that it ever saw."""


class Waiting(Protocol):
    """A process that can wait."""

    uses: int
    """How often it has been kept."""

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""

    def end(self) -> None:
        """End it."""


Process = TypeVar("Process", bound=Waiting)


class Warm(Generic[Process]):
    """At most `most` processes; none until somebody sets that. Threads may share it."""

    def __init__(self, most: int = 0) -> None:
        self.most = most
        self._waiting: deque[Process] = deque()

    def take(self) -> Process | None:
        """A process that waits, which is the taker's from here on."""
        while self._waiting:
            process = self._waiting.pop()
            if process.alive:
                return process
            process.end()
        return None

    def leave(self, process: Process) -> None:
        """Keep a process that does nothing now, or end it."""
        process.uses += 1
        if len(self._waiting) < self.most and process.uses < _MOST_USES and process.alive:
            self._waiting.append(process)
        else:
            process.end()

    def close(self) -> None:
        """Keep none any more."""
        self.most = 0
        while (process := self.take()) is not None:
            process.end()
