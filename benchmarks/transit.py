"""Journeys by timetable: what an answer costs, alone and beside pyraptor.

    citywise bench transit            # all parts
    citywise bench transit cairns     # one of them

- `cairns`: the buses of Cairns (with the data pack): 100 journeys between points, at 8 o'clock, and
  30 of an hour's departures;
- `city`: a generated city of 5,000 stops and 1,000,000 stop times a day: reading it, 50 journeys,
  and 10 of an hour's departures;
- `updates`: 2,000 updates of trips in Cairns: their bytes to values, and these to a search;
- `pyraptor`: the earliest arrival between 20 pairs of stops of Cairns without walking, beside
  pyraptor where `pip install --no-deps pyraptor loguru` put it. The arrivals have to be equal.

Milliseconds of the process' own time, but `read_s` (seconds) and `read_mb` (peak memory of a
process that only reads). What is compiled, and what is kept between questions (patterns of a day,
changes between stops), is there before the clock starts.
"""

from __future__ import annotations

import importlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

from citywise.apps.travel_planner.transit.decide import Transit
from citywise.apps.travel_planner.transit.feed import Feed, read_feed
from citywise.apps.travel_planner.transit.live import Live
from citywise.apps.travel_planner.transit.realtime import read as read_message
from citywise.apps.travel_planner.transit.request import read
from citywise.apps.travel_planner.transit.timetable import Timetable
from citywise.backend.machine import REPOSITORY

DAY = date(2014, 6, 3)
EIGHT = "2014-06-03T08:00:00+10:00"
ROUNDS = 8
NO_PACK = "no data pack (CITYWISE_DATA)"
WANTED = "pyraptor is not here: `pip install --no-deps pyraptor loguru` lets it take part"
_READ = """
import resource, sys, time
from pathlib import Path
from citywise.apps.travel_planner.transit.feed import read_feed
begin = time.process_time()
read_feed(Path(sys.argv[1]))
print(time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(part: str = "") -> list[dict[str, Any]]:
    """Rows of figures, by part."""
    parts: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
        "cairns": _cairns,
        "city": _city,
        "updates": _updates,
        "pyraptor": _beside,
    }
    return [row for name, rows in parts.items() if part in ("", name) for row in rows()]


def report(rows: list[dict[str, Any]]) -> str:
    """One line a row."""
    return "\n".join("  ".join(f"{name} {value}" for name, value in row.items()) for row in rows)


def _pack() -> Feed | None:
    folder = Path(os.environ.get("CITYWISE_DATA", REPOSITORY.parent / "shared" / "data"))
    found = folder / "feeds" / "gtfs" / "cairns_gtfs.zip"
    return read_feed(found) if found.is_file() else None


def _asked(transit: Transit, bodies: list[dict[str, Any]]) -> dict[str, Any]:
    """Each body once, after a first that makes what is kept."""
    transit.answer(read(bodies[0]), None)
    times, sizes = [], []
    for body in bodies:
        begin = time.process_time()
        answer = transit.answer(read(body), None)
        times.append((time.process_time() - begin) * 1000)
        sizes.append(answer["found"])
    times.sort()
    return {
        "questions": len(bodies),
        "journeys": round(statistics.fmean(sizes), 1),
        "median_ms": round(statistics.median(times), 1),
        "p99_ms": round(times[min(len(times) - 1, int(len(times) * 0.99))], 1),
    }


def _pairs(feed: Feed, count: int, depart: str) -> list[dict[str, Any]]:
    """Journeys between points next to stops."""
    chance, stops = random.Random(1), list(feed.stops.values())
    found = []
    for _ in range(count):
        ends = [{"lat": s.lat + 0.001, "lon": s.lon} for s in chance.sample(stops, 2)]
        body = {"from": ends[0], "to": ends[1], "mode": "transit", "depart": depart}
        found.append({**body, "alternatives": 1000})
    return found


def _cairns() -> Iterator[dict[str, Any]]:
    feed = _pack()
    if feed is None:
        yield {"part": "cairns", "why": NO_PACK}
        return
    for compiled in (True, False):
        transit = Transit(Timetable([feed]), compiled=compiled)
        figures = _asked(transit, _pairs(feed, 100, EIGHT))
        yield {"part": "cairns", "search": "compiled" if compiled else "Python", **figures}
        if compiled:
            hours = _asked(transit, _hours(_pairs(feed, 30, EIGHT)))
            yield {"part": "cairns", "search": "an hour", **hours}


def _city() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.zip"
        calls = generate(path)
        command = [sys.executable, "-c", _READ, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds, megabytes = map(float, done.stdout.split())
        feed = read_feed(path)
    figures = {"stops": len(feed.stops), "stop_times": calls}
    figures |= {"read_s": round(seconds, 1), "read_mb": round(megabytes)}
    bodies = _pairs(feed, 50, "2024-06-04T08:00:00+02:00")
    transit = Transit(Timetable([feed]), compiled=True)
    yield {"part": "city", **figures, **_asked(transit, bodies)}
    yield {"part": "city", "search": "an hour", **_asked(transit, _hours(bodies[:10]))}


def _hours(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same over an hour's departures."""
    return [{**body, "within_min": 60} for body in bodies]


