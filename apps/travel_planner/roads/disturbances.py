"""Events that slow people down, and which edges they reach.

CityPulse's cost update: while an event that affects what somebody does is open, the usual
time of all edges within 200 m of it is multiplied by 1 + its level. Of several that reach an
edge the worst counts. Where a road is closed it is thirty times (docs/live-city.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import orjson
import shapely

from citywise.apps.travel_planner.roads.network import F64, I64, Mode, RoadNetwork
from citywise.apps.travel_planner.roads.travel_times import FADING_MS
from citywise.backend.app import geometry as ground
from citywise.backend.ingest.payloads import is_outline
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.ontology import PREFIXES, city
from citywise.reasoning import Iri, KnowledgeSource
from citywise.reasoning.rdf import knowledge

RADIUS_M = 200.0
CLOSED_M = 15.0
"""Edges so near a closure are closed."""
CLOSED_FACTOR = 30.0
_EV, _CTX = PREFIXES["ev"], PREFIXES["ctx"]
_CLOSURE = f"{_EV}RoadClosure"
_SLOWING = frozenset((f"{_EV}TransportationEvent", f"{_EV}PublicEvent"))
_NOT_SLOWING = frozenset((f"{_EV}ParkingFull",))
"""It affects who wants to park there, not who drives by."""
ACTIVITIES = {Mode.CAR: "DrivingCar", Mode.BICYCLE: "Cycling", Mode.WALK: "Walking"}
"""What somebody on the way does, in the words of the context ontology."""
_MOST_REMEMBERED = 4096


@dataclass(frozen=True)
class OpenEvent:
    """An open event of the city, or one that is planned."""

    id: str
    type: str
    """Its class: a local name of the event ontology (`TrafficJam`), or an IRI."""
    level: int
    place: str
    """Name of where it is."""
    lon: float
    lat: float
    start_ms: int
    geometry: Mapping[str, Any]
    """GeoJSON Point or LineString."""
    place_id: str = ""
    until_ms: int | None = None
    """Stream time at which somebody said it would end; None: not known."""
    by_hand: bool = False
    """Opened by an operator, rather than concluded from what is measured."""

    def strength(self, now_ms: int, depart_ms: int) -> float:
        """How much of it is left for a departure: 1 all, 0 nothing.

        What an operator opened lasts until they end it, or until the time they gave; what is
        measured now is taken to fade within 20 minutes, as the readings are.
        """
        if depart_ms < self.start_ms > now_ms:
            return 0.0
        if self.until_ms is not None and depart_ms >= self.until_ms > now_ms:
            return 0.0
        return 1.0 if self.by_hand else max(1 - max(depart_ms - now_ms, 0) / FADING_MS, 0.0)


@cache
def slowed(type_: str) -> frozenset[Mode]:
    """The modes that events of a type slow down: those whose activity they affect, where the
    type is one of traffic or of crowds. Weather and air are not at one place."""
    iri = type_ if ":" in type_ else _EV + type_
    classes = city().superclasses(iri)
    if not classes & _SLOWING or classes & _NOT_SLOWING:
        return frozenset()
    affected = frozenset[str]().union(*(_affected().get(one, frozenset()) for one in classes))
    return frozenset(mode for mode, doing in ACTIVITIES.items() if _CTX + doing in affected)


@cache
def _affected() -> Mapping[str, frozenset[str]]:
    """The activities that `ctx:affects` says events of a class affect, all as IRIs."""
    source = KnowledgeSource(str(REPOSITORY / "ontologies" / "context.ttl"))
    found: dict[str, set[str]] = {}
    for subject, predicate, value in knowledge.read(source).triples:
        if predicate.value == f"{_CTX}affects" and isinstance(subject, Iri):
            found.setdefault(subject.value, set()).add(getattr(value, "value", ""))
    return {type_: frozenset(activities) for type_, activities in found.items()}


class Affected(NamedTuple):
    """An event with the edges that it reaches."""

    event: OpenEvent
    edges: I64


class Reach:
    """Finds the edges near geometries; built once for a network, thread-safe for reading."""

    def __init__(self, network: RoadNetwork) -> None:
        at = ground.project(network.shape[:, 0], network.shape[:, 1])
        counts = np.diff(network.shape_at)
        lines = shapely.linestrings(
            np.column_stack((at.x, at.y)), indices=np.repeat(np.arange(network.edges), counts)
        )
        self._edges = network.edges
        self._tree = shapely.STRtree(np.asarray(lines))
        self._known: dict[bytes, I64] = {}

    def near(self, geometry: Mapping[str, Any], metres: float = RADIUS_M) -> I64:
        """The edges within some metres of a GeoJSON Point or LineString, sorted; of one that is
        the outline of an area also those inside."""
        key = orjson.dumps([metres, geometry], option=orjson.OPT_SORT_KEYS)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            found = self._known[key] = self._find(geometry, metres)
        return found

    def _find(self, geometry: Mapping[str, Any], metres: float) -> I64:
        points = np.array(geometry["coordinates"], dtype=np.float64).reshape(-1, 2)
        at = ground.project(points[:, 0], points[:, 1])
        plane = np.column_stack((at.x, at.y))
        if (plane == plane[0]).all():
            shape = shapely.points(plane[0])
        elif is_outline(geometry["coordinates"]):
            shape = shapely.make_valid(shapely.polygons(plane))
        else:
            shape = shapely.linestrings(plane)
        reach = metres / float(at.factor.mean())
        edges = self._tree.query(shape, predicate="dwithin", distance=reach)
        return np.sort(edges).astype(np.int64)

    def affecting(self, events: Iterable[OpenEvent], mode: Mode) -> list[Affected]:
        """The events that slow a mode down, each with the edges that it reaches."""
        slowing = (event for event in events if mode in slowed(event.type))
        return [Affected(event, self.near(event.geometry)) for event in slowing]

    def factors(
        self, events: Iterable[OpenEvent], mode: Mode, now_ms: int, depart_ms: int
    ) -> F64 | None:
        """By how much the events multiply the usual time of each edge; None: nowhere."""
        factors = np.ones(self._edges)
        for event, edges in self.affecting(events, mode):
            strength = event.strength(now_ms, depart_ms)
            factor = 1 + max(event.level, 0) * strength
            factors[edges] = np.maximum(factors[edges], factor)
            if strength > 0 and _is_closure(event.type):
                closed = self.near(event.geometry, CLOSED_M)
                factors[closed] = CLOSED_FACTOR
        return factors if (factors > 1).any() else None


@cache
def _is_closure(type_: str) -> bool:
    iri = type_ if ":" in type_ else _EV + type_
    return _CLOSURE in city().superclasses(iri)
