"""The pipeline process: the Spark query from the log to committed answers."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from typing import TYPE_CHECKING

import orjson
from prometheus_client import Gauge, Histogram
from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from backend import machine
from backend.errors import CitywiseError
from backend.ingest import log
from backend.pipeline.evaluation import Row
from backend.pipeline.requests import check, find
from backend.pipeline.results import Results
from backend.pipeline.source import COLUMNS, CitywiseLogSource
from backend.pipeline.worker import READINGS
from backend.settings import Settings
from backend.store.heartbeat import beat
from backend.store.models import CursorRow

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

LOG = logging.getLogger("citywise.pipeline")
_TRIM_SECONDS = 60
BATCH_SECONDS = Histogram("citywise_batch_seconds", "Time to commit a batch")
POSITION = Gauge(
    "citywise_pipeline_position_bytes", "Log position committed", multiprocess_mode="mostrecent"
)


class PipelineService:
    """Runs the query until stopped; commits each batch and says how it fares."""

    def __init__(self, settings: Settings, engine: Engine, stop: threading.Event) -> None:
        self._settings = settings
        self._engine = engine
        self._results = Results(engine)
        self._stop = stop
        self._errors: dict[str, str] = {}
        self._batch_seconds = 0.0
        self._batch_start = time.monotonic()
        self._failure: str | None = None

    def run(self) -> None:
        """Start Spark and work until `stop` is set or the query fails."""
        requests = [check(find(request)) for request in self._settings.pipeline.requests]
        self._results.forget_others([*(request.name for request in requests), READINGS])
        shutil.rmtree(self._settings.data_dir / "spark", ignore_errors=True)
        spark = session(self._settings)
        query = self._start(spark)
        try:
            self._watch(query)
        finally:
            query.stop()
            spark.stop()

    def _start(self, spark: SparkSession) -> StreamingQuery:
        spark.dataSource.register(CitywiseLogSource)
        checkpoint = self._settings.data_dir.resolve() / "checkpoint"
        # The cursors in the database are the truth; Spark's checkpoint only has to last
        # for one run, so each run begins a new one where the answers end.
        shutil.rmtree(checkpoint, ignore_errors=True)
        rows = (
            spark.readStream.format("citywise_log")
            .option("log_dir", str(self._settings.log_dir.resolve()))
            .option("database", self._settings.database_url)
            .option("requests", ",".join(self._settings.pipeline.requests))
            .option("start", str(self._committed()))
            .option("limits", self._settings.pipeline.limits.model_dump_json())
            .option("workers", str(spark.sparkContext.defaultParallelism))
            .option("max_batch_bytes", str(self._settings.pipeline.max_batch_bytes))
            .load()
        )
        return (
            rows.writeStream.foreachBatch(self._commit)
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime="0 seconds")
            .start()
        )

    def _committed(self) -> int:
        """Where to begin: the position of the request that is furthest behind."""
        with self._engine.connect() as connection:
            position = connection.scalar(select(func.min(CursorRow.position)))
            furthest = connection.scalar(select(func.max(CursorRow.position))) or 0
        end = log.durable_end(self._settings.log_dir)
        if furthest > end:
            raise LogBehindError(
                f"{self._settings.log_dir} ends at {end}, but answers are committed up to "
                f"{furthest}: this is not the log the database belongs to; bring back the log, "
                "or empty the table `cursors` to begin with this one"
            )
        bases = log.segments(self._settings.log_dir)
        return int(position) if position is not None else (bases[0] if bases else 0)

    def _commit(self, batch: DataFrame, _batch_id: int) -> None:
        table = batch.toArrow()
        columns = [table.column(name).to_pylist() for name in COLUMNS]
        rows = [
            Row(request, t_ms, kind, orjson.loads(body))
            for request, t_ms, kind, body in zip(*columns, strict=True)
        ]
        if rows:
            self._errors |= self._results.commit(rows)
        now = time.monotonic()
        self._batch_seconds = now - self._batch_start
        self._batch_start = now
        BATCH_SECONDS.observe(self._batch_seconds)

    def _watch(self, query: StreamingQuery) -> None:
        trimmed = time.monotonic()
        while not self._stop.wait(1.0):
            if not query.isActive:
                failure = query.exception()
                raise RuntimeError(f"the Spark query ended: {failure}")
            self._beat()
            if query.lastProgress is not None:
                LOG.debug("batch: %s", query.lastProgress["durationMs"])
            if time.monotonic() - trimmed > _TRIM_SECONDS:
                trimmed = time.monotonic()
                self._results.trim(self._settings.pipeline.trace_retention_hours * 3600)

    def _beat(self) -> None:
        try:
            with self._engine.begin() as connection:
                rows = connection.execute(
                    select(CursorRow.request, CursorRow.position, CursorRow.answered_ms)
                ).all()
                position = min((row.position for row in rows), default=0)
                detail = {
                    "position": position,
                    "last_t_ms": {row.request: row.answered_ms for row in rows},
                    "batch_seconds": round(self._batch_seconds, 3),
                    "lag_bytes": log.durable_end(self._settings.log_dir) - position,
                    "error": "; ".join(self._errors.values()) or None,
                }
                beat(connection, "pipeline", detail)
            POSITION.set(position)
        except SQLAlchemyError:
            LOG.exception("cannot write the heartbeat")


class LogBehindError(CitywiseError):
    """The log and the database do not belong together."""


def session(settings: Settings) -> SparkSession:
    """A Spark session set up for small, frequent batches (docs/decisions/pipeline.md)."""
    local = settings.data_dir.resolve() / "spark"
    os.environ.update(machine.spark_environment(settings.data_dir))
    return (
        SparkSession.builder.master(settings.pipeline.master)
        .appName("citywise")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-Xss16m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(local / "warehouse"))
        .config("spark.sql.streaming.minBatchesToRetain", "2")
        .config("spark.sql.streaming.metricsEnabled", "false")
        .config("spark.sql.execution.pyspark.udf.faulthandler.enabled", "true")
        .config(
            "spark.hadoop.fs.AbstractFileSystem.file.impl",
            "org.apache.hadoop.fs.local.RawLocalFs",
        )
        .getOrCreate()
    )
