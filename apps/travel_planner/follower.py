"""Following trips: another plan is proposed when the city changes.

All it knows is in the database, so it keeps no account of what it has done: when it starts it
looks at every trip, and then at those that a notice, a change of theirs or the city's new
conditions concern. To propose what is proposed already changes nothing, so nothing is doubled,
and what was missed is seen at the first look.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import orjson
from prometheus_client import Counter, Histogram
from sqlalchemy import Connection, Engine, select

from citywise.apps.travel_planner import ending, proposals, trips
from citywise.apps.travel_planner.news import change_of
from citywise.apps.travel_planner.planner import Planner, planner_of, tariff_of
from citywise.apps.travel_planner.repeat_looks import Looks
from citywise.apps.travel_planner.repeater import Repeater
from citywise.apps.travel_planner.roads.cityfiles import city_of
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.disturbances import OpenEvent
from citywise.apps.travel_planner.roads.livecity import LiveCity
from citywise.apps.travel_planner.roads.network import I32
from citywise.apps.travel_planner.tables import TripRow
from citywise.apps.travel_planner.transit.following import LineWatch
from citywise.apps.travel_planner.transit.kept import Kept
from citywise.apps.travel_planner.transit.underway import is_by_line
from citywise.apps.travel_planner.trips import APP, TRIP, Body, Change, State, Trip
from citywise.apps.travel_planner.watching import Open, Outcome, Watch
from citywise.backend.app import Settings, notices, outbox, times, watching
from citywise.backend.app import boxes as sealing

LOG = logging.getLogger("citywise.travel_planner")
LINES_S = 3.0
"""A journey by line is looked at so often."""
AGAIN_S = 10.0
"""A trip that nothing calls for is looked at so often while the city changes."""
HOT_S = 3.0
"""So long after a notice every change of the city is looked at: what the notice is about may
reach the costs a moment later."""
SILENT_MS = 12 * 3_600_000
"""A trip of which nothing is heard for so long, in stream time, is over."""
_PAGE = 500
_AT_ONCE = 20
"""Trips looked at before the outbox is read again."""
_OWN: frozenset[str] = frozenset({"proposed", "released", "outlook"})
"""Changes that the follower itself makes."""
LOOKS = Counter("citywise_trips_looked_at", "Looks at followed trips")
PROPOSED = Counter("citywise_trips_proposed", "Other plans proposed")
SECONDS = Histogram("citywise_trips_look_seconds", "Seconds for a look at a trip")


@dataclass(frozen=True)
class _Event:
    """What of an event changes the streets."""

    id: str
    level: int
    text: bytes

    @classmethod
    def of(cls, event: OpenEvent) -> _Event:
        return cls(event.id, event.level, orjson.dumps(event.geometry))

    @property
    def geometry(self) -> Mapping[str, Any]:
        """GeoJSON Point or LineString."""
        found: Mapping[str, Any] = orjson.loads(self.text)
        return found


Counts = tuple[tuple[str, int | None, int | None], ...]
"""Of garages: the id, the places taken, and when they were counted."""


def _counts(conditions: Conditions) -> Counts:
    return tuple((one.id, one.occupied, one.observed_ms) for one in conditions.garages)


class Live(Protocol):
    """Where the city's conditions come from: `LiveCity`."""

    def refresh(self) -> Conditions:
        """The conditions now."""


