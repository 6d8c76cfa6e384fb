"""Entities of NGSI-LD by their id: answers a second of the web's application on one core.

    citywise bench ngsi               # about ten seconds
    citywise bench ngsi 5000          # so many questions of each

A city of 1,000 places, each with a reading. Each question goes through the whole application
(rights, limits, headers) without a network. CPU time counts, which other load on the machine
touches less. Baselines of the same run: `/healthz`, which is what any answer of the application
costs, and an event of the API (`/api/v1/events/{id}`), which reads one row, too.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import Engine, insert

from citywise.backend.api.app import create_app
from citywise.backend.packs.parts import upgrade_tables
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.store.models import EventRow, PlaceRow, ReadingRow

PLACES = 1_000
NOON_MS = 1_407_240_000_000
_URN = "/ngsi-ld/v1/entities/urn:ngsi-ld:"
QUESTIONS = {
    "a reading": _URN + "NoiseObserved:p{}",
    "a reading, key-values": _URN + "NoiseObserved:p{}?options=keyValues",
    "a place": _URN + "NoiseMeter:p{}",
    "an event": _URN + "TrafficJam:e{}",
    "a reading as a data model": _URN + "NoiseLevelObserved:noise:p{}",
    "20 readings of 1,000, by type": "/ngsi-ld/v1/entities?type=NoiseObserved&offset={}",
    "a query, q and type": "/ngsi-ld/v1/entities?type=NoiseObserved&q=level>50&offset={}",
    "baseline: an event of the API": "/api/v1/events/e{}",
    "baseline: /healthz": "/healthz",
}


def run(count: str = "1000") -> list[dict[str, Any]]:
    """Measure each question; `count`: how many."""
    number = int(count)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder))
        engine = create_engine_for(settings.database_url)
        migrate(engine)
        upgrade_tables(engine, settings)
        _fill(engine)
        app = create_app(settings, engine)
        found = [_measured(app, name, address, number) for name, address in QUESTIONS.items()]
        engine.dispose()
    return found


def report(results: list[dict[str, Any]]) -> str:
    """A table."""
    lines = [f"{'question':<32} {'CPU ms':>8} {'a second on one core':>22}"]
    lines += [f"{r['question']:<32} {r['cpu_ms']:>8.2f} {r['per_second']:>22,.0f}" for r in results]
    return "\n".join(lines)


def _measured(app: Flask, name: str, address: str, number: int) -> dict[str, Any]:
    client = app.test_client()
    if "?type" in address:  # each looks at a thousand entities
        number = max(20, number // 50)
    for index in range(20):
        assert client.get(address.format(index)).status_code == 200, address
    began = time.process_time()
    for index in range(number):
        client.get(address.format(index % PLACES))
    seconds = time.process_time() - began
    return {
        "question": name,
        "cpu_ms": 1000 * seconds / number,
        "per_second": number / seconds,
    }


def _fill(engine: Engine) -> None:
    places, readings, events = [], [], []
    for index in range(PLACES):
        point = {"type": "Point", "coordinates": [10 + index / 10_000, 56.15]}
        body = {"id": f"p{index}", "kind": "noise_meter", "name": f"Meter {index}"}
        where = {"lat": 56.15, "lon": 10 + index / 10_000, "updated_ms": NOON_MS}
        body |= {"geometry": point, "sensors": ["noise"]}
        named = {name: body[name] for name in ("id", "kind", "name")}
        places.append({**named, **where, "body": body})
        readings.append({
            "kind": "noise", "place_id": f"p{index}", "observed_ms": NOON_MS,
            "body": {"level": 50.5}, "change": 1,
        })  # fmt: skip
        events.append({
            "id": f"e{index}", "type": "TrafficJam", "level": 2, "place_id": f"p{index}",
            "start_ms": NOON_MS, "confirmed_ms": NOON_MS, "request": "traffic_jam",
            "causes": {"opened": [], "confirmed": [], "ended": []},
        })  # fmt: skip
    with engine.begin() as connection:
        connection.execute(insert(PlaceRow), places)
        connection.execute(insert(ReadingRow), readings)
        connection.execute(insert(EventRow), events)
