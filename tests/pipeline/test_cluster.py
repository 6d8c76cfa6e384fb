"""What a cluster is told, and that an incomplete configuration is refused before it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from citywise.backend import machine
from citywise.backend.machine import REPOSITORY
from citywise.backend.pipeline import cluster
from citywise.backend.pipeline.cluster import ClusterError
from citywise.backend.settings import Settings, SettingsError, load

SERVED = {"serve_host": "10.0.0.5", "serve_port": 7190, "serve_token": "0123456789abcdef"}


def settings(folder: Path, **pipeline: Any) -> Settings:
    pipeline["cluster"] = {"driver_host": "10.0.0.5"} | pipeline.get("cluster", {})
    return Settings.model_validate({"data_dir": folder, "ingest": SERVED, "pipeline": pipeline})


def test_tasks_read_the_folder_here_and_the_address_elsewhere(tmp_path: Path) -> None:
    here = settings(tmp_path, master="local[2]")
    assert cluster.log_location(here) == str(tmp_path.resolve() / "log")
    there = settings(tmp_path, master="spark://10.0.0.6:7077")
    assert cluster.log_location(there) == "http://10.0.0.5:7190/log"


def test_the_executors_get_the_logs_secret_and_what_the_configuration_adds(tmp_path: Path) -> None:
    more = {
        "driver_host": "10.0.0.5",
        "cores": 6,
        "secret": "fedcba9876543210",
        "spark": ["spark.executor.memory=2g", "spark.x=a=b"],
    }
    found = cluster._on_cluster(settings(tmp_path, master="spark://10.0.0.6:7077", cluster=more))
    expected = {
        "spark.driver.host": "10.0.0.5",
        "spark.driver.bindAddress": "10.0.0.5",
        "spark.cores.max": "6",
        "spark.default.parallelism": "6",
        "spark.executorEnv.CITYWISE_LOG_TOKEN": SERVED["serve_token"],
        "spark.authenticate.secret": "fedcba9876543210",
        "spark.executor.memory": "2g",
        "spark.x": "a=b",
    }
    assert expected.items() <= found.items()


def test_without_a_secret_spark_authenticates_nobody(tmp_path: Path) -> None:
    found = cluster._on_cluster(settings(tmp_path, master="spark://10.0.0.6:7077"))
    assert not any(name.startswith("spark.authenticate") for name in found)


TOML_SERVED = 'ingest.serve_port = 7190\ningest.serve_token = "0123456789abcdef"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('pipeline.master = "spark://a:7077"', "the log is not served to its executors"),
        ("ingest.serve_port = 7190", "without a secret everybody could read the log"),
        ('ingest.serve_token = "short"', "serve_token: .*at least 16"),
        ('pipeline.cluster.secret = "short"', "secret: .*at least 16"),
        ('pipeline.cluster.spark = ["executor.memory=2g"]', "not of the form spark.executor"),
        ("pipeline.cluster.cores = 0", "cores: .*greater than 0"),
        ('pipeline.cluster.driver_host = ""', "driver_host: .*at least 1"),
        ('pipeline.cluster.spark = ["spark.authenticate=false"]', "set pipeline.cluster.secret"),
        ('ingest.serve_token = "ein Geheimnis mit ä"', "serve_token: "),
        ('pipeline.master = "a:7077"', "no master of Spark"),
        ('pipeline.partitions = "many"', "`many` is neither `auto` nor a number"),
        ("pipeline.partitions = -1", "`-1` is neither `auto` nor a number"),
        (
            TOML_SERVED + 'pipeline.master = "spark://a:7077"',
            "cannot reach the driver at 127.0.0.1",
        ),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_with_what_to_set(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "citywise.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        load(file)
    assert str(file) in str(caught.value)


def test_the_environment_gives_lists_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITYWISE_SET__PIPELINE__REQUESTS", "traffic_jam,b.casp")
    monkeypatch.setenv("CITYWISE_SET__PIPELINE__PARTITIONS", "3")
    assert load().pipeline.requests == ("traffic_jam", "b.casp")
    assert load().pipeline.partitions == 3
    monkeypatch.setenv("CITYWISE_SET__PIPELINE__PARTITIONS__X", "3")
    with pytest.raises(SettingsError, match="`partitions` is a value, no section"):
        load()


def test_spark_listens_where_it_is_told_and_its_workers_run_the_python_that_is_named(
    tmp_path: Path,
) -> None:
    found = machine.spark_environment(tmp_path, "10.0.0.5", "/opt/python")
    assert found["SPARK_LOCAL_IP"] == "10.0.0.5"
    assert found["PYSPARK_PYTHON"] == "/opt/python"
    here = machine.spark_environment(tmp_path)
    assert (here["SPARK_LOCAL_IP"], here["PYSPARK_PYTHON"]) == ("127.0.0.1", sys.executable)


def test_a_master_that_does_not_answer_is_reported_by_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    master = f"spark://127.0.0.1:{machine.free_port()}"
    given = settings(tmp_path, master=master, cluster={"patience_s": 0.1})
    with pytest.raises(ClusterError, match=f"no Spark master answers at {master}"):
        cluster.session(given)


@pytest.mark.parametrize(("executors", "comes"), [(0, False), (1, True)])
def test_the_session_waits_for_an_executor_and_says_what_to_look_at_if_none_comes(
    tmp_path: Path, executors: int, comes: bool
) -> None:
    """Spark counts the driver as one of them."""
    spark = MagicMock()
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    tracker.getExecutorInfos.return_value = ["driver", *["executor"] * executors]
    given = settings(tmp_path, master="spark://a:7077", cluster={"patience_s": 0.1})
    if comes:
        cluster._wait_for_executor(spark, given)
    else:
        with pytest.raises(ClusterError, match=r"spark://a:7077 gave no executor.*driver_host"):
            cluster._wait_for_executor(spark, given)
    assert spark.stop.called is not comes


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(400)
def test_the_answers_of_a_cluster_are_the_same_when_a_worker_dies() -> None:
    """Master, two workers that see only their own folders, one killed amid a task."""
    done = subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / "cluster.py"],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=380, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same: " in done.stdout
