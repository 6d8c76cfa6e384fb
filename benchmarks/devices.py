"""Notices to devices over MQTT: from the outbox to the devices, each once and in order.

    citywise bench devices            # 100 devices, 20,000 notices
    citywise bench devices 1000

The notifier and the embedded broker are the real ones, the database is SQLite; all devices are
one client that keeps the protocol for each of them (docs/notices.md). The notices are there
when the notifier begins, as after a time without it. The baseline is the bare broker in the
same run: as many messages of the same size from one client to another.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import paho.mqtt.client as paho
from sqlalchemy import Engine, insert

from citywise.backend import mqtt
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.machine import REPOSITORY, free_port
from citywise.backend.notices.notifier import NotifierService
from citywise.backend.people import accounts, tokens
from citywise.backend.settings import Broker, Settings
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.store.models import OutboxRow, ReceiverRow
from tests.api.browsers import PASSWORD, quick_passwords
from tests.notices.device import Device

NOTICES, SIZE, PATIENCE_S = 20_000, 1_200, 300.0
ANSWER_S = 0.05


def run(devices: str = "100") -> list[dict[str, Any]]:
    """Measure `devices` devices, beside the bare broker."""
    base = REPOSITORY / ".citywise"
    base.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=base) as folder:
        port = free_port()
        embedded = EmbeddedBroker(port, "bench", "bench of devices")
        embedded.start()
        broker = Broker(embedded=False, port=port, username="bench", password="bench of devices")
        try:
            settings = Settings(data_dir=Path(folder), broker=broker)
            return [_measure(settings, int(devices)) | {"broker_per_s": _bare(broker)}]
        finally:
            embedded.stop()


def _measure(settings: Settings, count: int) -> dict[str, Any]:
    engine = create_engine_for(settings.database_url)
    migrate(engine)
    owners = _devices(engine, count)
    _tell(engine, list(owners.values()))
    stop, phones = threading.Event(), _Phones(settings.broker)
    running = threading.Thread(target=NotifierService(settings, engine, stop).run)
    begun = time.monotonic()
    running.start()
    phones.wait(lambda: phones.shown >= NOTICES)
    seconds = time.monotonic() - begun
    stop.set()
    running.join()
    phones.end()
    engine.dispose()
    shown = [[one["id"] for one in device.shown] for device in phones.devices.values()]
    right = sorted(n for names in shown for n in names) == sorted(map(str, range(NOTICES)))
    ordered = all(names == sorted(names, key=int) for names in shown)
    return {
        "devices": count,
        "notices": NOTICES,
        "lost_or_doubled": 0 if right and ordered else "some",
        "again_on_the_wire": sum(device.repeated for device in phones.devices.values()),
        "notices_per_s": round(NOTICES / seconds),
    }


def _devices(engine: Engine, count: int) -> dict[str, str]:
    """Devices and their users, who have had nothing yet."""
    found = {}
    with quick_passwords(), engine.begin() as connection:
        for number in range(count):
            user = accounts.create(connection, f"person {number}", PASSWORD).id
            device = tokens.issue(connection, user, "phone", ["notices"])[0].id
            found[device] = user
        rows = [{"device": d, "user": user, "seen": 0} for d, user in found.items()]
        connection.execute(insert(ReceiverRow), rows)
    return found


def _tell(engine: Engine, users: Sequence[str]) -> None:
    rows = [
        {
            "t_ms": 0,
            "kind": "notice",
            "user": users[number % len(users)],
            "created_ms": 0,
            "body": {"id": str(number), "change": "opened", "alert": True, "text": "x" * SIZE},
        }
        for number in range(NOTICES)
    ]
    with engine.begin() as connection:
        connection.execute(insert(OutboxRow), rows)


class _Phones:
    """All devices at once; they answer 20 times a second, as the broker lets them."""

    def __init__(self, broker: Broker) -> None:
        self.devices: dict[str, Device] = {}
        self.shown = 0
        self._answers: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._ends = threading.Event()
        self._topics = f"{broker.prefix}/notices/+/+"
        self._client = mqtt.connect(broker, "phones", prepare=self._prepare)
        self._answering = threading.Thread(target=self._answer, daemon=True)
        self._answering.start()

    def wait(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, f"{self.shown} notices came"
            time.sleep(0.01)

    def end(self) -> None:
        self._ends.set()
        self._answering.join()
        self._client.disconnect()
        self._client.loop_stop()

    def _prepare(self, client: paho.Client) -> None:
        client.on_connect = lambda client, *_: client.subscribe(self._topics, 1)
        client.on_message = self._on_message

    def _on_message(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        device = self.devices.setdefault(message.topic, Device())
        before = len(device.shown)
        answer = device.take(bytes(message.payload))
        self.shown += len(device.shown) - before
        with self._lock:
            self._answers[message.topic] = answer

    def _answer(self) -> None:
        while not self._ends.wait(ANSWER_S):
            with self._lock:
                answers, self._answers = self._answers, {}
            for topic, answer in answers.items():
                self._client.publish(f"{topic}/seen", answer, 1)


def _bare(broker: Broker) -> int:
    """Messages a second that the broker brings from one client to another."""
    came: Counter[str] = Counter()

    def prepare(client: paho.Client) -> None:
        client.on_connect = lambda client, *_: client.subscribe(f"{broker.prefix}/bench", 1)
        client.on_message = lambda *_: came.update(["came"])

    reader = mqtt.connect(broker, "reader", prepare=prepare)
    writer = mqtt.connect(broker, "writer", prepare=lambda c: c.max_inflight_messages_set(200))
    time.sleep(0.5)
    payload, begun = orjson.dumps({"text": "x" * SIZE}), time.monotonic()
    for _ in range(NOTICES):
        writer.publish(f"{broker.prefix}/bench", payload, 1)
    while came["came"] < NOTICES and time.monotonic() - begun < PATIENCE_S:
        time.sleep(0.01)
    seconds = time.monotonic() - begun
    for client in (reader, writer):
        client.disconnect()
        client.loop_stop()
    return round(came["came"] / seconds)


def report(results: Sequence[dict[str, Any]]) -> str:
    """A line for each number of devices."""
    lines = ["devices  notices  lost/doubled  again on the wire  notices/s  bare broker/s"]
    lines += [
        f"{r['devices']:7}  {r['notices']:7}  {r['lost_or_doubled']:>12}  "
        f"{r['again_on_the_wire']:17}  {r['notices_per_s']:9}  {r['broker_per_s']:13}"
        for r in results
    ]
    return "\n".join(lines)
