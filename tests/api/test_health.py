"""Liveness, readiness, metrics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.operations.readiness import window_limit_s
from citywise.backend.settings import Settings
from citywise.backend.store.models import Base
from citywise.backend.times import parse_ms
from tests.api.server import REPOSITORY
from tests.api.town import Town


def test_the_process_lives_whatever_else_fails(client: FlaskClient, engine: Engine) -> None:
    Base.metadata.drop_all(engine)
    assert client.get("/healthz").status_code == 200


def test_a_system_in_which_all_is_well_is_ready(client: FlaskClient, town: Town) -> None:
    town.running()
    answer = client.get("/readyz")
    assert answer.status_code == 200, answer.text
    assert answer.json["reasons"] == []
    assert all(check["ok"] for check in answer.json["checks"])


Breaking = Callable[[Town], None]


@pytest.mark.parametrize(
    ("breaking", "check", "reason"),
    [
        (lambda t: t.heartbeat("ingest", age_s=11), "ingest_heartbeat_s", "11 s ago"),
        (lambda t: t.heartbeat("pipeline", age_s=60), "pipeline_heartbeat_s", "60 s ago"),
        (lambda t: t.alter("ingest", error="damaged record"), "ingest_error", "damaged record"),
        (lambda t: t.alter("ingest", connected=False), "broker_connected", "broker link down"),
        (lambda t: t.alter("ingest", blocked="disk full"), "ingest_blocked", "disk full"),
        (lambda t: t.alter("pipeline", error="request failed"), "pipeline_error", "request failed"),
        (lambda t: t.alter("pipeline", lag_bytes=10**9), "pipeline_lag_bytes", "1,000,000,000"),
        (lambda t: t.alter("pipeline", catching_up_s=95), "backlog_s", "catching up, 95 s behind"),
        (
            lambda t: t.alter("pipeline", behind={"slow": 3_000_000, "late": 10}),
            "requests_behind_bytes",
            "behind the others: slow (3,000,000 bytes)",
        ),
        (
            lambda t: t.alter("pipeline", last_t_ms={"slow": parse_ms("2014-08-05T11:00:00Z")}),
            "last_window_age_s",
            "slow is 3600 s",
        ),
        (lambda t: t.heartbeat("ingest", ended=True), "ingest_heartbeat_s", "ingest has ended"),
        (lambda t: t.alter("pipeline", ended=True), "pipeline_heartbeat_s", "pipeline has ended"),
        (lambda t: t.alter("pipeline", batches=0), "first_batch", "not evaluated its first batch"),
        (
            lambda t: t.alter("pipeline", batches=0, stage="starting Spark"),
            "first_batch",
            "pipeline is starting Spark",
        ),
        (lambda t: t.alter("pipeline", last_t_ms={}), "last_window_age_s", "no window"),
        (lambda t: t.alter("pipeline", last_t_ms={"a": None}), "last_window_age_s", "no window"),
    ],
)
def test_what_is_wrong_makes_it_unready_and_is_said(
    client: FlaskClient, town: Town, breaking: Breaking, check: str, reason: str
) -> None:
    town.running()
    breaking(town)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    failing = {c["name"]: c for c in answer.json["checks"] if not c["ok"]}
    assert reason in failing[check]["reason"]
    assert failing[check]["reason"] in answer.json["reasons"]


def test_a_system_that_has_not_started_says_so(client: FlaskClient) -> None:
    """And does not say what follows from it."""
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json["reasons"] == ["ingest has not started", "pipeline has not started"]


@pytest.mark.parametrize(
    ("ingest", "pipeline", "status"),
    [
        ({"speed": 1.0}, {"idle": True}, 503),
        ({"speed": 0}, {"idle": True}, 200),
        ({"speed": 0}, {"idle": False}, 503),
        ({"complete_ms": None}, {"idle": True}, 200),
    ],
)
def test_where_time_stands_a_pipeline_that_has_nothing_to_evaluate_is_ready(
    client: FlaskClient, town: Town, ingest: dict[str, Any], pipeline: dict[str, Any], status: int
) -> None:
    """A paused source, or a recording that was answered to its end before this start."""
    town.running()
    town.alter("ingest", **ingest)
    town.alter("pipeline", batches=0, **pipeline)
    assert client.get("/readyz").status_code == status


def test_a_failing_database_makes_it_unready(client: FlaskClient, engine: Engine) -> None:
    Base.metadata.drop_all(engine)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json["reasons"][0].startswith("database failing: OperationalError")


def test_a_fast_replay_may_lag_more_stream_time_than_a_real_city() -> None:
    assert window_limit_s(1) == 600
    assert window_limit_s(0) == 600
    assert window_limit_s(3600) == 108_000
    assert window_limit_s(None) is None


def test_metrics_tell_requests_and_the_state_of_the_system(client: FlaskClient, town: Town) -> None:
    town.running()
    town.event("a", "100", "2014-08-05T06:00:00Z")
    town.dead_letter(1, "not-json")
    client.get("/api/v1/clock")
    text = client.get("/metrics").text
    assert "citywise_ready 1.0" in text
    assert 'citywise_events_open{type="TrafficJam"} 1.0' in text
    assert 'citywise_dead_letters{reason="not-json"} 1.0' in text
    assert 'endpoint="api.control.show_clock",method="GET",status="200"' in text


_OTHER = """
from prometheus_client import Counter
Counter("citywise_ingest_messages", "Messages").inc(3)
"""
_WEB = """
import sys
from citywise.backend.api.app import create_app
from citywise.backend.settings import Settings
client = create_app(Settings.model_validate_json(sys.argv[1])).test_client()
print(client.get("/metrics").text)
"""


@pytest.mark.slow
def test_metrics_of_all_processes_are_shown_by_one(
    settings: Settings, engine: Engine, tmp_path: Path
) -> None:
    shared = tmp_path / "metrics"
    shared.mkdir()
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(shared)}
    for program in (_OTHER, _WEB):
        done = subprocess.run(
            [sys.executable, "-c", program, settings.model_dump_json()],
            env=environment,
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        )
    assert "citywise_ingest_messages_total 3.0" in done.stdout
    assert "citywise_ready 0.0" in done.stdout


def test_readiness_is_json_a_machine_can_read(client: FlaskClient) -> None:
    assert json.loads(client.get("/readyz").data)["ready"] is False
