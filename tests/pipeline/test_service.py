"""The pipeline's process begins its query again where only the machine was too slow."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import SparkSession

from citywise.backend.operations.readiness import read_heartbeats
from citywise.backend.pipeline.service import PipelineService
from citywise.backend.settings import Settings
from tests.databases import begun

LATE = "Python worker failed to connect back.\n=== Streaming Query ==="


class Query:
    """A query of Spark that ends with a failure, or goes on."""

    lastProgress = None  # noqa: N815 - as Spark calls it
    status: ClassVar[dict[str, str]] = {"message": "Initializing sources"}

    def __init__(self, failure: str | None) -> None:
        self._failure, self.is_stopped = failure, False

    @property
    def isActive(self) -> bool:  # noqa: N802 - as Spark calls it
        return self._failure is None

    def exception(self) -> str | None:
        return self._failure

    def stop(self) -> None:
        self.is_stopped = True


class Pipeline(PipelineService):
    """A pipeline whose queries end as is said; after the last, it is told to stop."""

    def __init__(self, folder: Path, *failures: str | None) -> None:
        settings = Settings(data_dir=folder)
        self.stopping = threading.Event()
        super().__init__(settings, begun(settings.database_url), self.stopping)
        self.queries = [Query(failure) for failure in failures]
        self.begun: list[Query] = []
        self.said: list[str] = []

    def _begin(self) -> tuple[SparkSession, int]:
        spark: Any = Query(None)
        return spark, 0

    def _start(self, _spark: SparkSession, _position: int) -> Any:
        heard = read_heartbeats(self._engine)["pipeline"].detail["stage"]
        self.said.append(heard)
        self.begun.append(self.queries[len(self.begun)])
        if len(self.begun) == len(self.queries) and self.begun[-1].isActive:
            threading.Timer(0.01, self.stopping.set).start()
        return self.begun[-1]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citywise.backend.pipeline.service._BEAT_SECONDS", 0.001)


def test_a_query_whose_python_was_late_is_begun_again_and_it_is_said(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, LATE, LATE, LATE, LATE, None)
    pipeline.run()
    assert pipeline.begun == pipeline.queries
    assert pipeline.begun[-1].is_stopped
    again = "starting its query again, as Spark's Python worker was not up within 10 s"
    assert pipeline.said == ["starting", *[again] * 4]


def test_a_query_that_ends_for_another_reason_ends_the_process(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, LATE, "no space left", None)
    with pytest.raises(RuntimeError, match="the Spark query ended: no space left"):
        pipeline.run()
    assert len(pipeline.begun) == 2


def test_a_query_that_had_answered_is_not_begun_again_here(tmp_path: Path) -> None:
    """Then it has state that only a new process rebuilds."""
    pipeline = Pipeline(tmp_path, LATE, None)
    pipeline._batches = 1
    with pytest.raises(RuntimeError, match="connect back"):
        pipeline.run()
