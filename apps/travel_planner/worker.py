"""A process that plans for the web: `python -m citywise.apps.travel_planner.worker DESCRIPTOR`.

It is asked over a socket (`pool.Worker`), one question at a time, and ends when that closes.
"""

from __future__ import annotations

import logging
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from citywise.apps.travel_planner.messages import answered
from citywise.apps.travel_planner.planner import Planner, planner_of, tariff_of
from citywise.apps.travel_planner.replies import Reply, no_network, problem
from citywise.apps.travel_planner.requests import (
    ParkingRequest,
    RequestError,
    Spot,
    TravelRequest,
    point_fault,
    read,
)
from citywise.apps.travel_planner.roads import (
    City,
    Entry,
    Found,
    Gazetteer,
    NetworkError,
    city_of,
)
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.expecting import expected, usually
from citywise.apps.travel_planner.roads.livecity import LiveCity, garage_kinds
from citywise.apps.travel_planner.searching import search
from citywise.apps.travel_planner.transit.board import boards
from citywise.apps.travel_planner.transit.decide import Transit
from citywise.apps.travel_planner.transit.kept import Kept
from citywise.apps.travel_planner.transit.request import is_timetabled
from citywise.apps.travel_planner.transit.request import read as read_transit
from citywise.apps.travel_planner.transit.roads import Around
from citywise.backend.app import PlaceRow, Settings, spawned, times
from citywise.backend.ingest.payloads import Place
from citywise.backend.ingest.places import stored

LOG = logging.getLogger(__name__)
REFRESH_S = 0.2
"""Conditions so young are not read again."""
_PLACES_S = 30.0
"""How often places are looked for that had no sensor before."""
MOST_WALK_M = 5_000.0
"""By public transport: more takes longer than anybody waits, and whoever asks holds up others."""
Json = dict[str, Any]
_Mark = tuple[int, int | None]


