"""A small town with two bus lines, somebody on a journey through it, and who watches over them."""

from __future__ import annotations

from pathlib import Path

from citywise.apps.travel_planner.beginning import new_trip
from citywise.apps.travel_planner.transit.decide import Transit
from citywise.apps.travel_planner.transit.feed import read_feed
from citywise.apps.travel_planner.transit.following import LineWatch
from citywise.apps.travel_planner.transit.kept import Kept
from citywise.apps.travel_planner.transit.realtime import read as read_message
from citywise.apps.travel_planner.transit.request import read
from citywise.apps.travel_planner.transit.roads import Around
from citywise.apps.travel_planner.transit.timetable import Timetable
from citywise.apps.travel_planner.trips import Position, Trip
from citywise.apps.travel_planner.watching import Outcome, Watch
from tests.transit.networks import clock, zipped
from tests.transit.oracle import Update
from tests.transit.updates import written
from tests.travel_planner import followed
from tests.travel_planner.followed import MIDDLE, NOON_MS, NORTH, SOUTH, WEST, Live, planner

DAY = "20140805"
NOON = 14 * 60
"""Minutes of the service day at which the town's clock stands."""
STOPS = {"south": SOUTH, "half": 56.155, "change": MIDDLE, "north": NORTH}


def bus_town(folder: Path) -> Path:
    """Line A from the south every ten minutes, line B on to the north a minute after A is there."""
    trips: list[list[object]] = [["route_id", "service_id", "trip_id", "trip_headsign"]]
    calls: list[list[object]] = [
        ["trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence"]
    ]
    for number in range(12):
        start = NOON + 10 * number
        rides = {
            "A": [("south", 5), ("half", 8), ("change", 10)],
            "B": [("change", 13), ("north", 18)],
        }
        for line, ride in rides.items():
            trips.append([line, "s", f"{line}{number}", "North"])
            for at, (stop, minute) in enumerate(ride):
                time = clock(start + minute)
                calls.append([f"{line}{number}", time, time, stop, at + 1])
    stops = [[name, name.title(), lat, WEST] for name, lat in STOPS.items()]
    return zipped(
        folder / "town.zip",
        {
            "agency.txt": [["agency_id", "agency_timezone"], ["a", "Europe/Copenhagen"]],
            "stops.txt": [["stop_id", "stop_name", "stop_lat", "stop_lon"], *stops],
            "routes.txt": [
                ["route_id", "route_short_name", "route_type"], ["A", "A", 3], ["B", "B", 3]
            ],
            "trips.txt": trips,
            "stop_times.txt": calls,
            "calendar_dates.txt": [["service_id", "date", "exception_type"], ["s", DAY, 1]],
        },
    )  # fmt: skip


class BusTown:
    """The town with its buses, somebody on a journey through it, and who watches over them."""

    def __init__(self, folder: Path, mode: str = "transit", live: Live | None = None) -> None:
        self._folder, self.live = folder, live or Live()
        kept = Kept(folder, None)
        self.transit = Transit(Timetable([read_feed(bus_town(folder))]), (), planner().router)
        kept.transit = lambda _: self.transit  # type: ignore[method-assign,assignment]
        self.watch = Watch(planner(), LineWatch(planner(), kept))
        body = {"from": followed.FROM, "to": followed.TO, "mode": mode, "alternatives": 5}
        around = Around(planner(), self.live.refresh())
        self.answer = {"plan": "pl", **self.transit.answer(read(body), NOON_MS, "en", around)}
        option = next(
            r for r in self.answer["routes"] if sum(bool(leg["trip"]) for leg in r["legs"]) >= 1
        )
        self.trip: Trip = new_trip("alice", self.answer, option, None, "en", NOON_MS)

    def at(self, minutes: float) -> Outcome:
        """A look so many minutes after noon."""
        conditions = self.live.change(now_ms=NOON_MS + round(minutes * 60_000))
        return self.watch.look(self.trip, [], conditions)

    def told(self, *changes: Update) -> None:
        path = written(self._folder / "now.pb", changes, NOON_MS // 1000)
        self.transit.update([read_message(path.read_bytes())])

    def stands(self, lat: float, minutes: float) -> None:
        position = Position(lat, WEST, NOON_MS + round(minutes * 60_000))
        self.trip = self.trip.with_content(self.trip.updated_ms, position=position)
