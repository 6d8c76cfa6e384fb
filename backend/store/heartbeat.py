"""Signs of life of the processes, read by `/readyz`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from backend.store.models import HeartbeatRow
from backend.store.upsert import upsert
from backend.times import wall_ms


def beat(connection: Connection, process: str, detail: Mapping[str, Any]) -> None:
    """Note that `process` lives and how it fares."""
    row = {"process": process, "at_ms": wall_ms(), "detail": dict(detail)}
    upsert(connection, HeartbeatRow, [row])
