"""`citywise decide travel REQUEST --gtfs FEED`: one journey by timetable, without streets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from citywise.apps.travel_planner.requests import RequestError, point_fault
from citywise.apps.travel_planner.transit.feed import Call, Feed, Trip, read_feed
from citywise.apps.travel_planner.transit.ground import DETOUR, Ground, Walk, straight_m
from citywise.apps.travel_planner.transit.journeys import Journey, Place, Ride, journeys
from citywise.backend.api.body_faults import faults
from citywise.backend.times import parse_ms

MOST_ALTERNATIVES = 1_000
_NOT_YET = ("park_and_ride", "bike_and_ride", "all")
_FIRST_S, _LAST_S = 31_536_000, 7_258_118_400
_POINT = 'expected {"lat": …, "lon": …} or {"stop": "stop_id"}'
_Json = Mapping[str, Any]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )


class End(_Part):
    """A position in degrees, or a stop or station."""

    lat: float | None = Field(default=None, ge=-90, le=90)
    lon: float | None = Field(default=None, ge=-180, le=180)
    stop: str | None = None


class WalkWish(_Part):
    """How far in all, and how fast."""

    max_m: float = Field(default=1000.0, ge=0, le=20_000)
    speed_ms: float = Field(default=1.33, ge=0.1, le=10)


class TransitRequest(_Part):
    """How to get from here to there by timetable."""

    start: End = Field(alias="from")
    to: End
    mode: Literal["transit"]
    depart: str | None = None
    arrive: str | None = None
    walk: WalkWish = WalkWish()
    alternatives: int = Field(default=3, ge=1, le=MOST_ALTERNATIVES)

    @field_validator("depart", "arrive")
    @classmethod
    def _is_a_time(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                parse_ms(text)
            except (ValueError, OverflowError):
                raise ValueError(
                    f"found {text[:40]!r}, expected a time in ISO 8601 with a zone"
                ) from None
        return text


def read(body: Mapping[str, Any]) -> TransitRequest:
    """A request's body; raises `RequestError` with all that is wrong, or is not offered."""
    mode = body.get("mode")
    if mode in _NOT_YET:
        raise point_fault("mode", "not-offered", f"`{mode}` is not offered yet; write `transit`")
    if mode in ("car", "bicycle", "walk", None):
        message = "with timetables alone only `transit` is answered; give --data for the others"
        raise point_fault("mode", "not-offered", message)
    for path in ("from", "to"):
        if not isinstance(body.get(path, {}), Mapping):
            raise point_fault(path, "bad-point", _POINT)
    for name in ("via", "constraints", "preferences"):
        if body.get(name):
            message = "is not offered for `transit` yet; leave it out"
            raise point_fault(name, "not-offered", message)
    known = {name: value for name, value in body.items() if name not in ("constraints", "via")}
    known = {name: value for name, value in known.items() if name != "preferences"}
    try:
        request = TransitRequest.model_validate(known)
    except ValidationError as error:
        names = [field.alias or name for name, field in TransitRequest.model_fields.items()]
        raise RequestError(faults(error, names)) from None
    for path, end in (("from", request.start), ("to", request.to)):
        if (end.stop is None) == (end.lat is None) or (end.lat is None) != (end.lon is None):
            raise point_fault(path, "bad-point", _POINT)
    if request.depart is not None and request.arrive is not None:
        raise point_fault("arrive", "contradiction", "give `depart` or `arrive`, not both")
    if request.start == request.to:
        raise point_fault("to", "same", "it is where you start; choose another place")
    return request


