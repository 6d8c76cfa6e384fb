"""The traces of what a batch answered: each goes on with its evaluation and its commit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy import Engine, select

from citywise.backend import telemetry
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.store.models import MessageTraceRow
from citywise.backend.telemetry import Stage

_MOST = 200
"""Traces of one request in one batch; of more, the newest."""


@dataclass
class Answered:
    """What a batch answered, as stages that end with its commit."""

    stages: list[Stage]
    _committing_ns: int

    @property
    def traceparent(self) -> str | None:
        """The trace of the newest message in it, which what it announces belongs to."""
        return self.stages[-1].traceparent if self.stages else None

    def end(self) -> None:
        """It is committed."""
        now = time.time_ns()
        for stage in self.stages:
            stage.part("commit", self._committing_ns, now)
            stage.end(now)


def answered(engine: Engine, rows: Iterable[Row], begun_ns: int) -> Answered:
    """The traces of the messages that a batch answered, which began at a time (Unix ns) and is to
    be committed now; none where tracing is off."""
    now = time.time_ns()
    if not telemetry.is_on():
        return Answered([], now)
    cursors = [row for row in rows if row.kind == "cursor"]
    found = sorted(pair for cursor in cursors for pair in _stages(engine, cursor, begun_ns, now))
    return Answered([stage for *_, stage in found], now)


def _stages(
    engine: Engine, cursor: Row, begun_ns: int, now_ns: int
) -> Iterator[tuple[int, str, int, Stage]]:
    """The newest traced messages that one request has answered, each with a begun stage: position
    in the log, request, number, stage. The first three sort the messages of several requests."""
    table = MessageTraceRow
    within = table.position >= cursor.body["start"], table.position < cursor.body["position"]
    newest = select(table.position, table.traceparent).where(*within)
    with engine.connect() as connection:
        found = connection.execute(newest.order_by(table.position.desc()).limit(_MOST)).all()
    seconds = {
        k: v for k, v in cursor.body.get("seconds", {}).items() if isinstance(v, int | float)
    }
    took_ns = min(now_ns - begun_ns, round(sum(seconds.values()) * 1e9))
    attributes = {"citywise.request": cursor.request} | {
        f"citywise.seconds.{step}": taken for step, taken in seconds.items()
    }
    for number, (position, parent) in enumerate(found):
        stage = telemetry.begun("answer", begun_ns, parent, attributes)
        if stage is not None:
            stage.part("evaluate", now_ns - took_ns, now_ns)
            yield position, cursor.request, number, stage
