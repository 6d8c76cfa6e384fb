"""Readings as they come in, gathered to what is known of a city."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from citywise.apps.travel_planner.roads import air
from citywise.apps.travel_planner.roads.conditions import Known, Model
from citywise.apps.travel_planner.roads.garages import TREND_MS, Garage, counted, garage_of, usually
from citywise.apps.travel_planner.roads.learned import SLOTS
from citywise.apps.travel_planner.roads.network import F64, RoadNetwork
from citywise.apps.travel_planner.roads.roles import Counter, Roles, Speedometer
from citywise.apps.travel_planner.roads.tariffs import Tariff
from citywise.apps.travel_planner.roads.travel_times import Speeds
from citywise.apps.travel_planner.roads.watched import Watched
from citywise.backend.ingest.payloads import Place
from citywise.backend.kinds import Kinds

Readings = Sequence[tuple[str, int, Mapping[str, Any]]]
"""Sensor, time (Unix ms) and values, as their kind names them; each
sensor at most once."""
UsualOf = Callable[[Sequence[str]], F64]
"""What is usual at places: a row of hours of the week for each."""


class Gathering:
    """What the places and readings of a city have told so far."""

    def __init__(self, network: RoadNetwork, parking: Tariff, kinds: Kinds) -> None:
        self.model = Model(network)
        self.roles = Roles(kinds)
        self._watched = Watched(network, self.roles.roads)
        self._sensor = {sensor: index for index, sensor in enumerate(network.sensors)}
        self._parking = parking
        self._speeds = Speeds.none(len(network.sensors))
        self._weeks: F64 = np.full((len(network.sensors), SLOTS), np.nan)
        self._air: dict[str, tuple[int, float]] = {}
        self._counts: dict[str, list[tuple[int, int]]] = {}
        self._capacity: dict[str, int] = {}
        self._garages: dict[str, Garage] = {}
        self._new: set[str] = set()
        self._usual_of: UsualOf | None = None

    def describe(self, places: Iterable[Place]) -> None:
        """Take note of all places that there are."""
        some = sorted(places, key=lambda place: place.id)
        self._watch(self._watched.by(some))
        measuring = [place for place in some if self.roles.air.keys() & set(place.sensors)]
        stations = tuple(air.Station(place.id, *place.middle) for place in measuring)
        if stations != self.model.air.stations:
            self.model = self.model.with_stations(stations)
        garages = [garage_of(p, self._parking) for p in some if p.kind in self.roles.places]
        self._garages = {garage.id: garage for garage in garages}
        self._new = set(self._garages)

    def _watch(self, network: RoadNetwork) -> None:
        """Go on with the same streets, whose sensors may be others."""
        if network.sensors == self.model.network.sensors:
            return
        before = [self._sensor.get(sensor, -1) for sensor in network.sensors]
        self.model = Model(network, self.model.air.stations)
        self._sensor = {sensor: index for index, sensor in enumerate(network.sensors)}
        self._speeds = self._speeds.of(np.array(before, dtype=np.int64))
        self._weeks = np.full((len(network.sensors), SLOTS), np.nan)
        if self._usual_of is not None:
            self.usual(self._usual_of)

    def take(self, kind: str, readings: Readings) -> None:
        """Take in readings of a kind, by the roles of its fields."""
        if road := self.roles.roads.get(kind):
            self._roads(readings, road)
        if counter := self.roles.garages.get(kind):
            self._parking_of(readings, counter)
        if indices := self.roles.air.get(kind):
            self._airs(readings, indices)

    def _roads(self, readings: Readings, road: Speedometer) -> None:
        """Take in what roads measure."""
        rows = [
            (self._sensor[sensor], t_ms, *found)
            for sensor, t_ms, body in readings
            if sensor in self._sensor and (found := road.read(body)) is not None
        ]
        if rows:
            sensor, t_ms, vehicles = (
                np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1, 3)
            )
            speed = np.array([row[2] for row in rows], dtype=np.float64)
            self._speeds = self._speeds.seen(sensor, t_ms, speed, vehicles)

    def _parking_of(self, readings: Readings, counter: Counter) -> None:
        """Take in the counts of garages; one that is not newer than the last is left out."""
        for sensor, t_ms, body in readings:
            count = counter.read(body)
            if count is None:
                continue
            counts = self._counts.setdefault(sensor, [])
            if not counts or t_ms > counts[-1][0]:
                recent = [count for count in counts if count[0] >= t_ms - TREND_MS]
                self._counts[sensor] = [*recent, (t_ms, count.occupied)]
                self._capacity[sensor] = count.capacity
            self._new.add(sensor)

    def _airs(self, readings: Readings, indices: Sequence[str]) -> None:
        """Take in what stations say of the air."""
        for sensor, t_ms, body in readings:
            index = air.index(body, indices)
            if index is not None and t_ms > self._air.get(sensor, (-1, 0.0))[0]:
                self._air[sensor] = (t_ms, index)

    def usual(self, usual_of: UsualOf) -> None:
        """Take note of what is usual."""
        self._usual_of = usual_of
        self._weeks = usual_of(self.model.network.sensors)
        self._new |= set(self._garages)

    def known(self) -> Known:
        """All that does not depend on the present time, without events."""
        rows = [self._air.get(station.id, (0, np.nan)) for station in self.model.air.stations]
        return Known(
            speeds=self._speeds,
            weeks=self._weeks,
            air=np.array([index for _, index in rows], dtype=np.float64),
            air_ms=np.array([t_ms for t_ms, _ in rows], dtype=np.int64),
        )

    def garages(self, now_ms: int) -> tuple[Garage, ...]:
        """The garages as they are known at a time."""
        for name in self._new & self._garages.keys():
            self._garages[name] = self._filled(self._garages[name])
        self._new.clear()
        return tuple(replace(garage, at_ms=now_ms) for garage in self._garages.values())

    def _filled(self, garage: Garage) -> Garage:
        if counts := self._counts.get(garage.id):
            garage = counted(garage, counts, self._capacity[garage.id])
        if self._usual_of is not None:
            garage = usually(garage, self._usual_of([garage.id])[0])
        return garage
