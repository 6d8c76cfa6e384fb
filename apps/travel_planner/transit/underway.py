"""A journey by line that somebody is on: its legs as they run now, what comes next, and whether
the changes hold. Pure: times are Unix seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from citywise.apps.travel_planner.transit.calls import Call
from citywise.apps.travel_planner.transit.decide import MODES, Transit
from citywise.apps.travel_planner.transit.feed import Feed, Trip
from citywise.apps.travel_planner.transit.ground import Walk, straight_m
from citywise.apps.travel_planner.transit.telling import iso
from citywise.backend.app import times as clock

TIGHT_S = 120
"""A change with less to spare may fail."""
LEFT_BEHIND_M = 60.0
LEFT_BEHIND_S = 60
"""Who is so near the stop so long after the departure did not get on."""
Json = dict[str, Any]
Body = Mapping[str, Any]
Spot = tuple[float, float, int]
"""Latitude, longitude, and when that was heard."""
Why = Literal["trip_cancelled", "change_missed", "ride_missed", "drive_late"]


def is_by_line(plan: Body) -> bool:
    """Whether a plan was made by timetables."""
    return plan.get("mode") in MODES


@dataclass(frozen=True)
class Underway:
    """A journey at a time."""

    legs: tuple[Json, ...]
    """As the planner tells them, with the times of now; `realtime` may be `cancelled`."""
    changes: tuple[Json, ...]
    """`{"leg", "stop", "slack_s", "state"}`: of each ride that one has to be in time for."""
    at: int
    """The leg that one is on or waits for; their number where one is there."""
    now: int
    broken: tuple[int, Why] | None = None
    """The first leg that cannot be taken, and why."""

    @property
    def arrives(self) -> int | None:
        """When one is there; None if a leg cannot be taken."""
        return None if self.broken else seconds(self.legs[-1]["arrives"])

    @property
    def aboard(self) -> Json | None:
        """The ride that one is on."""
        if self.at == len(self.legs) or (self.broken and self.broken[0] == self.at):
            return None
        leg = self.legs[self.at]
        return leg if leg["trip"] and seconds(leg["departs"]) <= self.now else None

    def next(self) -> Json:
        """What one does next: a code, where and when."""
        if self.at == len(self.legs):
            return {"code": "arrived", "at": self.legs[-1]["arrives"]}
        leg = self.legs[self.at]
        place = {"mode": leg["mode"], "line": leg.get("route_name")}
        if leg["trip"] is None:
            is_begun = seconds(leg["departs"]) <= self.now or self.at > 0
            at = leg["arrives"] if is_begun else leg["departs"]
            code = leg["mode"] if is_begun else "leave"
            return {**place, "code": code, "stop": leg["to"].get("name"), "at": at}
        if self.aboard is None:
            stop, towards = leg["from"].get("name"), leg["headsign"]
            return {
                **place, "code": "board", "stop": stop, "at": leg["departs"], "towards": towards
            }  # fmt: skip
        left = sum(seconds(call["arrives"]) > self.now for call in leg["calls"][1:])
        stop = leg["to"].get("name")
        return {
            **place, "code": "alight", "stop": stop, "at": leg["arrives"], "stops": max(left, 1)
        }  # fmt: skip


def seconds(time: str) -> int:
    """Unix seconds of a time as answers have it."""
    return clock.parse_ms(time) // 1000


def underway(
    transit: Transit,
    plan: Body,
    now: int,
    position: Spot | None = None,
    drive_s: int | None = None,
) -> Underway:
    """A planned journey as it is now; `drive_s`: so long the drive to the garage still takes."""
    legs = [as_runs(transit, leg) if leg["trip"] else dict(leg) for leg in plan["legs"]]
    ready = _shifted(legs, now, drive_s, transit.timetable.feeds[0].zone)
    changes = list(_changes(transit, legs, ready))
    at = next(
        (n for n, leg in enumerate(legs) if _is_out(leg) or seconds(leg["arrives"]) > now),
        len(legs),
    )
    missed = {change["leg"] for change in changes if change["state"] == "broken"}
    broken: tuple[int, Why] | None = None
    for number in range(at, len(legs)):
        leg = legs[number]
        if _is_out(leg):
            broken = number, "trip_cancelled"
        elif number in missed:
            before = any(each["trip"] for each in legs[:number])
            broken = number, "change_missed" if before else "drive_late"
        elif leg["trip"] and number == at and position and _is_left_behind(leg, now, position):
            broken = number, "ride_missed"
        if broken:
            break
    return Underway(tuple(legs), tuple(changes), at, now, broken)


def _is_out(leg: Body) -> bool:
    return leg.get("realtime") == "cancelled"


def _is_left_behind(leg: Body, now: int, position: Spot) -> bool:
    """Whether somebody still stands where their ride has departed."""
    departs, (lat, lon, heard) = seconds(leg["departs"]), position
    if now < departs + LEFT_BEHIND_S or heard < departs + LEFT_BEHIND_S:
        return False
    return straight_m(lat, lon, leg["from"]["lat"], leg["from"]["lon"]) <= LEFT_BEHIND_M


# --- Times of now ---------------------------------------------------------------------------------


def as_runs(transit: Transit, leg: Body) -> Json:
    """A ride at the times at which its trip runs now. What the timetable does not have (any
    more) stays as it was planned."""
    found = _planned_run(transit, leg)
    if found is None:
        return dict(leg)
    at, trip, midnight, offset, ends = found
    served = trip.calls[ends[0] : ends[1] + 1]
    shift = midnight + offset
    times = {call.sequence: (call.arrives + shift, call.departs + shift) for call in served}
    state = "scheduled"
    if transit.live is not None and transit.live.is_told_of(at, trip.id, midnight, offset):
        told = transit.live.times_of(at, trip.id, midnight, offset)
        on, off = served[0].sequence, served[-1].sequence
        if on not in told or off not in told:
            return {**leg, "realtime": "cancelled"}
        times, state = {key: told[key] for key in times if key in told}, "updated"
    return _timed(transit.timetable.feeds[at], leg, served, times, state)


def _timed(
    feed: Feed,
    leg: Body,
    served: Sequence[Call],
    times: Mapping[int, tuple[int, int]],
    state: str,
) -> Json:
    calls = [
        {
            "stop": call.stop,
            "name": feed.stops[call.stop].name,
            "arrives": iso(times[call.sequence][0], feed.zone),
        }
        for call in served
        if call.sequence in times
    ]
    return {
        **leg,
        "departs": iso(times[served[0].sequence][1], feed.zone),
        "arrives": iso(times[served[-1].sequence][0], feed.zone),
        "calls": calls,
        "realtime": state,
    }


def _planned_run(transit: Transit, leg: Body) -> tuple[int, Trip, int, int, tuple[int, int]] | None:
    """Feed, trip, midnight of its service day, offset of its frequency and the calls of a ride."""
    if leg["planned"]["departs"] is None:
        return None
    due = seconds(leg["planned"]["departs"])
    for at, feed in enumerate(transit.timetable.feeds):
        trip = transit.timetable.trips.get((at, leg["trip"]))
        for number, call in enumerate(trip.calls if trip else ()):
            assert trip is not None
            if call.stop != leg["stop_from"]:
                continue
            later = range(number + 1, len(trip.calls))
            off = next((n for n in later if trip.calls[n].stop == leg["stop_to"]), None)
            for offset in trip.runs if off is not None else ():
                midnight = due - call.departs - offset
                noon = datetime.fromtimestamp(midnight, feed.zone) + timedelta(hours=12)
                is_day = noon.date() in feed.days.get(trip.service, ())
                if off is not None and is_day and feed.midnight(noon.date()) == midnight:
                    return at, trip, midnight, offset, (number, off)
    return None


def _lasts(leg: Body) -> int:
    """Seconds of a leg by one's own means."""
    return seconds(leg["arrives"]) - seconds(leg["departs"])


