"""The pipeline process: the Spark query from the log to committed answers."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from prometheus_client import Gauge, Histogram
from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend import telemetry
from citywise.backend.ingest import log, records
from citywise.backend.kinds import Kinds, installed
from citywise.backend.operations import fitting
from citywise.backend.pipeline import cluster
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.merging import merged
from citywise.backend.pipeline.prepared import division
from citywise.backend.pipeline.requests import check, find
from citywise.backend.pipeline.results import Results
from citywise.backend.pipeline.source import COLUMNS, CitywiseLogSource
from citywise.backend.pipeline.traced import answered
from citywise.backend.pipeline.worker import READINGS
from citywise.backend.settings import Settings
from citywise.backend.store import progress
from citywise.backend.store.heartbeat import beat
from citywise.backend.store.letters import Bounds
from citywise.backend.store.models import CursorRow
from citywise.backend.times import wall_ms
from citywise.reasoning import LimitError, RequestError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

LOG = logging.getLogger("citywise.pipeline")
_TRIM_SECONDS = 60
_BEAT_SECONDS = 1.0
_TOO_SLOW = "Python worker failed to connect back"
"""What Spark says where its Python process for a source takes more than 10 s to start: no setting
changes that."""
SLOWLY = "starting its query again, as Spark's Python worker was not up within 10 s"
BATCH_SECONDS = Histogram("citywise_batch_seconds", "Time to commit a batch")
COMMIT_SECONDS = Histogram("citywise_commit_seconds", "Time of a batch's transaction")
POSITION = Gauge(
    "citywise_pipeline_position_bytes", "Log position committed", multiprocess_mode="mostrecent"
)


class PipelineService:
    """Runs the query until stopped; commits each batch and says how it fares."""

    def __init__(self, settings: Settings, engine: Engine, stop: threading.Event) -> None:
        self._settings = settings
        self._engine = engine
        self._results = Results(engine, Bounds.of(settings.ingest))
        self._stop = stop
        self._errors: dict[str, str | None] = {}
        self._names: list[str] = []
        self._parts: dict[str, int] = {}
        self._kinds = Kinds()
        self._whole: dict[str, str] = {}
        """Why requests run in one piece."""
        self._batch_seconds = 0.0
        self._batch_start = time.monotonic()
        self._stage: str | None = None
        self._query: StreamingQuery | None = None
        self._batches = 0
        """Committed since this start; the first one shows that the whole way works."""

    def run(self) -> None:
        """Start Spark and work until `stop` is set or the query fails."""
        with self._starting():
            spark, position = self._begin()
            query = self._ask(spark, position)
        try:
            while not self._watch(query):
                LOG.warning("Spark's Python worker was not up within 10 s; starting it again")
                with self._starting(SLOWLY):
                    query = self._ask(spark, position)
        finally:
            query.stop()
            spark.stop()

    @contextmanager
    def _starting(self, stage: str = "starting") -> Iterator[None]:
        """Say once a second how far the start is: on some machines it takes minutes."""
        begun = threading.Event()
        self._at(stage)

        def beat() -> None:
            while not begun.wait(_BEAT_SECONDS):
                self._beat()

        threading.Thread(target=beat, daemon=True).start()
        try:
            yield
        finally:
            begun.set()

    def _at(self, stage: str | None) -> None:
        LOG.info("%s", stage or "evaluating")
        self._stage = stage
        self._beat()

    def _begin(self) -> tuple[SparkSession, int]:
        """Start Spark; also where in the log to begin."""
        pipeline = self._settings.pipeline
        with self._engine.connect() as connection:
            self._kinds = installed.read(connection)
        paths = [find(name) for name in pipeline.requests]
        for path in paths:
            self._check(path)
        self._whole = self._indivisible(paths)
        self._names = [*(path.stem for path in paths), READINGS]
        self._results.forget_others(self._names)
        shutil.rmtree(self._settings.data_dir / "spark", ignore_errors=True)
        self._check_log()
        position = self._committed()
        spark = cluster.session(self._settings, self._at)
        self._at("starting its query")
        return spark, position

    def _ask(self, spark: SparkSession, position: int) -> StreamingQuery:
        query = self._query = self._start(spark, position)
        self._at(None)
        return query

    def _check(self, path: Path) -> None:
        """See that a request can run. One that cannot be read does not keep the others from
        running: it is tried again with each batch, and its trace says why."""
        pipeline = self._settings.pipeline
        try:
            check(path, self._kinds, pipeline.limits.of_engine(), pipeline.engine)
        except (RequestError, LimitError) as error:
            LOG.error("request `%s` cannot be evaluated: %s", path.stem, error)

    def _indivisible(self, paths: Sequence[Path]) -> dict[str, str]:
        """The requests that run in one piece, and why; also told to the log."""
        if self._settings.pipeline.partitions in (0, 1):
            return {}
        limits = self._settings.pipeline.limits.of_engine()
        found = {}
        for path in paths:
            with suppress(RequestError, LimitError):  # of which `_check` has told
                if isinstance(why := division(path, self._kinds, limits), str):
                    found[path.stem] = why
        for name, why in found.items():
            LOG.info("request `%s` runs in one piece: %s", name, why)
        return found

    def _start(self, spark: SparkSession, position: int) -> StreamingQuery:
        spark.dataSource.register(CitywiseLogSource)
        rows = (
            spark.readStream.format("citywise_log")
            .option("log_dir", str(self._settings.log_dir.resolve()))
            .option("log_for_tasks", cluster.log_location(self._settings))
            .option("sources", orjson.dumps(cluster.sources(spark, self._settings)).decode())
            .option("database", self._settings.database_url)
            .option("requests", ",".join(self._settings.pipeline.requests))
            .option("start", str(position))
            .option("limits", self._settings.pipeline.limits.model_dump_json())
            .option("horizons", orjson.dumps(self._settings.ingest.all_horizons()).decode())
            .option("engine", self._settings.pipeline.engine)
            .option("workers", str(spark.sparkContext.defaultParallelism))
            .option("partitions", str(self._settings.pipeline.partitions))
            .option("max_batch_bytes", str(self._settings.pipeline.max_batch_bytes))
            .option("max_lag_bytes", str(self._settings.ingest.max_lag_bytes))
            .load()
        )
        return (
            rows.writeStream.foreachBatch(self._commit)
            .option("checkpointLocation", cluster.checkpoint(spark, self._settings))
            .trigger(processingTime="0 seconds")
            .start()
        )

    def _committed(self) -> int:
        """Where to begin: the position of the request that is furthest; those that are behind
        catch up in turns."""
        with self._engine.connect() as connection:
            furthest = connection.scalar(select(func.max(CursorRow.position)))
        fitting.refuse_behind(self._settings, furthest or 0)
        bases = log.segments(self._settings.log_dir)
        return int(furthest) if furthest is not None else (bases[0] if bases else 0)

    def _commit(self, batch: DataFrame, _batch_id: int) -> None:
        table = batch.toArrow()
        columns = [table.column(name).to_pylist() for name in COLUMNS]
        rows = [
            Row(request, t_ms, kind, orjson.loads(body))
            for request, t_ms, kind, body in zip(*columns, strict=True)
        ]
        if rows:
            self._commit_rows(merged(rows))
            self._batches += 1
            if self._batches == 1:
                self._beat()
        now = time.monotonic()
        self._batch_seconds = now - self._batch_start
        self._batch_start = now
        BATCH_SECONDS.observe(self._batch_seconds)

    def _commit_rows(self, rows: list[Row]) -> None:
        began_ns = time.time_ns() - round((time.monotonic() - self._batch_start) * 1e9)
        traces = answered(self._engine, rows, began_ns)
        with COMMIT_SECONDS.time(), telemetry.about(traces.traceparent):
            self._errors |= self._results.commit(rows, traces.traceparent)
        traces.end()
        self._parts |= {
            row.request: row.body["parts"]
            for row in rows
            if row.kind == "cursor" and "parts" in row.body
        }

    def _watch(self, query: StreamingQuery) -> bool:
        """Watch a query until `stop` is set; False where it ended because the machine is slow, and
        is worth another try: what it has to load has been loaded by then, and Java's code compiled.
        """
        trimmed = time.monotonic()
        while not self._stop.wait(_BEAT_SECONDS):
            if not query.isActive:
                self._check_log()
                failure = query.exception()
                if self._batches == 0 and _TOO_SLOW in str(failure):
                    return False
                raise RuntimeError(f"the Spark query ended: {failure}")
            self._beat()
            if query.lastProgress is not None:
                LOG.debug("batch: %s", query.lastProgress["durationMs"])
            if time.monotonic() - trimmed > _TRIM_SECONDS:
                trimmed = time.monotonic()
                self._results.forget_others(self._names)
                self._results.trim(self._settings.pipeline.trace_retention_hours * 3600)
        return True

    def _check_log(self) -> None:
        """Raise `LogError` where the log is damaged: that says more than the task that met it."""
        with self._engine.connect() as connection:
            needed_from = progress.read(connection).needed_from
        log.check(self._settings.log_dir, needed_from)

    def _beat(self) -> None:
        try:
            with self._engine.begin() as connection:
                rows = connection.execute(
                    select(CursorRow.request, CursorRow.position, CursorRow.answered_ms)
                ).all()
                position = max((row.position for row in rows), default=0)
                end = log.durable_end(self._settings.log_dir)
                behind = {r.request: end - r.position for r in rows if r.position < position}
                detail = {
                    "stage": self._stage,
                    "batches": self._batches,
                    "idle": position == end and not behind and self._looks(),
                    "position": position,
                    "behind": behind,
                    "last_t_ms": {row.request: row.answered_ms for row in rows},
                    "batch_seconds": round(self._batch_seconds, 3),
                    "lag_bytes": end - position,
                    "catching_up_s": self._catching_up_s(position, end),
                    "parts": self._parts,
                    "whole_because": self._whole,
                    "error": "; ".join(filter(None, self._errors.values())) or None,
                }
                beat(connection, "pipeline", detail)
            POSITION.set(position)
        except SQLAlchemyError:
            LOG.exception("cannot write the heartbeat")

    def _catching_up_s(self, position: int, end: int) -> float | None:
        """How long ago the first record came that is not answered, where that is more than the
        bound."""
        came = records.came_ms(self._settings.log_dir, position, end) if position else None
        seconds = 0.0 if not came else (wall_ms() - came) / 1000
        return round(seconds) if seconds > self._settings.pipeline.backlog_s else None

    def _looks(self) -> bool:
        """Whether the query has begun to look for what is new."""
        return self._query is not None and not self._query.status["message"].startswith(
            "Initializing"
        )
