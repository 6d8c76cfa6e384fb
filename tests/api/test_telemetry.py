"""Traces: one id from a message through every stage, and nothing where they are off."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from flask import Flask
from prometheus_client import Histogram
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine, select

from citywise.backend import telemetry
from citywise.backend.api import measures
from citywise.backend.api.hub import Hub
from citywise.backend.ingest.traced import Group, told_by
from citywise.backend.logs import Json
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.results import Results
from citywise.backend.pipeline.traced import answered
from citywise.backend.store.models import MessageTraceRow, OutboxRow
from tests.api.templates import change
from tests.api.town import Town
from tests.collector import Collector, collecting

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SENT = f"00-{TRACE}-00f067aa0ba902b7-01"
REQUEST = "jam_watch/jam_ahead@1"
NOW_NS = 1_700_000_000_000_000_000


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Tracing is on, and what it sends comes here."""
    pytest.importorskip("opentelemetry.sdk")
    with collecting() as found:
        monkeypatch.setenv(telemetry.ENDPOINTS[0], found.url)
        telemetry.begin("tester")
        yield found
        telemetry.end()


def message(topic: str = "citywise/observations/traffic/1", *properties: tuple[str, str]) -> Any:
    """A message of MQTT, and when it came."""
    told = SimpleNamespace(UserProperty=list(properties)) if properties else SimpleNamespace()
    made = SimpleNamespace(topic=topic, payload=b"{}", properties=told)
    return made, datetime.fromtimestamp(NOW_NS / 1e9, UTC)


def opened() -> Row:
    found = change("opened")
    return Row(REQUEST, found.t_ms, "notice", found.body)


def cursor(start: int, position: int) -> Row:
    body = {"start": start, "position": position, "resume_from": start, "answered_ms": 1}
    return Row(REQUEST, 1, "cursor", {**body, "state": {}, "seconds": {"solve": 0.25}})


def test_one_message_is_followed_from_the_broker_to_the_browsers_event(
    collector: Collector, engine: Engine
) -> None:
    group = Group([message("citywise/clock", ("traceparent", SENT)), message()], "citywise")
    group.lies_at(0, 100)
    group.keep(engine)
    group.end()
    rows = [opened(), cursor(90, 200)]
    traces = answered(engine, rows, NOW_NS)
    hub = Hub(engine)
    subscription = hub.subscribe(print)
    Results(engine).commit(rows, traces.traceparent)
    traces.end()
    hub._poll()
    told = hub.after(0, "alice")
    assert [orjson.loads(one.data)["trace"] for one in told] == [TRACE]
    hub.unsubscribe(subscription)
    telemetry.end()
    spans = collector.of(TRACE)
    stages = ["receive", "wait", "judge", "write and acknowledge", "answer", "evaluate", "commit"]
    assert set(spans) == {*stages, "tell browsers"}
    assert spans["receive"].parent == SENT.split("-")[2]
    assert spans["answer"].parent == spans["receive"].id
    assert spans["tell browsers"].parent == spans["answer"].id
    assert all(span.ended_ns >= span.begun_ns for span in spans.values())
    assert spans["receive"].attributes["messaging.destination.name"] == "citywise/clock"
    assert spans["answer"].attributes["citywise.seconds.solve"] == 0.25
    assert spans["answer"].role == "tester"


def test_what_lies_elsewhere_in_the_log_is_not_in_a_trace(
    collector: Collector, engine: Engine
) -> None:
    group = Group([message(), message(), message()], "citywise")
    for index, position in enumerate((99, 100, 200)):
        group.lies_at(index, position)
    group.keep(engine)
    traces = answered(engine, [cursor(100, 200)], NOW_NS)
    assert group.stages[1] is not None
    own = telemetry.id_of(group.stages[1].traceparent)
    assert [telemetry.id_of(stage.traceparent) for stage in traces.stages] == [own]


@pytest.mark.parametrize(
    "given", ["", "x", "00-0-0-01", SENT.upper(), SENT + "0" * 100, "🚋" * 55, SENT[:-2] + "zz"]
)
def test_what_is_no_trace_begins_one(collector: Collector, given: str) -> None:
    (stage,) = Group([message("citywise/clock", ("traceparent", given))], "citywise").stages
    assert stage is not None
    assert telemetry.id_of(stage.traceparent) != TRACE


def test_a_trace_that_is_not_sampled_is_not_sent(collector: Collector) -> None:
    sent = ("traceparent", SENT[:-1] + "0")
    assert Group([message("citywise/clock", sent)], "citywise").stages == [None]


def test_nobody_is_named_in_a_trace(collector: Collector) -> None:
    group = Group([message("citywise/context/u-abcdefghijklmnopqrst")], "citywise")
    group.end()
    telemetry.end()
    (topic,) = {span.attributes.get("messaging.destination.name") for span in collector.spans} - {
        None
    }
    assert topic == "citywise/context/…"


