"""Every user a route of their own, and a city full of events: from the event to the notice.

    citywise bench users                  # 100,000 users, 100 changes of events a second
    citywise bench users 100000 100 30 1  # users, changes a second, seconds, side

One template, one request: jams within 20 m of what remains of my route, and how far ahead.
Users drive on the streets of central Aarhus (without the data pack on a grid), 1.5 to 4 km
each. 100,000 drivers at once are a city, not its centre: the 51 km2 of streets are laid out
three times in each direction, together the area of the municipality (468 km2); with `side` 1
all are in the centre, where a change concerns nine times as many. Events open at edges of the
network, change their level and end after ten seconds. Each core has a process with the part
of the users that the pipeline would give it (`backend.packs.run.serves`); it takes the
entries of the log and a clock each second, at their times by the wall clock. Latency is from
the moment of a change of an event to the moment at which all notices of its clock are there,
waiting for the clock and queueing included; not included are broker, log and database.

Of some users the notices are computed again one by one: each alone with all open events, by
the slow geometry of the tests and a clingo of their own. That is also the baseline.
"""

from __future__ import annotations

import csv
import gc
import gzip
import heapq
import math
import multiprocessing
import os
import random
import re
import resource
import statistics
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import clingo
import numpy as np
import numpy.typing as npt

from citywise.backend.city.observations import EVENT
from citywise.backend.ingest.records import ClockReading, Standing
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.numbers import NumberParameter
from citywise.backend.packs.prepared import prepared
from citywise.backend.packs.run import TemplateRun, serves
from citywise.backend.packs.template import NoticeText, TemplateVersion
from citywise.reasoning.rdf.mapping import quote
from tests.space import reference

EXTENT, AREA_KM2 = (0.107, 0.069), 51
"""Of the pack's streets, degrees of longitude and latitude."""
RADIUS_M, SHORTEST_M, LONGEST_M = 20, 1500, 4000
MOVES_PER_S = 500
LIFE_S = 10.0
"""An event ends after so long; in between it changes its level half of the time."""
SPEED_M_S = 12.0
_PER_ORIGIN = 250
_START_MS = 1_407_222_000_000
_SLACK_M = 0.05
_CHECKED_USERS, _CHECKED_TICKS = 12, 3

RULES = """
#prefix rdf : <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.
#prefix ev : <https://w3id.org/citywise/event#>.
% A jam lies on what remains of my way.
notice(Me,"jam_ahead",Event,Level) :- radius(Me,R), near_route(Me,Event,R),
    not opposite(Me,Event), rdf_type(Event,"ev_TrafficJam"), ev_level(Event,Level).
detail(Me,"jam_ahead",Event,"metres",M) :- notice(Me,"jam_ahead",Event,_), ahead(Me,Event,M).
"""
TEMPLATE = TemplateVersion(
    app="bench_users",
    name="jam_ahead",
    version=1,
    title="Jams on my way",
    rules=RULES,
    parameters={
        "radius": NumberParameter(type="number", title="How near", unit="m", default=RADIUS_M)
    },
    notices={"jam_ahead": NoticeText(title="Jam ahead", text="{about} in {metres} m")},
    permissions=("position", "route"),
    streams=("events",),
)
Line = list[list[float]]
Floats = npt.NDArray[np.float64]


