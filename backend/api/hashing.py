"""Passwords are hashed one after the other: each takes memory and both cores for a while."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from gevent.threadpool import ThreadPool

from citywise.backend.api import aside, limits

Result = TypeVar("Result")

PATIENCE_S = 10.0
MOST_OF_ONE = 4
"""Of one address; others come in between."""
_TURNS = limits.Turns(1, "too many people are logging in at once; try again in a minute")


def turn() -> AbstractContextManager[None]:
    """Wait for one's turn to hash a password; see `limits.Turns.turn`."""
    return _TURNS.turn(limits.address(), MOST_OF_ONE, PATIENCE_S)


def apart(work: Callable[[], Result]) -> Result:
    """What `work`, which hashes, returns or raises; it waits for no solver and no log."""
    return aside.aside(work, _pool)


@cache
def _pool() -> ThreadPool:
    return ThreadPool(1)
