"""A recorded day through the whole street at full speed, checked against its episodes.

    citywise bench street_day    # needs the Aarhus pack (CITYWISE_DATA)

2014-08-05 with the 24 hours before it for state and the 3 after it, until the last jam of
the day has cleared. The baseline is the same evaluation in one process, without broker,
log, Spark and database (`citywise replay`).
"""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from zoneinfo import ZoneInfo

import orjson
from street import running

from benchmarks.measured.data import pack
from citywise.backend.city.replay import Replay
from citywise.backend.ingest.intake import IntakeStore
from citywise.backend.pipeline.recorded import changes
from citywise.backend.store.database import create_engine_for
from citywise.backend.supervisor import System

START = datetime(2014, 8, 5, tzinfo=UTC)
DAY_END = START + timedelta(days=1)
UNTIL = DAY_END + timedelta(hours=3)
LEAD_IN = timedelta(hours=24)
TRIPLES = {"traffic": 5, "parking": 5, "weather": 6, "air": 8}
Episode = tuple[str, str, datetime, datetime | None]


def run() -> list[dict[str, Any]]:
    """Replay the day on a system, then in one process; compare both with the episodes."""
    data = pack()
    play = {
        "data": str(data),
        "speed": None,
        "start": START.isoformat(),
        "until": UNTIL.isoformat(),
        "lead_in_s": LEAD_IN.total_seconds(),
        "seed": 1,
    }
    observations, triples = _size(data)
    with running(play) as system:
        seconds = _run_through(system)
        found = set(_from_api(system))
    began = time.monotonic()
    offline = sum(1 for _ in changes(Replay(data, START, UNTIL, LEAD_IN)))
    baseline = time.monotonic() - began
    expected = set(_expected(data))
    return [
        {
            "observations": observations,
            "seconds": round(seconds, 1),
            "observations_per_s": round(observations / seconds),
            "triples_per_s": round(triples / seconds),
            "one_process_s": round(baseline, 1),
            "ratio": round(seconds / baseline, 2),
            "announcements": offline,
            "jams": sum(1 for e in found if e[0] == "TrafficJam"),
            "missing": len(expected - found),
            "unexpected": len(found - expected),
        }
    ]


def _size(data: Path) -> tuple[int, int]:
    observations = triples = 0
    for step in Replay(data, START, UNTIL, LEAD_IN).steps():
        for batch in step.batches:
            observations += len(batch.readings)
            triples += len(batch.readings) * TRIPLES[batch.kind]
    return observations, triples


def _run_through(system: System) -> float:
    """Seconds from the first reading in the log until the last has been answered."""
    engine = create_engine_for(system.settings.database_url)
    store = IntakeStore(engine)
    began = 0.0
    until = UNTIL.timestamp() * 1000
    while True:
        system.tend()
        if "source" not in system.children and system.answering():
            system.spawn("source")
            began = time.monotonic()
        if (store.progress().answered_ms or 0) > until:
            engine.dispose()
            return time.monotonic() - began
        time.sleep(0.05)


def _from_api(system: System) -> Iterator[Episode]:
    """Episodes that started on the day, as the API tells them."""
    day = f"from={START:%Y-%m-%dT%H:%M:%SZ}&until={DAY_END:%Y-%m-%dT%H:%M:%SZ}&limit=10000"
    with urlopen(f"{system.url}/api/v1/events?{day}") as answer:
        events = orjson.loads(answer.read())["events"]
    for event in events:
        start = datetime.fromisoformat(event["start"])
        if START <= start < DAY_END:
            end = event["end"] and datetime.fromisoformat(event["end"])
            yield event["type"], event["place"]["id"], start, end


def _expected(data: Path) -> Iterator[Episode]:
    """Episodes that started on the day, as the pack derives them."""
    local = ZoneInfo("Europe/Copenhagen")
    for row in _rows(data / "citybench", "derived_traffic_congestion_episodes_*"):
        start = datetime.fromisoformat(row["start"]).replace(tzinfo=UTC)
        if START <= start < DAY_END:
            yield "TrafficJam", row["report_id"], start, _end(row["cleared_at"], UTC)
    for row in _rows(data / "citybench", "derived_parking_full_episodes_*"):
        start = datetime.fromisoformat(row["full_from"]).replace(tzinfo=local).astimezone(UTC)
        if START <= start < DAY_END:
            yield "ParkingFull", row["garagecode"], start, _end(row["free_at"], local)


def _end(text: str, zone: tzinfo) -> datetime | None:
    """The end of an episode, None for one that lasts beyond what is replayed."""
    end = datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC) if text else None
    return end if end is not None and end <= UNTIL else None


def _rows(folder: Path, pattern: str) -> Iterator[dict[str, str]]:
    for path in sorted(folder.glob(pattern)):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from csv.DictReader(file)


def report(results: list[dict[str, Any]]) -> str:
    """The results in words."""
    (r,) = results
    return (
        f"{r['observations']:,} observations in {r['seconds']} s: {r['observations_per_s']:,} "
        f"observations/s, {r['triples_per_s']:,} triples/s; one process without broker, Spark "
        f"and database: {r['one_process_s']} s (ratio {r['ratio']}); {r['jams']} jams, "
        f"{r['missing']} episodes missing, {r['unexpected']} unexpected"
    )
