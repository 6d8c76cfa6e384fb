"""Prometheus metrics: of this process, of the system's others, and of the database."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import REGISTRY, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from citywise.backend.api import operator
from citywise.backend.api.state import state
from citywise.backend.operations.readiness import check_all
from citywise.backend.settings import Settings
from citywise.backend.store import letters as refusals
from citywise.backend.store.models import DeadLetterRow, EventRow

REQUESTS = Counter(
    "citywise_http_requests", "HTTP requests answered", ("method", "endpoint", "status")
)
SECONDS = Histogram("citywise_http_request_seconds", "Time to an answer's head", ("endpoint",))
STREAMS = Gauge("citywise_event_streams", "Open event streams", multiprocess_mode="livesum")


class SystemCollector(Collector):
    """What the database knows at the moment of the scrape."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings

    def collect(self) -> Iterator[GaugeMetricFamily]:
        checks = check_all(self._engine, self._settings)
        ready = GaugeMetricFamily("citywise_ready", "1 if every readiness check holds")
        ready.add_metric([], float(all(check.ok for check in checks)))
        holds = GaugeMetricFamily("citywise_check", "1 if the check holds", labels=["check"])
        values = GaugeMetricFamily("citywise_check_value", "What the check found", labels=["check"])
        for check in checks:
            holds.add_metric([check.name], float(check.ok))
            if isinstance(check.value, int | float):
                values.add_metric([check.name], float(check.value))
        yield from (ready, holds, values)
        try:
            yield from self._counts()
            yield from operator.gauges()
        except SQLAlchemyError:
            return  # `citywise_ready` is 0 and says so.

    def _counts(self) -> Iterator[GaugeMetricFamily]:
        events = GaugeMetricFamily("citywise_events_open", "Events open now", labels=["type"])
        letters = GaugeMetricFamily("citywise_dead_letters", "Dead letters kept", labels=["reason"])
        counted = GaugeMetricFamily(
            "citywise_dead_letters_refused",
            "Messages and observations refused, of which dead letters may be kept",
            labels=["reason"],
        )
        with Session(self._engine) as session:
            opened = select(EventRow.type, func.count()).where(EventRow.end_ms.is_(None))
            for kind, count in session.execute(opened.group_by(EventRow.type)):
                events.add_metric([kind], count)
            refused = select(DeadLetterRow.reason, func.count()).group_by(DeadLetterRow.reason)
            for reason, count in session.execute(refused):
                letters.add_metric([reason], count)
            for reason, count in refusals.refused(session.connection()).items():
                counted.add_metric([reason], count)
        yield from (events, letters, counted)


def registries() -> Iterator[CollectorRegistry]:
    """All measures there are of this city: those of all processes if `PROMETHEUS_MULTIPROC_DIR` is
    set, and what the database knows."""
    city = state()
    STREAMS.set(city.hub.clients)
    counted = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    system = CollectorRegistry()
    system.register(SystemCollector(city.engine, city.settings))
    yield from (counted, system)


def render() -> Response:
    """All measures as text."""
    text = b"".join(map(generate_latest, registries()))
    return Response(text, content_type=CONTENT_TYPE_LATEST)


def install(app: Flask) -> None:
    """Count and time the requests of `app`."""

    @app.before_request
    def _start() -> None:
        g.started = time.perf_counter()

    @app.after_request
    def _finish(answer: Response) -> Response:
        endpoint = request.endpoint or "none"
        REQUESTS.labels(request.method, endpoint, str(answer.status_code)).inc()
        if "started" in g:
            SECONDS.labels(endpoint).observe(time.perf_counter() - g.started)
        return answer
