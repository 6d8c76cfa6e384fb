"""What a Spark worker does with a stretch of the log: evaluate one request over it.

No Spark here: a `Task` goes in as JSON, rows of results come out. The window is rebuilt
from the log and the committed state, so it does not matter on which worker a task runs,
or how often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from backend.ingest import records
from backend.ingest.records import ClockReading, Reading
from backend.pipeline.evaluation import RequestRun, Row
from reasoning.engines.limits import Limits
from reasoning.reasoner import State

READINGS = "readings"
"""Name of the task that collects the latest reading of every sensor."""


@dataclass(frozen=True)
class Task:
    """Evaluate `request` over the log from `start` to `end`, continuing from `state`."""

    request: str
    source: str
    """Path of the request's file; empty for the readings."""
    log_dir: str
    start: int
    end: int
    resume_from: int
    state: Mapping[str, Any]
    limits: Mapping[str, Any]

    def to_json(self) -> str:
        """The task as Spark carries it."""
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> Task:
        """The task that `to_json` described."""
        return cls(**orjson.loads(text))


def run(task: Task) -> Iterator[Row]:
    """Evaluate a task. Rows: `change` (of an event), `trace` (an evaluation), `late` and
    `refused` (items for the dead letters), `reading`, and last `cursor`, the state to
    commit with them."""
    if task.request == READINGS:
        yield from _latest(task)
    else:
        yield from _evaluate(task)


def _evaluate(task: Task) -> Iterator[Row]:
    folder = Path(task.log_dir)
    past = records.read(folder, task.resume_from, task.start)
    state, limits = State.from_json(task.state), Limits(**task.limits)
    run = RequestRun(Path(task.source), limits, state, past)
    for entry in records.read(folder, task.start, task.end):
        yield from run.take(entry)
    yield from run.dead_letters()
    end = records.item_position(task.end)
    after, answered = run.snapshot(end)
    resume_from = records.record_position(run.resume_from(end))
    yield _cursor(task, resume_from, answered, after.to_json())


def _latest(task: Task) -> Iterator[Row]:
    """The latest reading of each sensor and kind in the stretch, and the source's time."""
    latest: dict[tuple[str, str], Reading] = {}
    answered: int | None = task.state.get("answered_ms")
    for entry in records.read(Path(task.log_dir), task.start, task.end):
        if isinstance(entry, ClockReading):
            answered = max(answered or 0, entry.complete_ms)
            continue
        known = latest.get((entry.kind, entry.sensor))
        if known is None or entry.observed_ms >= known.observed_ms:
            latest[entry.kind, entry.sensor] = entry
    for (kind, sensor), reading in latest.items():
        body = {
            "kind": kind,
            "place_id": sensor,
            "observed_ms": reading.observed_ms,
            "body": dict(reading.values),
        }
        yield Row(READINGS, reading.observed_ms, "reading", body)
    yield _cursor(task, task.end, answered, {"answered_ms": answered})


def _cursor(task: Task, resume_from: int, answered: int | None, state: dict[str, Any]) -> Row:
    body = {
        "start": task.start,
        "position": task.end,
        "resume_from": resume_from,
        "answered_ms": answered,
        "state": state,
    }
    return Row(task.request, answered or 0, "cursor", body)