class Follower:
    """Follows the trips of one city; for one thread."""

    def __init__(
        self,
        engine: Engine,
        boxes: sealing.Boxes,
        planner: Planner,
        live: Live,
        kept: Kept | None = None,
    ) -> None:
        """`kept` has the timetables, by which journeys by line are followed."""
        self._engine = engine
        self._boxes = boxes
        self._watch = Watch(planner, None if kept is None else LineWatch(planner, kept))
        self._live = live
        self._position: int | None = None
        self._state: tuple[int, Counts] | None = None
        self._due: dict[str, float] = {}
        """When each trip is to be looked at (monotonic seconds)."""
        self._looked: dict[str, float] = {}
        self._hot: dict[str, float] = {}
        self._ways: dict[str, I32] = {}
        """The edges that each trip has before it."""
        self._events: frozenset[_Event] = frozenset()
        self.proposed = 0
        """Proposals made since the start."""

    @property
    def following(self) -> int:
        """How many trips are followed."""
        return len(self._looked.keys() | self._due.keys())

    def conditions(self) -> Conditions:
        """The city's conditions now."""
        return self._live.refresh()

    def step(self) -> bool:
        """Look at the trips that are due, some at most; returns whether there may be more."""
        conditions = self._live.refresh()
        now = time.monotonic()
        with self._engine.connect() as connection:
            self._hear(connection, now)
            self._notice_change(connection, conditions, now)
        due = sorted((at, trip) for trip, at in self._due.items() if at <= now)[:_AT_ONCE]
        for _at, trip in due:
            del self._due[trip]
            self._looked[trip] = now
            self._look_safely(trip, conditions)
        return len(due) == _AT_ONCE

    # -- whom something concerns ---------------------------------------------------------

    def _hear(self, connection: Connection, now: float) -> None:
        """Read what was announced since; at the start, all trips are due instead."""
        if self._position is None:
            self._position = outbox.newest(connection)
            self._due = dict.fromkeys(_followed(connection), now)
            return
        row = outbox.OutboxRow
        query = select(row.id, row.kind, row.body).where(
            row.id > self._position, row.kind.in_((notices.NOTICE, TRIP))
        )
        for number, kind, body in connection.execute(query.order_by(row.id).limit(_PAGE)):
            self._position = number
            if kind == TRIP and body["change"] not in _OWN:
                self._call(body["trip"], now)
            elif kind == notices.NOTICE and body["app"] == APP:
                for trip in _of_instance(connection, body["instance"]):
                    self._call(trip, now)
                    self._hot[trip] = now + HOT_S

    def _call(self, trip: str, now: float) -> None:
        self._due[trip] = min(now, self._due.get(trip, now))

    def _notice_change(self, connection: Connection, conditions: Conditions, now: float) -> None:
        """New costs concern every trip in time; those on whose way something begins or ends,
        and those just told of something, at once."""
        state = (conditions.costs().version, _counts(conditions))
        if state == self._state:
            return
        self._state = state
        concerned = self._concerned(conditions)
        self._hot = {trip: until for trip, until in self._hot.items() if until > now}
        for trip in _followed(connection):
            wait = 0.0 if trip in self._hot or trip in concerned else AGAIN_S
            at = max(now, self._looked.get(trip, now - wait) + wait)
            self._due[trip] = min(at, self._due.get(trip, at))

    def _concerned(self, conditions: Conditions) -> set[str]:
        """The trips on whose way an event has begun, changed or ended since."""
        before, self._events = self._events, frozenset(map(_Event.of, conditions.events))
        near = conditions.costing.model.reach.near
        found: set[str] = set()
        for changed in before ^ self._events:
            edges = near(changed.geometry)
            found |= {trip for trip, way in self._ways.items() if np.isin(way, edges).any()}
        return found

    # -- looking --------------------------------------------------------------------------

    def _look_safely(self, trip: str, conditions: Conditions) -> None:
        """One trip that cannot be followed is no reason to leave the others."""
        try:
            with SECONDS.time():
                self._look(trip, conditions)
            LOOKS.inc()
        except Exception:
            LOG.exception("cannot follow trip %s; trying again", trip)
            self._due[trip] = time.monotonic() + AGAIN_S

    def _look(self, trip_id: str, conditions: Conditions) -> None:
        with self._engine.connect() as connection:
            trip = trips.find(connection, self._boxes, trip_id)
            told = [] if trip is None else _open_notices(connection, trip.instance)
            watched = trip is not None and watching.is_watched(connection, trip.instance)
        if trip is None or trip.state != "following":
            self._forget(trip_id)
        elif not watched or _is_silent(trip, conditions.now_ms):
            self._end(trip, conditions.now_ms)
        else:
            outcome = self._watch.look(trip, told, conditions)
            self._ways[trip_id] = outcome.edges
            if outcome.is_over and outcome.proposal is None:
                self._end(trip, conditions.now_ms, "arrived")
            elif not self._keep(trip, outcome, conditions.now_ms):
                self._due[trip_id] = time.monotonic()
            elif is_by_line(trip.content.plan):  # what runs is not told of by the streets
                self._due[trip_id] = time.monotonic() + LINES_S

    def _forget(self, trip: str) -> None:
        for known in (self._due, self._looked, self._hot, self._ways):
            known.pop(trip, None)

    def _keep(self, seen: Trip, outcome: Outcome, now_ms: int) -> bool:
        """Write what a look has found; False where the trip has changed meanwhile."""
        change = change_of(seen, outcome, now_ms)
        if change is None:
            return True
        with self._engine.begin() as connection:
            outbox.begin(connection)
            trip = trips.find(connection, self._boxes, seen.id)
            if trip is None or trip != seen:
                return trip is None
            self._write(connection, trip, outcome, change, now_ms)
        if change == "proposed":
            self.proposed += 1
            PROPOSED.inc()
        return True

    def _write(
        self, connection: Connection, trip: Trip, outcome: Outcome, change: Change, now_ms: int
    ) -> None:
        before, after = trip.content.proposal, outcome.proposal
        changes: dict[str, Any] = {"outlook": outcome.outlook, "proposal": after}
        if change in ("proposed", "released"):
            changes["snoozed_until_ms"] = None
        if after is not None:
            changes["number"] = after["number"]
        updated = trip.with_content(trip.updated_ms, **changes)
        trips.save(connection, self._boxes, updated)
        self._advise(connection, updated, before, now_ms, quietly=change == "outlook")
        trips.tell(connection, updated, change, now_ms)

    def _advise(
        self, connection: Connection, trip: Trip, before: Body | None, now_ms: int, *, quietly: bool
    ) -> None:
        """Let the notice that told of it propose it, and no other; quietly what it has proposed
        before in other figures."""
        after = trip.content.proposal
        told, telling = (before or {}).get("notice"), (after or {}).get("notice")
        if told is not None and told != telling:
            notices.advise(connection, told, None, now_ms)
        if after is not None and telling is not None:
            advice = proposals.advice(trip.id, trip.kind, after)
            quietly = quietly and told == telling
            notices.advise(connection, telling, advice, now_ms, quietly=quietly)

    def _end(self, trip: Trip, now_ms: int, state: State = "ended") -> None:
        """End a trip of which nothing is heard any more, or that nothing watches for; not if
        something was heard of it meanwhile: then it is looked at again."""
        with self._engine.begin() as connection:
            outbox.begin(connection)
            if trips.find(connection, self._boxes, trip.id) != trip:
                self._due[trip.id] = time.monotonic()
                return
            ending.end(connection, self._boxes, trip, state, now_ms)
        self._forget(trip.id)


