"""A GTFS feed as values: stops, trips with all their times, service days, rules of changing."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from citywise.apps.travel_planner.transit.calls import (
    Call,
    CallError,
    Raw,
    clock_s,
    day_of,
    raw_call,
    timed_calls,
)
from citywise.apps.travel_planner.transit.tables import FeedError, Tables

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MOST_FAULTS = 100
"""That are kept with their lines; the others are counted."""
_MOST_DAYS = 3_700
"""Of a row of calendar.txt."""
_MOST_SERVICE_DAYS = 5_000_000
_MOST_RUNS = 10_000
"""Of a row of frequencies."""
_MOST_CALLS = 20_000_000
"""Of all trips on a day, each departure of a frequency counted."""
_MOST_PAIRS = 20_000
"""Trips of one block that could follow each other."""


@dataclass(frozen=True)
class Stop:
    """Where vehicles stop; `station` is its parent, if it has one."""

    id: str
    name: str
    lat: float
    lon: float
    station: str | None
    wheelchair: bool | None = None
    """Whether one gets on and off in one; of its station where it says nothing itself."""


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
    wheelchair: bool | None = None
    """Whether there is room for one; None: not known."""
    bicycles: bool | None = None


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
    station_names: dict[str, str] = field(default_factory=dict)
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
        self._bound_blocks()
        if not self._feed.trips:
            raise FeedError(f"{self._tables.path}: has no trip that can be ridden")
        self._feed.unread = self._tables.others()
        return self._feed

    def _fault(self, table: str, line: int, message: str) -> None:
        self._feed.fault_count += 1
        if len(self._feed.faults) < MOST_FAULTS:
            self._feed.faults.append(f"{self._feed.name}: {table}:{line}: {message}; left out")

    def _note(self, table: str, line: int, message: str) -> None:
        """A fault for which nothing is left out."""
        self._feed.fault_count += 1
        if len(self._feed.faults) < MOST_FAULTS:
            self._feed.faults.append(f"{self._feed.name}: {table}:{line}: {message}")

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
        """Stops and stations; a parent that is no station is as good as none."""
        feed, known = self._feed, set()
        parents: list[tuple[int, str, str]] = []
        marks: dict[str, bool | None] = {}
        for line, row in self._tables.rows("stops.txt"):
            stop, kind = row["stop_id"], row.get("location_type") or "0"
            if stop in known or not stop:
                self._fault("stops.txt", line, f"`stop_id` {stop!r} is empty or there twice")
                continue
            known.add(stop)
            if kind == "1":
                feed.stations.setdefault(stop, [])
                feed.station_names[stop] = row.get("stop_name") or stop
                marks[stop] = _MARKS.get(row.get("wheelchair_boarding", ""))
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
            known_for = _MARKS.get(row.get("wheelchair_boarding", ""))
            feed.stops[stop] = Stop(stop, row.get("stop_name") or stop, lat, lon, parent, known_for)
            if parent:
                parents.append((line, stop, parent))
        for line, stop, parent in parents:
            if parent in feed.stations:
                feed.stations[parent].append(stop)
                if feed.stops[stop].wheelchair is None and parent in marks:
                    feed.stops[stop] = replace(feed.stops[stop], wheelchair=marks[parent])
                continue
            feed.stops[stop] = replace(feed.stops[stop], station=None)
            self._note("stops.txt", line, f"`parent_station` {parent!r} is no station; ignored")

    def _routes(self) -> None:
        for line, row in self._tables.rows("routes.txt"):
            if row["route_id"] in self._feed.routes or not row["route_id"]:
                found = f"`route_id` {row['route_id']!r} is empty or there twice"
                self._fault("routes.txt", line, found)
                continue
            name = row.get("route_short_name") or row.get("route_long_name") or row["route_id"]
            self._feed.routes[row["route_id"]] = name
            self._feed.modes[row["route_id"]] = _mode(row.get("route_type", ""))
            self._feed.types[row["route_id"]] = row.get("route_type", "")
            self._feed.agencies[row["route_id"]] = row.get("agency_id", "") or self._agency

    def _days(self) -> None:
        whole = 0
        days: dict[str, set[date]] = defaultdict(set)
        for line, row in self._tables.rows("calendar.txt"):
            try:
                first, last = day_of(row["start_date"]), day_of(row["end_date"])
                span = (last - first).days + 1
                if not 0 < span <= _MOST_DAYS:
                    raise ValueError
                runs = [row[name] == "1" for name in _WEEKDAYS]
            except (ValueError, KeyError):
                self._fault("calendar.txt", line, "expected two dates YYYYMMDD, at most ten years")
                continue
            whole += span
            if whole > _MOST_SERVICE_DAYS:
                raise FeedError(f"{self._tables.path}: calendar.txt: names too many days")
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
        every = 0
        for line, row in self._tables.rows("trips.txt"):
            trip = row["trip_id"]
            if trip in known or not trip:
                self._fault("trips.txt", line, f"trip {trip!r} is there twice or has no route")
                continue
            known.add(trip)
            if row["route_id"] not in self._feed.routes:
                found = f"trip {trip!r} is there twice or has no route ({row['route_id']!r})"
                self._fault("trips.txt", line, found)
                continue
            if row["service_id"] not in self._feed.days:
                found = f"trip {trip!r} has a service {row['service_id']!r} that no calendar has"
                self._fault("trips.txt", line, found)
                continue
            try:
                timed = timed_calls(sorted(calls.get(trip, ()), key=lambda each: each.sequence))
            except CallError as fault:
                self._fault("stop_times.txt", fault.line or line, f"trip {trip!r}: {fault}")
                continue
            first = timed[0].departs
            starts = runs.get(trip)
            offsets = (0,) if starts is None else tuple(start - first for start in starts)
            every += len(timed) * len(offsets)
            if every > _MOST_CALLS:
                raise FeedError(
                    f"{self._tables.path}: has more than {_MOST_CALLS} stop times a day"
                )
            block, head = row.get("block_id", ""), row.get("trip_headsign", "")
            self._feed.trips.append(
                Trip(trip, row["route_id"], row["service_id"], block, head, timed, offsets,
                     starts is not None, _MARKS.get(row.get("wheelchair_accessible", "")),
                     _MARKS.get(row.get("bikes_allowed", "")))
            )  # fmt: skip

        for table, ids in (("stop_times.txt", calls.keys()), ("frequencies.txt", runs.keys())):
            for trip in sorted(ids - known)[:MOST_FAULTS]:
                line = calls[trip][0].line if table == "stop_times.txt" else 1
                self._fault(table, line, f"no trip {trip!r} in trips.txt")

    def _bound_blocks(self) -> None:
        """Forget blocks in which so many trips could follow each other that no vehicle makes
        them."""
        ends: dict[str, Counter[str]] = defaultdict(Counter)
        starts: dict[str, Counter[str]] = defaultdict(Counter)
        for trip in self._feed.trips:
            if trip.block:
                ends[trip.block][trip.calls[-1].stop] += 1
                starts[trip.block][trip.calls[0].stop] += 1
        wild = {
            block
            for block, stops in ends.items()
            if sum(count * starts[block][stop] for stop, count in stops.items()) > _MOST_PAIRS
        }
        for block in sorted(wild):
            self._note(
                "trips.txt", 1, f"block {block!r} has too many trips to stay seated; ignored"
            )
        if wild:
            self._feed.trips = [
                replace(trip, block="") if trip.block in wild else trip for trip in self._feed.trips
            ]

    def _calls(self) -> dict[str, list[Raw]]:
        calls: dict[str, list[Raw]] = defaultdict(list)
        for line, row in self._tables.rows("stop_times.txt"):
            try:
                raw = raw_call(line, row)
            except ValueError as error:
                raw = Raw(line, 0, "", None, None, None, 0, 0, str(error))
            if not raw.fault and raw.stop not in self._feed.stops:
                raw = Raw(line, 0, "", None, None, None, 0, 0, f"no stop {raw.stop!r}")
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
            elif kind == "2" and not (least.isdecimal() and len(least) < 7):
                self._fault("transfers.txt", line, "type 2 has no `min_transfer_time` in seconds")
            else:
                names = ("from_route_id", "to_route_id", "from_trip_id", "to_trip_id")
                seconds = int(least) if kind == "2" else 0
                more = (row.get(name, "") for name in names)
                self._feed.rules.append(Rule(*ends, int(kind), seconds, *more))


_MARKS: dict[str, bool] = {"1": True, "2": False}
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
