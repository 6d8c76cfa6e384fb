"""Writes the dashboard for Grafana, deploy/grafana/citywise.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "deploy" / "grafana" / "citywise.json"
SOURCE = {"type": "prometheus", "uid": "${source}"}
Queries = list[tuple[str, str]]


def _quantile(share: float, name: str, by: str) -> str:
    return f"histogram_quantile({share}, sum by ({by}) (rate({name}_bucket[5m])))"


PANELS: list[tuple[str, str, str, Queries]] = [
    ("Ready", "stat", "none", [("citywise_ready", "1: ready")]),
    ("Checks that fail", "table", "none", [("citywise_check == 0", "{{check}}")]),
    ("Events open", "timeseries", "none", [("citywise_events_open", "{{type}}")]),
    ("Sensors", "timeseries", "none", [("sum by (state) (citywise_sensors)", "{{state}}")]),
    (
        "Readings a second",
        "timeseries",
        "cps",
        [("sum by (kind) (rate(citywise_ingest_observations_total[5m]))", "{{kind}}")],
    ),
    (
        "Refused an hour",
        "timeseries",
        "none",
        [("sum by (reason) (increase(citywise_dead_letters_refused[1h]))", "{{reason}}")],
    ),
    (
        "Answers behind (bytes of the log)",
        "timeseries",
        "bytes",
        [("citywise_log_end_bytes - citywise_pipeline_position_bytes", "all")],
    ),
    ("Requests behind", "timeseries", "s", [("citywise_request_lag_seconds", "{{request}}")]),
    (
        "Evaluation, p99",
        "timeseries",
        "s",
        [
            (
                _quantile(0.99, "citywise_evaluation_seconds", "le, request"),
                "{{request}}",
            )
        ],
    ),
    (
        "Batch and commit, mean",
        "timeseries",
        "s",
        [
            (f"rate({name}_sum[5m]) / rate({name}_count[5m])", word)
            for name, word in (
                ("citywise_batch_seconds", "batch"),
                ("citywise_commit_seconds", "commit"),
            )
        ],
    ),
    (
        "Evaluations that fail, an hour",
        "timeseries",
        "none",
        [("sum by (request) (increase(citywise_evaluation_failures_total[1h]))", "{{request}}")],
    ),
    ("Notices sent a second", "timeseries", "cps", [("rate(citywise_notices_sent_total[5m])", "")]),
    (
        "Requests over HTTP a second",
        "timeseries",
        "reqps",
        [("sum by (status) (rate(citywise_http_requests_total[5m]))", "{{status}}")],
    ),
    (
        "Time to answer, p95",
        "timeseries",
        "s",
        [
            (
                _quantile(0.95, "citywise_http_request_seconds", "le"),
                "",
            )
        ],
    ),
    ("Event streams open", "timeseries", "none", [("citywise_event_streams", "")]),
]
"""Title, kind, unit, and the queries with their legends."""


def panel(number: int, title: str, kind: str, unit: str, queries: Queries) -> dict[str, Any]:
    """One panel; three stand in a row."""
    row, column = divmod(number, 3)
    return {
        "id": number + 1,
        "title": title,
        "type": kind,
        "datasource": SOURCE,
        "gridPos": {"x": 8 * column, "y": 8 * row, "w": 8, "h": 8},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [
            {"refId": chr(65 + i), "expr": query, "legendFormat": legend, "datasource": SOURCE}
            for i, (query, legend) in enumerate(queries)
        ],
    }


def dashboard() -> dict[str, Any]:
    """The whole, as Grafana imports it."""
    return {
        "title": "Citywise",
        "uid": "citywise",
        "schemaVersion": 39,
        "version": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "tags": ["citywise"],
        "templating": {
            "list": [
                {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}
            ]
        },
        "panels": [panel(number, *each) for number, each in enumerate(PANELS)],
    }


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(dashboard(), indent=2) + "\n", encoding="utf-8")
