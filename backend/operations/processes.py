"""How the system's processes fare, by their heartbeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from citywise.backend.operations.requests import HOUR_MS
from citywise.backend.store.letters import refused
from citywise.backend.store.models import DeadLetterRow, HeartbeatRow
from citywise.backend.times import wall_ms

_PROBLEMS = ("blocked", "error")
"""What a process says is wrong with it."""


def report(connection: Connection, limit_s: float) -> list[dict[str, Any]]:
    """Each process that has ever beaten; alive if it has within `limit_s` (wall time), and has
    not ended since.

    Of its details only numbers and truths are shown.
    """
    now = wall_ms()
    rows = connection.execute(select(HeartbeatRow.__table__).order_by(HeartbeatRow.process))
    return [
        {
            "process": row.process,
            "alive": now - row.at_ms <= limit_s * 1000 and not row.detail.get("ended"),
            "age_s": round(max(0, now - row.at_ms) / 1000, 1),
            "problem": _problem(row.detail),
            "detail": {k: v for k, v in row.detail.items() if isinstance(v, int | float)},
        }
        for row in rows
    ]


def dead_letters(connection: Connection) -> dict[str, int]:
    """How many dead letters came in the last hour of wall time, and how many are kept of all."""
    row = DeadLetterRow
    recent = row.received_ms >= wall_ms() - HOUR_MS
    kept = connection.scalar(select(func.count(row.id))) or 0
    return {
        "hour": connection.scalar(select(func.count(row.id)).where(recent)) or 0,
        "kept": kept,
        "refused": max(kept, sum(refused(connection).values())),
    }


def _problem(detail: Mapping[str, Any]) -> str | None:
    found = [str(detail[name]) for name in _PROBLEMS if detail.get(name)]
    if detail.get("connected") is False:
        found.append("no connection to the broker")
    return "; ".join(found) or None
