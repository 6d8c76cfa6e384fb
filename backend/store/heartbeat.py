"""Signs of life of the processes, read by `/readyz`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from backend.store.models import HeartbeatRow
from backend.store.upsert import upsert


def beat(connection: Connection, process: str, detail: Mapping[str, Any]) -> None:
    """Note that `process` lives and how it fares."""
    row = {"process": process, "at_ms": round(time.time() * 1000), "detail": dict(detail)}
    upsert(connection, HeartbeatRow, [row])