class Network:
    """Streets between junctions: the lines that leave each, with their lengths in metres."""

    def __init__(self, streets: Mapping[tuple[int, int], Line]) -> None:
        self.lines = list(streets.values())
        self.leaving: dict[int, list[tuple[int, float, Line]]] = {}
        for (start, end), line in streets.items():
            self.leaving.setdefault(start, []).append((end, reference.length(line), line))

    @classmethod
    def of_pack(cls, folder: Path, side: int = 1) -> Network:
        """What can be driven of the data pack's OpenStreetMap extract, laid out `side` times
        in each direction (without roads between the copies)."""
        streets: dict[tuple[int, int], Line] = {}
        with gzip.open(folder / "aarhus_osm_edges.csv.gz", "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                pairs = re.findall(r"([\d.]+) ([\d.]+)", row["geometry_wkt"])
                line = [[float(lon), float(lat)] for lon, lat in pairs]
                if row["drive"] == "1":
                    streets[int(row["u"]), int(row["v"])] = line
                    if row["oneway"] != "1":
                        streets[int(row["v"]), int(row["u"])] = line[::-1]
        return cls({k: v for n in range(side**2) for k, v in _moved(streets, n, side)})

    @classmethod
    def grid(cls, size: int = 60) -> Network:
        """Square blocks of about 120 m."""
        at = {n: [10.15 + n % size * 0.0019, 56.12 + n // size * 0.0011] for n in range(size**2)}
        near = [(n, n + 1) for n in at if (n + 1) % size] + [(n, n + size) for n in at]
        both = [pair for a, b in near if b in at for pair in ((a, b), (b, a))]
        return cls({(a, b): [at[a], at[b]] for a, b in both})

    def tree(self, origin: int) -> dict[int, tuple[float, int, Line]]:
        """Shortest ways from a junction: metres, the junction before, the line from there."""
        best: dict[int, tuple[float, int, Line]] = {origin: (0.0, origin, [])}
        queue = [(0.0, origin)]
        while queue:
            metres, node = heapq.heappop(queue)
            if metres > LONGEST_M:
                break
            for there, more, line in self.leaving.get(node, ()):
                if there not in best or metres + more < best[there][0]:
                    best[there] = metres + more, node, line
                    heapq.heappush(queue, (metres + more, there))
        return best


def _moved(
    streets: Mapping[tuple[int, int], Line], number: int, side: int
) -> Iterator[tuple[tuple[int, int], Line]]:
    """Copy `number` of the streets, on a place of its own."""
    east, north = number % side * (EXTENT[0] + 0.01), number // side * (EXTENT[1] + 0.01)
    for (start, end), line in streets.items():
        place = [[lon + east, lat + north] for lon, lat in line]
        yield (start + number * 1_000_000, end + number * 1_000_000), place


@dataclass
class Trip:
    """A user's way, (lon, lat) rows, and which share of it is done at the start."""

    line: Floats
    begun: float

    @cached_property
    def along_m(self) -> Floats:
        """Metres along the way to each of its points."""
        lon, lat = self.line[:, 0], self.line[:, 1]
        steps = reference.EARTH.inv(lon[:-1], lat[:-1], lon[1:], lat[1:])[2]
        return np.concatenate(([0.0], np.cumsum(steps)))

    def position(self, seconds: float) -> dict[str, float | None]:
        """What the user's phone says after so many seconds of driving."""
        at = self.begun * self.along_m[-1] + SPEED_M_S * seconds
        lon, lat = (float(np.interp(at, self.along_m, self.line[:, axis])) for axis in (0, 1))
        return {"lon": lon, "lat": lat, "heading": None, "along_m": None}


class City:
    """A network, and so many users' trips on it."""

    def __init__(self, network: Network, users: int) -> None:
        chance = random.Random(1)
        self.network = network
        self.trips: list[Trip] = []
        while len(self.trips) < users:
            tree = network.tree(chance.choice(list(network.leaving)))
            far = [node for node, (m, *_) in tree.items() if SHORTEST_M <= m <= LONGEST_M]
            for _ in range(min(_PER_ORIGIN, users - len(self.trips)) if far else 0):
                line = _way(tree, chance.choice(far))
                self.trips.append(Trip(np.array(line), chance.uniform(0, 0.8)))


def _way(tree: Mapping[int, tuple[float, int, Line]], end: int) -> Line:
    """The line from the root of a tree to a junction."""
    lines = []
    while tree[end][2]:
        lines.append(tree[end][2])
        end = tree[end][1]
    points = [point for line in reversed(lines) for point in line]
    return [p for i, p in enumerate(points) if i == 0 or p != points[i - 1]]


@dataclass(frozen=True)
class Change:
    """An event that opens, changes (`body`) or ends (None), seconds after the start."""

    at_s: float
    event: str
    body: dict[str, Any] | None


class Load:
    """What happens: so many changes of events a second, and users that move.

    There are as many events open at the start as at any time later.
    """

    def __init__(self, network: Network, users: int, rate: int, seconds: int) -> None:
        chance = random.Random(2)
        self.users, self.seconds = users, seconds
        step = seconds / _CHECKED_TICKS
        self.checked = {max(1, round(step * n)) for n in range(1, _CHECKED_TICKS + 1)}
        total = int((seconds + LIFE_S) * rate / 2.5)
        events = (_event(n, n * 2.5 / rate - LIFE_S, chance, network) for n in range(total))
        changes = sorted((c for event in events for c in event), key=lambda change: change.at_s)
        self._changes = [change for change in changes if change.at_s < seconds]
        self._times = [change.at_s for change in self._changes]

    def between(self, begin: float, end: float) -> list[Change]:
        """The changes from `begin` on, before `end`."""
        return self._changes[bisect_left(self._times, begin) : bisect_left(self._times, end)]

    def open(self, tick: int) -> dict[str, dict[str, Any]]:
        """The events that are open at a clock."""
        found = {change.event: change.body for change in self.between(-math.inf, tick)}
        return {event: body for event, body in found.items() if body}

    def moved(self, tick: int) -> set[int]:
        """The users who say at a clock where they are: in turns."""
        return {(tick * MOVES_PER_S + n) % self.users for n in range(MOVES_PER_S)}


def _event(number: int, at_s: float, chance: random.Random, network: Network) -> Iterator[Change]:
    """The life of an event: 2.5 changes on average."""
    geometry = {"type": "LineString", "coordinates": chance.choice(network.lines)}
    body = {
        "type": "TrafficJam",
        "level": chance.randint(1, 4),
        "geometry": geometry,
        "start_ms": _START_MS,
        "source": "sensor",
        "place_id": None,
        "name": None,
    }
    yield Change(at_s, f"e{number}", body)
    if number % 2:
        yield Change(at_s + LIFE_S / 2, f"e{number}", {**body, "level": 5})
    yield Change(at_s + LIFE_S, f"e{number}", None)


@dataclass
class Measured:
    """What one process measured."""

    load_s: float
    users: int
    latencies_s: list[float] = field(default_factory=list)
    ticks_s: list[float] = field(default_factory=list)
    """From each clock's entries to its notices."""
    cpu_s: float = 0.0
    memory_mb: float = 0.0
    answers: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    """What was concluded for a user at a clock, of those that are checked."""


class Worker:
    """One process with its part of the users."""

    def __init__(self, number: int, of: int, city: City, load: Load) -> None:
        mine = serves(number, of)
        self._load = load
        self._run = TemplateRun(TEMPLATE, users=mine)
        self._trips = {n: trip for n, trip in enumerate(city.trips) if mine(f"u{n}")}
        self._position = 0

    def prepare(self) -> Measured:
        """Let all users and the events that are open at the start stand."""
        began = time.perf_counter()
        for number, trip in self._trips.items():
            self._stand("route", f"u{number}", {"coordinates": trip.line.tolist()})
            self._stand("position", f"u{number}", trip.position(0))
            self._stand("instance", f"u{number}.jam_ahead", _instance(number))
        for change in self._load.between(-math.inf, 0):
            self._stand("event", change.event, change.body)
        self._clock(0)
        return Measured(time.perf_counter() - began, len(self._trips))

    def measure(self, found: Measured, start: float) -> Measured:
        """Live through the load from `start`, a reading of the monotonic clock, on."""
        cpu = time.process_time()
        for tick in range(1, self._load.seconds + 1):
            time.sleep(max(0.0, start + tick - time.monotonic()))
            began = time.monotonic()
            notices = self._tick(tick)
            now = time.monotonic()
            found.ticks_s.append(now - began)
            when = {c.event: start + c.at_s for c in self._load.between(tick - 1, tick)}
            found.latencies_s += [now - when[n["about"]] for n in notices if n["about"] in when]
            if tick in self._load.checked:
                found.answers |= self._answers(tick)
        found.cpu_s = time.process_time() - cpu
        found.memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return found

    def _tick(self, tick: int) -> list[dict[str, Any]]:
        """What changed in the second before, and the notices that follow."""
        for change in self._load.between(tick - 1, tick):
            self._stand("event", change.event, change.body)
        for number in self._load.moved(tick):
            if number in self._trips:
                self._stand("position", f"u{number}", self._trips[number].position(tick))
        return self._clock(tick)

    def _answers(self, tick: int) -> dict[tuple[int, int], list[str]]:
        users = sorted(self._trips)[:: max(1, len(self._trips) // _CHECKED_USERS)]
        return {(n, tick): list(self._run.answer(f"u{n}.jam_ahead")) for n in users}

    def _stand(self, subject: str, key: str, body: Mapping[str, Any] | None) -> None:
        self._position += 1
        list(self._run.take(Standing(subject, key, body, self._position)))

    def _clock(self, tick: int) -> list[dict[str, Any]]:
        self._position += 1
        t_ms = _START_MS + tick * 1000
        steps = list(self._run.take(ClockReading(t_ms, t_ms, self._position)))
        if errors := [step.error for step in steps if step.error]:
            raise RuntimeError(errors[0])
        return [change for step in steps for change in step.changes]


def _instance(number: int) -> dict[str, Any]:
    identity = {"app": TEMPLATE.app, "template": TEMPLATE.name, "version": TEMPLATE.version}
    return {**identity, "user": f"u{number}", "values": {"radius": RADIUS_M}}


def _work(number: int, of: int, city: City, load: Load, parent: Connection) -> None:
    worker = Worker(number, of, city, load)
    found = worker.prepare()
    gc.collect()
    gc.freeze()
    parent.send(found)
    parent.send(worker.measure(found, parent.recv()))


# --- One user at a time --------------------------------------------------------------------


def naive(trip: Trip, number: int, tick: int, load: Load, reach_m: float) -> set[str]:
    """What follows for one user alone from all events, by slow geometry and plain clingo.

    With a smaller reach than the radius, what is too close to tell counts against a notice.
    """
    me = quote(f"u{number}.jam_ahead")
    moved = [t for t in range(1, tick + 1) if number in load.moved(t)]
    position = trip.position(max(moved, default=0))
    facts = [f"radius({me},{RADIUS_M})."]
    for event, body in load.open(tick).items():
        if _is_far(trip, body["geometry"]):
            continue
        found = reference.stand(body["geometry"], True, trip.line.tolist(), position, reach_m)
        if found and found.route_m is not None:
            about = quote(EVENT + event)
            facts.append(f"near_route({me},{about},{RADIUS_M}).")
            facts.append(f"ahead({me},{about},{int(found.ahead_m or 0)}).")
            facts.append(f'ev_level({about},{body["level"]}). rdf_type({about},"ev_TrafficJam").')
            unclear = found.opposite is None and reach_m < RADIUS_M
            facts += [f"opposite({me},{about})."] if found.opposite or unclear else []
    return _concluded("\n".join(facts))


def _is_far(trip: Trip, geometry: Mapping[str, Any]) -> bool:
    """Whether it is so far from all corners that no more has to be computed."""
    lon, lat = reference.middle(geometry)[0]
    away = np.hypot((trip.line[:, 0] - lon) * 62_000, (trip.line[:, 1] - lat) * 111_000)
    return bool(away.min() > RADIUS_M + np.diff(trip.along_m).max() + 100)


def _concluded(facts: str) -> set[str]:
    control = clingo.Control(["--warn=none"])
    control.add("base", [], prepared(TEMPLATE).request.rules + facts)
    control.ground([("base", [])])
    with control.solve(yield_=True) as answers:
        return {str(atom) for answer in answers for atom in answer.symbols(shown=True)}


def _agree(got: Sequence[str], less: set[str], more: set[str]) -> bool:
    """Whether there is all that must be and nothing that cannot; metres may be one off."""
    near, must, may = (dict(map(_split, atoms)) for atoms in (got, less, more))
    return must.keys() <= near.keys() <= may.keys() and all(
        abs(metres - may[atom]) <= 1 for atom, metres in near.items()
    )


def _split(atom: str) -> tuple[str, int]:
    """An atom without the metres at the end of a detail, and these (else 0)."""
    text, _, metres = atom.rstrip(")").rpartition(",")
    return (text, int(metres)) if atom.startswith("detail") else (atom, 0)


# --- The whole -----------------------------------------------------------------------------


def run(
    users: str = "100000", events: str = "100", seconds: str = "30", side: str = "3"
) -> list[dict[str, Any]]:
    """Measure, and check the sample."""
    roads = pack() / "road_network"
    network = Network.of_pack(roads, int(side)) if roads.is_dir() else Network.grid()
    load = Load(network, int(users), int(events), int(seconds))
    city = City(network, int(users))
    of = len(os.sched_getaffinity(0))
    found = _measured(of, city, load)
    latencies = sorted(value for each in found for value in each.latencies_s)
    busy = sum(each.cpu_s for each in found) / (load.seconds * of)
    answers = {key: atoms for each in found for key, atoms in each.answers.items()}
    equal, naive_s = _checked(answers, city, load)
    return [
        {
            "network": "OpenStreetMap" if roads.is_dir() else "grid",
            "km2": AREA_KM2 * int(side) ** 2,
            "users": load.users,
            "processes": of,
            "events_per_s": int(events),
            "positions_per_s": MOVES_PER_S,
            "seconds": load.seconds,
            "notices_per_s": round(len(latencies) / load.seconds),
            "users_per_change": round(len(latencies) / load.seconds / int(events)),
            "p50_s": round(statistics.median(latencies), 2),
            "p99_s": round(latencies[int(len(latencies) * 0.99)], 2),
            "max_s": round(latencies[-1], 2),
            "clock_s": round(statistics.median(t for each in found for t in each.ticks_s), 2),
            "busy": round(busy, 2),
            "users_per_core": load.users // of,
            "users_per_busy_core": round(load.users / (busy * of)),
            "memory_mb": [round(each.memory_mb) for each in found],
            "load_s": round(max(each.load_s for each in found), 1),
            "naive_s_per_user": round(naive_s, 4),
            "checked": len(answers),
            "equal": equal,
        }
    ]


def pack() -> Path:
    """The data pack's folder, which need not be there."""
    return Path(os.environ.get("CITYWISE_DATA") or REPOSITORY.parent / "shared" / "data")


def _measured(of: int, city: City, load: Load) -> list[Measured]:
    """What the processes measured that share the users."""
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(of)]
    workers = [
        context.Process(target=_work, args=(number, of, city, load, pipe[1]), daemon=True)
        for number, pipe in enumerate(pipes)
    ]
    for worker, (_ours, theirs) in zip(workers, pipes, strict=True):
        worker.start()
        theirs.close()
    for ours, _theirs in pipes:
        ours.recv()
    start = time.monotonic() + 0.5
    for ours, _theirs in pipes:
        ours.send(start)
    found = [ours.recv() for ours, _theirs in pipes]
    for worker in workers:
        worker.join()
    return found


def _checked(
    answers: Mapping[tuple[int, int], list[str]], city: City, load: Load
) -> tuple[int, float]:
    """How many of the answers are those of the naive way, and its seconds for each."""
    began, equal = time.perf_counter(), 0
    for (number, tick), atoms in answers.items():
        trip = city.trips[number]
        less, more = (
            naive(trip, number, tick, load, RADIUS_M + slack) for slack in (-_SLACK_M, _SLACK_M)
        )
        equal += _agree(atoms, less, more)
    return equal, (time.perf_counter() - began) / 2 / max(1, len(answers))


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """The figures, one a line."""
    lines = [f"{name.replace('_', ' '):20} {value}" for row in rows for name, value in row.items()]
    return "\n".join(lines)
