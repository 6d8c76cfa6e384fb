"""The pipeline under rising load: from a published reading to its answer in the store.

    citywise bench pipeline            # rising load, then a backlog (see `bench backlog`)
    citywise bench pipeline rising

One request (`traffic_jam`) that divides by place, whole and in parts, at rising rates. Each
rate is held for some seconds after a warm-up. Latency is from the moment a reading is
published to the commit of the event that it opened, over broker, ingest, log, Spark, clingo
and database; it holds the wait for the end of the reading's window, up to 250 ms. A load
is sustained if 99 % of them are below a bound. The steps say what the limit is: processor
time of each process, and time of each step in the workers, per second of the run.
"""

from __future__ import annotations

import math
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.request import urlopen

import psutil
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from benchmarks import backlog
from benchmarks.measured.processes import cpu_s
from benchmarks.street import TRIPLES_PER_OBSERVATION, running
from citywise.backend.city.publisher import Publisher
from citywise.backend.ingest.payloads import Clock
from citywise.backend.settings import Pipeline, Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import OutboxRow
from citywise.backend.supervisor import System
from citywise.backend.times import wall_ms

RATES = (1000, 2500, 5000, 7500, 10_000, 15_000)
"""Readings a second; each is five triples."""
BOUNDS_S = (1, 3)
SENSORS = 2000
EVENTS_PER_SECOND = 40
_MESSAGE_SECONDS = 0.05
_HELD_S, _WARM_UP_S, _GIVEN_UP_S = 10.0, 4.0, 5.0
_STEPS = {
    "citywise_task_seconds_total": "step",
    "citywise_batch_seconds_sum": "batch",
    "citywise_batch_seconds_count": "batches",
    "citywise_commit_seconds_sum": "commit",
}


def run(parts: str = "rising,backlog") -> dict[str, list[dict[str, Any]]]:
    """Measure what is named, separated by commas."""
    chosen = parts.split(",")
    if not set(chosen) <= set(_PARTS):
        raise SystemExit(f"no parts `{parts}`; there are {', '.join(_PARTS)}")
    return {name: _PARTS[name][0]() for name in chosen}


def rising(
    rates: Sequence[int] = RATES, plans: Sequence[int] = (1, 2), seconds: float = _HELD_S
) -> list[dict[str, Any]]:
    """Measure each rate with the request whole (1) and in parts (2), until one is too much."""
    return [row for parts in plans for row in _rising(parts, rates, seconds)]


def _rising(parts: int, rates: Sequence[int], seconds: float) -> Iterator[dict[str, Any]]:
    pipeline = Pipeline(requests=("traffic_jam",), partitions=parts)
    with running(None, pipeline) as system:
        load = Load(system.settings)
        load.start()
        try:
            system.wait_ready()
            for rate in rates:
                found = _measure(system, load, rate, seconds)
                yield {"parts": parts, **found}
                if found["p99_s"] > _GIVEN_UP_S:
                    return
        finally:
            load.stop()


