"""A GTFS feed as values: stops, trips with all their times, service days, rules of changing."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

from citywise.apps.travel_planner.transit.tables import FeedError, Row, Tables

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIME = re.compile(r"(\d{1,3}):([0-5]\d):([0-5]\d)")
MOST_FAULTS = 100
"""That are kept with their lines; the others are counted."""
_MOST_DAYS = 3_700
_MOST_RUNS = 10_000
"""Of a row of frequencies."""


@dataclass(frozen=True)
class Stop:
    """Where vehicles stop; `station` is its parent, if it has one."""

    id: str
    name: str
    lat: float
    lon: float
    station: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """A trip at a stop; seconds of the service day."""

    stop: str
    arrives: int
    departs: int
    pickup: int
    drop_off: int
    sequence: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Trip:
    """A trip of a timetable; `runs` are its departures, seconds from its first call's."""

    id: str
    route: str
    service: str
    block: str
    headsign: str
    calls: tuple[Call, ...]
    runs: tuple[int, ...]
    is_frequency: bool


@dataclass(frozen=True)
class Rule:
    """A row of transfers.txt; ids that are empty hold for all."""

    from_stop: str
    to_stop: str
    type: int
    seconds: int
    from_route: str = ""
    to_route: str = ""
    from_trip: str = ""
    to_trip: str = ""


@dataclass
class Feed:
    """What is usable of an archive, and the faults of the rest."""

    name: str
    zone: ZoneInfo
    stops: dict[str, Stop] = field(default_factory=dict)
    stations: dict[str, list[str]] = field(default_factory=dict)
    routes: dict[str, str] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """Of routes, as routes.txt has them."""
    agencies: dict[str, str] = field(default_factory=dict)
    """By route; empty if the feed names none."""
    trips: list[Trip] = field(default_factory=list)
    days: dict[str, set[date]] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    fault_count: int = 0
    unread: list[str] = field(default_factory=list)
    """Tables of the archive that nothing is taken from."""

    def first_day(self) -> date:
        """The first day on which anything runs."""
        running = {trip.service for trip in self.trips}
        days = [day for service in running for day in self.days.get(service, ())]
        if not days:
            raise FeedError(f"{self.name}: no trip runs on any day")
        return min(days)

    def midnight(self, day: date) -> int:
        """Noon minus twelve hours of a service day, Unix seconds."""
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=self.zone)
        return int(noon.timestamp()) - 43_200


def read_feed(path: Path) -> Feed:
    """A feed; what is faulty in single rows is left out and told, the rest raises `FeedError`."""
    return _Reading(Tables(path)).feed()


