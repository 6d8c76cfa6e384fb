"""In a running system one message's trace shows every stage, from the broker to the browser."""

from __future__ import annotations

import json
import threading
import urllib.request
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from citywise.backend import telemetry
from citywise.backend.city.simulation import START
from tests.collector import collecting
from tests.street import running as street

STAGES = {
    "receive": "ingest",
    "wait": "ingest",
    "judge": "ingest",
    "write and acknowledge": "ingest",
    "answer": "pipeline",
    "evaluate": "pipeline",
    "commit": "pipeline",
    "tell browsers": "web",
}

MEASURES = {
    "citywise_ready",  # of the database
    "citywise_ingest_observations",  # of each process
    "citywise_evaluation_seconds",
    "citywise_http_requests",
}


class Page(threading.Thread):
    """A page that listens, and notes the traces of what it is told."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = f"{url}/api/v1/events/stream"
        self.traces: set[str] = set()
        self.start()

    def run(self) -> None:
        with urllib.request.urlopen(self._url) as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    told: dict[str, Any] = json.loads(line[6:])
                    self.traces |= {told["trace"]} if "trace" in told else set()


@pytest.mark.timeout(900)
@pytest.mark.long
@pytest.mark.spark
def test_a_trace_goes_from_the_broker_through_spark_to_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.sdk")
    until = START + timedelta(days=3)  # it goes on for longer than is waited
    play = {
        "data": None,
        "speed": 300.0,
        "start": START.isoformat(),
        "until": until.isoformat(),
        "lead_in_s": 3600,
        "seed": 7,
    }
    with collecting() as collector:
        monkeypatch.setenv(telemetry.ENDPOINTS[0], collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "500")
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "2000")
        with street.system(tmp_path, play) as system:
            page = Page(system.url)

            def whole() -> list[str]:
                there = list(page.traces)
                return [trace for trace in there if STAGES.keys() <= collector.of(trace).keys()]

            street.wait_until(system, lambda: bool(whole()))
            (trace, *_) = whole()
            street.wait_until(system, lambda: collector.points.keys() >= MEASURES)
    spans = collector.of(trace)
    assert {name: span.role for name, span in spans.items()} == STAGES
    assert spans["answer"].parent in {s.id for s in collector.spans if s.name == "receive"}
    assert all(span.ended_ns >= span.begun_ns for span in spans.values())
