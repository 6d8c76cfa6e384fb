"""The Spark session of the pipeline: in this process, or on a cluster of other machines.

On a cluster the executors share no files with us: our code and the requests are sent
through Spark, the log is read over the network (docs/deployment.md).
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from citywise.backend import machine, times
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import remote
from citywise.backend.pipeline import bundle, early
from citywise.backend.pipeline.requests import find
from citywise.backend.settings import Settings

_SMALL_BATCHES = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-Xss16m",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    "spark.hadoop.fs.permissions.umask-mode": "077",
}
"""See docs/decisions/pipeline.md."""
_DEATHS = {
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "10s",
    "spark.executor.heartbeatInterval": "5s",
}
"""A machine that falls silent is given up after half a minute, not two."""
_POLL_S = 0.2


class ClusterError(CitywiseError):
    """The cluster does not do what it is asked; the message says what to look at."""

    exit_code = 3


def session(settings: Settings, tell: Callable[[str], None] = lambda _stage: None) -> SparkSession:
    """A Spark session set up for small, frequent batches; `tell` hears what it is doing.

    On a cluster it returns when there is an executor; raises `ClusterError` when no master
    answers or no executor comes in time.
    """
    pipeline, folder = settings.pipeline, settings.data_dir.resolve() / "spark"
    values = {"spark.sql.warehouse.dir": str(folder / "warehouse"), **_SMALL_BATCHES}
    if pipeline.is_local:
        tell("starting Spark")
        os.environ.update(machine.spark_environment(settings.data_dir))
        return _built(settings, values | _addresses("127.0.0.1"))
    cluster = pipeline.cluster
    os.environ.update(
        machine.spark_environment(settings.data_dir, cluster.driver_host, cluster.python)
    )
    os.environ[remote.TOKEN] = settings.ingest.serve_token or ""
    tell(f"waiting for the Spark master at {pipeline.master}")
    _wait_for_master(settings)
    tell("starting Spark")
    spark = _built(settings, values | _on_cluster(settings))
    spark.sparkContext.addPyFile(str(bundle.code(folder)))
    tell(f"waiting for an executor from {pipeline.master}")
    _wait_for_executor(spark, settings)
    return spark


def _built(settings: Settings, values: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.master(settings.pipeline.master).appName("citywise")
    for name, value in values.items():
        builder = builder.config(name, value)
    # Java hands its own to the Python that it starts; ours stays as it was.
    before = os.environ.get("PYTHONPATH")
    ahead = early.prepare(settings.data_dir.resolve() / "spark" / "early")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ahead, before)))
    try:
        return builder.getOrCreate()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _addresses(host: str) -> dict[str, str]:
    return {"spark.driver.host": host, "spark.driver.bindAddress": host}


def _on_cluster(settings: Settings) -> dict[str, str]:
    cluster = settings.pipeline.cluster
    return {
        **_DEATHS,
        **_addresses(cluster.driver_host),
        "spark.driver.port": str(cluster.driver_port),
        "spark.driver.blockManager.port": str(cluster.block_port),
        "spark.cores.max": str(cluster.cores),
        "spark.default.parallelism": str(cluster.cores),
        f"spark.executorEnv.{times.ZONE_VARIABLE}": settings.city.zone,
        f"spark.executorEnv.{remote.TOKEN}": settings.ingest.serve_token or "",
        **(_authentication(cluster.secret) if cluster.secret else {}),
        **dict(text.split("=", 1) for text in cluster.spark),
    }


def _authentication(secret: str) -> dict[str, str]:
    """What `deploy/spark.sh` sets for master and workers too: they let nobody in who does
    not know the secret, and talk encrypted."""
    return {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.network.crypto.enabled": "true",
    }


def _wait_for_master(settings: Settings) -> None:
    """Spark itself asks for a minute and then ends with a stack trace that names nobody."""
    master = settings.pipeline.master
    addresses = re.findall(r"([\w.-]+|\[[\w:]+\]):(\d+)", master.removeprefix("spark://"))
    if not master.startswith("spark://") or not addresses:
        return  # another kind of cluster, which Spark finds by its own means
    deadline = time.monotonic() + settings.pipeline.cluster.patience_s
    while not any(_answers(host.strip("[]"), int(port)) for host, port in addresses):
        if time.monotonic() > deadline:
            raise ClusterError(
                f"no Spark master answers at {master} (pipeline.master) within "
                f"{settings.pipeline.cluster.patience_s:g} s: is it running, and does it listen "
                "at this address?"
            )
        time.sleep(_POLL_S)


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError:
        return False
    return True


def _wait_for_executor(spark: SparkSession, settings: Settings) -> None:
    """A batch that is planned before there is anybody to do it would only wait, unseen."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    deadline = time.monotonic() + settings.pipeline.cluster.patience_s
    while len(tracker.getExecutorInfos()) < 2:  # the driver is one
        if time.monotonic() > deadline:
            spark.stop()
            raise ClusterError(
                f"{settings.pipeline.master} gave no executor within "
                f"{settings.pipeline.cluster.patience_s:g} s: are its workers running, have they "
                "cores and memory to spare, and can they reach the driver at "
                f"{settings.pipeline.cluster.driver_host} (pipeline.cluster.driver_host)?"
            )
        time.sleep(_POLL_S)


def log_location(settings: Settings) -> str:
    """Where the tasks read the log: its folder, or its address for other machines."""
    if settings.pipeline.is_local:
        return str(settings.log_dir.resolve())
    return f"http://{settings.ingest.serve_host}:{settings.ingest.serve_port}/log"


def sources(spark: SparkSession, settings: Settings) -> dict[str, str]:
    """What stands for each configured request in a task; on a cluster, its bundle is sent.

    See `backend.pipeline.bundle.source`, which finds the file again.
    """
    paths = {request: find(request) for request in settings.pipeline.requests}
    if settings.pipeline.is_local:
        return {request: str(path) for request, path in paths.items()}
    return {request: _sent(spark, path, settings) for request, path in paths.items()}


def _sent(spark: SparkSession, path: Path, settings: Settings) -> str:
    packed = bundle.pack(path)
    archive = settings.data_dir.resolve() / "spark" / packed.file_name
    archive.write_bytes(packed.data)
    spark.sparkContext.addFile(str(archive))
    return packed.text


def checkpoint(spark: SparkSession, settings: Settings) -> str:
    """An empty place for Spark's notes of its batches.

    The cursors in the database are the truth; Spark's checkpoint only has to last for one
    run, so each run begins a new one where the answers end.
    """
    configured = settings.pipeline.checkpoint
    place = f"{configured.rstrip('/')}/citywise" if configured else settings.data_dir.resolve()
    text = f"{place}/checkpoint"
    context = spark.sparkContext
    assert context._jvm is not None
    path = context._jvm.org.apache.hadoop.fs.Path(text)
    path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)
    return text
