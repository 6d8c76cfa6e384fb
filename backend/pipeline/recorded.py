"""What the system would have produced over recorded data, without a broker or Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from backend.city.events import event_object
from backend.city.replay import Replay
from backend.city.source import SETTLE_MS
from backend.city.steps import Source
from backend.ingest.records import ClockReading, Reading
from backend.pipeline.evaluation import RequestRun
from backend.pipeline.ledger import announced, ordered
from backend.pipeline.prepared import prepared
from backend.pipeline.requests import find
from backend.settings import Pipeline
from backend.times import iso, to_ms


def announcements(data: Path, start: datetime, until: datetime, lead_in: float) -> Iterator[str]:
    """JSON lines of `citywise replay` (DESIGN A3) for recorded city data.

    `lead_in` hours before `start` are evaluated for state but not reported.
    """
    source = Replay(data, start, until, timedelta(hours=lead_in), kinds=("traffic", "parking"))
    first = to_ms(start)
    for t_ms, kind, event in changes(source):
        if t_ms >= first:
            yield orjson.dumps({"t": iso(t_ms), "kind": kind, **event}).decode()


def changes(source: Source) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Announcements of a source's whole run: evaluation time, kind and event."""
    settings = Pipeline()
    limits = settings.limits.of_engine()
    runs = [RequestRun(prepared(find(name), limits)) for name in settings.requests]
    places = {place.id: place.summary() for place in source.places()}
    events: dict[str, Mapping[str, Any]] = {}
    entries = _entries(source)
    for entry in entries:
        rows = [row for run in runs for row in run.take(entry) if row.kind == "change"]
        for row in ordered(rows):
            event, news = announced(events.get(row.body["id"]), row)
            events[event["id"]] = event
            if event["end_ms"] is not None:
                del events[event["id"]]
            if news:
                yield row.t_ms, row.body["kind"], event_object(event, places[event["place_id"]])


def _entries(source: Source) -> Iterator[Reading | ClockReading]:
    """A source's steps as they would stand in the log."""
    positions = count()
    for step in source.steps():
        for batch in step.batches:
            for values in batch.readings:
                rest = {k: v for k, v in values.items() if k not in ("sensor", "observed_at")}
                sensor = str(values["sensor"])
                yield Reading(batch.kind, sensor, step.ms, step.ms, rest, next(positions))
        yield ClockReading(step.ms, step.ms, next(positions))
    if source.until is not None:
        end = to_ms(source.until) + SETTLE_MS
        yield ClockReading(end, end, next(positions))
