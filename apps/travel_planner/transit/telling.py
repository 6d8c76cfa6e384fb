"""Journeys in the words of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from citywise.apps.travel_planner.transit.alerts import alert_object, on_ride
from citywise.apps.travel_planner.transit.feed import Feed
from citywise.apps.travel_planner.transit.ground import DETOUR, Ground, straight_m
from citywise.apps.travel_planner.transit.journeys import Journey, Place, Ride
from citywise.apps.travel_planner.transit.timetable import Part
from citywise.backend.gtfs_realtime import Alert

_Json = Mapping[str, Any]


def iso(seconds: int, zone: ZoneInfo) -> str:
    """A time as the answer has it."""
    return datetime.fromtimestamp(seconds, zone).isoformat()


class Telling:
    """Journeys in the words of the answer."""

    def __init__(
        self,
        feeds: Sequence[Feed],
        ground: Ground,
        alerts: Sequence[Alert] = (),
        language: str = "en",
    ) -> None:
        self._feeds, self._ground = feeds, ground
        self._alerts, self._language = alerts, language
        self.told: dict[str, _Json] = {}
        """The alerts on the legs told of so far, by id."""

    def route(self, journey: Journey, origin: Place, target: Place) -> dict[str, Any]:
        """A journey as JSON, without what was decided of it."""
        legs = list(self._legs(journey, _point(origin), _point(target)))
        zone = self._feeds[0].zone
        line = [point for leg in legs for point in leg["geometry"]["coordinates"]]
        return {
            "mode": "transit",
            "geometry": {"type": "LineString", "coordinates": line},
            "distance_m": round(sum(leg["distance_m"] for leg in legs), 1),
            "time_s": journey.arrives - journey.departs,
            "pollution": None,
            "cost": None,
            "departs": iso(journey.departs, zone),
            "arrives": iso(journey.arrives, zone),
            "changes": journey.changes,
            "walk_m": journey.metres,
            "legs": legs,
        }

    def _legs(self, journey: Journey, origin: _Json, target: _Json) -> Iterator[dict[str, Any]]:
        if not journey.rides:
            yield self._walk(origin, target, journey.departs, journey.arrives)
            return
        first, last = journey.rides[0], journey.rides[-1]
        if journey.walked[0]:
            yield self._walk(origin, self._stop(first.ends[0]), journey.departs, first.departs)
        before: Ride | None = None
        for ride in journey.rides:
            if before is not None and before.ends[1] != ride.ends[0]:
                yield self._changed(before, ride)
            yield from self._rides(ride)
            before = ride
        if journey.walked[1]:
            yield self._walk(self._stop(last.ends[1]), target, last.arrives, journey.arrives)

    def _changed(self, before: Ride, after: Ride) -> dict[str, Any]:
        """The walk between two rides: it takes the time that the change needs."""
        one, other = before.ends[1], after.ends[0]
        (change,) = [each for each in self._ground.changes(one, False) if each.to == other]
        seconds = change.between(before.pattern.leaves, after.pattern.takes) or 0
        start = before.arrives
        return self._walk(self._stop(one), self._stop(other), start, start + seconds)

    def _rides(self, ride: Ride) -> Iterator[dict[str, Any]]:
        """A leg for each trip that one sits in."""
        entry, shift = ride.run
        first = 0
        for number, part in enumerate(entry.parts):
            last = len(part.calls) - 1
            on = ride.on if number == 0 else 0
            off = last if number < len(entry.parts) - 1 else ride.off - first
            yield self._ride(entry.feed, part, shift, (on, off), self._times(ride, first), number)
            first += last

    def _times(self, ride: Ride, first: int) -> list[tuple[int, int]]:
        """Arrivals and departures from a call of a run on."""
        pattern, run = ride.pattern, ride.number
        pairs = zip(pattern.arrives[first:], pattern.departs[first:], strict=True)
        return [(arrives[run], departs[run]) for arrives, departs in pairs]

    def _ride(
        self,
        at: int,
        part: Part,
        shift: int,
        ends: tuple[int, int],
        times: Sequence[tuple[int, int]],
        number: int,
    ) -> dict[str, Any]:
        feed, trip = self._feeds[at], part.trip
        calls, zone = part.calls[ends[0] : ends[1] + 1], feed.zone
        stops = [self._stop(self._ground.stops.index[at, call.stop]) for call in calls]
        departs, arrives = times[ends[0]][1], times[ends[1]][0]
        is_planned = part.state != "added"
        shift += part.offset
        found = on_ride(
            self._alerts, feed, part, (calls[0].stop, calls[-1].stop), (departs, arrives)
        )
        for alert in found:
            self.told.setdefault(alert.entity, alert_object(alert, self._language))
        return {
            **_leg(feed.modes.get(trip.route, "transit"), stops),
            "departs": iso(departs, zone),
            "arrives": iso(arrives, zone),
            "stop_from": calls[0].stop,
            "stop_to": calls[-1].stop,
            "route": trip.route or None,
            "route_name": feed.routes.get(trip.route) or trip.route or None,
            "trip": trip.id,
            "headsign": trip.headsign or None,
            "planned": {
                "departs": iso(calls[0].departs + shift, zone) if is_planned else None,
                "arrives": iso(calls[-1].arrives + shift, zone) if is_planned else None,
            },
            "realtime": part.state,
            "stays_seated": number > 0,
            "pickup_type": calls[0].pickup,
            "drop_off_type": calls[-1].drop_off,
            "calls": [
                {"stop": call.stop, "name": stop["name"], "arrives": iso(there, zone)}
                for call, stop, (there, _) in zip(
                    calls, stops, times[ends[0] : ends[1] + 1], strict=True
                )
            ],
            "alerts": [alert.entity for alert in found],
        }

    def _walk(self, one: _Json, other: _Json, departs: int, arrives: int) -> dict[str, Any]:
        zone = self._feeds[0].zone
        leg = _leg("walk", [one, other])
        times = {"departs": iso(departs, zone), "arrives": iso(arrives, zone)}
        none = dict.fromkeys(("route", "trip", "headsign"))
        ends = {"stop_from": one.get("stop"), "stop_to": other.get("stop")}
        metres = round(leg["distance_m"] * DETOUR, 1)
        return {**leg, "distance_m": metres, **times, **ends, **none, "planned": times}

    def _stop(self, place: int) -> _Json:
        stop = self._ground.stops.all[place]
        return {"lat": stop.lat, "lon": stop.lon, "name": stop.name, "stop": stop.id}


def _point(place: Place) -> _Json:
    return {"lat": place.lat, "lon": place.lon}


def _leg(mode: str, points: Sequence[_Json]) -> dict[str, Any]:
    line = [[point["lon"], point["lat"]] for point in points]
    pairs = pairwise(points)
    metres = sum(straight_m(a["lat"], a["lon"], b["lat"], b["lon"]) for a, b in pairs)
    return {
        "mode": mode,
        "from": points[0],
        "to": points[-1],
        "distance_m": round(metres, 3),
        "geometry": {"type": "LineString", "coordinates": line},
    }