class _Reading:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._feed = Feed(tables.path.name, self._zone())

    def feed(self) -> Feed:
        for read in (self._stops, self._routes, self._days, self._trips, self._rules):
            read()
        if not self._feed.trips:
            raise FeedError(f"{self._tables.path}: has no trip that can be ridden")
        self._feed.unread = self._tables.others()
        return self._feed

    def _fault(self, table: str, line: int, message: str) -> None:
        self._feed.fault_count += 1
        if len(self._feed.faults) < MOST_FAULTS:
            self._feed.faults.append(f"{self._feed.name}: {table}:{line}: {message}; left out")

    def _zone(self) -> ZoneInfo:
        agencies = list(self._tables.rows("agency.txt"))
        zones = {row["agency_timezone"]: line for line, row in agencies}
        self._agency = agencies[0][1].get("agency_id", "") if len(agencies) == 1 else ""
        where = f"{self._tables.path}: agency.txt"
        if len(zones) != 1:
            raise FeedError(f"{where}: found {len(zones)} time zones, expected one for the feed")
        ((name, line),) = zones.items()
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise FeedError(f"{where}:{line}: found {name!r}, expected a time zone") from None

    def _stops(self) -> None:
        feed, known = self._feed, set()
        for line, row in self._tables.rows("stops.txt"):
            stop, kind = row["stop_id"], row.get("location_type") or "0"
            if stop in known or not stop:
                self._fault("stops.txt", line, f"`stop_id` {stop!r} is empty or there twice")
                continue
            known.add(stop)
            if kind == "1":
                feed.stations.setdefault(stop, [])
                continue
            if kind != "0":
                continue
            try:
                lat, lon = float(row.get("stop_lat", "")), float(row.get("stop_lon", ""))
                if not (abs(lat) <= 90 and abs(lon) <= 180):
                    raise ValueError
            except ValueError:
                self._fault("stops.txt", line, f"stop {stop!r} has no position in degrees")
                continue
            parent = row.get("parent_station") or None
            feed.stops[stop] = Stop(stop, row.get("stop_name", stop), lat, lon, parent)
            if parent:
                feed.stations.setdefault(parent, []).append(stop)

    def _routes(self) -> None:
        for _, row in self._tables.rows("routes.txt"):
            name = row.get("route_short_name") or row.get("route_long_name") or row["route_id"]
            self._feed.routes[row["route_id"]] = name
            self._feed.modes[row["route_id"]] = _mode(row.get("route_type", ""))
            self._feed.types[row["route_id"]] = row.get("route_type", "")
            self._feed.agencies[row["route_id"]] = row.get("agency_id", "") or self._agency

    def _days(self) -> None:
        days: dict[str, set[date]] = defaultdict(set)
        for line, row in self._tables.rows("calendar.txt"):
            try:
                first, last = day_of(row["start_date"]), day_of(row["end_date"])
                span = (last - first).days + 1
                if span > _MOST_DAYS:
                    raise ValueError
                runs = [row[name] == "1" for name in _WEEKDAYS]
            except (ValueError, KeyError):
                self._fault("calendar.txt", line, "expected dates YYYYMMDD within ten years")
                continue
            every = (first + timedelta(n) for n in range(span))
            days[row["service_id"]] |= {day for day in every if runs[day.weekday()]}
        for line, row in self._tables.rows("calendar_dates.txt"):
            try:
                day = day_of(row["date"])
                change = {"1": set.add, "2": set.discard}[row["exception_type"]]
            except (ValueError, KeyError):
                self._fault("calendar_dates.txt", line, "expected a date and exception 1 or 2")
                continue
            change(days[row["service_id"]], day)
        self._feed.days = dict(days)

    def _trips(self) -> None:
        calls = self._calls()
        runs = self._frequencies()
        known: set[str] = set()
        for line, row in self._tables.rows("trips.txt"):
            trip = row["trip_id"]
            if trip in known or row["route_id"] not in self._feed.routes:
                self._fault("trips.txt", line, f"trip {trip!r} is there twice or has no route")
                continue
            known.add(trip)
            try:
                timed = _timed(sorted(calls.get(trip, ()), key=lambda each: each.sequence))
            except _CallError as fault:
                self._fault("stop_times.txt", fault.line or line, f"trip {trip!r}: {fault}")
                continue
            first = timed[0].departs
            starts = runs.get(trip)
            offsets = (0,) if starts is None else tuple(start - first for start in starts)
            block, head = row.get("block_id", ""), row.get("trip_headsign", "")
            self._feed.trips.append(
                Trip(trip, row["route_id"], row["service_id"], block, head, timed, offsets,
                     starts is not None)
            )  # fmt: skip

    def _calls(self) -> dict[str, list[_Raw]]:
        calls: dict[str, list[_Raw]] = defaultdict(list)
        for line, row in self._tables.rows("stop_times.txt"):
            try:
                raw = _raw(line, row)
            except ValueError as error:
                raw = _Raw(line, 0, "", None, None, None, 0, 0, str(error))
            if not raw.fault and raw.stop not in self._feed.stops:
                raw = _Raw(line, 0, "", None, None, None, 0, 0, f"no stop {raw.stop!r}")
            calls[row["trip_id"]].append(raw)
        return calls

    def _frequencies(self) -> dict[str, list[int]]:
        runs: dict[str, list[int]] = {}
        for line, row in self._tables.rows("frequencies.txt"):
            starts = runs.setdefault(row["trip_id"], [])
            try:
                first, end = clock_s(row["start_time"]), clock_s(row["end_time"])
                headway = int(row["headway_secs"])
                if first is None or end is None or headway <= 0:
                    raise ValueError
                if (end - first) // headway > _MOST_RUNS:
                    raise ValueError
            except ValueError:
                self._fault("frequencies.txt", line, "expected two times and a headway above 0")
                continue
            starts += range(first, end, headway)
        return {trip: sorted(set(starts)) for trip, starts in runs.items()}

    def _rules(self) -> None:
        for line, row in self._tables.rows("transfers.txt"):
            ends = row.get("from_stop_id", ""), row.get("to_stop_id", "")
            kind, least = row["transfer_type"] or "0", row.get("min_transfer_time", "")
            known = self._feed.stops.keys() | self._feed.stations.keys()
            if not set(ends) <= known:
                self._fault("transfers.txt", line, f"no stop or station {ends[0]!r} or {ends[1]!r}")
            elif kind not in ("0", "1", "2", "3"):
                self._fault("transfers.txt", line, f"transfer type {kind!r} is not known")
            elif kind == "2" and not least.isdecimal():
                self._fault("transfers.txt", line, "type 2 has no `min_transfer_time` in seconds")
            else:
                names = ("from_route_id", "to_route_id", "from_trip_id", "to_trip_id")
                seconds = int(least) if kind == "2" else 0
                more = (row.get(name, "") for name in names)
                self._feed.rules.append(Rule(*ends, int(kind), seconds, *more))


