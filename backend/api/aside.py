"""Work that takes long, done where it holds up no event stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import gevent
from gevent import monkey

Result = TypeVar("Result")


def aside(work: Callable[[], Result]) -> Result:
    """What `work` returns or raises; under gevent it runs in a thread of the system's.

    For what reads the log and calls the solver: neither gives way to other greenlets.
    """
    if not monkey.is_module_patched("threading"):
        return work()
    found: Result = gevent.get_hub().threadpool.apply(work)
    return found
