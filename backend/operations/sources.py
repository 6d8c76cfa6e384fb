"""How the sources fare that connectors read, as their process said last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from sqlalchemy import Connection, select

from citywise.backend.settings import Source
from citywise.backend.store.models import HeartbeatRow

_COUNTED = (
    "messages", "observations", "sent", "refused", "not_taken", "unchanged", "failures", "lost",
)  # fmt: skip
"""`refused` by the connector, `not_taken` later by the ingest."""


def report(connection: Connection) -> list[dict[str, Any]]:
    """Every source, those that fail first."""
    detail = select(HeartbeatRow.detail).where(HeartbeatRow.process == "connectors")
    found = (connection.scalar(detail) or {}).get("sources", [])
    return sorted(found, key=lambda source: (source["error"] is None, source["name"]))


def unheard(source: Source) -> dict[str, Any]:
    """The report of a source that does not run, or has not begun."""
    nothing: dict[str, Any] = {"last_success": None, "error": None, "lag_s": None}
    nothing |= {"samples": [], "not_taken_samples": []}
    counts = dict.fromkeys(_COUNTED, 0)
    return {"name": source.name, "connector": source.connector or "mapping", **nothing, **counts}


def gauges(connection: Connection) -> Iterator[GaugeMetricFamily]:
    """For Prometheus: what each source has counted, its lag, and whether it answers."""
    counts = GaugeMetricFamily(
        "citywise_source", "What a source's connector has counted", labels=["source", "what"]
    )
    answers = GaugeMetricFamily(
        "citywise_source_ok", "1 if the source answered when it was last asked", labels=["source"]
    )
    lag = GaugeMetricFamily(
        "citywise_source_lag_seconds", "Age of its newest observation", labels=["source"]
    )
    for source in report(connection):
        for name in _COUNTED:
            counts.add_metric([source["name"], name], source.get(name, 0))
        answers.add_metric([source["name"]], float(source["error"] is None))
        if source["lag_s"] is not None:
            lag.add_metric([source["name"]], source["lag_s"])
    yield from (counts, answers, lag)
