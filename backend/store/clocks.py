"""The stream clock, as the ingest last reported it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from citywise.backend.store.models import HeartbeatRow
from citywise.backend.times import iso, iso_or_none, wall_ms

CONTROLLED = ("replay", "simulation")
"""Sources that obey commands; a real city does not."""


@dataclass(frozen=True)
class StreamClock:
    """Stream time in Unix milliseconds, its speed (stream seconds per wall second; None: as
    fast as it goes) and the source that makes it."""

    now_ms: int
    speed: float | None
    source: str
    start_ms: int | None
    until_ms: int | None
    catching_up_s: float | None = None
    """How far the answers are behind what came in, in seconds of the wall; None where that is
    within bounds."""

    def as_json(self) -> dict[str, Any]:
        return {
            "now": iso(self.now_ms),
            "speed": self.speed,
            "source": self.source,
            "start": iso_or_none(self.start_ms),
            "until": iso_or_none(self.until_ms),
            "catching_up_s": self.catching_up_s,
            "controllable": self.source in CONTROLLED,
        }


def from_detail(detail: dict[str, Any], pipeline: dict[str, Any] | None = None) -> StreamClock:
    """Read the clock out of the heartbeats of ingest and pipeline; the wall clock where there is
    none."""
    now_ms = detail.get("now_ms")
    return StreamClock(
        now_ms=wall_ms() if now_ms is None else int(now_ms),
        speed=detail.get("speed", 1.0),
        source=str(detail.get("source") or "wall"),
        start_ms=detail.get("start_ms"),
        until_ms=detail.get("until_ms"),
        catching_up_s=_catching_up(pipeline or {}),
    )


def _catching_up(pipeline: dict[str, Any]) -> float | None:
    return None if pipeline.get("ended") else pipeline.get("catching_up_s")


def told(connection: Connection) -> StreamClock | None:
    """The stream clock, if the ingest has heard one since it started."""
    query = select(HeartbeatRow.detail).where(HeartbeatRow.process == "ingest")
    detail = connection.scalar(query) or {}
    return None if detail.get("now_ms") is None else from_detail(detail)


def read(connection: Connection | Session) -> StreamClock:
    """The stream clock now."""
    row = HeartbeatRow
    query = select(row.process, row.detail).where(row.process.in_(("ingest", "pipeline")))
    details = {found.process: found.detail for found in connection.execute(query)}
    return from_detail(details.get("ingest") or {}, details.get("pipeline"))
