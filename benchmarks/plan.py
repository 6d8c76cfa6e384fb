"""Planning for people: how fast plans come, and better ones when something happens.

    citywise bench plan            # 300 requests of each kind and load, 20 incidents
    citywise bench plan 100 5

The network is that of Aarhus (CITYWISE_DATA), without the data pack the simulated town's.
Three measurements:

- requests for journeys and for parking over HTTP, with random places, wishes and bounds: from
  one client, from 16 who ask again at once (which finds the most that is answered), and from
  16 who think for a second in between. The web process and its planners are the real ones; the
  database has readings of all sensors, and new ones come while they are asked;
- the whole system runs, somebody follows a plan, an accident is reported over MQTT on the way,
  and a better plan arrives at the client's event stream: from the publishing to the arrival;
- the baselines: the same shortest ways in plain networkx and in Valhalla (`bench routers`).

The clients run on the same cores as the system.
"""

from __future__ import annotations

import http.client
import math
import os
import random
import shutil
import statistics
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

import orjson
import paho.mqtt.client as paho
import routers

from benchmarks.measured.event_streams import followed
from benchmarks.measured.processes import cpu_s
from citywise.apps.travel_planner.roads.cityfiles import City
from citywise.apps.travel_planner.roads.network import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.router import Router
from citywise.backend import mqtt
from citywise.backend.city.aarhus import POLLUTANTS
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.parts import upgrade_tables
from citywise.backend.settings import People, Settings
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.store.models import ReadingRow
from citywise.backend.times import iso, parse_ms
from tests.api.server import serving
from tests.api.town import Town
from tests.street import running as street

LOADS = ((1, 0.0), (16, 0.0), (16, 1.0))
"""Clients, and how many seconds each thinks between an answer and the next request."""
WARMING, PAIRS = 30, 200
NOTHING_AFTER_S = 6.0
"""So late an answer to an incident is none: there may be no better way."""
_PLAY = {
    "data": None, "speed": 1.0, "seed": 7, "lead_in_s": 300.0, "until": None,
    "start": "2026-05-05T10:00:00+02:00",
}  # fmt: skip
_RECORDED = "2014-08-05T10:00:00+02:00"
Json = dict[str, Any]


def run(requests: str = "300", incidents: str = "20") -> list[Json]:
    """Measure plans, then re-plans, then the baselines."""
    found: list[Json] = []
    with _folder() as folder, _web(folder) as (url, network):
        asking = Asking(network)
        _load(url, "travel", asking, 2, 0.0, WARMING)
        for kind in ("travel", "parking"):
            found += [_load(url, kind, asking, *load, int(requests)) for load in LOADS]
    if int(incidents):
        with _folder() as folder, _city(folder) as city:
            found.append(Incidents(city, asking).measure(int(incidents)))
    return [*found, *({"measured": "routers", **each} for each in routers.run(str(PAIRS)))]


def report(results: Sequence[Json]) -> str:
    """A table for each of the three."""
    lines = ["plans    clients  think s  requests  p50 ms  p99 ms  most ms  per s  refused  cores"]
    for r in (each for each in results if each["measured"] == "plans"):
        lines.append(
            f"{r['kind']:8} {r['clients']:7}  {r['think_s']:7.1f}  {r['requests']:8}"
            f"  {r['p50_ms']:6.1f}  {r['p99_ms']:6.1f}  {r['most_ms']:7.1f}  {r['rate']:5.1f}"
            f"  {r['refused']:7}  {r['cores']:5.2f}"
        )
    for r in (each for each in results if each["measured"] == "incidents"):
        told = f"{r['proposed']} of {r['incidents']}"
        figures = f"p50 {r['p50_ms']:.0f} ms, most {r['most_ms']:.0f} ms"
        lines += ["", f"accident over MQTT to better plan at the client: {told}, {figures}"]
    baselines = routers.report([each for each in results if each["measured"] == "routers"])
    return "\n".join([*lines, "", baselines])


@contextmanager
def _folder() -> Iterator[Path]:
    base = REPOSITORY / ".citywise"
    base.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- The web, and what it is told -------------------------------------------------------------


@contextmanager
def _web(folder: Path) -> Iterator[tuple[str, RoadNetwork]]:
    """The web process in a city with live readings."""
    settings = Settings(data_dir=folder, people=People(demo_user=True))
    city = routers.city()
    settings.city_dir.mkdir(parents=True, exist_ok=True)
    city.save(settings.city_dir)
    engine = create_engine_for(settings.database_url)
    migrate(engine)
    upgrade_tables(engine, settings)
    sensors = Sensors(Town(engine), city)
    sensors.begin()
    stop = threading.Event()
    telling = threading.Thread(target=sensors.go_on, args=(stop,))
    try:
        with serving(settings) as server:
            telling.start()
            yield server.url, city.network
            stop.set()
            telling.join()
    finally:
        engine.dispose()


