"""A collector of OpenTelemetry: a small HTTP server that reads OTLP protobuf."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Span:
    """A span as it came; times are Unix nanoseconds."""

    name: str
    role: str
    trace: str
    id: str
    parent: str
    begun_ns: int
    ended_ns: int
    attributes: dict[str, Any]
    error: str = ""


@dataclass(frozen=True)
class Point:
    """A value of a measure as it came; of a histogram the counts of its buckets, too."""

    kind: str
    labels: dict[str, Any]
    value: float
    counts: tuple[int, ...] = ()
    bounds: tuple[float, ...] = ()


@dataclass
class Collector:
    """What was sent."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    points: dict[str, list[Point]] = field(default_factory=dict)
    """Of each measure, by its name, the last that came."""

    def of(self, trace: str) -> dict[str, Span]:
        """The spans of a trace, by name."""
        return {span.name: span for span in self.spans if span.trace == trace}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens on this machine."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_packed = self.headers.get("Content-Encoding") == "gzip"
            body = gzip.decompress(body) if is_packed else body
            if self.path.endswith("/metrics"):
                collector.points.update(_measures(body))
            else:
                collector.spans += _read(body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _read(body: bytes) -> Iterator[Span]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    for resource in request.resource_spans:
        named = _values(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    span.name,
                    named.get("citywise.role", ""),
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    _values(span.attributes),
                    span.status.message,
                )


def _measures(body: bytes) -> Iterator[tuple[str, list[Point]]]:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )

    request = ExportMetricsServiceRequest()
    request.ParseFromString(body)
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for measure in scope.metrics:
                kind = measure.WhichOneof("data")
                found = getattr(measure, kind).data_points
                yield measure.name, [_point(kind, one) for one in found]


def _point(kind: str, one: Any) -> Point:
    labels = _values(one.attributes)
    if kind == "histogram":
        return Point(kind, labels, one.sum, tuple(one.bucket_counts), tuple(one.explicit_bounds))
    return Point(kind, labels, getattr(one, one.WhichOneof("value")))


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
