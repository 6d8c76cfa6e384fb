"""Events opened by hand that begin or end by themselves, by stream time."""

from __future__ import annotations

from sqlalchemy import Engine

from citywise.backend.notices import announcing
from citywise.backend.operations import byhand

MOST = 100
"""Events begun or ended at a time."""


def sweep(engine: Engine, now_ms: int) -> int:
    """Begin and end what is due at `now_ms` (stream time, Unix ms); returns how many.

    Each in a transaction of its own; what an operator or another process has done
    meanwhile stays done.
    """
    with engine.connect() as connection:
        due = byhand.due(connection, now_ms, MOST)
    return sum(_move(engine, identity, now_ms) for identity in due)


def _move(engine: Engine, identity: str, now_ms: int) -> bool:
    with engine.begin() as connection:
        announcing.begin(connection)
        event = byhand.find(connection, identity)
        if event.state == "planned" and event.start_ms <= now_ms:
            byhand.begin(connection, event, now_ms)
            return True
        until = event.until_ms
        if event.state == "open" and until is not None and until <= now_ms:
            byhand.finish(connection, event, now_ms, end_ms=until)
            return True
    return False
