"""Small feeds with all that a feed may have, made from a seed, and questions about them."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

Tables = Mapping[str, Sequence[Sequence[object]]]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
CALLS = [
    "trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence", "pickup_type",
    "drop_off_type", "shape_dist_traveled",
]  # fmt: skip
TRANSFERS = [
    "from_stop_id", "to_stop_id", "transfer_type", "min_transfer_time", "from_route_id",
    "to_route_id", "from_trip_id", "to_trip_id",
]  # fmt: skip


def zipped(path: Path, tables: Tables) -> Path:
    """An archive of tables, of which the first rows are the headers."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, lines in tables.items():
            text = io.StringIO()
            csv.writer(text).writerows(lines)
            archive.writestr(name, text.getvalue())
    return path


def clock(minutes: float) -> str:
    seconds = int(minutes * 60)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def network(random: Random) -> Tables:
    """Five to seven stops in walking distance or out of it, up to nine trips."""
    stops = [f"s{n}" for n in range(random.randint(4, 7))]
    stations = ["A", "B"]
    places: list[list[object]] = [
        ["stop_id", "stop_name", "stop_lat", "stop_lon", "location_type", "parent_station"]
    ]
    places += [[name, name, 56.0, 10.0, 1, ""] for name in stations]
    for stop in stops:
        lat, lon = 56 + random.randint(0, 8) * 0.0015, 10 + random.randint(0, 8) * 0.003
        parent = random.choice(["", "", "A", "B"])
        places.append([stop, stop, lat, lon, 0, parent])
    trips: list[list[object]] = [["route_id", "service_id", "trip_id", "block_id"]]
    calls: list[list[object]] = [[*CALLS]]
    often: list[list[object]] = [["trip_id", "start_time", "end_time", "headway_secs"]]
    patterns = [random.sample(stops, random.randint(2, min(4, len(stops)))) for _ in range(3)]
    ends: list[tuple[str, float]] = []
    for number in range(random.randint(4, 9)):
        pattern = random.choice(patterns)
        at = random.choice([600, 605, 610, 620, 630, 640, 1430, 1445, 1500, 2050])
        block = ""
        if ends and random.random() < 0.4:
            stop, arrived = random.choice(ends)
            pattern = [stop, *[each for each in pattern if each != stop]]
            at, block = int(arrived) + random.choice([0, 1, 5]), "b"
        if len(pattern) < 2:
            continue
        trip = f"t{random.randint(10, 99)}{number}"
        route = random.choice(["r1", "r2", "r3"])
        block = block or random.choice(["b", ""])
        trips.append([route, random.choice(["wd", "wd", "we"]), trip, block])
        time, by_length = float(at), random.random() < 0.5
        for call, stop in enumerate(pattern):
            arrives = time
            departs = time + random.choice([0, 0, 1])
            middle = 0 < call < len(pattern) - 1
            known = not middle or random.random() < 0.6
            kinds = [random.choice([0, 0, 0, 0, 1, 2, 3]) for _ in range(2)]
            calls.append([
                trip, clock(arrives) if known else "", clock(departs) if known else "", stop,
                call * 3 + 1, *kinds, call * call * 100.5 if by_length else "",
            ])  # fmt: skip
            time = departs + random.choice([2, 3, 5, 7])
        ends.append((pattern[-1], arrives))
        if random.random() < 0.15:
            first = random.choice([590, 600, 615])
            often.append([trip, clock(first), clock(first + 40), random.choice([600, 900])])
    rules: list[list[object]] = [[*TRANSFERS]]
    names = [str(trip[2]) for trip in trips[1:]]
    for _ in range(random.choice([0, 2, 5, 8])):
        two = [random.choice([*stops, *stations]) for _ in range(2)]
        kind = random.choice([0, 1, 2, 2, 3])
        named = [random.choice(["", "", "r1", "r2"]) for _ in range(2)]
        named += [random.choice(["", "", "", random.choice(names)]) for _ in range(2)]
        if random.random() < 0.5:
            named = [""] * 4
        rules.append([*two, kind, random.choice([60, 200, 400]) if kind == 2 else "", *named])
    return {
        "agency.txt": [
            ["agency_id", "agency_timezone"],
            ["a", random.choice(["Europe/Copenhagen", "America/New_York"])],
        ],
        "stops.txt": places,
        "routes.txt": [["route_id", "route_type"], ["r1", 3], ["r2", 0], ["r3", 700]],
        "trips.txt": trips,
        "stop_times.txt": calls,
        "calendar.txt": [
            ["service_id", *DAYS, "start_date", "end_date"],
            ["wd", 1, 1, 1, 1, 1, 0, 0, 20240325, 20240412],
            ["we", 0, 0, 0, 0, 0, 1, 1, 20240325, 20240412],
        ],
        "calendar_dates.txt": [
            ["service_id", "date", "exception_type"],
            ["we", 20240402, 1],
            ["wd", 20240403, 2],
        ],
        "frequencies.txt": often,
        "transfers.txt": rules,
    }


def question(random: Random, tables: Tables, via: int = 0) -> dict[str, Any]:
    """From one end to another, along other places, at a time when something may run."""
    stops = tables["stops.txt"][1:]
    ends: list[dict[str, Any]] = []
    while len(ends) < 2 + via:
        name, _, lat, lon, *_ = random.choice(stops)
        near = {"lat": float(str(lat)) + random.choice([0, 0.001]), "lon": float(str(lon)) + 0.001}
        end: dict[str, Any] = {"stop": name} if random.random() < 0.5 else near
        if end not in ends:
            ends.append(end)
    day, hour = (
        random.choice(["03-29", "03-30", "03-31", "04-02", "04-03"]),
        random.choice(["00:20:00", "09:55:00", "10:10:00", "23:30:00"]),
    )
    zone = random.choice(["+01:00", "+02:00", "-04:00"])
    time = random.choice(["depart", "arrive"])
    body: dict[str, Any] = {"from": ends[0], "to": ends[1], "mode": "transit"}
    if via:
        body["via"] = ends[2:]
    body |= {time: f"2024-{day}T{hour}{zone}", "alternatives": 1000}
    if random.random() < 0.6:
        body["walk"] = {
            "max_m": random.choice([0.0, 300.0, 1500.0, 3000.0]),
            "speed_ms": random.choice([1.0, 1.33]),
        }
    return body
