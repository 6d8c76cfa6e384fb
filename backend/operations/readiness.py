"""Whether the system works, judged by the heartbeats of its processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from citywise.backend.settings import Settings
from citywise.backend.store.models import HeartbeatRow
from citywise.backend.times import wall_ms

HEARTBEAT_LIMIT_S = 10.0
WINDOW_LIMIT_S = 600.0
"""Stream time the answers may be behind the input at the speed of the wall clock."""
WINDOW_LIMIT_WALL_S = 30.0
"""The same in wall time, for replays that run faster."""


@dataclass(frozen=True)
class Check:
    """One condition: what was found, the most it may be, and whether it holds."""

    name: str
    ok: bool
    value: Any
    limit: Any
    reason: str | None = None
    """Why it does not; None where that follows from another check."""


@dataclass(frozen=True)
class Heartbeat:
    """A process' last sign of life."""

    age_s: float
    detail: dict[str, Any]

    @property
    def ended(self) -> bool:
        """Whether the process has died since (`backend.store.heartbeat.end`)."""
        return bool(self.detail.get("ended"))


Heartbeats = dict[str, Heartbeat]


def read_heartbeats(engine: Engine) -> Heartbeats:
    """The heartbeats in the database; raises SQLAlchemy's errors."""
    now = wall_ms()
    with Session(engine) as session:
        return {
            row.process: Heartbeat((now - row.at_ms) / 1000, row.detail)
            for row in session.scalars(select(HeartbeatRow))
        }


def _alive(process: str, heartbeat: Heartbeat | None) -> Check:
    name = f"{process}_heartbeat_s"
    if heartbeat is None:
        return Check(name, False, None, HEARTBEAT_LIMIT_S, f"{process} has not started")
    if heartbeat.ended:
        return Check(name, False, None, HEARTBEAT_LIMIT_S, f"{process} has ended")
    ok = heartbeat.age_s <= HEARTBEAT_LIMIT_S
    reason = None if ok else f"{process} was last heard {heartbeat.age_s:.0f} s ago"
    return Check(name, ok, round(heartbeat.age_s, 1), HEARTBEAT_LIMIT_S, reason)


def _silent(name: str, value: Any, prefix: str) -> Check:
    return Check(name, value is None, value, None, None if value is None else f"{prefix}: {value}")


def _lag(process: str, value: Any, limit: int) -> Check:
    ok = value is None or value <= limit
    reason = None if ok else f"{process} is {value:,} bytes behind"
    return Check(f"{process}_lag_bytes", ok, value, limit, reason)


def _catching_up(seconds: float | None, limit: float) -> Check:
    """Whether what came in is answered soon; the pipeline says only what is beyond the limit."""
    reason = None if seconds is None else f"catching up, {seconds:.0f} s behind"
    return Check("backlog_s", seconds is None, seconds, limit, reason)


def _behind(lags: dict[str, int], limit: int) -> Check:
    """Whether the requests keep up with each other: the others go on without one that does not."""
    most = max(lags.values(), default=0)
    late = [f"{name} ({lag:,} bytes)" for name, lag in sorted(lags.items()) if lag > limit]
    reason = f"behind the others: {', '.join(late)}" if late else None
    return Check("requests_behind_bytes", not late, most, limit, reason)


def window_limit_s(speed: float | None) -> float | None:
    """How old the last window may be in stream seconds; None while time runs as fast as it
    goes, where only the source's own flow control bounds it."""
    return None if speed is None else max(WINDOW_LIMIT_S, WINDOW_LIMIT_WALL_S * speed)


def _connected(ingest: dict[str, Any]) -> Check:
    connected = bool(ingest.get("connected"))
    reason = None if connected or not ingest else "broker link down"
    return Check("broker_connected", connected, connected, True, reason)


def _first_batch(ingest: dict[str, Any], pipeline: dict[str, Any]) -> Check:
    """What was answered before this start of the pipeline does not count. Where time stands
    there may be nothing to evaluate."""
    batches, stage = pipeline.get("batches", 0), pipeline.get("stage")
    stands = ingest.get("complete_ms") is None or ingest.get("speed") == 0
    ok = batches > 0 or bool(stands and pipeline.get("idle"))
    reason = None
    if pipeline and not ok:
        reason = f"pipeline is {stage}" if stage else "pipeline has not evaluated its first batch"
    return Check("first_batch", ok, batches, 1, reason)


def _last_window(ingest: dict[str, Any], pipeline: dict[str, Any], begun: bool) -> Check:
    complete = ingest.get("complete_ms")
    last_ms = pipeline.get("last_t_ms") or {}
    answered = {request: ms for request, ms in last_ms.items() if ms is not None}
    limit = window_limit_s(ingest.get("speed", 1.0))
    if complete is None:
        return Check("last_window_age_s", True, None, limit)
    if not answered:
        reason = "no window has been evaluated yet" if begun else None
        return Check("last_window_age_s", False, None, limit, reason)
    request, last = min(answered.items(), key=lambda item: item[1])
    age_s = max(0.0, (complete - last) / 1000)
    ok = limit is None or age_s <= limit
    reason = None if ok else f"the last window of {request} is {age_s:.0f} s of stream time old"
    return Check("last_window_age_s", ok, age_s, limit, reason)


def judge(heartbeats: Heartbeats, settings: Settings) -> Iterator[Check]:
    """Every check on the heartbeats."""
    yield _alive("ingest", heartbeats.get("ingest"))
    yield _connected(_detail_of(heartbeats, "ingest"))
    yield _alive("pipeline", heartbeats.get("pipeline"))
    taken, answered = _detail_of(heartbeats, "ingest"), _detail_of(heartbeats, "pipeline")
    yield _silent("ingest_blocked", taken.get("blocked"), "ingest accepts nothing")
    yield _silent("ingest_error", taken.get("error"), "ingest ended")
    yield _silent("pipeline_error", answered.get("error"), "pipeline failed")
    yield _lag("ingest", taken.get("lag_bytes"), settings.ingest.max_lag_bytes)
    yield _lag("pipeline", answered.get("lag_bytes"), settings.ingest.max_lag_bytes)
    yield _catching_up(answered.get("catching_up_s"), settings.pipeline.backlog_s)
    yield _behind(answered.get("behind") or {}, settings.pipeline.max_batch_bytes)
    first = _first_batch(taken, answered)
    yield first
    yield _last_window(taken, answered, begun=first.ok)


def _detail_of(heartbeats: Heartbeats, process: str) -> dict[str, Any]:
    """What a process that lives says of itself."""
    heartbeat = heartbeats.get(process)
    return {} if heartbeat is None or heartbeat.ended else heartbeat.detail


def check_all(engine: Engine, settings: Settings) -> list[Check]:
    """All checks, the database's first; without a database there are no others."""
    try:
        heartbeats = read_heartbeats(engine)
    except SQLAlchemyError as error:
        reason = f"database failing: {type(error).__name__}: {error.args[0] if error.args else ''}"
        return [Check("database", False, False, True, reason)]
    return [Check("database", True, True, True), *judge(heartbeats, settings)]


def as_json(checks: list[Check]) -> dict[str, Any]:
    """Every check with its value and limit, and the reasons of those that fail."""
    return {
        "ready": all(check.ok for check in checks),
        "reasons": [check.reason for check in checks if check.reason is not None],
        "checks": [asdict(check) for check in checks],
    }
