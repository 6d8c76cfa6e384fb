"""The last hour of wall time minute by minute: what was evaluated, how long that took, what was
refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from citywise.backend.store.models import DeadLetterRow, TraceRow
from citywise.backend.times import iso

MINUTES = 60
_MINUTE_MS = 60_000


def last_hour(connection: Connection, now_ms: int, lags_s: Mapping[int, float]) -> dict[str, Any]:
    """A number for each minute until now, the present one last: null where nothing is known.

    `lags_s` has the worst lag of some minutes, by their number since the epoch.
    """
    first = now_ms // _MINUTE_MS - MINUTES + 1
    begin_ms = first * _MINUTE_MS
    minute = (TraceRow.created_ms // _MINUTE_MS).label("minute")
    evaluated = select(minute, func.count(), func.max(TraceRow.seconds))
    evaluated = evaluated.where(TraceRow.created_ms >= begin_ms).group_by("minute")
    rows = {int(row[0]): row for row in connection.execute(evaluated)}
    received = (DeadLetterRow.received_ms // _MINUTE_MS).label("minute")
    letters = select(received, func.count()).where(DeadLetterRow.received_ms >= begin_ms)
    refused = {int(n): count for n, count in connection.execute(letters.group_by("minute"))}
    minutes = range(first, first + MINUTES)
    return {
        "from": iso(begin_ms),
        "evaluations": [rows[n][1] if n in rows else 0 for n in minutes],
        "slowest_s": [rows[n][2] if n in rows else None for n in minutes],
        "refused": [refused.get(n, 0) for n in minutes],
        "lag_s": [lags_s.get(n) for n in minutes],
    }
