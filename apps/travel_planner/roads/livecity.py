"""The city's conditions as the database has them, kept up to date."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Select, func, select

from citywise.apps.travel_planner.roads.conditions import Conditions, Costing
from citywise.apps.travel_planner.roads.disturbances import OpenEvent
from citywise.apps.travel_planner.roads.gathering import Gathering
from citywise.apps.travel_planner.roads.learned import Weeks
from citywise.apps.travel_planner.roads.network import RoadNetwork
from citywise.apps.travel_planner.roads.roles import Roles
from citywise.apps.travel_planner.roads.tariffs import ASSUMED, Tariff
from citywise.backend.app import EventRow, PlaceRow, ReadingRow, clocks
from citywise.backend.app import geometry as ground
from citywise.backend.city.events import OPERATOR
from citywise.backend.ingest.places import stored
from citywise.backend.kinds import Kinds
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.store.models import OperatorEventRow

_LEARNED_EVERY_S = 60.0
"""Seconds (wall clock) between looks at what is usual."""


_NEWEST = select(
    select(func.max(ReadingRow.change)).scalar_subquery(),
    select(func.count(PlaceRow.id)).scalar_subquery(),
    select(func.max(PlaceRow.updated_ms)).scalar_subquery(),
)
_OPEN = (
    select(EventRow.id, EventRow.level, EventRow.confirmed_ms)
    .where(EventRow.end_ms.is_(None))
    .order_by(EventRow.id)
)
_BY_HAND = (
    select(OperatorEventRow.id, OperatorEventRow.updated_ms)
    .where(OperatorEventRow.state.in_(("planned", "open")))
    .order_by(OperatorEventRow.id)
)
_READINGS = select(ReadingRow.kind, ReadingRow.place_id, ReadingRow.observed_ms, ReadingRow.body)
_WHAT = ("id", "type", "level", "place_id", "start_ms", "place")
_OPEN_EVENTS = (
    select(
        *(getattr(EventRow, name) for name in (*_WHAT, "request")),
        OperatorEventRow.until_ms,
        PlaceRow.name,
        PlaceRow.body,
    )
    .join(PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True)
    .join(OperatorEventRow, OperatorEventRow.id == EventRow.id, isouter=True)
    .where(EventRow.end_ms.is_(None))
    .order_by(EventRow.id)
)
_PLANNED_EVENTS = (
    select(*(getattr(OperatorEventRow, name) for name in (*_WHAT, "until_ms")))
    .where(OperatorEventRow.state == "planned")
    .order_by(OperatorEventRow.id)
)


class _Marks(NamedTuple):
    """What tells whether something in the database is new."""

    change: int | None
    """Of the readings."""
    places: tuple[Any, ...]
    events: tuple[Any, ...]
    by_hand: tuple[Any, ...]


def garage_kinds(connection: Connection) -> frozenset[str]:
    """The kinds of places that are garages: which carry what counts places."""
    return Roles(KnownKinds().read(connection)).places


class LiveCity:
    """Follows readings, events and places in the database; it writes nothing.

    `parking` is the price of garages that say none (`tariffs.Tariff`, from the settings).
    """

    def __init__(self, engine: Engine, network: RoadNetwork, parking: Tariff = ASSUMED) -> None:
        self._engine = engine
        self._lock = Lock()
        self._network, self._parking = network, parking
        self._known_kinds = KnownKinds()
        with engine.connect() as connection:
            kinds = self._known_kinds.read(connection)
        self._gathering = Gathering(network, parking, kinds)
        self._gathering.model.warm()
        self._weeks = Weeks()
        self._marks = _Marks(None, (), (), ())
        self._learned_at: float | None = None
        self._costing = Costing(self._gathering.model, self._gathering.known())

    def refresh(self) -> Conditions:
        """The conditions now; cheap where nothing has changed. May be called by any thread."""
        with self._lock, self._engine.connect() as connection:
            now_ms = clocks.read(connection).now_ms
            self._follow_kinds(self._known_kinds.read(connection))
            marks = _marks(connection)
            if any([self._learn(connection), self._gather(connection, marks)]):
                known = replace(
                    self._gathering.known(),
                    events=self._costing.known.events,
                    planned=self._costing.known.planned,
                )
                self._costing = Costing(self._gathering.model, known)
            if marks[1:] != self._marks[1:]:  # a place may be described after its event
                self._take_events(connection)
            self._marks = marks
            return Conditions(now_ms, self._gathering.garages(now_ms), self._costing)

    def _follow_kinds(self, kinds: Kinds) -> None:
        """Begin anew where other kinds than before tell of roads, garages or the air."""
        if kinds == self._gathering.roles.kinds:
            return
        self._gathering = Gathering(self._network, self._parking, kinds)
        self._marks = _Marks(None, (), (), ())
        self._learned_at, self._weeks = None, Weeks()

    def _learn(self, connection: Connection) -> bool:
        """Look at what is usual, now and then; whether that is new."""
        now = monotonic()
        if self._learned_at is not None and now < self._learned_at + _LEARNED_EVERY_S:
            return False
        self._learned_at = now
        if not self._weeks.update(connection):
            return False
        self._gathering.usual(self._weeks.of)
        return True

    def _gather(self, connection: Connection, marks: _Marks) -> bool:
        """Read places and readings that are new; whether any were."""
        before = self._marks
        if marks.places != before.places:
            bodies = connection.scalars(select(PlaceRow.body)).all()
            self._gathering.describe(stored(bodies))
        if marks.change != before.change:
            self._take_readings(connection, -1 if before.change is None else before.change)
        return marks[:2] != before[:2]

    def _take_readings(self, connection: Connection, after: int) -> None:
        found: dict[str, list[tuple[str, int, Any]]] = defaultdict(list)
        query = _READINGS.where(
            ReadingRow.change > after, ReadingRow.kind.in_(self._gathering.roles.names)
        )
        for kind, place_id, observed_ms, body in connection.execute(query):
            found[kind].append((place_id, observed_ms, body))
        for kind, readings in found.items():
            self._gathering.take(kind, readings)

    def _take_events(self, connection: Connection) -> None:
        events, planned = _found(connection, _OPEN_EVENTS), _found(connection, _PLANNED_EVENTS)
        known = self._costing.known
        if (events, planned) != (known.events, known.planned):
            known = replace(known, events=events, planned=planned)
            self._costing = Costing(self._costing.model, known)


def _marks(connection: Connection) -> _Marks:
    change, number, newest = connection.execute(_NEWEST).one()
    return _Marks(
        change,
        (number, newest),
        tuple(map(tuple, connection.execute(_OPEN))),
        tuple(map(tuple, connection.execute(_BY_HAND))),
    )


def _found(connection: Connection, query: Select[Any]) -> tuple[OpenEvent, ...]:
    found = map(_event, connection.execute(query).mappings())
    return tuple(event for event in found if event)


def _event(row: Mapping[Any, Any]) -> OpenEvent | None:
    """An event with its place; None where nobody knows where it is."""
    place = row["place"] or {**(row.get("body") or {}), "name": row.get("name")}
    geometry = place.get("geometry")
    if geometry is None:
        return None
    spot = ground.Spot.of(geometry, directed=False)
    return OpenEvent(
        id=row["id"],
        type=row["type"],
        level=row["level"],
        place=place["name"],
        lon=spot.lon,
        lat=spot.lat,
        start_ms=row["start_ms"],
        geometry=geometry,
        place_id=row["place_id"],
        until_ms=row["until_ms"],
        by_hand=row.get("request", OPERATOR) == OPERATOR,
    )