def generate(path: Path, columns: int = 100, rows: int = 50, lines: int = 250) -> int:
    """A city of stops in a grid, and lines of 40 stops that wander through it, 50 times a day in
    each direction; how many stop times."""
    chance = random.Random(1)
    stops = ["stop_id,stop_name,stop_lat,stop_lon"]
    for y in range(rows):
        for x in range(columns):
            lat, lon = (at + chance.uniform(-0.2, 0.2) for at in (y, x))
            stops.append(f"s{y}_{x},{x} {y},{56 + lat * 0.0025:.6f},{10 + lon * 0.0045:.6f}")
    trips, routes = ["route_id,service_id,trip_id"], ["route_id,route_short_name,route_type"]
    calls = ["trip_id,arrival_time,departure_time,stop_id,stop_sequence"]
    turns = [(1, 0), (0, 1), (1, 1), (1, -1), (-1, 0), (0, -1)]
    for line in range(lines):
        routes.append(f"r{line},{line},3")
        x, y = chance.randrange(columns), chance.randrange(rows)
        east, north = chance.choice(turns)
        way = []
        while len(way) < 40:
            if chance.random() < 0.15:
                east, north = chance.choice(turns)
            east = east if 0 <= x + east < columns else -east
            north = north if 0 <= y + north < rows else -north
            x, y = x + east, y + north
            way.append(f"s{y}_{x}")
        for name, stretch in (("a", way), ("b", way[::-1])):
            for number in range(50):
                at = 18_000 + number * 1320 + chance.randrange(600)
                trips.append(f"r{line},s,{line}{name}{number}")
                for place, stop in enumerate(stretch):
                    clock = f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"
                    calls.append(f"{line}{name}{number},{clock},{clock},{stop},{place}")
                    at += 60 + (place * 7 + line) % 40
    days = "monday,tuesday,wednesday,thursday,friday,saturday,sunday"
    week = "s,1,1,1,1,1,1,1,20240101,20241231"
    tables = {
        "agency.txt": ["agency_id,agency_timezone", "a,Europe/Copenhagen"],
        "stops.txt": stops,
        "routes.txt": routes,
        "trips.txt": trips,
        "stop_times.txt": calls,
        "calendar.txt": [f"service_id,{days},start_date,end_date", week],
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for table, texts in tables.items():
            archive.writestr(table, "\n".join(texts))
    return len(calls) - 1


def _updates() -> Iterator[dict[str, Any]]:
    from google.transit import gtfs_realtime_pb2 as wire

    feed, chance = _pack(), random.Random(1)
    if feed is None:
        yield {"part": "updates", "why": NO_PACK}
        return
    message = wire.FeedMessage()
    message.header.gtfs_realtime_version = "2.0"
    running = [
        (trip, day)
        for day in (DAY, date(2014, 6, 4), date(2014, 6, 5), date(2014, 6, 6))
        for trip in feed.trips
        if day in feed.days[trip.service]
    ]
    for trip, day in running[:2000]:
        update = message.entity.add(id=f"{trip.id} {day}").trip_update
        update.trip.trip_id, update.trip.start_date = trip.id, f"{day:%Y%m%d}"
        for call in trip.calls:
            if chance.random() < 0.5:
                told = update.stop_time_update.add(stop_sequence=call.sequence)
                told.arrival.delay = chance.randint(0, 300)
    data, timetable = message.SerializeToString(), Timetable([feed])
    reading, applying = [], []
    for _ in range(5):
        begin = time.process_time()
        values = read_message(data)
        middle = time.process_time()
        Live(timetable, [values])
        reading.append((middle - begin) * 1000)
        applying.append((time.process_time() - middle) * 1000)
    figures = {"updates": len(message.entity), "read_ms": round(statistics.median(reading), 1)}
    yield {"part": "updates", **figures, "apply_ms": round(statistics.median(applying), 1)}


def _beside() -> Iterator[dict[str, Any]]:
    feed, chance = _pack(), random.Random(3)
    if feed is None:
        yield {"part": "pyraptor", "why": NO_PACK}
        return
    try:
        importlib.import_module("loguru").logger.remove()
        raptor = importlib.import_module("pyraptor.model.raptor")
    except ImportError:
        yield {"part": "pyraptor", "why": WANTED}
        return
    theirs, stops = _theirs(feed), sorted(feed.stops)
    transit = Transit(Timetable([feed]), compiled=True)
    pairs = [chance.sample(stops, 2) for _ in range(20)]
    ours_ms, theirs_ms, equal = [], [], 0
    for number, (one, other) in enumerate([pairs[0], *pairs]):
        body = {"from": {"stop": one}, "to": {"stop": other}, "mode": "transit", "depart": EIGHT}
        begin = time.process_time()
        routes = transit.answer(read({**body, "walk": {"max_m": 0.0}}), None)["routes"]
        middle = time.process_time()
        found = raptor.RaptorAlgorithm(theirs).run([theirs.stops.get(one)], 8 * 3600, ROUNDS)
        goal = theirs.stops.get(other)
        arrival = min(found[rides][goal].earliest_arrival_time for rides in found)
        if number == 0:
            continue  # What is kept is made for it.
        theirs_ms.append((time.process_time() - middle) * 1000)
        ours_ms.append((middle - begin) * 1000)
        equal += _of_today(routes, feed.midnight(DAY)) == (arrival if arrival < 129_600 else None)
    medians = [statistics.median(times) for times in (ours_ms, theirs_ms)]
    figures = {"pairs": len(pairs), "equal": equal}
    figures |= {"ours_ms": round(medians[0], 1), "pyraptor_ms": round(medians[1], 1)}
    yield {"part": "pyraptor", **figures, "times": round(medians[1] / medians[0], 1)}


def _of_today(routes: list[dict[str, Any]], midnight: int) -> int | None:
    """The soonest arrival by trips of the day, seconds: theirs knows no other day."""
    times = [datetime.fromisoformat(route["arrives"]).timestamp() - midnight for route in routes]
    soonest = min(times, default=None)
    return None if soonest is None or soonest > 28 * 3600 else int(soonest)


def _theirs(feed: Feed) -> Any:
    """The trips of that day as pyraptor has them: each stop is a station of its own."""
    theirs = importlib.import_module("pyraptor.model.structures")
    stations, stops = theirs.Stations(), theirs.Stops()
    for name in feed.stops:
        station = stations.add(theirs.Station(name, name))
        stop = theirs.Stop(name, name, station, "?")
        station.add_stop(stop)
        stops.add(stop)
    trips, times, routes = theirs.Trips(), theirs.TripStopTimes(), theirs.Routes()
    for each in feed.trips:
        if DAY not in feed.days[each.service]:
            continue
        trip = theirs.Trip()
        trip.hint = each.id
        for place, call in enumerate(each.calls):
            called = stops.get(call.stop)
            timed = theirs.TripStopTime(trip, place, called, call.arrives, call.departs, 0)
            times.add(timed)
            trip.add_stop_time(timed)
        trips.add(trip)
    for trip in trips:
        routes.add(trip)
    return theirs.Timetable(
        stations=stations,
        stops=stops,
        trips=trips,
        trip_stop_times=times,
        routes=routes,
        transfers=theirs.Transfers(),
    )
