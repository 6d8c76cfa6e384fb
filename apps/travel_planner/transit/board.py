"""Departures of a stop, as a board shows them, and the stops that have one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from citywise.apps.travel_planner.transit.alerts import alert_object, on_ride, on_stop
from citywise.apps.travel_planner.transit.days import Calendar, Pattern
from citywise.apps.travel_planner.transit.feed import Stop
from citywise.apps.travel_planner.transit.live import Live
from citywise.apps.travel_planner.transit.realtime import Alert
from citywise.apps.travel_planner.transit.telling import iso
from citywise.apps.travel_planner.transit.timetable import Part, Timetable

Json = dict[str, Any]


@dataclass(frozen=True)
class _Departure:
    """From a stop: seconds as expected, and as planned (None: not in the timetable)."""

    departs: int
    planned: int | None
    stop: int
    feed: int
    part: Part
    last: str
    state: str


def board(
    calendar: Calendar,
    live: Live | None,
    stops: Sequence[int],
    span: tuple[int, int],
    most: int,
    language: str,
) -> Json:
    """The next departures from some stops within a span of Unix seconds, the first first; those
    that are cancelled are there at their planned times."""
    found = {}
    for stop in stops:
        for each in (*_running(calendar, stop, span), *_cancelled(calendar, live, stop, span)):
            first = each.part.calls[0]
            found[each.part.trip.id, each.planned, each.departs, stop, first.stop] = each
    ordered = sorted(
        found.values(), key=lambda each: (each.departs, each.part.trip.route, each.part.trip.id)
    )
    alerts: Sequence[Alert] = live.alerts if live is not None else ()
    timetable = calendar.timetable
    told: dict[str, Alert] = {}
    departures = []
    for each in ordered[:most]:
        here = timetable.stops.all[each.stop].id
        soon = each.departs, each.departs + 1
        about = on_ride(alerts, timetable.feeds[each.feed], each.part, (here, here), soon)
        told |= {alert.entity: alert for alert in about}
        departures.append(_object(timetable, each, [alert.entity for alert in about]))
    for number in stops:
        feed = timetable.feeds[timetable.stops.keys[number][0]]
        about = on_stop(alerts, feed, timetable.stops.all[number].id, span)
        told |= {alert.entity: alert for alert in about}
    return {
        "departures": departures,
        "alerts": [alert_object(alert, language) for alert in told.values()],
    }


def boards(timetable: Timetable) -> Json:
    """The stops and stations that have a board, as GeoJSON: of a station's stops the station alone,
    where its stops are in the middle. What several feeds call the same is left out."""
    found: defaultdict[str, defaultdict[int, list[Stop]]] = defaultdict(lambda: defaultdict(list))
    for (feed, _), stop in zip(timetable.stops.keys, timetable.stops.all, strict=True):
        found[stop.station or stop.id][feed].append(stop)
    features = [
        {
            "type": "Feature",
            "id": place,
            "geometry": {
                "type": "Point",
                "coordinates": [
                    round(fmean(stop.lon for stop in stops), 6),
                    round(fmean(stop.lat for stop in stops), 6),
                ],
            },
            "properties": {"name": timetable.feeds[feed].station_names.get(place, stops[0].name)},
        }
        for place, by_feed in found.items()
        if len(by_feed) == 1
        for feed, stops in by_feed.items()
    ]
    return {"type": "FeatureCollection", "features": features}


def _running(calendar: Calendar, stop: int, span: tuple[int, int]) -> Iterator[_Departure]:
    for pattern, call in calendar.between(*span).boarding(stop, backwards=False):
        run = pattern.first(call, span[0])
        while run < len(pattern.runs) and pattern.departs[call][run] <= span[1]:
            entry, shift = pattern.runs[run]
            if len(entry.parts) == 1:  # one that goes on as another trip is there as both
                yield _departure(pattern, call, run, entry.parts[0], entry.feed, shift)
            run += 1


def _departure(
    pattern: Pattern, call: int, run: int, part: Part, feed: int, shift: int
) -> _Departure:
    due = part.calls[call].departs + shift + part.offset
    return _Departure(
        pattern.departs[call][run],
        None if part.state == "added" else due,
        pattern.stops[call],
        feed,
        part,
        part.calls[-1].stop,
        part.state,
    )


def _cancelled(
    calendar: Calendar, live: Live | None, stop: int, span: tuple[int, int]
) -> Iterator[_Departure]:
    """What would depart, but is cancelled or leaves this stop out."""
    if live is None:
        return
    timetable = calendar.timetable
    for feed, trip, midnight, offset, served in live.left_out():
        for call in trip.calls[:-1]:
            due = call.departs + midnight + offset
            here = timetable.stops.index[feed, call.stop] == stop and call.pickup != 1
            if here and span[0] <= due <= span[1] and call.sequence not in served:
                part = Part(trip, trip.calls, offset)
                yield _Departure(due, due, stop, feed, part, trip.calls[-1].stop, "cancelled")


def _object(timetable: Timetable, each: _Departure, alerts: list[str]) -> Json:
    feed, trip = timetable.feeds[each.feed], each.part.trip
    stop = timetable.stops.all[each.stop]
    last = feed.stops[each.last].name
    return {
        "departs": iso(each.departs, feed.zone),
        "planned": None if each.planned is None else iso(each.planned, feed.zone),
        "realtime": each.state,
        "mode": feed.modes.get(trip.route, "transit"),
        "route": trip.route or None,
        "route_name": feed.routes.get(trip.route) or trip.route or None,
        "headsign": trip.headsign or last,
        "trip": trip.id,
        "stop": stop.id,
        "stop_name": stop.name,
        "alerts": alerts,
    }
