"""Whether anything gives way to other greenlets while it holds the lock of all who write.

Whoever comes then waits for the lock in SQLite, which stops the whole web process, also the one
that holds it: until SQLite's patience is over, 15 s later.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from gevent import monkey
from limits.strategies import MovingWindowRateLimiter
from sqlalchemy import Connection, Engine, event

_READS = ("SELECT", "PRAGMA", "WITH")


class Writing(threading.local):
    """How many connections of this thread have written and neither committed nor gone back."""

    def __init__(self) -> None:
        self.connections: set[int] = set()


@contextmanager
def refused(engine: Engine) -> Iterator[None]:
    """Fail at the end of the block if something in it has counted a call, or has waited for work
    done aside, in a transaction of `engine` that had written."""
    writing, found = Writing(), list[str]()
    count, is_patched = MovingWindowRateLimiter.hit, monkey.is_module_patched

    def note() -> None:
        if writing.connections:
            found.extend(traceback.format_stack(limit=8)[:-2])

    def wrote(connection: Connection, _cursor: object, statement: str, *_more: object) -> None:
        if not statement.lstrip().upper().startswith(_READS):
            writing.connections.add(id(connection))

    def done(connection: Connection) -> None:
        writing.connections.discard(id(connection))

    def hit(*asked: object, **how: object) -> bool:
        note()
        return count(*asked, **how)  # type: ignore[arg-type]

    def is_module_patched(name: str) -> bool:
        note()
        return bool(is_patched(name))

    listened: list[tuple[str, Callable[..., Any]]] = [
        ("before_cursor_execute", wrote),
        ("commit", done),
        ("rollback", done),
    ]
    for name, listener in listened:
        event.listen(engine, name, listener)
    try:
        with (
            patch.object(MovingWindowRateLimiter, "hit", hit),
            patch.object(monkey, "is_module_patched", is_module_patched),
        ):
            yield
    finally:
        for name, listener in listened:
            event.remove(engine, name, listener)
    assert not found, "gave way to others in a transaction that had written:\n" + "".join(found)