def test_where_traces_are_off_nothing_is_made_and_nothing_imported(engine: Engine) -> None:
    telemetry.begin("tester")
    group = Group([message("citywise/clock", ("traceparent", SENT))], "citywise")
    group.lies_at(0, 1)
    group.keep(engine)
    group.end()
    rows = [opened(), cursor(0, 2)]
    traces = answered(engine, rows, NOW_NS)
    Results(engine).commit(rows, traces.traceparent)
    assert not telemetry.is_on()
    with engine.connect() as connection:
        assert connection.scalars(select(MessageTraceRow.position)).all() == []
        assert connection.scalars(select(OutboxRow.traceparent)).all() == [None]
    (told,) = Hub(engine).after(0, "alice")
    assert "trace" not in orjson.loads(told.data)


def test_without_the_package_one_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(telemetry.ENDPOINTS[0], "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    telemetry.begin("tester")
    assert not telemetry.is_on()
    assert "install citywise[traces]" in caplog.text


def test_what_is_scraped_is_sent_too_with_the_same_names_labels_and_values(
    app: Flask, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporters = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    town.running()
    town.dead_letter(1, "bad-json")
    client = app.test_client()
    client.get("/healthz")
    with collecting() as found:
        monkeypatch.setenv(telemetry.ENDPOINTS[0], found.url)
        text = client.get("/metrics").get_data(as_text=True)
        measures.send(app, exporters.OTLPMetricExporter(), NOW_NS)
    scraped = {
        family.name: family
        for family in text_string_to_metric_families(text)
        if family.samples and not family.name.endswith("_created")
    }
    assert len(scraped) > 10
    assert scraped.keys() <= found.points.keys()
    changing = {"citywise_check_value", "citywise_http_requests", "citywise_http_request_seconds"}
    for name in scraped.keys() - changing:
        if not name.startswith("citywise_"):
            continue  # of Python and the process: they change as one looks
        values = [(s.labels, s.value) for s in scraped[name].samples if _is_value(s.name)]
        assert [(p.labels, p.value) for p in found.points[name] if p.kind != "histogram"] == values
    assert {p.kind for p in found.points["citywise_http_requests"]} == {"sum"}
    (timed,) = [
        point
        for point in found.points["citywise_http_request_seconds"]
        if point.labels == {"endpoint": "health.healthz"}
    ]
    assert len(timed.counts) == len(timed.bounds) + 1
    counted = 'citywise_http_request_seconds_count{endpoint="health.healthz"} '
    assert f"{counted}{float(sum(timed.counts))}" in text


def _is_value(name: str) -> bool:
    return not name.endswith(("_created", "_bucket", "_count", "_sum"))


def test_what_a_bucket_counts_is_not_counted_in_the_next(app: Flask) -> None:
    pytest.importorskip("opentelemetry.sdk")
    counted = Histogram("lengths", "Lengths", ["of"], buckets=(1, 2, 4), registry=None)
    for length in (0.5, 1, 1.5, 3, 3, 9):
        counted.labels("x").observe(length)
    (found,) = measures.measured(counted.collect(), 1, 2)
    (point,) = found.data.data_points
    assert (list(point.bucket_counts), list(point.explicit_bounds)) == ([2, 1, 2, 1], [1, 2, 4])
    assert (point.count, point.sum) == (6, 18.0)
    assert (point.start_time_unix_nano, point.time_unix_nano) == (1, 2)


@pytest.mark.parametrize(
    ("variables", "traces", "measures_too"),
    [
        ({}, False, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, True, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, False, True),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1]:1", "OTEL_METRICS_EXPORTER": "none"},
            True,
            False,
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1]:1", "OTEL_TRACES_EXPORTER": "none"},
            False,
            True,
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1]:1", "OTEL_SDK_DISABLED": "TRUE"},
            False,
            False,
        ),
    ],
)
def test_the_standard_variables_say_what_is_sent(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], traces: bool, measures_too: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert telemetry.is_wanted("TRACES") is traces
    assert telemetry.is_wanted("METRICS") is measures_too


def test_what_is_logged_about_a_message_has_its_trace() -> None:
    record = logging.LogRecord("x", logging.ERROR, "f.py", 1, "cannot", (), None)
    with telemetry.about(SENT):
        assert json.loads(Json("ingest").format(record))["trace"] == TRACE
    assert "trace" not in json.loads(Json("ingest").format(record))


def test_the_property_is_found_among_others() -> None:
    found, _ = message("t", ("a", "b"), ("traceparent", SENT), ("traceparent", "second"))
    assert told_by(found) == SENT
    assert told_by(message()[0]) is None