class Load:
    """Publishes readings of `SENSORS` roads at a rate; some of them open and clear jams.

    The text of a message is put together from what does not change, so that making the load
    takes little of the machine that is measured.
    """

    def __init__(self, settings: Settings) -> None:
        self._prefix = settings.broker.prefix
        self._publisher = Publisher(settings.broker, "bench")
        self._random = random.Random(1)
        self._jammed: set[int] = set()
        self.rate = 100
        self.sent = 0
        self.opened: list[int] = []
        """Times of the readings that open a jam, in Unix milliseconds."""
        self._told = time.time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Connect and begin with a trickle; the roads are known to nobody yet."""
        self._publisher.connect()
        self._places()
        self._told = time.time()
        self._thread.start()

    def stop(self) -> None:
        """End the load and wait for it."""
        self._stop.set()
        self._thread.join()
        self._publisher.close()

    def _places(self) -> None:
        for sensor in range(SENSORS):
            text = (
                f'{{"id":"{sensor}","kind":"road","name":"Road {sensor}","sensors":["traffic"],'
                '"geometry":{"type":"LineString","coordinates":[[10.1,56.1],[10.2,56.2]]}}'
            )
            topic = f"{self._prefix}/places/road/{sensor}"
            self._publisher.publish(topic, text.encode(), retain=True, standing=True)
        time.sleep(2)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            count = max(1, round(self.rate * _MESSAGE_SECONDS))
            now = time.time()
            message = self._message(count, self._told, now)
            self._publisher.publish(f"{self._prefix}/observations/traffic", message)
            self._tell_time(now)
            self.sent += count
            due += _MESSAGE_SECONDS
            time.sleep(max(0.0, due - time.monotonic()))

    def _message(self, count: int, begin: float, end: float) -> bytes:
        """Readings of different roads at instants from `begin` to `end`."""
        roads = self._random.sample(range(SENSORS), min(count, SENSORS))
        changing = round(EVENTS_PER_SECOND * _MESSAGE_SECONDS)
        rows = []
        for index in range(count):
            road = roads[index % SENSORS]
            when = _iso(end - (end - begin) * (count - 1 - index) / count)
            values = self._values(road, when) if index < changing else _SAME
            rows.append(f'{{"sensor":"{road}","observed_at":"{when}",{values}}}')
        return f"[{','.join(rows)}]".encode()

    def _values(self, road: int, when: str) -> str:
        if road in self._jammed:
            self._jammed.discard(road)
            return _FREE
        self._jammed.add(road)
        self.opened.append(_ms(when))
        return _JAM

    def _tell_time(self, seconds: float) -> None:
        """Everything up to the newest reading has been sent."""
        self._told = seconds
        now = datetime.fromtimestamp(seconds, UTC)
        # The log keeps milliseconds: the next reading may have the same as this moment.
        clock = Clock(now=now, complete=now - timedelta(milliseconds=2))
        self._publisher.publish(
            f"{self._prefix}/clock", clock.model_dump_json().encode(), retain=True
        )


_SAME = '"speed_kmh":50,"vehicle_count":20'
_JAM = '"speed_kmh":20,"vehicle_count":20'
_FREE = '"speed_kmh":50,"vehicle_count":2'


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _measure(system: System, load: Load, rate: int, seconds: float) -> dict[str, Any]:
    load.rate = rate
    time.sleep(_WARM_UP_S)
    before, sent, since, began = _spent(system), load.sent, wall_ms(), time.monotonic()
    time.sleep(seconds)
    took, until, after = time.monotonic() - began, wall_ms(), _spent(system)
    achieved = (load.sent - sent) / took
    time.sleep(_GIVEN_UP_S if rate >= 5000 else 2)
    opened = sum(since <= start < until for start in load.opened)
    delays = _delays(system, since, until, opened)
    spent = {name: after[name] - before.get(name, 0.0) for name in after}
    batches = spent.pop("batches", 0.0)
    return {
        "readings_per_s": round(achieved),
        "triples_per_s": round(achieved * TRIPLES_PER_OBSERVATION),
        "events": opened,
        "p50_s": statistics.median(delays) if delays else math.inf,
        "p99_s": delays[int(len(delays) * 0.99)] if delays else math.inf,
        "batch_s": spent.pop("batch", 0.0) / max(batches, 1.0),
        "share": {name: round(value / took, 2) for name, value in sorted(spent.items())},
    }


def _delays(system: System, since: int, until: int, opened: int) -> list[float]:
    """From reading to commit, in seconds, of the events that opened in a stretch of time;
    those that are not in the store yet take for ever."""
    engine = create_engine_for(system.settings.database_url)
    with engine.connect() as connection:
        rows = connection.execute(
            select(OutboxRow.body, OutboxRow.created_ms).where(OutboxRow.kind == "event.opened")
        ).all()
    engine.dispose()
    starts = [(_ms(row.body["start"]), row.created_ms) for row in rows]
    found = [(end - start) / 1000 for start, end in starts if since <= start < until]
    return sorted(found) + [math.inf] * (opened - len(found))


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _spent(system: System) -> dict[str, float]:
    """Processor seconds so far of each process, and seconds of the steps of the pipeline."""
    found = {f"cpu {role}": seconds for role, seconds in _processors(system)}
    with urlopen(f"{system.url}/metrics") as answer:
        text = answer.read().decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = _STEPS.get(sample.name)
            if name is not None:
                name = sample.labels.get(name, name)
                found[name] = found.get(name, 0.0) + sample.value
    return found


def _processors(system: System) -> Iterator[tuple[str, float]]:
    own = psutil.Process().cpu_times()
    yield "load", own.user + own.system
    pids = {role: child.process.pid for role, child in system.children.items()}
    if system.broker and system.broker.process:
        pids["broker"] = system.broker.process.pid
    for role, pid in pids.items():
        yield role, cpu_s(pid)


def sustained(rows: Sequence[Mapping[str, Any]], bound: float) -> dict[int, int]:
    """The most triples a second with 99 % of the latencies below `bound` seconds, by parts."""
    best: dict[int, int] = {}
    for row in rows:
        if row["p99_s"] < bound:
            best[row["parts"]] = max(best.get(row["parts"], 0), row["triples_per_s"])
    return best


def report(results: Mapping[str, Sequence[dict[str, Any]]]) -> str:
    """The results as tables."""
    return "\n\n".join(_PARTS[name][1](rows) for name, rows in results.items())


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """What rising load brought, and what is sustained."""
    lines = ["parts  readings/s  triples/s  events  p50 s  p99 s  batch s  where the time goes"]
    for row in rows:
        shares = ", ".join(f"{name} {value:.2f}" for name, value in row["share"].items() if value)
        lines.append(
            f"{row['parts']:5}  {row['readings_per_s']:10}  {row['triples_per_s']:9}  "
            f"{row['events']:6}  {row['p50_s']:5.2f}  {row['p99_s']:5.2f}  "
            f"{row['batch_s']:7.2f}  {shares}"
        )
    for bound in BOUNDS_S:
        best = sustained(rows, bound)
        said = ", ".join(f"{n:,} in {parts} part(s)" for parts, n in sorted(best.items()))
        lines.append(f"p99 below {bound} s: {said or 'none'} (triples a second)")
    return "\n".join(lines)


_Part = tuple[Callable[[], list[dict[str, Any]]], Callable[[Sequence[dict[str, Any]]], str]]
_PARTS: dict[str, _Part] = {"rising": (rising, table), "backlog": (backlog.run, backlog.report)}
"""What is measured, and how it is told."""