# --- The database --------------------------------------------------------------------------------


def _is_silent(trip: Trip, now_ms: int) -> bool:
    """Whether nothing is heard of a trip any more; one by line may begin later."""
    since_ms = trip.updated_ms
    if is_by_line(trip.content.plan):
        since_ms = max(since_ms, times.parse_ms(trip.content.plan["arrives"]))
    return now_ms - since_ms > SILENT_MS


def _followed(connection: Connection) -> Sequence[str]:
    return connection.scalars(select(TripRow.id).where(TripRow.state == "following")).all()


def _of_instance(connection: Connection, instance: str) -> Sequence[str]:
    mine = (TripRow.instance == instance, TripRow.state == "following")
    return connection.scalars(select(TripRow.id).where(*mine)).all()


def _open_notices(connection: Connection, instance: str) -> list[Open]:
    return [
        Open(
            one["id"],
            one["kind"],
            one["about"],
            one["about_name"],
            one["criticality"],
            _level(one["details"]),
        )
        for one in notices.open_of(connection, instance)
    ]


def _level(details: Mapping[str, Any]) -> int | None:
    found = details.get("level")
    return found if isinstance(found, int) else None


def follower_of(settings: Settings, engine: Engine) -> tuple[Follower, Repeater]:
    """A follower in the city that there is, as the settings price it, and who tells of repeating
    trips there; raises `NetworkError`."""
    planner = planner_of(settings, city_of(settings))
    live = LiveCity(engine, planner.city.network, tariff_of(settings))
    kept = Kept(settings.city_dir, planner.router)
    boxes = trips.boxes_of(settings)
    made = Follower(engine, boxes, planner, live, kept)
    return made, Repeater(engine, boxes, Looks(planner, kept))
