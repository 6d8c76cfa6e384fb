"""The whole street under load: publish-to-browser latency.

    citywise bench street        # at 1,000 and 5,000 observations/s

Latency is from the moment an observation is published to the moment a real Chromium hears
of the event it opened, over broker, ingest, log, Spark, clingo, database and event stream.
The baseline beside it is the bare broker in the same run: publish to subscriber.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import psutil
from playwright.sync_api import sync_playwright

from citywise.backend import machine, mqtt
from citywise.backend.city.publisher import Publisher
from citywise.backend.ingest.payloads import Clock, LineString, Place
from citywise.backend.machine import REPOSITORY
from citywise.backend.settings import Ingest, Pipeline, Settings
from citywise.backend.supervisor import System

SENSORS = 449
TRIPLES_PER_OBSERVATION = 5
MESSAGE_SECONDS = 0.05
TRANSITIONS_PER_SECOND = 20
_LISTEN = """url => {
    window.heard = [];
    const stream = new EventSource(url);
    stream.addEventListener('event.opened', e => window.heard.push([Date.now(), e.data]));
}"""


def run(rates: Sequence[int] = (1000, 5000), seconds: float = 40) -> list[dict[str, Any]]:
    """Measure each rate (observations a second) on one running system."""
    with running(None) as system:
        load = Load(system.settings)
        load.start()
        system.wait_ready()
        try:
            return [_measure(system, load, rate, seconds) for rate in rates]
        finally:
            load.stop()


@contextmanager
def running(play: dict[str, Any] | None, pipeline: Pipeline | None = None) -> Iterator[System]:
    """A system of its own in a folder of its own, both gone afterwards."""
    base = REPOSITORY / ".citywise"
    base.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=base))
    settings = Settings(
        data_dir=folder, ingest=Ingest(clock="topic"), pipeline=pipeline or Pipeline()
    )
    system = System(settings, play, say=_quiet)
    try:
        system.start()
        yield system
    finally:
        system.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _quiet(_text: str) -> None:
    """Progress of the start is not part of the result."""


class Load:
    """Publishes observations of `SENSORS` segments as fast as `rate` says, in real time."""

    def __init__(self, settings: Settings) -> None:
        self._prefix = settings.broker.prefix
        self._publisher = Publisher(settings.broker, "bench")
        self._random = random.Random(1)
        self._jammed: set[int] = set()
        self.rate = 100
        self.sent = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Connect, publish the places, and begin with a trickle."""
        self._publisher.connect()
        line = LineString(coordinates=[(10.1, 56.1), (10.2, 56.2)])
        for sensor in range(SENSORS):
            place = Place(
                id=str(sensor), kind="road", name=f"Road {sensor}", geometry=line,
                sensors=("traffic",),
            )  # fmt: skip
            topic = f"{self._prefix}/places/road/{sensor}"
            self._publisher.publish(
                topic, place.model_dump_json().encode(), retain=True, standing=True
            )
        time.sleep(1)
        self._thread.start()

    def stop(self) -> None:
        """End the load and wait for it."""
        self._stop.set()
        self._thread.join()
        self._publisher.close()

    def _run(self) -> None:
        due = time.monotonic()
        self._tell_time()
        while not self._stop.is_set():
            count = max(1, round(self.rate * MESSAGE_SECONDS))
            batch = [self._reading(index, count) for index in range(count)]
            self._publisher.publish(f"{self._prefix}/observations/traffic", orjson.dumps(batch))
            self._tell_time()
            self.sent += count
            due += MESSAGE_SECONDS
            time.sleep(max(0.0, due - time.monotonic()))

    def _reading(self, index: int, count: int) -> dict[str, Any]:
        sensor = self._random.randrange(SENSORS)
        speed, vehicles = 50, 20
        if index < TRANSITIONS_PER_SECOND * MESSAGE_SECONDS:
            jam = sensor not in self._jammed
            (self._jammed.add if jam else self._jammed.discard)(sensor)
            speed, vehicles = (20, 20) if jam else (50, 2)
        # Distinct instants within the message, as different sensors would have.
        observed = datetime.fromtimestamp(time.time() - (count - 1 - index) * 1e-6, UTC)
        return {
            "sensor": str(sensor),
            "observed_at": observed,
            "speed_kmh": speed,
            "vehicle_count": vehicles,
        }

    def _tell_time(self) -> None:
        now = datetime.now(UTC)
        clock = Clock(now=now, complete=now)
        self._publisher.publish(
            f"{self._prefix}/clock", clock.model_dump_json().encode(), retain=True
        )