def answer(request: TransitRequest, feeds: Sequence[Feed], at_ms: int | None) -> dict[str, Any]:
    """Journeys, the best first; `at_ms` is when one departs if the request does not say."""
    ground = Ground(feeds, Walk(request.walk.max_m, request.walk.speed_ms))
    origin = _place("from", request.start, feeds, ground)
    target = _place("to", request.to, feeds, ground)
    if request.arrive is not None:
        at = parse_ms(request.arrive) // 1000
    elif request.depart is not None or at_ms is not None:
        ms = parse_ms(request.depart) if request.depart is not None else at_ms or 0
        at = -(-ms // 1000)
    else:
        first = min(feeds, key=lambda feed: feed.first_day())
        day = first.first_day()
        at = int(datetime(day.year, day.month, day.day, tzinfo=first.zone).timestamp())
    if not _FIRST_S <= at <= _LAST_S:
        path = "depart" if request.arrive is None else "arrive"
        raise point_fault(path, "bad-time", "expected a time in the years 1971 to 2199")
    found = journeys(feeds, ground, origin, target, at, request.arrive is not None)
    telling = _Telling(feeds, ground, origin, target)
    routes = [
        telling.route(number, journey, request.arrive is not None)
        for number, journey in enumerate(found[: request.alternatives])
    ]
    return {
        "now": _iso(at, feeds[0].zone),
        "routes": routes,
        "conflict": None,
        "found": len(found),
        "notes": list(_notes(feeds, bool(found))),
    }


def _notes(feeds: Sequence[Feed], is_found: bool) -> Iterator[_Json]:
    yield {"code": "straight", "message": "Without streets: walks and lines are straight lines."}
    if not is_found:
        message = "No journey within 24 hours and the metres that may be walked."
        yield {"code": "no-journey", "message": message}
    for feed in feeds:
        for fault in feed.faults:
            yield {"code": "feed", "message": fault}
        if feed.fault_count > len(feed.faults):
            more = feed.fault_count - len(feed.faults)
            yield {"code": "feed", "message": f"{feed.name}: {more} more faults"}


def _place(path: str, end: End, feeds: Sequence[Feed], ground: Ground) -> Place:
    if end.stop is None:
        return Place(end.lat or 0.0, end.lon or 0.0)
    stops: list[list[int]] = []
    for at, feed in enumerate(feeds):
        if end.stop in feed.stops:
            stops.append([ground.index[at, end.stop]])
        elif feed.stations.get(end.stop):
            stops.append([ground.index[at, stop] for stop in feed.stations[end.stop]])
    if not stops:
        raise point_fault(path, "no-stop", f"no feed has a stop or station {end.stop!r}")
    if len(stops) > 1:
        message = f"{len(stops)} feeds have a stop {end.stop!r}; give its position"
        raise point_fault(path, "many-stops", message)
    first = ground.stops[stops[0][0]]
    return Place(first.lat, first.lon, first.name, tuple(stops[0]))


def _iso(seconds: int, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(seconds, zone).isoformat()


class _Telling:
    """Journeys in the words of the answer."""

    def __init__(self, feeds: Sequence[Feed], ground: Ground, origin: Place, target: Place) -> None:
        self._feeds, self._ground = feeds, ground
        self._origin, self._target = _point(origin), _point(target)

    def route(self, number: int, journey: Journey, arrive: bool) -> dict[str, Any]:
        legs = list(self._legs(journey))
        zone = self._feeds[0].zone
        line = [point for leg in legs for point in leg["geometry"]["coordinates"]]
        what = "departs last" if arrive else "arrives first"
        why = f"It {what}." if number == 0 else "It has fewer changes, or less to walk."
        return {
            "id": f"j{number + 1}",
            "mode": "transit",
            "geometry": {"type": "LineString", "coordinates": line},
            "distance_m": round(sum(leg["distance_m"] for leg in legs), 1),
            "time_s": journey.arrives - journey.departs,
            "pollution": None,
            "cost": None,
            "chosen": number == 0,
            "why": why,
            "departs": _iso(journey.departs, zone),
            "arrives": _iso(journey.arrives, zone),
            "changes": journey.changes,
            "walk_m": journey.metres,
            "legs": legs,
        }

    def _legs(self, journey: Journey) -> Iterator[dict[str, Any]]:
        if not journey.rides:
            yield self._walk(self._origin, self._target, journey.departs, journey.arrives)
            return
        first, last = journey.rides[0], journey.rides[-1]
        on, off = self._at(first, first.on), self._at(last, last.off)
        start = first.run.departs[first.on]
        if journey.walked[0]:
            yield self._walk(self._origin, on, journey.departs, start)
        before: Ride | None = None
        for ride in journey.rides:
            if before is not None and before.run.stops[before.off] != ride.run.stops[ride.on]:
                yield self._changed(before, ride)
            yield from self._rides(ride)
            before = ride
        if journey.walked[1]:
            yield self._walk(off, self._target, last.run.arrives[last.off], journey.arrives)

    def _changed(self, before: Ride, after: Ride) -> dict[str, Any]:
        """The walk between two rides: it takes the time that the change needs."""
        there = self._at(before, before.off), self._at(after, after.on)
        stops = before.run.stops[before.off], after.run.stops[after.on]
        (change,) = [e for e in self._ground.changes(stops[0], False) if e.to == stops[1]]
        leaves, takes = (
            self._ground.line(run.feed, trip)
            for run, trip in ((before.run, before.run.trips[-1]), (after.run, after.run.trips[0]))
        )
        seconds = change.between(leaves, takes) or 0
        start = before.run.arrives[before.off]
        return self._walk(*there, start, start + seconds)

    def _rides(self, ride: Ride) -> Iterator[dict[str, Any]]:
        """A leg for each trip that one sits in."""
        run, first = ride.run, 0
        for part, (trip, shift) in enumerate(zip(run.trips, run.shifts, strict=True)):
            calls = trip.calls
            on = ride.on if part == 0 else 0
            off = len(calls) - 1 if part < len(run.trips) - 1 else ride.off - first
            yield self._ride(run.feed, trip, shift, calls[on : off + 1], part > 0)
            first += len(calls) - 1

    def _ride(
        self, at: int, trip: Trip, shift: int, calls: tuple[Call, ...], seated: bool
    ) -> dict[str, Any]:
        feed = self._feeds[at]
        stops = [self._stop(self._ground.index[at, call.stop]) for call in calls]
        times = {
            "departs": _iso(calls[0].departs + shift, feed.zone),
            "arrives": _iso(calls[-1].arrives + shift, feed.zone),
        }
        return {
            **_leg(feed.modes[trip.route], stops),
            **times,
            "stop_from": calls[0].stop,
            "stop_to": calls[-1].stop,
            "route": trip.route,
            "route_name": feed.routes[trip.route],
            "trip": trip.id,
            "headsign": trip.headsign or None,
            "planned": times,
            "stays_seated": seated,
            "pickup_type": calls[0].pickup,
            "drop_off_type": calls[-1].drop_off,
        }

    def _walk(self, one: _Json, other: _Json, departs: int, arrives: int) -> dict[str, Any]:
        zone = self._feeds[0].zone
        leg = _leg("walk", [one, other])
        times = {"departs": _iso(departs, zone), "arrives": _iso(arrives, zone)}
        none = dict.fromkeys(("route", "trip", "headsign"))
        ends = {"stop_from": one.get("stop"), "stop_to": other.get("stop")}
        metres = round(leg["distance_m"] * DETOUR, 1)
        return {**leg, "distance_m": metres, **times, **ends, **none, "planned": times}

    def _at(self, ride: Ride, call: int) -> _Json:
        return self._stop(ride.run.stops[call])

    def _stop(self, place: int) -> _Json:
        stop = self._ground.stops[place]
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


def transit(body: Mapping[str, Any], paths: Sequence[Path], at_ms: int | None) -> dict[str, Any]:
    """The answer to a request's body by the timetables of some feeds."""
    request = read(body)
    return answer(request, [read_feed(path) for path in paths], at_ms)
