"""All journeys of a small feed, one by one, as the definitions of docs/public-transport.md say.

Reads the raw tables, keeps every journey and compares them at the end; shares no code with what
it checks.
"""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

Row = dict[str, str]
Value = tuple[int, ...]
Key = tuple[int, tuple[str, ...]]
Answer = tuple[int, int, int, tuple[str, ...]]
"""Departure (or arrival, with `arrive`: departure), changes, metres, trip ids."""


def rows(feed: Path, name: str) -> list[Row]:
    with zipfile.ZipFile(feed) as archive:
        if name not in archive.namelist():
            return []
        text = archive.read(name).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def clock(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def metres(one: Row, other: Row) -> float:
    a, b = math.radians(float(one["stop_lat"])), math.radians(float(other["stop_lat"]))
    east = math.radians(float(other["stop_lon"]) - float(one["stop_lon"]))
    h = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(east / 2) ** 2
    return 1.3 * 2 * 6_371_000 * math.asin(math.sqrt(h))


def undominated(values: set[Value]) -> list[Value]:
    return [
        value
        for value in values
        if not any(
            other != value and all(a <= b for a, b in zip(other, value, strict=True))
            for other in values
        )
    ]


@dataclass(frozen=True)
class Told:
    """A stop of an update: `due` are (time, delay) of arrival and departure, or None."""

    sequence: int | None
    stop: str
    kind: str = "SCHEDULED"
    arrival: tuple[int | None, int | None] | None = None
    departure: tuple[int | None, int | None] | None = None


@dataclass(frozen=True)
class Update:
    """What GTFS-Realtime says of a trip on a day, YYYYMMDD."""

    trip: str
    day: str
    kind: str = "SCHEDULED"
    start: str = ""
    route: str = ""
    stops: tuple[Told, ...] = ()


@dataclass(frozen=True)
class Vehicle:
    """A trip of a day; calls are (stop, arrives, departs, on, off)."""

    trip: Row
    day: str
    calls: tuple[tuple[str, int, int, bool, bool], ...]
    is_frequency: bool


class Oracle:
    def __init__(self, feed: Path, updates: Sequence[Update] = ()) -> None:
        self.updates = updates
        self.stops = {row["stop_id"]: row for row in rows(feed, "stops.txt")}
        self.places = [s for s, row in self.stops.items() if row["location_type"] != "1"]
        self.trips = rows(feed, "trips.txt")
        self.calls: dict[str, list[Row]] = {}
        for row in rows(feed, "stop_times.txt"):
            self.calls.setdefault(row["trip_id"], []).append(row)
        self.calendar = rows(feed, "calendar.txt")
        self.exceptions = rows(feed, "calendar_dates.txt")
        self.frequencies = rows(feed, "frequencies.txt")
        self.transfers = rows(feed, "transfers.txt")
        self.zone = ZoneInfo(rows(feed, "agency.txt")[0]["agency_timezone"])

    # --- What runs -----------------------------------------------------------------------

    def runs_on(self, service: str, day: datetime) -> bool:
        text = day.strftime("%Y%m%d")
        for row in self.exceptions:
            if (row["service_id"], row["date"]) == (service, text):
                return row["exception_type"] == "1"
        name = day.strftime("%A").lower()
        return any(
            row["service_id"] == service
            and row["start_date"] <= text <= row["end_date"]
            and row[name] == "1"
            for row in self.calendar
        )

    def times(self, trip: str) -> list[tuple[Row, int, int]]:
        calls = sorted(self.calls[trip], key=lambda row: int(row["stop_sequence"]))
        found = []
        for at, row in enumerate(calls):
            if row["arrival_time"]:
                found.append((row, clock(row["arrival_time"]), clock(row["departure_time"])))
                continue
            low = max(i for i in range(at) if calls[i]["arrival_time"])
            high = min(i for i in range(at, len(calls)) if calls[i]["arrival_time"])
            start = clock(calls[low]["departure_time"])
            end = clock(calls[high]["arrival_time"])
            part, whole = float(at - low), float(high - low)
            if calls[at].get("shape_dist_traveled"):
                lengths = [float(calls[i]["shape_dist_traveled"]) for i in (low, at, high)]
                part, whole = lengths[1] - lengths[0], lengths[2] - lengths[0]
            time = start + math.floor((end - start) * part / whole)
            found.append((row, time, time))
        return found

    def vehicles(self, start: int) -> Iterator[Vehicle]:
        first = datetime.fromtimestamp(start, UTC).astimezone(self.zone)
        for ahead in range(-3, 4):
            day = (first + timedelta(ahead)).replace(hour=12, minute=0, second=0)
            zero = int(day.timestamp()) - 12 * 3600
            for trip in self.trips:
                if not self.runs_on(trip["service_id"], day):
                    continue
                times = self.times(trip["trip_id"])
                often = [r for r in self.frequencies if r["trip_id"] == trip["trip_id"]]
                shifts = {0} if not often else set()
                for row in often:
                    begin, end = clock(row["start_time"]), clock(row["end_time"])
                    shifts |= {s - times[0][2] for s in range(begin, end, int(row["headway_secs"]))}
                for shift in shifts:
                    calls = tuple(
                        (
                            row["stop_id"],
                            zero + shift + arrives,
                            zero + shift + departs,
                            row["pickup_type"] != "1",
                            row["drop_off_type"] != "1",
                        )
                        for row, arrives, departs in times
                    )
                    text = day.strftime("%Y%m%d")
                    begins = times[0][2] + shift if often else None
                    known = [
                        u for u in self.updates if self.means(u, trip["trip_id"], text, begins)
                    ]
                    if known:
                        found = self.moved(calls, [row for row, _, _ in times], known[-1])
                        if len(found) < 2:
                            continue
                        calls = found
                    yield Vehicle(trip, text, calls, bool(often))
        for update in self.updates:
            stops = [told for told in update.stops if told.kind != "SKIPPED"]
            if update.kind == "ADDED" and all(told.stop in self.places for told in stops):
                row = {"trip_id": update.trip, "route_id": update.route, "block_id": ""}
                added = []
                for told in stops:
                    assert told.arrival
                    assert told.departure
                    added.append((told.stop, told.arrival[0] or 0, told.departure[0] or 0))
                yield Vehicle(row, "", tuple((*each, True, True) for each in added), False)

    def means(self, update: Update, trip: str, day: str, start: int | None) -> bool:
        if update.kind == "ADDED" or (update.trip, update.day) != (trip, day):
            return False
        return start is None or clock(update.start) == start

    def moved(
        self, calls: tuple[tuple[str, int, int, bool, bool], ...], rows: list[Row], update: Update
    ) -> tuple[tuple[str, int, int, bool, bool], ...]:
        """The calls that are served, as an update says."""
        if update.kind == "CANCELED":
            return ()
        told: dict[int, Told] = {}
        after = 0
        for each in update.stops:  # the call that each is about
            for number, row in enumerate(rows):
                if each.sequence is not None and int(row["stop_sequence"]) != each.sequence:
                    continue
                if each.sequence is None and (number < after or row["stop_id"] != each.stop):
                    continue
                told[number], after = each, number + 1
                break
        found, late, latest = [], 0, 0
        for number, (stop, arrives, departs, on, off) in enumerate(calls):
            here = told.get(number, Told(None, stop))
            if here.kind == "NO_DATA":
                late = 0
            times = []
            for due, event in ((arrives, here.arrival), (departs, here.departure)):
                time, delay = event if event and here.kind == "SCHEDULED" else (None, None)
                if time is not None:
                    late = time - due
                elif delay is not None:
                    late = delay
                latest = max(latest, due + late)  # no vehicle goes back in time
                times.append(latest)
            if here.kind != "SKIPPED":
                found.append((stop, times[0], times[1], on, off))
        return tuple(found)

    # --- Changing ------------------------------------------------------------------------

    def change(self, one: str, other: str, leaves: Row, takes: Row, speed: float) -> int | None:
        """Seconds of a change, None: never."""
        length = metres(self.stops[one], self.stops[other])
        best: tuple[int, int, int] | None = None
        chosen: Row | None = None
        for row in self.transfers:
            ends = []
            for stop, name in ((one, "from_stop_id"), (other, "to_stop_id")):
                if row[name] == stop:
                    ends.append(1)
                elif row[name] and row[name] == self.stops[stop]["parent_station"]:
                    ends.append(0)
            wishes = [
                (row["from_trip_id"], leaves["trip_id"]),
                (row["to_trip_id"], takes["trip_id"]),
                (row["from_route_id"], leaves["route_id"]),
                (row["to_route_id"], takes["route_id"]),
            ]
            if len(ends) < 2 or any(wish and wish != found for wish, found in wishes):
                continue
            trips = sum(bool(wish) for wish, _ in wishes[:2])
            routes = sum(bool(wish) for wish, _ in wishes[2:])
            rank = (trips, routes, sum(ends))
            if best is None or rank > best:
                best, chosen = rank, row
        if chosen is not None:
            kind = chosen["transfer_type"]
            if kind == "3":
                return None
            if kind == "2":
                return int(chosen["min_transfer_time"])
            return 0 if kind == "1" else math.ceil(length / speed)
        station = self.stops[one]["parent_station"]
        if one == other:
            return 0
        if station and station == self.stops[other]["parent_station"]:
            return 120
        return math.ceil(length / speed)

    # --- Journeys ------------------------------------------------------------------------

    def ends(self, end: dict[str, Any], max_m: float, speed: float) -> dict[str, tuple[int, float]]:
        if "stop" in end:
            return {
                stop: (0, 0.0)
                for stop in self.places
                if end["stop"] in (stop, self.stops[stop]["parent_station"])
            }
        here = {"stop_lat": str(end["lat"]), "stop_lon": str(end["lon"])}
        found = {stop: metres(here, self.stops[stop]) for stop in self.places}
        return {s: (math.ceil(m / speed), m) for s, m in found.items() if m <= max_m}

    def answer(self, body: dict[str, Any]) -> list[Answer]:
        """The Pareto set in order: with `arrive`, departures instead of arrivals."""
        found: dict[Value, tuple[tuple[int, int, tuple[str, ...]], Answer]] = {}
        for departs, arrives, changes, walked, key in self.every(body):
            value = (-departs if "arrive" in body else arrives, changes, math.ceil(walked))
            told = (abs(value[0]), changes, value[2], key[1])
            mine = ((-departs, *key), told)
            found[value] = min(found.get(value, mine), mine)
        return [found[value][1] for value in sorted(undominated(set(found)))]

    def ranged(self, body: dict[str, Any], within: int) -> list[tuple[int, ...]]:
        """All that depart within so many seconds, or arrive: departure, arrival, changes, metres
        of those that none of all journeys beats, whenever it departs; on foot one may go at any
        time, and is told of once."""
        values: set[Value] = set()
        foot: Value | None = None
        for departs, arrives, changes, walked, key in self.every(body):
            value: Value = (-departs, arrives, changes, math.ceil(walked))
            values.add(value)
            if not key[1]:
                foot = value
        found = []
        for value in undominated(values):
            on_foot = foot is not None and (
                foot[0] + foot[1] <= value[0] + value[1] and foot[3] <= value[3]
            )
            begins = value[1] if "arrive" in body else -value[0]
            given = int(datetime.fromisoformat(body.get("arrive") or body["depart"]).timestamp())
            if value == foot or (not on_foot and abs(begins - given) <= within):
                found.append((-value[0], *value[1:]))
        return sorted(found)

    def every(self, body: dict[str, Any]) -> list[tuple[int, int, int, float, Key]]:
        """Departure, arrival, changes and metres of all journeys; legs and ids of trips."""
        walk = body.get("walk", {})
        max_m, speed = walk.get("max_m", 1000.0), walk.get("speed_ms", 1.33)
        arrive = "arrive" in body
        at = int(datetime.fromisoformat(body["arrive" if arrive else "depart"]).timestamp())
        start, end = (at - 86_400, at) if arrive else (at, at + 86_400)
        vehicles = [
            each
            for each in self.vehicles(start)
            if each.calls[-1][1] >= start and each.calls[0][2] <= end
        ]
        rides = list(self.rides(vehicles))
        places = [body["from"], *body.get("via", []), body["to"]]
        near = [self.ends(place, max_m, speed) for place in places]
        found: list[tuple[int, int, int, float, Key]] = []

        def keep(departs: int, arrives: int, changes: int, walked: float, key: Key) -> None:
            if departs >= start and arrives <= end and walked <= max_m:
                found.append((departs, arrives, changes, walked, key))

        def go_on(
            at: int, left: int | None, now: int, rode: list[Any], walked: float, legs: int
        ) -> None:
            """From a place on the way; `left` is when one left the first, None: not yet."""
            ids = tuple(t["trip_id"] for ride in rode for t in ride)
            if at == len(places) - 1:
                if rode and left is not None:
                    keep(left, now, len(rode) - 1, walked, (legs, ids))
                return
            if "stop" not in places[at] and "stop" not in places[at + 1]:
                length = metres(*map(point, places[at : at + 2]))
                seconds = math.ceil(length / speed)
                go_on(at + 1, left, now + seconds, rode, walked + length, legs + 1)
            for on, on_at, trips, off_at, off in rides:
                if on in near[at]:
                    seconds, more = near[at][on]
                    if on_at - seconds >= now and walked + more <= max_m:
                        # nothing holds one before the first ride: one leaves in time for it
                        begins = on_at - seconds - (now - start) if left is None else left
                        legs_there = legs + (more > 0) + len(trips)
                        ride_on(at, begins, [*rode, trips], off_at, off, walked + more, legs_there)

        def ride_on(
            at: int, left: int, rode: list[Any], now: int, here: str, walked: float, legs: int
        ) -> None:
            if here in near[at + 1]:
                seconds, more = near[at + 1][here]
                go_on(at + 1, left, now + seconds, rode, walked + more, legs + (more > 0))
            if len(rode) > 4:
                return
            for on, on_at, trips, off_at, off in rides:
                if on_at < now or off_at > end:
                    continue
                length = metres(self.stops[here], self.stops[on])
                if walked + length > max_m:
                    continue
                needs = self.change(here, on, rode[-1][-1], trips[0], speed)
                if needs is not None and now + needs <= on_at:
                    more_legs = legs + (here != on) + len(trips)
                    ride_on(at, left, [*rode, trips], off_at, off, walked + length, more_legs)

        def point(place: dict[str, Any]) -> Row:
            return {"stop_lat": str(place["lat"]), "stop_lon": str(place["lon"])}

        go_on(0, None, start, [], 0.0, 0)
        if not any("stop" in place for place in places):
            lengths = [metres(point(a), point(b)) for a, b in pairwise(places)]
            seconds = sum(math.ceil(length / speed) for length in lengths)
            departs = end - seconds if arrive else start
            keep(departs, departs + seconds, 0, sum(lengths), (len(lengths), ()))
        return found

    def rides(self, vehicles: list[Vehicle]) -> Iterator[tuple[str, int, list[Row], int, str]]:
        for one in vehicles:
            for at, (on, _, departs, may_on, _) in enumerate(one.calls):
                if not may_on:
                    continue
                for off, arrives, _, _, may_off in one.calls[at + 1 :]:
                    if may_off:
                        yield on, departs, [one.trip], arrives, off
                if at == len(one.calls) - 1:
                    continue
                for two in vehicles:
                    if (
                        two is not one
                        and two.day == one.day
                        and one.trip["block_id"]
                        and one.trip["block_id"] == two.trip["block_id"]
                        and not (one.is_frequency or two.is_frequency)
                        and one.calls[-1][0] == two.calls[0][0]
                        and one.calls[-1][1] <= two.calls[0][2]
                    ):
                        for off, arrives, _, _, may_off in two.calls[1:]:
                            if may_off:
                                yield on, departs, [one.trip, two.trip], arrives, off
