"""How the city's requests and the apps' templates fare: how far behind, how slow, what failed."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from citywise.backend.settings import RequestLimits
from citywise.backend.store.models import CursorRow, HeartbeatRow, TraceRow
from citywise.backend.times import iso, iso_or_none, wall_ms

HOUR_MS = 3_600_000
MOST_TRACES = 10_000
"""Of the newest evaluations, whose times are looked at."""
SLOW_SHARE = 0.5
"""Of `pipeline.limits.seconds`: a request whose p99 is above is slow."""
GROWS_BYTES = 1_000_000
GROWS_OVER_MS = 20_000
GROWS_WITHIN_MS = 300_000


@dataclass
class Hour:
    """The evaluations of one request in the last hour of wall time."""

    evaluations: int = 0
    seconds: list[float] = field(default_factory=list)
    """Of those that were looked at, the newest."""
    failures: int = 0

    def to_json(self) -> dict[str, Any]:
        """Numbers; null where nothing was evaluated."""
        ordered = sorted(self.seconds)
        return {
            "evaluations": self.evaluations,
            "sampled": len(ordered),
            "failures": self.failures,
            "p50_s": _quantile(ordered, 0.5),
            "p99_s": _quantile(ordered, 0.99),
        }


class Failure(NamedTuple):
    """The last evaluation without an answer: wall time, stream time, why."""

    at_ms: int
    t_ms: int
    error: str

    def to_json(self) -> dict[str, str]:
        """As the API shows it."""
        return {"at": iso(self.at_ms), "t": iso(self.t_ms), "error": self.error}


class Lags:
    """How many bytes each request was behind at some moments, to see whether that grows."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=60))
        self.worst_s: dict[int, float] = {}
        """The worst lag of each of the last minutes in which somebody looked, by its number since
        the epoch."""

    def note(self, request: str, at_ms: int, lag_bytes: int) -> None:
        """A request was so far behind at `at_ms` (wall time)."""
        seen = self._seen[request]
        while seen and at_ms - seen[0][0] > GROWS_WITHIN_MS:
            seen.popleft()
        seen.append((at_ms, lag_bytes))

    def note_worst(self, at_ms: int, lag_s: float) -> None:
        """No request was farther behind at `at_ms` (wall time) than so many seconds."""
        minute = at_ms // 60_000
        self.worst_s = {n: lag for n, lag in self.worst_s.items() if n > minute - 60}
        self.worst_s[minute] = max(lag_s, self.worst_s.get(minute, 0.0))

    def keep(self, requests: Sequence[str]) -> None:
        """Forget all others."""
        for gone in self._seen.keys() - set(requests):
            del self._seen[gone]

    def grows(self, request: str) -> bool:
        """Whether it has fallen behind since it was first looked at, and never caught up."""
        seen = self._seen.get(request) or deque()
        if not seen or seen[-1][0] - seen[0][0] < GROWS_OVER_MS:
            return False
        lags = [lag for _, lag in seen]
        return lags[-1] - lags[0] > GROWS_BYTES and min(lags) == lags[0]


def report(
    connection: Connection, limits: RequestLimits, lags: Lags, end: int
) -> list[dict[str, Any]]:
    """Every request that has a cursor, those with a problem first.

    `end` is the log's end in bytes; `lags` remembers from one report to the next.
    """
    now = wall_ms()
    hours, failures = _hours(connection, now), _last_failures(connection)
    beats = {row.process: row.detail for row in connection.execute(select(HeartbeatRow.__table__))}
    complete_ms = beats.get("ingest", {}).get("complete_ms")
    pipeline = beats.get("pipeline", {})
    parts, starting = pipeline.get("parts") or {}, _starting(pipeline)
    cursors = connection.execute(select(CursorRow.__table__)).all()
    lags.keep([row.request for row in cursors])
    found = []
    for row in cursors:
        lag_bytes = max(0, end - row.position)
        lags.note(row.request, now, lag_bytes)
        hour = hours[row.request]
        failure = failures.get(row.request)
        shown = {
            "request": row.request,
            "template": "@" in row.request,
            "answered": iso_or_none(row.answered_ms),
            "lag_s": _lag_s(complete_ms, row.answered_ms),
            "lag_bytes": lag_bytes,
            "lag_grows": lags.grows(row.request),
            "hour": hour.to_json(),
            "last_failure": failure and failure.to_json(),
            "parts": parts.get(row.request),
        }
        waits = [starting] if starting and lag_bytes else []
        found.append({**shown, "slow_because": [*waits, *slow_because(shown, limits)]})
    known = [lag for report in found if (lag := report["lag_s"]) is not None]
    if known:
        lags.note_worst(now, max(known))
    return sorted(found, key=lambda r: (not r["slow_because"], not r["last_failure"], r["request"]))


def _starting(pipeline: Mapping[str, Any]) -> str | None:
    """Why nothing is evaluated at the moment: the pipeline is on its way."""
    if pipeline.get("ended"):
        return "the pipeline has ended and is started again"
    if stage := pipeline.get("stage"):
        return f"the pipeline is {stage}"
    if pipeline.get("batches") == 0:
        return "the pipeline has not evaluated its first batch"
    return None


def slow_because(request: Mapping[str, Any], limits: RequestLimits) -> list[str]:
    """Why a request counts as slow, in words; nothing where it does not."""
    reasons = []
    p99, most = request["hour"]["p99_s"], SLOW_SHARE * limits.seconds
    if p99 is not None and p99 > most:
        reasons.append(
            f"one evaluation in a hundred takes {p99:.2g} s or more; pipeline.limits.seconds is "
            f"{limits.seconds:g}"
        )
    if request["lag_grows"]:
        reasons.append(f"it falls behind: {request['lag_bytes']:,} bytes of the log, and growing")
    return reasons


def _hours(connection: Connection, now_ms: int) -> Mapping[str, Hour]:
    row = TraceRow
    hours: dict[str, Hour] = defaultdict(Hour)
    recent = row.created_ms >= now_ms - HOUR_MS
    counted = select(row.request, func.count(), func.count(row.error)).where(recent)
    for request, evaluations, failures in connection.execute(counted.group_by(row.request)):
        hours[request] = Hour(evaluations=evaluations, failures=failures)
    newest = (connection.scalar(select(func.max(row.id))) or 0) - MOST_TRACES
    timed = select(row.request, row.seconds).where(recent, row.id > newest, row.error.is_(None))
    for request, seconds in connection.execute(timed):
        hours[request].seconds.append(seconds)
    return hours


def _last_failures(connection: Connection) -> dict[str, Failure]:
    row = TraceRow
    failed = row.error.is_not(None)
    last = select(func.max(row.id)).where(failed).group_by(row.request)
    columns = (row.request, row.created_ms, row.t_ms, row.error)
    found = connection.execute(select(*columns).where(row.id.in_(last)))
    return {request: Failure(at, t, error or "") for request, at, t, error in found}


def _lag_s(complete_ms: int | None, answered_ms: int | None) -> float | None:
    """Seconds of stream time between what is complete and what is answered."""
    if complete_ms is None or answered_ms is None:
        return None
    return max(0.0, (complete_ms - answered_ms) / 1000)


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The least value that a share of all do not exceed (nearest rank)."""
    if not ordered:
        return None
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 6)
