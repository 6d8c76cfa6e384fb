"""Work of which little is done at once: the others wait for their turn, but nobody's many."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from citywise.backend.api.problems import ProblemError


class Turns:
    """Turns at one kind of work.

    Parameters
    ----------
    places:
        How much of it is done at once.
    busy:
        What is said to who has to come again.
    """

    def __init__(self, places: int, busy: str) -> None:
        self._free = threading.BoundedSemaphore(places)
        self._there: Counter[str] = Counter()
        self._busy = busy

    @contextmanager
    def turn(self, who: str, of_one: int, patience_s: float) -> Iterator[None]:
        """Wait for a turn and have it; take it before a connection to the database, so that
        nobody who waits keeps one from others.

        Raises a 503 where that takes more than `patience_s`, or where `who`, a person or an
        address, has or waits for `of_one` of them: others come in between.
        """
        if self._there[who] >= of_one:
            raise self._refused()
        self._there[who] += 1
        try:
            if not self._free.acquire(timeout=patience_s):
                raise self._refused()
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._there[who] -= 1
            if not self._there[who]:
                del self._there[who]

    def _refused(self) -> ProblemError:
        problem = ProblemError(503, "busy", "Busy", self._busy)
        problem.headers["Retry-After"] = "60"
        return problem
