"""Signs of life of the processes, read by `/readyz`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select, update

from citywise.backend.store.models import HeartbeatRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms


def end(connection: Connection, process: str) -> None:
    """Note that `process` has died: what it said last is kept, and no longer a sign of life."""
    row = HeartbeatRow
    detail = connection.scalar(select(row.detail).where(row.process == process))
    if detail is not None:
        ended = {**detail, "ended": True}
        connection.execute(update(row).where(row.process == process).values(detail=ended))


def beat(connection: Connection, process: str, detail: Mapping[str, Any]) -> None:
    """Note that `process` lives and how it fares."""
    row = {"process": process, "at_ms": wall_ms(), "detail": dict(detail)}
    upsert(connection, HeartbeatRow, [row])


def fail(connection: Connection, process: str, error: str) -> None:
    """Note why `process` has ended; how it fared before stays."""
    known = select(HeartbeatRow.detail).where(HeartbeatRow.process == process)
    beat(connection, process, {**(connection.scalar(known) or {}), "error": error})
