"""Traces of messages through the system, by OpenTelemetry: on where the standard variable
`OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) says where to send them.
Measures go the same way (`api/measures.py`).

A stage is a span; `traceparent` (W3C Trace Context) carries it on to the next process. Without
the variable nothing is imported, and every call returns at once.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LOG = logging.getLogger("citywise.telemetry")
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
MISSING = "there is no OpenTelemetry: install citywise[traces]"
Attributes = Mapping[str, str | int | float | bool]
_HEADER = "traceparent"
_LONGEST = 55
"""A `traceparent` of version 00."""
_trace: ContextVar[str | None] = ContextVar("citywise-trace", default=None)
_tracer: Any = None
_provider: Any = None


def begin(role: str) -> None:
    """Send the spans of this process, which plays a role, where the environment says."""
    global _tracer, _provider
    if not is_wanted("TRACES"):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        LOG.error("%s is set, but %s", ENDPOINTS[0], MISSING)
        return
    _provider = TracerProvider(resource=resource(role))
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = _provider.get_tracer("citywise")


def is_wanted(signal: str) -> bool:
    """Whether the environment says where to send a signal (`TRACES`, `METRICS`), and does not
    say that it is not to be."""
    ends = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    is_off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    is_none = os.environ.get(f"OTEL_{signal}_EXPORTER", "").lower() == "none"
    return any(os.environ.get(name) for name in ends) and not is_off and not is_none


def resource(role: str) -> Any:
    """What a process is called that sends something."""
    from opentelemetry.sdk.resources import Resource

    name = os.environ.get("OTEL_SERVICE_NAME", "citywise")
    return Resource.create({"service.name": name, "citywise.role": role})


def end() -> None:
    """Send what is left, and make no more spans."""
    global _tracer, _provider
    if _provider is not None:
        _provider.shutdown()
    _tracer = _provider = None


def is_on() -> bool:
    """Whether spans are sent."""
    return _tracer is not None


class Stage:
    """A span that has begun; its times are Unix nanoseconds."""

    def __init__(self, span: Any) -> None:
        self._span = span
        carrier: dict[str, str] = {}
        _propagator().inject(carrier, _in(span))
        self.traceparent = carrier[_HEADER]
        """What the next stage is told."""

    def part(self, name: str, begun_ns: int, ended_ns: int, **attributes: Any) -> None:
        """A stage within this one, over already."""
        if stage := begun(name, begun_ns, self.traceparent, attributes):
            stage.end(ended_ns)

    def end(self, ended_ns: int, error: str | None = None) -> None:
        """It is over; with an error, in vain."""
        if error is not None:
            from opentelemetry.trace import Status, StatusCode

            self._span.set_status(Status(StatusCode.ERROR, error))
        self._span.end(ended_ns)


def begun(
    name: str, begun_ns: int, parent: str | None = None, attributes: Attributes | None = None
) -> Stage | None:
    """A stage that began, within what `parent` says or as the first of a trace; None where
    tracing is off, or this trace is not among those that are sent (`OTEL_TRACES_SAMPLER`)."""
    if _tracer is None:
        return None
    # What is no `traceparent`, whoever sent it, begins a trace.
    told = {_HEADER: parent} if parent and len(parent) == _LONGEST else {}
    context = _propagator().extract(told)
    span = _tracer.start_span(name, context, start_time=begun_ns, attributes=attributes)
    return Stage(span) if span.is_recording() else None


def told(
    name: str, number: int, traceparent: str | None, created_ms: int, **attributes: str
) -> None:
    """A stage that ends now: who is told of an announcement, which waits since `created_ms` (Unix
    ms), and belongs to a trace or to none."""
    if traceparent is None or not is_on():
        return
    about_it: Attributes = {"citywise.announcement": number, **attributes}
    if stage := begun(name, created_ms * 1_000_000, traceparent, about_it):
        stage.end(time.time_ns())


def id_of(traceparent: str | None) -> str | None:
    """The id of a trace: 32 hexadecimal digits."""
    return None if traceparent is None else traceparent.split("-")[1]


@contextmanager
def about(traceparent: str | None) -> Iterator[None]:
    """What is logged in the block has the trace's id."""
    token = _trace.set(id_of(traceparent))
    try:
        yield
    finally:
        _trace.reset(token)


def current() -> str | None:
    """The id of the trace that this is about."""
    return _trace.get()


def _in(span: Any) -> Any:
    from opentelemetry.trace import set_span_in_context

    return set_span_in_context(span)


def _propagator() -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator()
