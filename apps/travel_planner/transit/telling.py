"""Journeys in the words of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from citywise.apps.travel_planner.transit.alerts import alert_object, on_ride
from citywise.apps.travel_planner.transit.feed import Feed
from citywise.apps.travel_planner.transit.ground import Ground, straight_m
from citywise.apps.travel_planner.transit.journeys import Journey, Place, Ride, ends_of
from citywise.apps.travel_planner.transit.realtime import Alert
from citywise.apps.travel_planner.transit.timetable import Part

_Json = Mapping[str, Any]
Lines = Callable[[str, tuple[float, float], tuple[float, float]], list[tuple[float, float]] | None]
"""The line that a mode takes on streets between two positions; None where none is known."""


@lru_cache(maxsize=50_000)  # journeys of an answer, and questions of a rush, share most calls
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
        lines: Lines | None = None,
    ) -> None:
        self._feeds, self._ground, self._lines = feeds, ground, lines
        self._alerts, self._language = alerts, language
        self.told: dict[str, _Json] = {}
        """The alerts on the legs told of so far, by id."""

    def route(self, journey: Journey, places: Sequence[Place], mode: str) -> dict[str, Any]:
        """A journey as JSON, without what was decided of it."""
        legs = list(self._legs(journey, places))
        zone = self._feeds[0].zone
        line = [point for leg in legs for point in leg["geometry"]["coordinates"]]
        return {
            "mode": mode,
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

    def _legs(self, journey: Journey, places: Sequence[Place]) -> Iterator[dict[str, Any]]:
        """Rides, and the walks before, between and after them: one leaves a place on the way in
        time for the next ride, and goes there at once."""
        time, layer = journey.departs, 0
        before: Ride | None = None
        for ride in journey.rides:
            if before is not None and before.layer == ride.layer:
                if before.ends[1] != ride.ends[0]:
                    yield self._changed(before, ride)
            else:
                if before is not None:
                    layer = before.layer + 1
                    yield from self._reached(before, places[layer])
                    time = before.arrives + self._seconds(places[layer], before.ends[1])
                yield from self._between(places[layer : ride.layer + 1], time)
                yield from self._left(places[ride.layer], ride)
            yield from self._rides(ride)
            before = ride
        if before is not None:
            layer = before.layer + 1
            yield from self._reached(before, places[layer])
            time = before.arrives + self._seconds(places[layer], before.ends[1])
        yield from self._between(places[layer:], time)

    def _seconds(self, place: Place, stop: int) -> int:
        return ends_of(place, self._ground)[stop][0]

    def _between(self, places: Sequence[Place], time: int) -> Iterator[dict[str, Any]]:
        """On foot along some places."""
        for one, other in pairwise(places):
            walk = self._ground.between((one.lat, one.lon), (other.lat, other.lon))
            seconds = walk[0] if walk is not None else 0
            yield self.walk(_point(one), _point(other), time, time + seconds)
            time += seconds

    def _reached(self, ride: Ride, place: Place) -> Iterator[dict[str, Any]]:
        """From where a ride ends to a place."""
        seconds = self._seconds(place, ride.ends[1])
        if ends_of(place, self._ground)[ride.ends[1]] != (0, 0):
            stop, time = self.stop(ride.ends[1]), ride.arrives
            yield self.walk(stop, _point(place), time, time + seconds)

    def _left(self, place: Place, ride: Ride) -> Iterator[dict[str, Any]]:
        """From a place to where a ride begins."""
        stop, seconds = ride.ends[0], self._seconds(place, ride.ends[0])
        if place.lead is not None:
            yield from place.lead.legs(self, place, stop, ride.departs)
        elif ends_of(place, self._ground)[stop] != (0, 0):
            start = ride.departs - seconds
            yield self.walk(_point(place), self.stop(stop), start, ride.departs)

    def _changed(self, before: Ride, after: Ride) -> dict[str, Any]:
        """The walk between two rides: it takes the time that the change needs."""
        one, other = before.ends[1], after.ends[0]
        (change,) = [each for each in self._ground.changes(one, False) if each.to == other]
        seconds = change.between(before.pattern.leaves, after.pattern.takes) or 0
        start = before.arrives
        return self.walk(self.stop(one), self.stop(other), start, start + seconds)

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
        stops = [self.stop(self._ground.stops.index[at, call.stop]) for call in calls]
        departs, arrives = times[ends[0]][1], times[ends[1]][0]
        on_off = calls[0].stop, calls[-1].stop
        is_planned = part.state != "added"
        shift += part.offset
        found = on_ride(self._alerts, feed, part, on_off, (departs, arrives))
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
            "wheelchair": _all(trip.wheelchair, *(feed.stops[end].wheelchair for end in on_off)),
            "bicycles": trip.bicycles,
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

    def walk(self, one: _Json, other: _Json, departs: int, arrives: int) -> dict[str, Any]:
        """A leg on foot between two places."""
        (metres,) = self._ground.lengths(_at(one), [_at(other)])
        return self.moved("walk", (one, other), (departs, arrives), metres)

    def moved(
        self, mode: str, ends: tuple[_Json, _Json], span: tuple[int, int], metres: float
    ) -> dict[str, Any]:
        """A leg by one's own means between two places."""
        zone, (one, other) = self._feeds[0].zone, ends
        times = {"departs": iso(span[0], zone), "arrives": iso(span[1], zone)}
        none = dict.fromkeys(("route", "trip", "headsign"))
        stops = {"stop_from": one.get("stop"), "stop_to": other.get("stop")}
        found = {**_leg(mode, [one, other]), "distance_m": round(metres, 1), **times, **stops}
        line = self._lines(mode, _at(one), _at(other)) if self._lines is not None else None
        if line is not None:
            found["geometry"] = {"type": "LineString", "coordinates": line}
        return {**found, **none, "planned": times}

    def reach(self, lat: float, lon: float) -> Mapping[int, tuple[int, int]]:
        """Seconds and micrometres on foot to each stop."""
        return self._ground.reach(lat, lon)

    def stop(self, place: int) -> _Json:
        """A stop as an end of a leg."""
        stop = self._ground.stops.all[place]
        return {"lat": stop.lat, "lon": stop.lon, "name": stop.name, "stop": stop.id}


def _all(*marks: bool | None) -> bool | None:
    """Whether all is as it must be; None: not known of some."""
    if False in marks:
        return False
    return None if None in marks else True


def _point(place: Place) -> _Json:
    return {"lat": place.lat, "lon": place.lon}


def _at(point: _Json) -> tuple[float, float]:
    return point["lat"], point["lon"]


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
