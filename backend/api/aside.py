"""Work that takes long, done where it holds up no event stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import gevent
from gevent import monkey
from gevent.threadpool import ThreadPool

Result = TypeVar("Result")


def _common() -> ThreadPool:
    pool: ThreadPool = gevent.get_hub().threadpool
    return pool


def aside(work: Callable[[], Result], pool: Callable[[], ThreadPool] = _common) -> Result:
    """What `work` returns or raises; under gevent it runs in a thread of the system's.

    For what reads the log and calls the solver: neither gives way to other greenlets.
    """
    if not monkey.is_module_patched("threading"):
        return work()
    found: Result = pool().apply(work)
    return found
