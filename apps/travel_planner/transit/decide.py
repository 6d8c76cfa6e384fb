"""Journeys by timetables: what is known of them, and answers to requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from citywise.apps.travel_planner.requests import point_fault
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.transit.board import board
from citywise.apps.travel_planner.transit.days import Calendar
from citywise.apps.travel_planner.transit.feed import read_feed
from citywise.apps.travel_planner.transit.ground import Ground, Walk
from citywise.apps.travel_planner.transit.journeys import Journey, Place, journeys
from citywise.apps.travel_planner.transit.leads import cycling, parking
from citywise.apps.travel_planner.transit.live import Live
from citywise.apps.travel_planner.transit.offers import Offer, chosen
from citywise.apps.travel_planner.transit.reach import as_geojson, reachable
from citywise.apps.travel_planner.transit.realtime import Message, RealtimeError
from citywise.apps.travel_planner.transit.realtime import read as read_message
from citywise.apps.travel_planner.transit.request import (
    FIRST_S,
    LAST_S,
    End,
    TransitRequest,
    read,
)
from citywise.apps.travel_planner.transit.roads import Around, road_offers
from citywise.apps.travel_planner.transit.streets import Streets
from citywise.apps.travel_planner.transit.telling import Telling, iso
from citywise.apps.travel_planner.transit.timetable import Timetable
from citywise.apps.travel_planner.wording import Values, Words
from citywise.backend.app import CitywiseError, times

_OLD_S = 900
"""Real-time data so old are told of."""
_GROUNDS = 4
_FAR_M = 2_000.0
MODES = ("transit", "park_and_ride", "bike_and_ride")
"""By timetables."""
_Json = Mapping[str, Any]


class Transit:
    """Timetables with what is known of today; answers requests, one at a time."""

    def __init__(
        self,
        timetable: Timetable,
        messages: Sequence[Message] = (),
        router: Router | None = None,
        *,
        compiled: bool = False,
    ) -> None:
        """Without a `router` walks are straight lines. `compiled`: for who asks often, or of a
        large city; compiling takes seconds once, and is kept beside the code."""
        self._compiled = compiled
        self.timetable = timetable
        self._grounds: OrderedDict[Walk, Ground] = OrderedDict()
        self._ways = None if router is None else Streets(router)
        self._cycled = None if router is None else Streets(router, Mode.BICYCLE)
        self.update(messages)

    def warm(self, now_ms: int) -> None:
        """Compile, and make what is kept between questions, for journeys about a time."""
        if not self._compiled:
            return
        ground, at = self.ground(Walk()), now_ms // 1000
        places = [Place(0.0, 0.0, stops=(stop,)) for stop in (0, len(ground.stops.all) - 1)]
        for arrive in (False, True):
            journeys(self.calendar, ground, places, at, arrive, compiled=True)

    def update(self, messages: Sequence[Message]) -> None:
        """Let these messages count instead of those before; the timetable stays as it is."""
        self.live = Live(self.timetable, messages) if messages else None
        self.calendar = Calendar(self.timetable, self.live)

    def answer(
        self,
        request: TransitRequest,
        at_ms: int | None,
        language: str = "en",
        around: Around | None = None,
    ) -> dict[str, Any]:
        """Journeys, the best first; `at_ms` is when one departs if the request does not say."""
        at, feeds = time_of(request, self.timetable, at_ms), self.timetable.feeds
        ground = self.ground(Walk(request.walk.max_m, request.walk.speed_ms))
        compiled = self._can_compile(ground)
        places = [self._place(path, end) for path, end in request.places]
        alerts = self.live.alerts if self.live else ()
        telling = Telling(feeds, ground, alerts, language, self._line)
        within = None if request.within_min is None else request.within_min * 60
        offers: list[Offer] = []
        for mode in MODES if request.mode == "all" else (request.mode,):
            for chain in self._chains(mode, places, ground, at, around):
                for journey in journeys(
                    self.calendar, ground, chain, at, bool(request.arrive), compiled, within
                ):
                    offers.append(_offer(journey, chain, mode, telling, request))
        if request.mode != "transit":
            offers = _front(offers)
        found = len(offers)
        if request.mode == "all" and around is not None:
            offers += list(road_offers(request, around, at, language, feeds[0].zone))
        currency = around.planner.currency if around is not None else "DKK"
        words = Words(language, currency)
        return {
            "kind": "travel",
            "now": iso(at if at_ms is None else at_ms // 1000, feeds[0].zone),
            "request": request.model_dump(mode="json", by_alias=True),
            "from": _end_object(places[0], request.start),
            "to": _end_object(places[-1], request.to),
            **chosen(offers, request, words),
            "found": found,
            "alerts": list(telling.told.values()),
            "notes": list(self._notes(bool(offers), at, words, request, around)),
            "currency": currency,
            "licence": around.planner.city.network.licence if around is not None else None,
        }

    def _can_compile(self, ground: Ground) -> bool:
        """All walks between stops take seconds to find: on streets they are known for the usual
        walk only, and for who walks far they are very many."""
        usual = ground.walk == Walk() if self._ways is not None else ground.walk.max_m <= _FAR_M
        return self._compiled and usual

    def reachable(self, lat: float, lon: float, since: int, minutes: int) -> dict[str, Any]:
        """Where one can be from a time on (Unix seconds) within some minutes, as GeoJSON."""
        ground, span = self.ground(Walk()), (since, since + minutes * 60)
        found = reachable(self.calendar, ground, lat, lon, span, self._can_compile(ground))
        return as_geojson(found, ground, lat, lon, span, self.timetable.feeds[0].zone)

    def board(
        self, stop: str, since: int, minutes: int, most: int, language: str = "en"
    ) -> dict[str, Any]:
        """Departures of a stop or station from a time on (Unix seconds)."""
        place = self._place("stop", End(stop=stop))
        span = (since, since + minutes * 60)
        found = board(self.calendar, self.live, place.stops, span, most, language)
        here = {"id": stop, "name": place.name, "lat": place.lat, "lon": place.lon}
        return {"stop": here, **found}

    def _chains(
        self, mode: str, places: list[Place], ground: Ground, at: int, around: Around | None
    ) -> Iterator[list[Place]]:
        """The places of a journey, for each way to begin it."""
        first, *rest = places
        if mode == "transit":
            yield places
        elif first.stops:
            return
        elif mode == "bike_and_ride":
            yield [cycling(first.lat, first.lon, ground, self._cycled), *rest]
        elif around is not None:
            here = first.lat, first.lon
            for place in parking(here, ground, around.planner, around.conditions, at):
                yield [place, *rest]

    def _line(
        self, mode: str, one: tuple[float, float], other: tuple[float, float]
    ) -> list[tuple[float, float]] | None:
        """The line of a walk or a ride on streets."""
        streets = {"walk": self._ways, "bicycle": self._cycled}.get(mode)
        path = streets.way(one, other) if streets is not None else None
        return None if path is None else path.coordinates()

    def ground(self, walk: Walk) -> Ground:
        """The changes for who walks so far and so fast."""
        if walk not in self._grounds:
            self._grounds[walk] = Ground(self.timetable.stops, walk, self._ways)
            while len(self._grounds) > _GROUNDS:
                self._grounds.popitem(last=False)
        return self._grounds[walk]

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
        feed = self.timetable.feeds[self.timetable.stops.keys[stops[0][0]][0]]
        name = first.name if end.stop in feed.stops else feed.station_names[end.stop]
        return Place(first.lat, first.lon, name, tuple(stops[0]))

    def _notes(
        self,
        is_found: bool,
        at: int,
        words: Words,
        request: TransitRequest,
        around: Around | None,
    ) -> Iterator[_Json]:
        def note(code: str) -> _Json:
            return _note(code, words.say("notes", code))

        if self._ways is None:
            yield note("straight")
        if not is_found:
            yield note("no-journey")
        yield note("fares-unknown")
        if request.mode in ("bike_and_ride", "all"):
            yield note("racks-unknown")
        if request.mode in ("park_and_ride", "all") and around is None:
            yield note("no-garages")
        for feed in self.timetable.feeds:
            yield from (_note("feed", fault) for fault in feed.faults)
            if feed.fault_count > len(feed.faults):
                more = feed.fault_count - len(feed.faults)
                yield _note("feed", f"{feed.name}: {more} more faults")
        if self.live is not None:
            yield from _of_live(self.live, at)


def time_of(request: TransitRequest, timetable: Timetable, at_ms: int | None) -> int:
    """When one departs, or arrives; Unix seconds."""
    if request.arrive is not None:
        at = times.parse_ms(request.arrive) // 1000
    elif request.depart is not None or at_ms is not None:
        ms = times.parse_ms(request.depart) if request.depart is not None else at_ms or 0
        at = -(-ms // 1000)
    else:
        first = min(timetable.feeds, key=lambda feed: feed.first_day())
        day = first.first_day()
        at = int(datetime(day.year, day.month, day.day, tzinfo=first.zone).timestamp())
    if not FIRST_S <= at <= LAST_S:
        path = "depart" if request.arrive is None else "arrive"
        raise point_fault(path, "bad-time", "expected a time in the years 1971 to 2199")
    return at


def _note(code: str, message: str) -> _Json:
    return {"code": code, "message": message, "text": message}


def _end_object(place: Place, end: End) -> dict[str, Any]:
    """An end of the journey, as answers for streets have it."""
    found = {"lat": place.lat, "lon": place.lon, "snapped_m": None, "name": place.name or None}
    return {**found, "stop": end.stop}


def _offer(
    journey: Journey, chain: list[Place], mode: str, telling: Telling, request: TransitRequest
) -> Offer:
    told = telling.route(journey, chain, mode)
    times = {"departure": float(journey.departs), "arrival": float(journey.arrives)}
    values: Values = {
        **{name: times[name] for name in request.times},
        "changes": float(journey.changes),
        "walk": float(journey.metres),
        "time": float(journey.arrives - journey.departs),
        "distance": told["distance_m"],
        "cost": None,
        "pollution": None,
    }
    return Offer(mode, values, lambda: told)


def _front(offers: list[Offer]) -> list[Offer]:
    """Those of each mode that no other of it beats, the best first."""

    def value(offer: Offer) -> tuple[float, ...]:
        found = offer.values
        departure, arrival = found.get("departure"), found.get("arrival")
        whole = found["changes"] or 0.0, found["walk"] or 0.0
        return arrival or 0.0, -(departure or 0.0), *whole

    kept: list[Offer] = []
    for one in sorted(offers, key=value):
        mine = value(one)
        if not any(
            other.mode == one.mode and all(a <= b for a, b in zip(value(other), mine, strict=True))
            for other in kept
        ):
            kept.append(one)
    return kept


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
    around: Callable[[int], Around] | None = None,
) -> dict[str, Any]:
    """The answer to a request's body by the timetables of some feeds, and real-time data.

    `around` gives the city at a time (Unix ms); without it there are no streets.
    """
    request = read(body)
    messages = [message_in(path) for path in realtime]
    timetable = Timetable([read_feed(path) for path in paths])
    if around is None:
        return Transit(timetable, messages).answer(request, at_ms)
    city = around(at_ms or time_of(request, timetable, None) * 1000)
    found = Transit(timetable, messages, city.planner.router)
    return found.answer(request, at_ms, around=city)