def _shifted(legs: list[Json], now: int, drive_s: int | None, zone: ZoneInfo) -> dict[int, int]:
    """Put walks and drives to where the rides are now; returns by ride when one is ready to get
    on, where that is known."""

    def move(number: int, departs: int) -> int:
        leg = legs[number]
        arrives = departs + _lasts(leg)
        leg |= {"departs": iso(departs, zone), "arrives": iso(arrives, zone)}
        return arrives

    ready: dict[int, int] = {}
    first = next((n for n, leg in enumerate(legs) if leg["trip"]), len(legs))
    time = seconds(legs[first]["departs"]) if first < len(legs) else None
    for number in reversed(range(first)):
        if time is not None:
            time -= _lasts(legs[number])
            move(number, time)
    if drive_s is not None and legs[0]["mode"] == "car":
        arrives = now + drive_s
        if arrives > seconds(legs[0]["arrives"]):
            legs[0]["arrives"] = iso(arrives, zone)
            for number in range(1, first):
                arrives = move(number, arrives)
            ready[first] = arrives
    there: int | None = None
    for number in range(first, len(legs)):
        if legs[number]["trip"]:
            if there is not None:
                ready[number] = there
            there = None if _is_out(legs[number]) else seconds(legs[number]["arrives"])
        elif there is not None:
            there = move(number, there)
    return ready


def _changes(transit: Transit, legs: Sequence[Body], ready: Mapping[int, int]) -> Iterator[Json]:
    """Of each ride that one has to be in time for, how much time there is."""
    for number, time in sorted(ready.items()):
        leg = legs[number]
        if leg.get("stays_seated") or _is_out(leg):
            continue
        slack = seconds(leg["departs"]) - time - _extra(transit, legs, number)
        state = "broken" if slack < 0 else "tight" if slack < TIGHT_S else "holds"
        stop = leg["from"].get("name")
        yield {"leg": number, "stop": stop, "slack_s": slack, "state": state}


def _extra(transit: Transit, legs: Sequence[Body], number: int) -> int:
    """Seconds that a change at one stop needs by the feed's rules: no walk tells of them."""
    before, after = legs[number - 1], legs[number]
    if not before["trip"]:
        return 0
    timetable, stops = transit.timetable, transit.timetable.stops
    for at in range(len(timetable.feeds)):
        one, other = (timetable.trips.get((at, leg["trip"])) for leg in (before, after))
        ends = (at, before["stop_to"]), (at, after["stop_from"])
        if one is None or other is None or not all(end in stops.index for end in ends):
            continue
        target = stops.index[ends[1]]
        for change in transit.ground(Walk()).changes(stops.index[ends[0]], False):
            if change.to == target:
                return change.between(stops.line(at, one), stops.line(at, other)) or 0
    return 0