class Sensors:
    """What a city's sensors say: all of them at first, then some each second."""

    def __init__(self, town: Town, city: City) -> None:
        self._town, self._chance = town, random.Random(3)
        self._roads = city.network.sensors
        self._garages = [each for each in city.gazetteer.entries if each.kind == "garage"]
        self._now_ms = parse_ms(_RECORDED)

    def begin(self) -> None:
        """All places and a reading of each."""
        self._town.running(now=iso(self._now_ms))
        for garage in self._garages:
            self._town.garage(garage.id, garage.name, garage.lon, garage.lat)
        self._say([*map(self._traffic, self._roads), *map(self._air, self._roads)])
        self._say([self._parking(garage.id) for garage in self._garages])

    def go_on(self, stop: threading.Event) -> None:
        """As often as real ones do: each road in five minutes, each garage in half an hour."""
        while not stop.wait(1.0):
            self._now_ms += 1000
            self._town.alter("ingest", now_ms=self._now_ms)
            some = self._chance.sample(self._roads, max(1, len(self._roads) // 300))
            self._say([self._traffic(road) for road in some])

    def _say(self, rows: Sequence[ReadingRow]) -> None:
        self._town.change += 1
        self._town.save(*rows)

    def _traffic(self, road: str) -> ReadingRow:
        speed, count = self._chance.uniform(15, 70), self._chance.randint(0, 20)
        return self._row("traffic", road, speed_kmh=speed, vehicle_count=count)

    def _air(self, road: str) -> ReadingRow:
        indices = {name: self._chance.randint(20, 120) for name in POLLUTANTS.values()}
        return self._row("air", road, **indices)

    def _parking(self, garage: str) -> ReadingRow:
        return self._row("parking", garage, occupied=self._chance.randint(0, 100), capacity=100)

    def _row(self, kind: str, place: str, **body: float) -> ReadingRow:
        return ReadingRow(
            kind=kind,
            place_id=place,
            observed_ms=self._now_ms,
            body=body,
            change=self._town.change,
        )


# --- Requests -------------------------------------------------------------------------------


class Asking:
    """Random questions of the kind that people ask; the same each time."""

    def __init__(self, network: RoadNetwork) -> None:
        self._chance = random.Random(1)
        edges = Router(network).graph(Mode.CAR).edges
        nodes = sorted(set(network.tail[edges[~network.outside[edges]]].tolist()))
        self._spots = [(float(network.lat[n]), float(network.lon[n])) for n in nodes]

    def travel(self, **more: Any) -> Json:
        """A journey by car, by bicycle or on foot, or however it is best."""
        start, end = self.apart(500)
        return {
            "from": start,
            "to": end,
            "mode": self._chance.choice(["car", "car", "bicycle", "walk", None]),
            "constraints": self._bounds(),
            "preferences": self._wishes(("time", "distance", "pollution", "cost")),
            **more,
        }

    def parking(self) -> Json:
        """A place for a car near somewhere, coming from somewhere."""
        start, end = self.apart(500)
        return {
            "destination": end,
            "from": self._chance.choice([start, None]),
            "stay_minutes": self._chance.choice([30, 60, 120, 240]),
            "radius_m": self._chance.choice([500, 1000, 2000]),
            "constraints": [],
            "preferences": self._wishes(("walk", "cost")),
        }

    def apart(self, metres: float) -> tuple[Json, Json]:
        """Two places in the city, so far apart at least."""
        while True:
            one, other = self._chance.choice(self._spots), self._chance.choice(self._spots)
            if math.dist(one, (other[0], (other[1] - one[1]) / 1.8 + one[1])) * 111_000 >= metres:
                return _spot(one), _spot(other)

    def _bounds(self) -> list[Json]:
        bound = self._chance.choice([None, ("time", 1800), ("distance", 6000)])
        return [{"on": bound[0], "op": "<=", "value": bound[1]}] if bound else []

    def _wishes(self, criteria: Sequence[str]) -> list[Json]:
        return [{"minimise": each} for each in self._chance.sample(criteria, 2)]


def _spot(at: tuple[float, float]) -> Json:
    return {"lat": at[0], "lon": at[1]}


@dataclass
class Client:
    """Somebody who asks again and again, over one connection."""

    address: str
    kind: str
    think_s: float
    bodies: Sequence[bytes]
    taken_ms: list[float] = field(default_factory=list)
    refused: int = 0

    def live(self) -> None:
        """Ask everything."""
        chance = random.Random(len(self.bodies))
        connection = http.client.HTTPConnection(self.address, timeout=30)
        for body in self.bodies:
            if self.think_s:
                time.sleep(self.think_s * chance.uniform(0.5, 1.5))
            began = time.perf_counter()
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"/api/v1/plans/{self.kind}", body, headers)
            answer = connection.getresponse()
            answer.read()
            self.taken_ms.append((time.perf_counter() - began) * 1000)
            self.refused += answer.status != 200
        connection.close()


def _load(url: str, kind: str, asking: Asking, clients: int, think_s: float, requests: int) -> Json:
    """Let some clients ask so many questions together."""
    each = max(1, requests // clients)
    address = urlsplit(url).netloc
    people = [
        Client(address, kind, think_s, [orjson.dumps(getattr(asking, kind)()) for _ in range(each)])
        for _ in range(clients)
    ]
    threads = [threading.Thread(target=client.live) for client in people]
    # The system is a child of this process, and so are its clients.
    cpu, began = cpu_s(os.getpid()), time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began
    taken = sorted(ms for client in people for ms in client.taken_ms)
    return {
        "measured": "plans",
        "kind": kind,
        "clients": clients,
        "think_s": think_s,
        "requests": len(taken),
        "p50_ms": statistics.median(taken),
        "p99_ms": taken[int(len(taken) * 0.99)],
        "most_ms": taken[-1],
        "rate": len(taken) / seconds,
        "refused": sum(client.refused for client in people),
        "cores": (cpu_s(os.getpid()) - cpu) / seconds,
    }


# --- Incidents ------------------------------------------------------------------------------


@contextmanager
def _city(folder: Path) -> Iterator[Running]:
    """The whole system, as soon as it keeps up with its sensors."""
    pack = routers.pack()
    play = {**_PLAY, "data": str(pack), "start": _RECORDED} if pack else dict(_PLAY)
    with street.system(folder, play) as system:
        client = mqtt.connect(system.settings.broker, "detector")
        try:
            yield Running(system.url, client)
        finally:
            client.disconnect()
            client.loop_stop()


class Running:
    """A running city: what can be asked of it, and what happens there."""

    def __init__(self, url: str, client: paho.Client) -> None:
        self.url, self._client = f"{url}/api/v1", client

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """The answer to a request of the API."""
        data = None if body is None else orjson.dumps(body)
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/{path}", data, kind, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: Json = orjson.loads(answer.read())
        return found

    def accident(self, name: str, point: Sequence[float] | None) -> None:
        """One of the worst kind happens at a place, as a detector tells it; None: it is over."""
        report = {
            "type": "Accident",
            "level": 5,
            "geometry": {"type": "Point", "coordinates": point},
            "source": "social",
            "start_ms": parse_ms(self.ask("GET", "clock")["now"]),
        }
        data = orjson.dumps(report) if point else b""
        self._client.publish(f"citywise/events/{name}", data, qos=1)


class Incidents:
    """Somebody sets out, again and again, and each time there is an accident on the way."""

    def __init__(self, city: Running, asking: Asking) -> None:
        self._city, self._asking = city, asking

    def measure(self, count: int) -> Json:
        """How long each time until a better plan is at the client."""
        found = [self._one(number) for number in range(count)]
        taken = sorted(ms for ms in found if ms is not None)
        return {
            "measured": "incidents",
            "incidents": count,
            "proposed": len(taken),
            "p50_ms": statistics.median(taken) if taken else math.nan,
            "most_ms": taken[-1] if taken else math.nan,
        }

    def _one(self, number: int) -> float | None:
        trip = self._start()
        told = threading.Event()
        arrived: list[float] = []

        def hear(event: Json) -> None:
            if event.get("change") == "proposed":
                arrived.append(time.monotonic())
                told.set()

        stream = Request(f"{self._city.url}/trips/{trip['id']}/events")
        with followed(stream, hear, NOTHING_AFTER_S + 5):
            points = trip["plan"]["geometry"]["coordinates"]
            began = time.monotonic()
            self._city.accident(f"bench-{number}", points[len(points) // 2])
            told.wait(NOTHING_AFTER_S)
        self._city.accident(f"bench-{number}", None)
        self._city.ask("DELETE", f"trips/{trip['id']}")
        time.sleep(1.0)
        return (arrived[0] - began) * 1000 if arrived else None

    def _start(self) -> Json:
        """Follow the best way by car between two places, from its beginning."""
        start, end = self._asking.apart(2500)
        wishes = [{"minimise": "time"}]
        body = {"from": start, "to": end, "mode": "car", "preferences": wishes}
        answer = self._city.ask("POST", "plans/travel", body)
        choice = answer["routes"][0]["id"]
        trip = self._city.ask("POST", "trips", {"plan": answer["plan"], "choice": choice})["trip"]
        self._city.ask("PUT", f"trips/{trip['id']}/position", start)
        time.sleep(1.5)
        return dict(trip)