def _measure(system: System, load: Load, rate: int, seconds: float) -> dict[str, Any]:
    load.rate = rate
    time.sleep(8)
    bare = _Echo(system.settings)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(machine.chromium()), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto(f"{system.url}/healthz")
        page.evaluate(_LISTEN, f"{system.url}/api/v1/events/stream")
        sent, began = load.sent, time.monotonic()
        memory = 0
        while time.monotonic() - began < seconds:
            bare.ping()
            memory = max(memory, _memory(system))
            time.sleep(0.5)
        achieved = (load.sent - sent) / (time.monotonic() - began)
        time.sleep(3)
        heard = page.evaluate("window.heard")
        browser.close()
    bare.close()
    delays = sorted(at - _start(data) for at, data in heard)
    return {
        "observations_per_s": round(achieved),
        "triples_per_s": round(achieved * TRIPLES_PER_OBSERVATION),
        "events": len(delays),
        "p50_ms": round(statistics.median(delays)),
        "p99_ms": round(delays[int(len(delays) * 0.99)]),
        "broker_p50_ms": round(bare.p50, 1),
        "ratio_p50": round(statistics.median(delays) / max(bare.p50, 0.1)),
        "memory_mb": memory // 1_000_000,
    }


class _Echo:
    """The bare broker: how long a message takes from publisher to subscriber."""

    def __init__(self, settings: Settings) -> None:
        self._topic = f"{settings.broker.prefix}/echo"
        self.delays: list[float] = []
        self._client = mqtt.connect(settings.broker, "echo", prepare=self._prepare)

    def _prepare(self, client: Any) -> None:
        client.on_connect = lambda c, *_: c.subscribe(self._topic, qos=1)
        client.on_message = lambda _c, _d, m: self.delays.append(
            (time.monotonic() - float(m.payload)) * 1000
        )

    def ping(self) -> None:
        self._client.publish(self._topic, str(time.monotonic()), qos=1)

    @property
    def p50(self) -> float:
        return statistics.median(self.delays)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def _start(data: str) -> float:
    start = json.loads(data)["start"]
    return datetime.fromisoformat(start).timestamp() * 1000


def _memory(system: System) -> int:
    """Resident memory of all the system's processes, in bytes."""
    total = 0
    pids = [child.process.pid for child in system.children.values()]
    if system.broker and system.broker.process:
        pids.append(system.broker.process.pid)
    for pid in pids:
        try:
            process = psutil.Process(pid)
            family = [process, *process.children(recursive=True)]
            total += sum(member.memory_info().rss for member in family)
        except psutil.NoSuchProcess:
            continue
    return total


def report(results: list[dict[str, Any]]) -> str:
    """The results as a table."""
    lines = ["obs/s  triples/s  events  p50 ms  p99 ms  bare broker p50 ms  ratio  memory MB"]
    for r in results:
        lines.append(
            f"{r['observations_per_s']:5}  {r['triples_per_s']:9}  {r['events']:6}  "
            f"{r['p50_ms']:6}  {r['p99_ms']:6}  {r['broker_p50_ms']:18}  {r['ratio_p50']:5}  "
            f"{r['memory_mb']:9}"
        )
    return "\n".join(lines)
