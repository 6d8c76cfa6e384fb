"""A log written for tests, and tasks over stretches of it as the source plans them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from citywise.backend.ingest import log
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.worker import Task, Worker

START_MS = 1_407_196_800_000
LIMITS = {"seconds": 60, "megabytes": 1000, "atoms": 50_000, "models": 10}
Values = tuple[str, int, dict[str, Any]]
"""Sensor, milliseconds after the start, values."""


def traffic(sensor: str, ms: int, speed: float, count: int) -> Values:
    return sensor, ms, {"speed_kmh": speed, "vehicle_count": count}


@dataclass
class Stretches:
    """A log in `folder`; `ends` are the positions at which a batch may begin or end."""

    folder: Path
    ends: list[int] = field(default_factory=lambda: [0])

    def write(self, batches: Iterable[tuple[int, Sequence[Values]]], kind: str = "traffic") -> None:
        """Each batch is a clock (ms after the start) and readings that come before it."""
        writer = log.LogWriter(self.folder)
        for clock, values in batches:
            rows = [[sensor, START_MS + ms, body] for sensor, ms, body in values]
            if rows:
                writer.append([orjson.dumps({"k": kind, "r": START_MS + clock, "v": rows})])
            times = {"now": START_MS + clock, "complete": START_MS + clock}
            writer.append([orjson.dumps({"k": "clock", "r": START_MS + clock, **times})])
            self.ends.append(writer.end)
        writer.close()

    def task(self, source: Path, start: int, end: int, cursor: dict[str, Any], **more: Any) -> Task:
        """The task from `ends[start]` to `ends[end]`, which continues from a committed cursor."""
        return Task(
            request=source.stem,
            source=str(source),
            location=str(self.folder),
            start=self.ends[start],
            end=self.ends[end],
            resume_from=cursor.get("resume_from", 0),
            state=cursor.get("state", {}),
            limits=LIMITS,
            **more,
        )


def answer(worker: Worker, task: Task) -> tuple[list[Row], dict[str, Any]]:
    """The rows of a task as Spark carries it there, and the cursor as it comes back."""
    rows = list(worker.run(Task.from_json(task.to_json())))
    return rows[:-1], orjson.loads(orjson.dumps(rows[-1].body))


def plain(rows: Iterable[Row]) -> list[tuple[str, int, str, dict[str, Any]]]:
    """Rows without what is measured."""
    return [
        (r.request, r.t_ms, r.kind, {k: v for k, v in r.body.items() if k != "seconds"})
        for r in rows
    ]
