"""The measures of `/metrics`, sent by OpenTelemetry too: on where the standard variable
`OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`) says where to send them.

Whoever scrapes and whoever is sent them is told the same: names, labels and values are read once,
from what is counted for Prometheus, and written as OTLP has them.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

from flask import Flask
from prometheus_client import Metric
from prometheus_client.samples import Sample

from citywise.backend import telemetry
from citywise.backend.api import metrics

LOG = logging.getLogger("citywise.telemetry")
_EVERY_MS = 60_000.0
Labels = tuple[tuple[str, str], ...]


def begin(app: Flask) -> None:
    """Send the measures of a system from its web process, where the environment says so."""
    if not telemetry.is_wanted("METRICS"):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        exporter = OTLPMetricExporter()
    except ImportError:
        LOG.error("%s is set, but %s", telemetry.ENDPOINTS[0], telemetry.MISSING)
        return
    sender = threading.Thread(target=_send_for_ever, args=(app, exporter), daemon=True)
    sender.start()


def _send_for_ever(app: Flask, exporter: Any) -> None:
    begun_ns = time.time_ns()
    seconds = _interval_s()
    while True:
        time.sleep(seconds)
        try:
            send(app, exporter, begun_ns)
        except Exception:  # the next time; without them everything else goes on
            LOG.exception("cannot send measures; trying again in %.0f s", seconds)


def _interval_s() -> float:
    told = os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "")
    with suppress(ValueError):
        return max(100.0, float(told)) / 1000
    return _EVERY_MS / 1000


def send(app: Flask, exporter: Any, begun_ns: int) -> None:
    """Send all measures as they are now; counted since a time (Unix ns), where that is asked."""
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    with app.app_context():
        families = [f for one in metrics.registries() for f in one.collect()]
    found = list(measured(families, begun_ns, time.time_ns()))
    scope = ScopeMetrics(InstrumentationScope("citywise"), found, "")
    exporter.export(MetricsData([ResourceMetrics(telemetry.resource("web"), [scope], "")]))


def measured(families: Iterable[Metric], begun_ns: int, now_ns: int) -> Iterator[Any]:
    """What Prometheus calls families, as OTLP has them: counters are sums, histograms are so, and
    all else is a gauge."""
    from opentelemetry.sdk.metrics import export

    cumulative = export.AggregationTemporality.CUMULATIVE
    for family in families:
        data: Any
        if family.type == "histogram":
            data = export.Histogram(_histograms(family, begun_ns, now_ns), cumulative)
        elif family.type == "counter":
            counted = [s for s in family.samples if s.name.endswith("_total")]
            data = export.Sum(_numbers(counted, begun_ns, now_ns), cumulative, is_monotonic=True)
        else:
            data = export.Gauge(_numbers(family.samples, now_ns, now_ns))
        if data.data_points:
            yield export.Metric(family.name, family.documentation, family.unit, data)


def _numbers(samples: Iterable[Sample], begun_ns: int, now_ns: int) -> list[Any]:
    from opentelemetry.sdk.metrics.export import NumberDataPoint

    return [NumberDataPoint(dict(s.labels), begun_ns, now_ns, s.value) for s in samples]


def _histograms(family: Metric, begun_ns: int, now_ns: int) -> list[Any]:
    """A point for each set of labels: in Prometheus' buckets is also what is in smaller ones."""
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    buckets: dict[Labels, list[tuple[float, float]]] = {}
    sums: dict[Labels, float] = {}
    for sample in family.samples:
        labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
        if sample.name.endswith("_bucket"):
            pair = float(sample.labels["le"]), sample.value
            buckets.setdefault(labels, []).append(pair)
        elif sample.name.endswith("_sum"):
            sums[labels] = sample.value
    points, unknown = [], cast("Any", None)  # Prometheus keeps neither minimum nor maximum
    for labels, found in buckets.items():
        found.sort()
        within = _each(found)
        points.append(
            HistogramDataPoint(
                attributes=dict(labels),
                start_time_unix_nano=begun_ns,
                time_unix_nano=now_ns,
                count=sum(within),
                sum=sums.get(labels, 0.0),
                bucket_counts=within,
                explicit_bounds=[bound for bound, _ in found[:-1]],
                min=unknown,
                max=unknown,
            )
        )
    return points


def _each(found: Sequence[tuple[float, float]]) -> list[int]:
    """How many are in each bucket alone."""
    counts = [round(count) for _, count in found]
    return [count - before for before, count in zip([0, *counts], counts, strict=False)]
