"""The ingest process against a real broker: nothing is acknowledged before it is durable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import paho.mqtt.client as paho
import pytest
from sqlalchemy import select

from backend import machine, mqtt
from backend.broker import EmbeddedBroker
from backend.ingest import log, records, remote
from backend.ingest.intake import IntakeStore
from backend.ingest.payloads import Place, Point
from backend.ingest.service import IngestService
from backend.settings import Broker, Ingest, Settings
from backend.store.database import create_engine_for, migrate
from backend.store.models import DeadLetterRow, PlaceRow

ROAD = Place(
    id="1", kind="road", name="Ringgaden", geometry=Point(coordinates=(10.1, 56.2)),
    sensors=("traffic",),
)  # fmt: skip


class Street:
    """A broker, an ingest in a thread, and a client that publishes."""

    def __init__(self, folder: Path, **limits: object) -> None:
        self.embedded = EmbeddedBroker()
        broker = Broker(port=self.embedded.start())
        self.settings = Settings(
            data_dir=folder, broker=broker, ingest=Ingest.model_validate(limits)
        )
        self.engine = create_engine_for(self.settings.database_url)
        migrate(self.engine)
        self.client = mqtt.connect(broker, "tester")
        self.start()

    def start(self) -> None:
        self.stop_event = threading.Event()
        service = IngestService(self.settings, IntakeStore(self.engine), self.stop_event)
        self.thread = threading.Thread(target=service.run)
        self.thread.start()

    def stop(self) -> None:
        self.stop_event.set()
        self.thread.join(10)

    def close(self) -> None:
        self.stop()
        self.client.disconnect()
        self.client.loop_stop()
        self.embedded.stop()
        self.engine.dispose()

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> paho.MQTTMessageInfo:
        info = self.client.publish(f"citywise/{topic}", payload, qos=1, retain=retain)
        info.wait_for_publish(10)
        return info

    def readings(self) -> list[tuple[str, float]]:
        folder = self.settings.log_dir
        entries = records.read(folder, 0, log.durable_end(folder))
        return [
            (e.sensor, float(e.values["speed_kmh"] or 0))
            for e in entries
            if isinstance(e, records.Reading)
        ]

    def overtaken(self) -> list[int]:
        """Readings that the log's time had passed before they came: their windows are gone."""
        folder = self.settings.log_dir
        complete, found = 0, []
        for entry in records.read(folder, 0, log.durable_end(folder)):
            if isinstance(entry, records.ClockReading):
                complete = max(complete, entry.complete_ms)
            elif entry.observed_ms <= complete:
                found.append(entry.observed_ms)
        return found

    def dead(self) -> list[str]:
        with self.engine.connect() as connection:
            return sorted(connection.scalars(select(DeadLetterRow.reason)))


@pytest.fixture
def street(tmp_path: Path) -> Iterator[Street]:
    found = Street(tmp_path)
    yield found
    found.close()


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def reading(speed: float, millisecond: int = 0) -> bytes:
    observed = datetime.now(UTC).replace(microsecond=1000 * (millisecond % 1000))
    return orjson.dumps(
        {"sensor": "1", "observed_at": observed, "speed_kmh": speed, "vehicle_count": 3}
    )


def know_road(street: Street) -> None:
    street.publish("places/road/1", ROAD.model_dump_json().encode(), retain=True)
    with street.engine.connect() as connection:
        wait_until(lambda: connection.scalar(select(PlaceRow.id)) == "1")


def test_readings_reach_the_log_and_bad_ones_the_dead_letters(street: Street) -> None:
    know_road(street)
    street.publish("observations/traffic", reading(10, 1))
    street.publish("observations/traffic", b"{broken")
    street.publish("observations/traffic", b"\x00\xff" * 5_000_000)
    street.publish("observations/traffic/1", reading(20, 2))
    wait_until(lambda: len(street.readings()) == 2 and len(street.dead()) == 2)
    assert street.readings() == [("1", 10.0), ("1", 20.0)]
    assert street.dead() == ["json", "oversized"]


def test_the_log_is_served_while_the_ingest_runs_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(remote.TOKEN, "0123456789abcdef")
    monkeypatch.setattr(remote, "_PAUSES_S", ())
    port = machine.free_port()
    street = Street(tmp_path, serve_port=port, serve_token="0123456789abcdef")
    address = f"http://127.0.0.1:{port}/log"
    try:
        know_road(street)
        street.publish("observations/traffic", reading(10, 1))
        wait_until(lambda: len(street.readings()) == 1)
        found = records.read(address, 0, log.durable_end(address))
        readings = [entry for entry in found if isinstance(entry, records.Reading)]
        assert [r.values["speed_kmh"] for r in readings] == [10.0]
    finally:
        street.close()
    with pytest.raises(log.LogError, match="no answer"):
        log.durable_end(address)


def test_what_comes_while_the_ingest_is_away_is_there_when_it_is_back(street: Street) -> None:
    know_road(street)
    street.publish("observations/traffic", reading(1, 1))
    wait_until(lambda: len(street.readings()) == 1)
    street.stop()
    for speed in (2, 3):
        street.publish("observations/traffic", reading(speed, speed))
    time.sleep(3)
    street.start()
    wait_until(lambda: len(street.readings()) == 3)
    assert [speed for _sensor, speed in street.readings()] == [1.0, 2.0, 3.0]
    assert street.overtaken() == []


def test_a_redelivered_reading_is_known_after_a_restart(street: Street) -> None:
    know_road(street)
    payload = reading(1)
    street.publish("observations/traffic", payload)
    wait_until(lambda: len(street.readings()) == 1)
    street.stop()
    street.start()
    street.publish("observations/traffic", payload)
    street.publish("observations/traffic", reading(2, 999))
    wait_until(lambda: len(street.readings()) >= 2)
    assert [speed for _sensor, speed in street.readings()] == [1.0, 2.0]


def test_a_full_disk_stops_acknowledgement_and_loses_nothing(tmp_path: Path) -> None:
    street = Street(tmp_path, min_free_bytes=1 << 60)
    try:
        time.sleep(1)  # a first subscription gets only what is published after it
        street.publish("places/road/1", ROAD.model_dump_json().encode(), retain=True)
        street.publish("observations/traffic", reading(1))
        time.sleep(1)
        assert street.readings() == []
        street.stop()
        free = street.settings.ingest.model_copy(update={"min_free_bytes": 0})
        street.settings = street.settings.model_copy(update={"ingest": free})
        street.start()
        wait_until(lambda: len(street.readings()) == 1)
        assert street.overtaken() == []
    finally:
        street.close()
