"""Passwords are hashed one after the other: each takes memory and both cores for a while."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from gevent.threadpool import ThreadPool

from backend.api import aside, limits
from backend.api.problems import ProblemError

Result = TypeVar("Result")

PATIENCE_S = 10.0
MOST_OF_ONE = 4
"""Of one address; others come in between."""
_TURN = threading.BoundedSemaphore(1)
_THERE: Counter[str] = Counter()


@contextmanager
def turn() -> Iterator[None]:
    """Wait for one's turn to hash a password; take it before a connection, so that nobody who
    waits keeps one from others.

    Raises a 503 where that takes more than `PATIENCE_S`, or where `MOST_OF_ONE` wait already.
    """
    who = limits.address()
    if _THERE[who] >= MOST_OF_ONE:
        raise _busy()
    _THERE[who] += 1
    try:
        if not _TURN.acquire(timeout=PATIENCE_S):
            raise _busy()
        try:
            yield
        finally:
            _TURN.release()
    finally:
        _THERE[who] -= 1
        if not _THERE[who]:
            del _THERE[who]


def apart(work: Callable[[], Result]) -> Result:
    """What `work`, which hashes, returns or raises; it waits for no solver and no log."""
    return aside.aside(work, _pool)


@cache
def _pool() -> ThreadPool:
    return ThreadPool(1)


def _busy() -> ProblemError:
    problem = ProblemError(
        503, "busy", "Busy", "too many people are logging in at once; try again in a minute"
    )
    problem.headers["Retry-After"] = "60"
    return problem
