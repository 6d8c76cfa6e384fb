"""What Prometheus is told of operations; no id of a person is in it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from sqlalchemy import Connection, func, select

from citywise.backend.operations.roster import Look
from citywise.backend.store.models import CursorRow, HeartbeatRow, OperatorEventRow


def of_sensors(look: Look) -> Iterator[GaugeMetricFamily]:
    """How many sensors of each kind are in each state."""
    found = GaugeMetricFamily(
        "citywise_sensors", "Sensors by kind and state", labels=["kind", "state"]
    )
    for kind, states in look.counts().items():
        for state, count in states.items():
            found.add_metric([kind, state], count)
    yield found
    revised = GaugeMetricFamily(
        "citywise_sensor_revisions",
        "Readings in the log that came late, were corrected or withdrawn",
        labels=["kind", "what"],
    )
    for kind, numbers in look.revised().items():
        for what, count in numbers.items():
            revised.add_metric([kind, what], count)
    yield revised


def of_requests(connection: Connection) -> Iterator[GaugeMetricFamily]:
    """Seconds of stream time that each request is behind what is complete."""
    detail = select(HeartbeatRow.detail).where(HeartbeatRow.process == "ingest")
    complete_ms = (connection.scalar(detail) or {}).get("complete_ms")
    found = GaugeMetricFamily(
        "citywise_request_lag_seconds", "Stream time not answered yet", labels=["request"]
    )
    cursors = connection.execute(select(CursorRow.request, CursorRow.answered_ms))
    for request, answered_ms in cursors:
        if complete_ms is not None and answered_ms is not None:
            found.add_metric([request], max(0.0, (complete_ms - answered_ms) / 1000))
    yield found


def of_events(connection: Connection) -> Iterator[GaugeMetricFamily]:
    """How many events opened by hand are in each state."""
    found = GaugeMetricFamily("citywise_operator_events", "Events opened by hand", labels=["state"])
    row = OperatorEventRow
    for state, count in connection.execute(select(row.state, func.count()).group_by(row.state)):
        found.add_metric([state], count)
    yield found