# --- A trip's times ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Raw:
    line: int
    sequence: int
    stop: str
    arrives: int | None
    departs: int | None
    along: float | None
    pickup: int
    drop_off: int
    fault: str = ""


class _CallError(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def _raw(line: int, row: Row) -> _Raw:
    arrives, departs = clock_s(row["arrival_time"]), clock_s(row["departure_time"])
    if arrives is None:
        arrives = departs
    if departs is None:
        departs = arrives
    dist = row.get("shape_dist_traveled", "")
    types = [int(row.get(name) or "0") for name in ("pickup_type", "drop_off_type")]
    if not all(0 <= kind <= 3 for kind in types):
        raise ValueError("pickup and drop-off types are 0 to 3")
    along = float(dist) if dist else None
    if along is not None and not math.isfinite(along):
        raise ValueError("`shape_dist_traveled` is no length")
    sequence = int(row["stop_sequence"])
    return _Raw(line, sequence, row["stop_id"], arrives, departs, along, types[0], types[1])


def _timed(raws: Sequence[_Raw]) -> tuple[Call, ...]:
    """The calls of a trip with all times; raises `_CallError` where they cannot be."""
    for raw in raws:
        if raw.fault:
            raise _CallError(raw.line, raw.fault)
    if len(raws) < 2:
        raise _CallError(raws[0].line if raws else 0, "has fewer than two stops")
    known = [at for at, raw in enumerate(raws) if raw.arrives is not None]
    if not known or known[0] != 0 or known[-1] != len(raws) - 1:
        raise _CallError(raws[0].line, "has no time at its first or last stop")
    times = {at: (raws[at].arrives or 0, raws[at].departs or 0) for at in known}
    for low, high in pairwise(known):
        _interpolate(raws, low, high, times)
    calls, before = [], -1
    for at, raw in enumerate(raws):
        arrives, departs = times[at]
        if arrives < before or departs < arrives:
            raise _CallError(raw.line, "goes back in time")
        if at and raw.sequence == raws[at - 1].sequence:
            raise _CallError(raw.line, f"has `stop_sequence` {raw.sequence} twice")
        before = departs
        calls.append(Call(raw.stop, arrives, departs, raw.pickup, raw.drop_off, raw.sequence))
    return tuple(calls)


def _interpolate(
    raws: Sequence[_Raw], low: int, high: int, times: dict[int, tuple[int, int]]
) -> None:
    """Fill in the times between two known ones: by length, else evenly, rounded down."""
    start, span = times[low][1], times[high][0] - times[low][1]
    lengths = [raw.along for raw in raws[low : high + 1]]
    known = [length for length in lengths if length is not None]
    by_length = len(known) == len(lengths) and known == sorted(known) and known[0] < known[-1]
    for at in range(low + 1, high):
        if by_length:
            passed, whole = known[at - low] - known[0], known[-1] - known[0]
            time = start + math.floor(span * passed / whole)  # a 49th of 49 s is one second
        else:
            time = start + span * (at - low) // (high - low)
        times[at] = (time, time)


def clock_s(text: str) -> int | None:
    """`25:10:00` as seconds; None where nothing stands."""
    if not text:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"found the time {text!r}, expected HH:MM:SS")
    hours, minutes, seconds = map(int, match.groups())
    return hours * 3600 + minutes * 60 + seconds


def day_of(text: str) -> date:
    if len(text) != 8 or not text.isdecimal():
        raise ValueError(f"found the date {text!r}, expected YYYYMMDD")
    return date(int(text[:4]), int(text[4:6]), int(text[6:]))


_MODES: dict[str, str] = {
    "0": "tram", "1": "subway", "2": "rail", "3": "bus", "4": "ferry", "5": "cable_tram",
    "6": "aerial_lift", "7": "funicular", "11": "trolleybus", "12": "monorail",
}  # fmt: skip
_EXTENDED: dict[str, str] = {
    "1": "rail", "2": "bus", "4": "subway", "7": "bus", "8": "trolleybus", "9": "tram",
    "10": "ferry", "13": "aerial_lift", "14": "funicular",
}  # fmt: skip


def _mode(kind: str) -> str:
    """The vehicle of a route's type, the extended ones included."""
    return _MODES.get(kind) or _EXTENDED.get(kind[:-2], "transit")
