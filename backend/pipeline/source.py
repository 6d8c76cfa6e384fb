"""The log as a Spark streaming source: offsets are log positions, rows are results.

A task is a request and a stretch of the log, a partition one worker's share of the tasks.
The worker reads the stretch itself and evaluates. Without a shuffle or a state store, a
repeated batch is the same batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from sqlalchemy import Engine, func, select

from citywise.backend.ingest import log, records
from citywise.backend.ingest.log import LogError
from citywise.backend.kinds import Kinds
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.packs.telling import LATE_MS
from citywise.backend.pipeline import worker
from citywise.backend.pipeline.behind import Behind
from citywise.backend.pipeline.parts import Division
from citywise.backend.pipeline.prepared import division, observed
from citywise.backend.pipeline.requests import find
from citywise.backend.pipeline.running import Running, RunningTemplates
from citywise.backend.pipeline.worker import READINGS, Task
from citywise.backend.store import clocks
from citywise.backend.store.clocks import StreamClock
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import CursorRow
from citywise.reasoning import Limits, ReasoningError

COLUMNS = {"request": "string", "t_ms": "long", "kind": "string", "body": "binary"}
"""Name and SQL type of the columns of a result row."""
_POLL_SECONDS = 0.005
_PATIENCE_SECONDS = 0.25


_PART_BYTES = 20_000
"""A stretch of the log that is worth a part of its own (about 350 readings)."""


def parts_of(
    request: Path, kinds: Kinds, partitions: str, workers: int, stretch: int, limits: Limits
) -> int:
    """Into how many parts a request divides for a stretch of so many bytes; one that cannot be
    read is one task, which says so."""
    wanted = min(workers, stretch // _PART_BYTES) if partitions == "auto" else int(partitions)
    if wanted <= 1:
        return 1
    try:
        return wanted if isinstance(division(request, kinds, limits), Division) else 1
    except (ReasoningError, OSError):
        return 1


class TaskPartition(InputPartition):
    """Tasks that one worker does one after the other, as JSON."""

    def __init__(self, tasks: Sequence[str]) -> None:
        self.tasks = tasks


class CitywiseLogSource(DataSource):
    """`spark.readStream.format("citywise_log")`. Options:

    - `log_dir`, `log_for_tasks`: where the planner and the tasks find the log;
    - `database`, `start`, `max_batch_bytes`, and `max_lag_bytes`, beyond which a template that
      is behind begins anew;
    - `requests` (comma-separated), and as JSON `sources`, what stands for each of them in a
      task, and `limits` of an evaluation;
    - `engine`, what evaluates requests (`auto`, `incremental` or `solver`);
    - `horizons` as JSON, how far behind the present readings may be revised (seconds, by kind,
      `*` for all others);
    - `workers`, over which the tasks of a batch are dealt out, and `partitions`, into how
      many parts a request divides: a number, or `auto`.
    """

    @classmethod
    def name(cls) -> str:
        return "citywise_log"

    def schema(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())

    def streamReader(self, schema: object) -> LogStreamReader:  # noqa: ARG002, N802 - Spark's
        return LogStreamReader(dict(self.options))


class LogStreamReader(DataSourceStreamReader):
    """Plans batches from the end of the log and the committed cursors."""

    def __init__(self, options: dict[str, str]) -> None:
        self._log = options["log_dir"]
        self._location = options["log_for_tasks"]
        self._database = options["database"]
        self._requests = [r for r in options["requests"].split(",") if r]
        self._sources: dict[str, str] = orjson.loads(options["sources"])
        self._start = int(options["start"])
        self._most = int(options["max_batch_bytes"])
        self._most_behind = int(options["max_lag_bytes"])
        self._workers = int(options["workers"])
        self._partitions = options["partitions"]
        self._limits = orjson.loads(options["limits"])
        self._horizons = orjson.loads(options["horizons"])
        self._choice: Any = options["engine"]
        self._engine: Engine | None = None
        self._templates = RunningTemplates()
        self._known_kinds = KnownKinds()
        self._kinds = Kinds()
        self._behind = Behind()
        self._begun = False
        """Whether a batch was planned, since when it is known who is behind."""

    def __getstate__(self) -> dict[str, Any]:
        """What goes to the workers, who have no business with the database."""
        ours = {"_database": "", "_engine": None, "_templates": None, "_behind": None}
        ours |= {"_known_kinds": None, "_kinds": None}
        return {**vars(self), **ours}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"position": self._start}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The end of what can be read; waits a moment for something new. Where there is nothing,
        those that are behind may have another turn."""
        begin = start["position"]
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (end := log.durable_end(self._log)) <= begin and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        if end <= begin:
            return {**start, "turn": start.get("turn", 0) + 1} if self._is_due(begin) else start
        if isinstance(limit, ReadAllAvailable) and self._most <= 0:
            return {"position": end}
        return {"position": log.limit(self._log, begin, end, self._most)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """A task for every request that has not yet committed up to `end`; of those that are
        behind, only those whose turn it is."""
        begin, stop = start["position"], end["position"]
        if start == end:
            return []
        with self._store().connect() as connection:
            cursors = {row.request: row for row in connection.execute(select(CursorRow.__table__))}
            templates = self._templates.read(connection)
            self._kinds = self._known_kinds.read(connection)
            clock = clocks.told(connection)
        readings = self._readings(cursors.get(READINGS), begin, stop)
        tasks: list[Task] = []
        for request in self._requests:
            cursor = cursors.get(find(request).stem)
            tasks += self._tasks(request, cursor, begin, stop)
        for template in templates:
            cursor = cursors.get(template.request)
            for task in self._of_template(template, cursor, begin, stop):
                tasks.append(_in_time(task, clock))
        self._begun = True
        ours = [find(request).stem for request in self._requests]
        self._behind.keep([*ours, *(template.request for template in templates)])
        return [TaskPartition(share) for share in self._shares(readings, tasks, stop)]

    def _store(self) -> Engine:
        if self._engine is None:
            self._engine = create_engine_for(self._database)
        return self._engine

    def _is_due(self, begin: int) -> bool:
        """Whether any that is behind is to be tried, though there is nothing new."""
        if self._begun:
            return self._behind.is_due
        with self._store().connect() as connection:
            furthest_behind = connection.scalar(select(func.min(CursorRow.position)))
        return furthest_behind is not None and furthest_behind < begin

    def _in_turn(self, task: Task, begin: int) -> Iterator[Task]:
        """The task, if it is not behind or it is its turn: then over no more than a batch."""
        if task.start >= begin:
            self._behind.caught_up(task.request)
            yield task
        elif self._behind.tries(task.request, task.start):
            with suppress(LogError):  # the worker meets it too, and says so
                end = log.limit(self._log, task.start, task.end, self._most)
                task = task if self._most <= 0 else replace(task, end=end)
            yield task

    def _shares(self, readings: Task, tasks: Sequence[Task], stop: int) -> list[list[str]]:
        """The tasks dealt out over the workers; the readings are little work, and need no
        worker of their own: one that nobody else needs is one that a run does not move to."""
        texts = [task.to_json() for task in tasks if task.start < task.end]
        dealt = [texts[first :: self._workers] for first in range(self._workers)]
        shares = [share for share in dealt if share] or [[]]
        if readings.start < stop:
            shares[-1].insert(0, readings.to_json())
        return [share for share in shares if share]

    def _readings(self, cursor: object, begin: int, stop: int) -> Task:
        return self._task(READINGS, "", cursor, begin, stop)

    def _tasks(self, request: str, cursor: object, begin: int, stop: int) -> Iterator[Task]:
        """A request's task, or one for each of its parts."""
        path = find(request)
        found = self._task(path.stem, self._sources[request], cursor, begin, stop)
        kinds = self._observed(path)
        found = replace(found, kinds=kinds.to_json())
        for whole in self._in_turn(found, begin):
            stretch, limits = whole.end - whole.start, Limits(**self._limits)
            parts = parts_of(path, kinds, self._partitions, self._workers, stretch, limits)
            for number in range(parts):
                yield replace(whole, part=number, parts=parts)

    def _observed(self, path: Path) -> Kinds:
        """The kinds that a request's task needs; none where it cannot be read, which it says."""
        try:
            return observed(path, self._kinds)
        except (ReasoningError, OSError):
            return Kinds()

    def _of_template(
        self, template: Running, cursor: object, begin: int, stop: int
    ) -> Iterator[Task]:
        """A template's tasks. One that is new needs all that stands, and the latest readings."""
        task = self._task(template.request, "", cursor, begin, stop)
        if cursor is None:
            task = replace(task, resume_from=self._since(template, begin))
        elif begin - task.start > self._most_behind:
            since = self._since(template, begin)
            task = replace(task, moves=task.start, start=begin, resume_from=since, state={})
        parts = template.parts(self._partitions, self._workers)
        for whole in self._in_turn(task, begin):
            for number in range(parts):
                yield replace(whole, template=template.body, part=number, parts=parts)

    def _since(self, template: Running, begin: int) -> int:
        """Where in the log begins what a template needs that knows nothing at `begin`."""
        since = [begin, records.standing_since(Path(self._log), begin)]
        since += log.segments(Path(self._log)) if template.readings else ()
        return min(since)

    def _task(self, name: str, source: str, cursor: object, begin: int, stop: int) -> Task:
        return Task(
            request=name,
            source=source,
            location=self._location,
            start=getattr(cursor, "position", begin),
            end=stop,
            resume_from=getattr(cursor, "resume_from", begin),
            state=getattr(cursor, "state", None) or {},
            answered=getattr(cursor, "answered_ms", None),
            limits=self._limits,
            engine=self._choice,
            horizons=self._horizons,
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Evaluate tasks, in one of Spark's Python workers."""
        assert isinstance(partition, TaskPartition)
        rows = [row for text in partition.tasks for row in worker.run(Task.from_json(text))]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([row.request for row in rows], pa.string()),
                pa.array([row.t_ms for row in rows], pa.int64()),
                pa.array([row.kind for row in rows], pa.string()),
                pa.array([orjson.dumps(row.body) for row in rows], pa.binary()),
            ],
            names=list(COLUMNS),
        )


def _in_time(task: Task, clock: StreamClock | None) -> Task:
    """The task of a template, with what is late for it: minutes of the wall, whatever the speed of
    the stream; nothing where that goes as fast as it can."""
    if clock is None or clock.speed is None:
        return task
    return replace(task, present_ms=clock.now_ms, late_ms=LATE_MS * max(clock.speed, 1.0))
