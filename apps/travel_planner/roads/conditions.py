"""What is known of the city at one instant, and what follows from it for each edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from threading import Lock

import numpy as np

from citywise.apps.travel_planner.roads.air import OLDEST_MS, AirMap, Station
from citywise.apps.travel_planner.roads.costs import KMH, EdgeCosts
from citywise.apps.travel_planner.roads.disturbances import Affected, OpenEvent, Reach, slowed
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.roads.learned import SLOTS, usual
from citywise.apps.travel_planner.roads.network import F64, I64, Mode, RoadNetwork
from citywise.apps.travel_planner.roads.travel_times import CarTimes, Sensing, Speeds

_MINUTE_MS = 60_000
_MOST_KEPT = 12
_KMH = 3.6
_versions = count(1)


class Model:
    """What costs need of a network and its air stations; built once, thread-safe."""

    def __init__(self, network: RoadNetwork, stations: Sequence[Station] = ()) -> None:
        self.network = network
        self.sensing = Sensing(network)
        self.air = AirMap(network, stations)
        self.unhindered_s = {m: network.length_m * (_KMH / kmh) for m, kmh in KMH.items()}

    def with_stations(self, stations: Sequence[Station]) -> Model:
        """The same network with other stations."""
        other = Model.__new__(Model)
        other.__dict__ |= self.__dict__ | {"air": AirMap(self.network, stations)}
        return other

    @cached_property
    def reach(self) -> Reach:
        """Which edges events reach; not built before there is one."""
        return Reach(self.network)

    def warm(self) -> None:
        """Build what the first event would else have to wait for."""
        self.reach.affecting((), Mode.CAR)
        slowed("TrafficJam")


@dataclass(frozen=True, eq=False)
class Known:
    """What readings and people have told of a city, whatever the time is now."""

    speeds: Speeds
    weeks: F64
    """What is usual at each sensor of the network: a row of slots each."""
    air: F64
    """The last index of each station; NaN: none."""
    air_ms: I64
    """When it was read."""
    events: tuple[OpenEvent, ...] = ()
    planned: tuple[OpenEvent, ...] = ()

    @classmethod
    def nothing(cls, network: RoadNetwork, stations: int = 0) -> Known:
        """No word of anything."""
        sensors = len(network.sensors)
        weeks, air = np.full((sensors, SLOTS), np.nan), np.full(stations, np.nan)
        return cls(Speeds.none(sensors), weeks, air, np.zeros(stations, dtype=np.int64))


class Costing:
    """The costs that follow from what is known, each computed once, to the minute."""

    def __init__(self, model: Model, known: Known) -> None:
        self.model = model
        self.known = known
        self._kept: dict[tuple[int, int], EdgeCosts] = {}
        self._lock = Lock()

    def costs(self, now_ms: int, depart_ms: int) -> EdgeCosts:
        """The costs of a departure, by what is known at a time."""
        key = _minute(now_ms), _minute(max(now_ms, depart_ms))
        with self._lock:
            costs = self._kept.get(key)
            if costs is None:
                if len(self._kept) >= _MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
                costs = self._kept[key] = self._computed(*key)
        return costs

    def standing(self, now_ms: int, depart_ms: int) -> list[OpenEvent]:
        """The events of which something is left at a departure."""
        # What is open has begun, though it did so within the minute that `now_ms` stands for.
        opened = (replace(e, start_ms=min(e.start_ms, now_ms)) for e in self.known.events)
        told = (*opened, *self.known.planned)
        return [event for event in told if event.strength(now_ms, depart_ms) > 0]

    def _computed(self, now_ms: int, depart_ms: int) -> EdgeCosts:
        model, events = self.model, self.standing(now_ms, depart_ms)
        times = self._times(now_ms, depart_ms)
        air = self._air(now_ms)

        def slower(mode: Mode) -> F64 | None:
            return model.reach.factors(events, mode, now_ms, depart_ms) if events else None

        return EdgeCosts(
            version=next(_versions),
            depart_ms=depart_ms,
            car_s=_kept(times.hindered(slower(Mode.CAR))),
            bicycle_s=_kept(_times(model.unhindered_s[Mode.BICYCLE], slower(Mode.BICYCLE))),
            walk_s=_kept(_times(model.unhindered_s[Mode.WALK], slower(Mode.WALK))),
            basis=times.basis,
            age_s=times.age_s,
            air=_kept(np.ones(model.network.edges) if air is None else air),
            air_known=air is not None,
        )

    def _times(self, now_ms: int, depart_ms: int) -> CarTimes:
        known = self.known
        expected = usual(known.weeks, depart_ms)
        return self.model.sensing.times(known.speeds, expected, now_ms, depart_ms - now_ms)

    def _air(self, now_ms: int) -> F64 | None:
        is_old = now_ms - self.known.air_ms > OLDEST_MS
        return self.model.air.along(np.where(is_old, np.nan, self.known.air))


def _minute(t_ms: int) -> int:
    return t_ms - t_ms % _MINUTE_MS


def _times(seconds: F64, factors: F64 | None) -> F64:
    return seconds if factors is None else seconds * factors


def _kept(values: F64) -> F64:
    """The array, not to be written to any more: many share it."""
    values.flags.writeable = False
    return values


@dataclass(frozen=True, eq=False)
class Conditions:
    """The city as it is known at one instant of stream time; never changes."""

    now_ms: int
    garages: tuple[Garage, ...]
    costing: Costing

    @classmethod
    def calm(
        cls,
        network: RoadNetwork,
        now_ms: int,
        *,
        events: Sequence[OpenEvent] = (),
        garages: Sequence[Garage] = (),
    ) -> Conditions:
        """A city of which nothing is measured: streets at free flow, but for some events."""
        known = replace(Known.nothing(network), events=tuple(events))
        return cls(now_ms, tuple(garages), Costing(Model(network), known))

    @property
    def network(self) -> RoadNetwork:
        """The streets."""
        return self.costing.model.network

    @property
    def events(self) -> tuple[OpenEvent, ...]:
        """The events that are open."""
        return self.costing.known.events

    def costs(self, depart_ms: int | None = None) -> EdgeCosts:
        """What weighs the edges for a departure at a stream time (None: now).

        What is measured counts for departures of the next 20 minutes, ever less; later ones
        are by what is usual at their weekday and hour. A time in the past is now.
        """
        return self.costing.costs(self.now_ms, self._departure(depart_ms))

    def affecting(self, mode: Mode, depart_ms: int | None = None) -> list[Affected]:
        """The events that slow a mode down at a departure, each with the edges whose times
        it changes."""
        events = self.costing.standing(self.now_ms, self._departure(depart_ms))
        return self.costing.model.reach.affecting(events, mode) if events else []

    def garage(self, garage_id: str) -> Garage | None:
        """The garage of an id."""
        return next((one for one in self.garages if one.id == garage_id), None)

    def including(self, event: OpenEvent) -> Conditions:
        """The same with an open event more, such as one that somebody reports."""
        known = self.costing.known
        more = replace(known, events=(*known.events, event))
        return replace(self, costing=Costing(self.costing.model, more))

    def _departure(self, depart_ms: int | None) -> int:
        return self.now_ms if depart_ms is None else depart_ms
