"""Passwords are hashed one after the other: each takes memory and both cores for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from backend.api.problems import ProblemError

PATIENCE_S = 10.0
_TURN = threading.BoundedSemaphore(1)


@contextmanager
def turn() -> Iterator[None]:
    """Wait for one's turn to hash a password; take it before a connection, so that nobody who
    waits keeps one from others.

    Raises a 503 where that takes more than `PATIENCE_S`.
    """
    if not _TURN.acquire(timeout=PATIENCE_S):
        problem = ProblemError(
            503, "busy", "Busy", "too many people are logging in at once; try again in a minute"
        )
        problem.headers["Retry-After"] = "60"
        raise problem
    try:
        yield
    finally:
        _TURN.release()
