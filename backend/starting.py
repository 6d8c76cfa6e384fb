"""What a starting system waits for, and what shows that it gets on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from citywise.backend.causes import cause
from citywise.backend.operations.readiness import Check, Heartbeat
from citywise.backend.patience import Mark, Reason, Stuck
from citywise.backend.settings import Start

_OF_INGEST = ("ingest_heartbeat_s", "broker_connected", "ingest_blocked", "ingest_lag_bytes")
_PARTS = {"database": "database", **dict.fromkeys(_OF_INGEST, "ingest")}
"""Whom a check of readiness is about; the others are about the pipeline."""
_DONE = ("stage", "batches", "position", "last_t_ms", "accepted", "complete_ms", "connected")
"""What a heartbeat says that changes only where something is done."""


def reasons(checks: Iterable[Check]) -> Iterator[Reason]:
    """What the failing checks wait for, in the order in which it has to come."""
    for check in checks:
        if check.reason is not None:
            part = _PARTS.get(check.name, "pipeline")
            # Of the first batch it is told how far the pipeline is.
            kind = check.reason if check.name == "first_batch" else check.name
            yield Reason(part, kind, check.reason)


def mark(process: int, log: Path, heartbeat: Heartbeat | None) -> Mark:
    """How far a process is that leads a session."""
    said = heartbeat.detail if heartbeat else {}
    written = log.stat().st_size if log.exists() else 0
    done = tuple(str(said.get(name)) for name in _DONE)
    return Mark(process, cpu_seconds(process), written, done)


def cpu_seconds(leader: int) -> float:
    """CPU time of all processes of a session, with those of them that have ended: of the
    pipeline also Spark's JVM and its Python workers, which are in groups of their own."""
    total = 0.0
    for process in psutil.pids():
        try:
            if os.getsid(process) == leader:
                times = psutil.Process(process).cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        except (OSError, psutil.Error):
            continue  # it has ended
    return total


def told(stuck: Stuck, limits: Start, log: Path, since: int) -> str:
    """Why a start is given up: who is stuck with what, since when, and what its log says."""
    reason = stuck.reason
    moment = time.strftime("%H:%M:%S", time.localtime(time.time() - stuck.quiet_s))
    if stuck.too_long:
        why = f"not ready after {stuck.waited_s:.0f} s (start.limit_s is {limits.limit_s:g})"
        last = f"{reason.part} got on last at {moment}, {stuck.quiet_s:.0f} s ago"
        return "\n".join([f"{why}: {reason.text}; {last}", *from_log(log, since)])
    why = (
        f"{reason.part} is stuck: {reason.text}; since {moment}, for {stuck.quiet_s:.0f} s, it has "
        "hardly used CPU time, finished nothing and written nothing to its log "
        f"(start.patience_s is {limits.patience_s:g})"
    )
    return "\n".join([why, *from_log(log, since)])


def from_log(log: Path, since: int) -> list[str]:
    """What a process' log says of why it failed, after a line that names the file."""
    lines = cause(log, since)
    return [f"from {log}:", *lines] if lines else [f"{log} says nothing"]
