"""The log as a Spark streaming source: offsets are log positions, rows are results.

A task is a request and a stretch of the log, a partition one worker's share of the tasks.
The worker reads the stretch itself and evaluates. Without a shuffle or a state store, a
repeated batch is the same batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from sqlalchemy import Engine, select

from backend.ingest import log
from backend.pipeline import worker
from backend.pipeline.requests import find
from backend.pipeline.worker import READINGS, Task
from backend.store.database import create_engine_for
from backend.store.models import CursorRow

COLUMNS = {"request": "string", "t_ms": "long", "kind": "string", "body": "binary"}
"""Name and SQL type of the columns of a result row."""
_POLL_SECONDS = 0.005
_PATIENCE_SECONDS = 0.25


class TaskPartition(InputPartition):
    """Tasks that one worker does one after the other, as JSON."""

    def __init__(self, tasks: Sequence[str]) -> None:
        self.tasks = tasks


class CitywiseLogSource(DataSource):
    """`spark.readStream.format("citywise_log")` with options `log_dir`, `database`,
    `requests` (comma-separated), `start`, `max_batch_bytes`, `limits` (of an evaluation, as
    JSON) and `workers`, over which the requests of a batch are dealt out."""

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
        self._log_dir = Path(options["log_dir"])
        self._database = options["database"]
        self._requests = options["requests"].split(",")
        self._start = int(options["start"])
        self._most = int(options["max_batch_bytes"])
        self._workers = int(options["workers"])
        self._limits = orjson.loads(options["limits"])
        self._engine: Engine | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"position": self._start}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The end of what can be read; waits a moment for something new."""
        begin = start["position"]
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (end := log.durable_end(self._log_dir)) <= begin and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        if end <= begin:
            return start
        if isinstance(limit, ReadAllAvailable) and self._most <= 0:
            return {"position": end}
        return {"position": log.limit(self._log_dir, begin, end, self._most)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """A task for every request that has not yet committed up to `end`."""
        begin, stop = start["position"], end["position"]
        if begin >= stop:
            return []
        if self._engine is None:
            self._engine = create_engine_for(self._database)
        with self._engine.connect() as connection:
            cursors = {row.request: row for row in connection.execute(select(CursorRow.__table__))}
        tasks = []
        for request in [READINGS, *self._requests]:
            cursor = cursors.get(Path(request).stem if request != READINGS else READINGS)
            if cursor is not None and cursor.position >= stop:
                continue
            tasks.append(self._task(request, cursor, begin, stop))
        texts = [task.to_json() for task in tasks]
        shares = [texts[first :: self._workers] for first in range(self._workers)]
        return [TaskPartition(share) for share in shares if share]

    def _task(self, request: str, cursor: object, begin: int, stop: int) -> Task:
        source = "" if request == READINGS else str(find(request))
        return Task(
            request=request if request == READINGS else Path(source).stem,
            source=source,
            log_dir=str(self._log_dir),
            start=getattr(cursor, "position", begin),
            end=stop,
            resume_from=getattr(cursor, "resume_from", begin),
            state=getattr(cursor, "state", None) or {},
            limits=self._limits,
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
