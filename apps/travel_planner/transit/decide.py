"""Journeys by timetables: what is known of them, and answers to requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from citywise.apps.travel_planner.requests import point_fault
from citywise.apps.travel_planner.transit.days import Calendar
from citywise.apps.travel_planner.transit.feed import read_feed
from citywise.apps.travel_planner.transit.ground import Ground, Walk
from citywise.apps.travel_planner.transit.journeys import Place, journeys
from citywise.apps.travel_planner.transit.live import Live
from citywise.apps.travel_planner.transit.request import End, TransitRequest, read
from citywise.apps.travel_planner.transit.telling import Telling, iso
from citywise.apps.travel_planner.transit.timetable import Timetable
from citywise.backend.errors import CitywiseError
from citywise.backend.gtfs_realtime import Message, RealtimeError
from citywise.backend.gtfs_realtime import read as read_message
from citywise.backend.times import parse_ms

_FIRST_S, _LAST_S = 31_536_000, 7_258_118_400
_OLD_S = 900
"""Real-time data so old are told of."""
_GROUNDS = 4
_Json = Mapping[str, Any]


class Transit:
    """Timetables with what is known of today; answers requests, one at a time."""

    def __init__(self, timetable: Timetable, messages: Sequence[Message] = ()) -> None:
        self.timetable = timetable
        self._grounds: OrderedDict[Walk, Ground] = OrderedDict()
        self.update(messages)

    def update(self, messages: Sequence[Message]) -> None:
        """Let these messages count instead of those before; the timetable stays as it is."""
        self.live = Live(self.timetable, messages) if messages else None
        self.calendar = Calendar(self.timetable, self.live)

    def answer(
        self, request: TransitRequest, at_ms: int | None, language: str = "en"
    ) -> dict[str, Any]:
        """Journeys, the best first; `at_ms` is when one departs if the request does not say."""
        ground = self._ground(Walk(request.walk.max_m, request.walk.speed_ms))
        origin = self._place("from", request.start)
        target = self._place("to", request.to)
        at, feeds = self._time(request, at_ms), self.timetable.feeds
        arrive = request.arrive is not None
        found = journeys(self.calendar, ground, origin, target, at, arrive)
        telling = Telling(feeds, ground, self.live.alerts if self.live else (), language)
        routes = []
        for number, journey in enumerate(found[: request.alternatives]):
            what = "departs last" if arrive else "arrives first"
            why = f"It {what}." if number == 0 else "It has fewer changes, or less to walk."
            told = telling.route(journey, origin, target)
            routes.append({"id": f"j{number + 1}", **told, "chosen": number == 0, "why": why})
        return {
            "now": iso(at, feeds[0].zone),
            "routes": routes,
            "conflict": None,
            "found": len(found),
            "alerts": list(telling.told.values()),
            "notes": list(self._notes(bool(found), at)),
        }

    def _ground(self, walk: Walk) -> Ground:
        if walk not in self._grounds:
            self._grounds[walk] = Ground(self.timetable.stops, walk)
            while len(self._grounds) > _GROUNDS:
                self._grounds.popitem(last=False)
        return self._grounds[walk]

    def _time(self, request: TransitRequest, at_ms: int | None) -> int:
        """When one departs, or arrives; Unix seconds."""
        if request.arrive is not None:
            at = parse_ms(request.arrive) // 1000
        elif request.depart is not None or at_ms is not None:
            ms = parse_ms(request.depart) if request.depart is not None else at_ms or 0
            at = -(-ms // 1000)
        else:
            first = min(self.timetable.feeds, key=lambda feed: feed.first_day())
            day = first.first_day()
            at = int(datetime(day.year, day.month, day.day, tzinfo=first.zone).timestamp())
        if not _FIRST_S <= at <= _LAST_S:
            path = "depart" if request.arrive is None else "arrive"
            raise point_fault(path, "bad-time", "expected a time in the years 1971 to 2199")
        return at

    def _place(self, path: str, end: End) -> Place:
        if end.stop is None:
            return Place(end.lat or 0.0, end.lon or 0.0)
        stops: list[list[int]] = []
        index = self.timetable.stops.index
        for at, feed in enumerate(self.timetable.feeds):
            if end.stop in feed.stops:
                stops.append([index[at, end.stop]])
            elif feed.stations.get(end.stop):
                stops.append([index[at, stop] for stop in feed.stations[end.stop]])
        if not stops:
            raise point_fault(path, "no-stop", f"no feed has a stop or station {end.stop!r}")
        if len(stops) > 1:
            message = f"{len(stops)} feeds have a stop {end.stop!r}; give its position"
            raise point_fault(path, "many-stops", message)
        first = self.timetable.stops.all[stops[0][0]]
        return Place(first.lat, first.lon, first.name, tuple(stops[0]))

    def _notes(self, is_found: bool, at: int) -> Iterator[_Json]:
        yield {
            "code": "straight",
            "message": "Without streets: walks and lines are straight lines.",
        }
        if not is_found:
            message = "No journey within 24 hours and the metres that may be walked."
            yield {"code": "no-journey", "message": message}
        for feed in self.timetable.feeds:
            yield from (_note("feed", fault) for fault in feed.faults)
            if feed.fault_count > len(feed.faults):
                more = feed.fault_count - len(feed.faults)
                yield _note("feed", f"{feed.name}: {more} more faults")
        if self.live is not None:
            yield from _of_live(self.live, at)


def _note(code: str, message: str) -> _Json:
    return {"code": code, "message": message}


def _of_live(live: Live, at: int) -> Iterator[_Json]:
    """What is to be said of real-time data."""
    yield _note("realtime", f"{live.applied} updates of trips count, {live.fault_count} faults.")
    if live.time is None:
        yield _note("realtime-age", "The real-time data do not say when they were made.")
    elif abs(at - live.time) > _OLD_S:
        minutes = round(abs(at - live.time) / 60)
        yield _note("realtime-age", f"The real-time data are {minutes} min away from this time.")
    yield from (_note("realtime-fault", fault) for fault in live.faults)
    if live.fault_count > len(live.faults):
        more = live.fault_count - len(live.faults)
        yield _note("realtime-fault", f"{more} more faults")


class RealtimeFileError(CitywiseError):
    """A file of real-time data cannot be used; names it, and what is wrong."""


def message_in(path: Path) -> Message:
    """The GTFS-Realtime message in a file; raises `RealtimeFileError`."""
    try:
        return read_message(path.read_bytes())
    except OSError as error:
        raise RealtimeFileError(f"{path}: cannot be read: {error.strerror}") from None
    except RealtimeError as error:
        raise RealtimeFileError(f"{path}: {error}; expected protobuf (.pb)") from None


def transit(
    body: Mapping[str, Any],
    paths: Sequence[Path],
    at_ms: int | None,
    realtime: Sequence[Path] = (),
) -> dict[str, Any]:
    """The answer to a request's body by the timetables of some feeds, and real-time data."""
    request = read(body)
    messages = [message_in(path) for path in realtime]
    feeds = [read_feed(path) for path in paths]
    return Transit(Timetable(feeds), messages).answer(request, at_ms)
