"""Random real-time updates of a small feed, and GTFS-Realtime files of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from random import Random

from google.transit import gtfs_realtime_pb2 as wire

from tests.transit.networks import clock
from tests.transit.oracle import Oracle, Told, Update, Vehicle


def updates(random: Random, oracle: Oracle, count: int) -> list[Update]:
    """Of trips about the days that are asked of: delays, times, nothing known, skipped stops,
    cancelled, added and unknown trips."""
    start = datetime(2024, 3, 31, 12, tzinfo=oracle.zone)
    vehicles = list(oracle.vehicles(int(start.timestamp())))
    found = []
    for number in range(count):
        vehicle = random.choice(vehicles)
        kind = random.choice(["SCHEDULED"] * 5 + ["CANCELED", "ADDED"])
        if kind == "ADDED":
            found.append(added(random, oracle, vehicle, f"x{number}"))
            continue
        trip = vehicle.trip["trip_id"] if random.random() < 0.9 else "unknown"
        first = ""
        if vehicle.is_frequency:
            zero = datetime.strptime(vehicle.day + "12", "%Y%m%d%H").replace(tzinfo=oracle.zone)
            first = clock((vehicle.calls[0][2] - zero.timestamp() + 43_200) / 60)
        stops = told(random, oracle, vehicle) if kind == "SCHEDULED" else ()
        found.append(Update(trip, vehicle.day, kind, first, stops=stops))
    return found


def told(random: Random, oracle: Oracle, vehicle: Vehicle) -> tuple[Told, ...]:
    rows = [row for row, _, _ in oracle.times(vehicle.trip["trip_id"])]
    found = []
    for row, (stop, arrives, departs, _, _) in zip(rows, vehicle.calls, strict=True):
        if random.random() < 0.5:
            continue
        kind = random.choice(["SCHEDULED"] * 4 + ["SKIPPED", "NO_DATA"])
        events = []
        for due in (arrives, departs):
            late = random.choice([-60, 0, 30, 90, 240, 600, 1800, 90_000])
            event = (due + late, None), (None, late), (due + late, 7), None
            events.append(random.choice(event))
        sequence = int(row["stop_sequence"]) if random.random() < 0.5 else None
        named = stop if sequence is None or random.random() < 0.5 else ""
        found.append(Told(sequence, named, kind, events[0], events[1]))
    return tuple(found)


def added(random: Random, oracle: Oracle, like: Vehicle, name: str) -> Update:
    """A trip about the time of another, now and then to a stop that nobody knows."""
    stops = random.sample(oracle.places, random.randint(2, 3))
    if random.random() < 0.2:
        stops[0] = "nowhere"
    time, calls = like.calls[0][2] + random.choice([-300, 0, 60]), []
    for stop in stops:
        calls.append(Told(None, stop, arrival=(time, None), departure=(time + 30, None)))
        time += random.choice([90, 240])
    return Update(name, "", "ADDED", "", random.choice(["r1", "new"]), tuple(calls))


def written(path: Path, changes: Sequence[Update], time: int = 1_711_900_000) -> Path:
    """A file of GTFS-Realtime."""
    feed = wire.FeedMessage()
    feed.header.gtfs_realtime_version = "2.0"
    feed.header.timestamp = time
    for number, each in enumerate(changes):
        entity = feed.entity.add(id=f"e{number}")
        trip = entity.trip_update.trip
        trip.trip_id, trip.start_date, trip.start_time = each.trip, each.day, each.start
        trip.route_id = each.route
        trip.schedule_relationship = trip.ScheduleRelationship.Value(each.kind)
        for stop in each.stops:
            row = entity.trip_update.stop_time_update.add()
            row.schedule_relationship = row.ScheduleRelationship.Value(stop.kind)
            if stop.sequence is not None:
                row.stop_sequence = stop.sequence
            if stop.stop:
                row.stop_id = stop.stop
            for event, due in ((row.arrival, stop.arrival), (row.departure, stop.departure)):
                if due is not None and due[0] is not None:
                    event.time = due[0]
                if due is not None and due[1] is not None:
                    event.delay = due[1]
    path.write_bytes(feed.SerializeToString())
    return path