class Desk:
    """Answers questions about one city, with what is live in its database."""

    def __init__(
        self, settings: Settings, engine: Engine | None = None, planner: Planner | None = None
    ) -> None:
        """A `planner` that is given is used instead of the city's files."""
        self._settings = settings
        self._planner = planner
        self._engine = engine or settings.open_database()
        self._open: _Open | None = None
        self._answers: dict[str, Callable[[Json, str], Reply]] = {
            "travel": self._travel,
            "parking": self._parking,
            "search": self._search,
            "nearest": self._nearest,
            "points": self._points,
            "citypulse": self._citypulse,
            "warm": self._warm,
            "departures": self._departures,
            "reachable": self._reachable,
            "stops": self._stops,
            "expected": self._expected,
        }

    def answer(self, question: Mapping[str, Any]) -> Reply:
        """Answer `{"do": what, "body": JSON, "language": "en"}`."""
        answer = self._answers[question["do"]]
        try:
            return answer(question.get("body") or {}, question.get("language") or "en")
        except RequestError as error:
            return Reply(422, more={"faults": error.faults})
        except NetworkError as error:
            return no_network(error)

    def refresh(self) -> None:
        """Read what is new, so that the next question need not wait for it."""
        if self._open is not None:
            self._open.conditions()

    # --- Questions --------------------------------------------------------------------------

    def _travel(self, body: Json, language: str) -> Reply:
        planner, conditions = self._now()
        if is_timetabled(body):
            asked = read_transit(body)
            if asked.walk.max_m > MOST_WALK_M:
                message = f"found {asked.walk.max_m:g}, expected at most {MOST_WALK_M:g} here"
                raise point_fault("walk.max_m", "too-far", message)
            around = Around(planner, conditions)
            return _plan(self._transit().answer(asked, conditions.now_ms, language, around))
        request = read(TravelRequest, body, planner.situation(conditions))
        return _plan(planner.travel(request, conditions, language))

    def _departures(self, body: Json, language: str) -> Reply:
        _, conditions = self._now()
        since_ms = conditions.now_ms if body["from_ms"] is None else body["from_ms"]
        minutes, most = body["minutes"], body["limit"]
        try:
            found = self._transit().board(body["stop"], since_ms // 1000, minutes, most, language)
        except RequestError as error:
            return Reply(404, more={"detail": error.faults[0]["message"]})
        return _json({"now": times.iso(conditions.now_ms), **found})

    def _stops(self, _body: Json, _language: str) -> Reply:
        try:
            return _json(boards(self._transit().timetable))
        except RequestError as error:
            return Reply(404, more={"detail": error.faults[0]["message"]})

    def _reachable(self, body: Json, _language: str) -> Reply:
        _, conditions = self._now()
        since_ms = conditions.now_ms if body["from_ms"] is None else body["from_ms"]
        try:
            transit = self._transit()
        except RequestError as error:
            return Reply(404, more={"detail": error.faults[0]["message"]})
        minutes = body["minutes"]
        return _json(transit.reachable(body["lat"], body["lon"], since_ms // 1000, minutes))

    def _expected(self, body: Json, _language: str) -> Reply:
        _, conditions = self._now()
        at_ms, is_usual = body["at_ms"], body["usual"]
        found = usually(conditions, at_ms) if is_usual else expected(conditions, at_ms)
        head = {"now": times.iso(conditions.now_ms), "at": times.iso(at_ms), "usual": is_usual}
        return _json({**head, **found})

    def _transit(self) -> Transit:
        """The timetables of the city; raises `RequestError` where there are none."""
        transit = self._opened().kept.transit(self._now()[1].now_ms)
        if transit is None:
            message = "no timetable is known here; `citywise city import FEED.zip` takes one"
            raise point_fault("mode", "no-timetable", message)
        return transit

    def _parking(self, body: Json, language: str) -> Reply:
        planner, conditions = self._now()
        request = read(ParkingRequest, body, planner.situation(conditions))
        return _plan(planner.parking(request, conditions, language))

    def _citypulse(self, body: Json, _language: str) -> Reply:
        planner, conditions = self._now()
        answers, notes = answered(body, planner, conditions)
        return Reply(200, orjson.dumps(answers), {"note": "; ".join(notes)} if notes else {})

    def _warm(self, _body: Json, language: str) -> Reply:
        """Plan something, so that the first who asks need not wait; says nothing."""
        with suppress(NetworkError, RequestError):
            planner, conditions = self._now()
            network = planner.city.network
            spots = [Spot(lat=network.lat[i], lon=network.lon[i]) for i in (0, network.nodes // 2)]
            planner.travel(TravelRequest(start=spots[0], to=spots[1]), conditions, language)
            self._opened().kept.transit(conditions.now_ms)
        return Reply(200)

    def _search(self, body: Json, _language: str) -> Reply:
        near = None if body["lat"] is None else (body["lon"], body["lat"])
        answer = search(self._city().gazetteer, body["q"], near, body["limit"])
        found = [found_object(each) for each in answer.found]
        return _json({"found": found, "left_out": answer.left_out})

    def _nearest(self, body: Json, _language: str) -> Reply:
        found = self._city().gazetteer.nearest(body["lon"], body["lat"])
        return _json({"found": None if found is None else found_object(found)})

    def _points(self, body: Json, _language: str) -> Reply:
        kinds = set(body["kinds"])
        features = [
            point_feature(entry)
            for entry in self._city().gazetteer.entries
            if not kinds or entry.kind in kinds
        ]
        return _json({"type": "FeatureCollection", "features": features})

    def _city(self) -> City:
        return self._opened().planner.city

    def _now(self) -> tuple[Planner, Conditions]:
        found = self._opened()
        return found.planner, found.conditions()

    def _opened(self) -> _Open:
        if self._open is None or self._open.is_old():
            places = _places(self._engine)
            if self._open is None:
                self._open = _Open.of(self._settings, self._engine, places, self._planner)
            elif len(places) != self._open.places and self._planner is None:
                self._open.rename(city_of(self._settings, places).gazetteer, len(places))
            self._open.name_own(self._engine)
        return self._open


@dataclass
class _Open:
    """A city that has been read, and what is live in it."""

    planner: Planner
    live: LiveCity
    kept: Kept
    places: int
    since: float
    last: Conditions | None = None
    read_at: float = 0.0
    plain: Gazetteer | None = None
    """The named points without the places of the city's own layers."""
    mark: _Mark = (0, None)
    """Of all places: how many there are, and when one changed last."""
    own: list[Entry] = field(default_factory=list)

    @classmethod
    def of(
        cls, settings: Settings, engine: Engine, places: list[Place], planner: Planner | None
    ) -> _Open:
        planner = planner or planner_of(settings, city_of(settings, places))
        return cls(
            planner,
            LiveCity(engine, planner.city.network, tariff_of(settings)),
            Kept(settings.city_dir, planner.router),
            len(places),
            time.monotonic(),
        )

    def rename(self, named: Gazetteer, places: int) -> None:
        """Take the named points of a city whose sensors are more now; its streets are the same."""
        self.planner.city = City(self.planner.city.network, named)
        self.places, self.plain, self.own, self.mark = places, None, [], (0, None)

    def name_own(self, engine: Engine) -> None:
        """Have the places that no sensor watches, as those of layers, among the named points."""
        mark = _mark(engine)
        if mark == self.mark:
            return
        own = _unwatched(engine)
        if own != self.own:
            plain = self.plain or self.planner.city.gazetteer
            named = plain.with_entries(own)
            self.planner.city = City(self.planner.city.network, named)
            self.plain, self.own = plain, own
        self.mark = mark

    def is_old(self) -> bool:
        """Whether it is time to look for new places."""
        if time.monotonic() - self.since < _PLACES_S:
            return False
        self.since = time.monotonic()
        return True

    def conditions(self) -> Conditions:
        """What is known now."""
        if self.last is None or time.monotonic() - self.read_at >= REFRESH_S:
            self.last = self.live.refresh()
            self.read_at = time.monotonic()
        return self.last


def _places(engine: Engine) -> list[Place]:
    """The garages that the database knows."""
    with Session(engine) as session:
        kinds = garage_kinds(session.connection())
        bodies = session.scalars(select(PlaceRow.body).where(PlaceRow.kind.in_(kinds))).all()
    return list(stored(bodies))


def _mark(engine: Engine) -> _Mark:
    with Session(engine) as session:
        number, newest = session.execute(
            select(func.count(PlaceRow.id), func.max(PlaceRow.updated_ms))
        ).one()
    return number, newest


def _unwatched(engine: Engine) -> list[Entry]:
    """The places without sensors, as those of a city's own layers: to be found by all their
    names."""
    with Session(engine) as session:
        garages = garage_kinds(session.connection())
        rows = session.execute(
            select(PlaceRow.id, PlaceRow.lon, PlaceRow.lat, PlaceRow.body).where(
                PlaceRow.kind.not_in(garages)
            )
        )
        return [
            Entry(row.id, row.body["name"], "place", row.lon, row.lat, _detail(row.body))
            for row in rows
            if not row.body.get("sensors")
        ]


def _detail(place: Mapping[str, Any]) -> str:
    """What a place is, and what it is called in other languages."""
    names = [str(value) for key, value in place.items() if key.startswith("name_")]
    others = dict.fromkeys(name for name in names if name != place["name"])
    return ", ".join([place["kind"].replace("_", " "), *others])


def _plan(answer: Json) -> Reply:
    plan = f"pl_{secrets.token_urlsafe(18)}"
    return Reply(200, orjson.dumps({"plan": plan, **answer}), {"plan": plan})


def _json(body: Json) -> Reply:
    return Reply(200, orjson.dumps(body))


def found_object(found: Found) -> Json:
    """A named point that was found."""
    return {
        "id": found.id,
        "name": found.name,
        "kind": found.kind,
        "detail": found.detail,
        "lat": found.lat,
        "lon": found.lon,
        "starts": times.iso_or_none(found.starts_ms),
    }


def point_feature(entry: Any) -> Json:
    """A named point in GeoJSON."""
    return {
        "type": "Feature",
        "id": entry.id,
        "geometry": {"type": "Point", "coordinates": [entry.lon, entry.lat]},
        "properties": {
            "name": entry.name,
            "kind": entry.kind,
            "detail": entry.detail,
            "starts": times.iso_or_none(entry.starts_ms),
        },
    }


def serve(channel: socket.socket, desk: Callable[[Settings], Desk] = Desk) -> None:
    """Answer what comes over a socket until it closes; the first frame has the settings."""
    opened = desk(Settings.model_validate(spawned.receive(channel).head))
    spawned.send(channel, _answered(opened, {"do": "warm"}).frame())
    while True:
        question = spawned.receive(channel).head
        spawned.send(channel, _answered(opened, question).frame())


def _answered(desk: Desk, question: Mapping[str, Any]) -> Reply:
    try:
        return desk.answer(question)
    except Exception:
        # Not the question: it says where somebody is.
        LOG.exception("cannot answer a question about `%s`", question.get("do"))
        return problem("planner-failed", "Planner failed", "the log of the web process says why")


def main() -> None:
    """Serve the socket whose descriptor is the argument."""
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s planner %(levelname)s: %(message)s"
    )
    try:
        serve(spawned.asker())
    except (EOFError, OSError):
        return  # who asked is gone


if __name__ == "__main__":
    main()
