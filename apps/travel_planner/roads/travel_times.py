"""Travel times by car, from what sensors measure and from what is usual.

A reading counts with a half-life of five minutes of stream time in its sensor's mean; the
mean itself loses weight against what is usual by e^(-age / 15 min). Times are added along a
way, so means are of the time per metre, not of speeds. A reading without vehicles says
nothing (docs/live-city.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citywise.apps.travel_planner.roads.costs import Basis, EdgeCosts
from citywise.apps.travel_planner.roads.network import F32, F64, I64, U8, Bools, RoadNetwork

SLOWEST_KMH, FASTEST_KMH = 3.0, 130.0
"""What is measured or assumed beyond them is taken to be them."""
HALF_LIFE_MS = 5 * 60_000
AGEING_MS = 15 * 60_000
OLDEST_MS = 60 * 60_000
"""A mean that is older counts no more."""
ENOUGH_VEHICLES = 3
"""So many vehicles are as good as any number; fewer count in proportion."""
FADING_MS = 20 * 60_000
"""For a departure so much later than now nothing counts but what is usual."""
KMH_OF_PACE = 3.6
"""Speed in km/h times pace in seconds per metre."""
_LEAST_PACE, _MOST_PACE = KMH_OF_PACE / FASTEST_KMH, KMH_OF_PACE / SLOWEST_KMH
_ENOUGH_SENSORS = 8
_MOST_RATIO = 2.0


def pace(speed_kmh: F64) -> F64:
    """Seconds per metre of speeds in km/h, within what is plausible."""
    return np.asarray(KMH_OF_PACE / np.clip(speed_kmh, SLOWEST_KMH, FASTEST_KMH))


@dataclass(frozen=True, eq=False)
class Speeds:
    """What sensors have measured: an entry for each sensor of a network."""

    pace: F64
    """Seconds per metre, mean of the readings by their weights; NaN: none yet."""
    weight: F64
    """Sum of the weights at the time of the last reading."""
    last_ms: I64
    """Stream time of the last reading with vehicles."""

    @classmethod
    def none(cls, sensors: int) -> Speeds:
        """Nothing measured yet by so many sensors."""
        return cls(np.full(sensors, np.nan), np.zeros(sensors), np.zeros(sensors, dtype=np.int64))

    def of(self, sensor: I64) -> Speeds:
        """What some of the sensors have measured, in another order; -1: nothing yet."""
        known = sensor >= 0
        found = Speeds.none(len(sensor))
        for name in ("pace", "weight", "last_ms"):
            getattr(found, name)[known] = getattr(self, name)[sensor[known]]
        return found

    def seen(self, sensor: I64, t_ms: I64, speed_kmh: F64, vehicles: I64) -> Speeds:
        """With a reading more of each of some sensors, at most one of each.

        A reading without vehicles changes nothing, nor does one that is not newer than what
        was seen.
        """
        counts = (vehicles > 0) & (t_ms > self.last_ms[sensor])
        sensor, t_ms = sensor[counts], t_ms[counts]
        fresh = pace(speed_kmh[counts])
        share = np.minimum(vehicles[counts], ENOUGH_VEHICLES) / ENOUGH_VEHICLES
        faded = self.weight[sensor] * np.exp2((self.last_ms[sensor] - t_ms) / HALF_LIFE_MS)
        before = np.where(faded > 0, self.pace[sensor], 0.0)
        now = Speeds(self.pace.copy(), self.weight.copy(), self.last_ms.copy())
        now.weight[sensor] = faded + share
        now.pace[sensor] = (faded * before + share * fresh) / (faded + share)
        now.last_ms[sensor] = t_ms
        return now

    def confidence(self, now_ms: int) -> F64:
        """How much of the truth the means are taken to be, 0 to 1, by their age."""
        age = np.maximum(now_ms - self.last_ms, 0)
        fresh = ~np.isnan(self.pace) & (age <= OLDEST_MS)
        return np.where(fresh, np.exp(-age / AGEING_MS), 0.0)


@dataclass(frozen=True, eq=False)
class CarTimes:
    """Seconds by car on each edge of a network, and what they rest on."""

    seconds: F64
    usual_s: F64
    """What it takes without what is measured now: an event's effect is a multiple of it."""
    basis: U8
    age_s: F32

    def hindered(self, factors: F64 | None) -> F64:
        """Seconds where events multiply the usual time: the more of that and what is
        measured, since a jam that sensors measure does not count twice."""
        if factors is None:
            return self.seconds
        longer = np.maximum(self.seconds, self.usual_s * factors)
        return np.where(factors > 1, longer, self.seconds)


class Sensing:
    """Which edges of a network which sensors tell of; built once for a network."""

    def __init__(self, network: RoadNetwork) -> None:
        self._length = network.length_m
        self._edges = network.sensed.astype(np.int64)
        self._number = len(network.sensors)
        self._sensors = np.repeat(np.arange(self._number), np.diff(network.sensed_at))
        known = np.isfinite(network.speed_kmh) & (network.speed_kmh > 0)
        self._free = pace(np.where(known, network.speed_kmh, 30.0).astype(np.float64))
        metres = self._sums(self._length)
        self._metres_of_sensor = np.where(metres > 0, metres, np.nan)
        self._free_of_sensor = self._sums(self.free_flow_s) / self._metres_of_sensor

    @property
    def free_flow_s(self) -> F64:
        """Seconds by car where nobody is in the way."""
        return self._length * self._free

    def speeds_kmh(self, costs: EdgeCosts) -> F64:
        """How fast cars are on the road of each sensor; NaN where that rests on free flow alone."""
        known = self._sums((costs.basis != Basis.FREE_FLOW) * self._length) > 0
        seconds = np.where(known, self._sums(costs.car_s), np.nan)
        return np.asarray(self._metres_of_sensor / seconds * KMH_OF_PACE)

    def _sums(self, of_edges: F64) -> F64:
        """What the edges of each sensor have together."""
        each = of_edges[self._edges]
        return np.asarray(np.bincount(self._sensors, each, self._number), dtype=np.float64)

    def times(self, speeds: Speeds, usual: F64, now_ms: int, lead_ms: int = 0) -> CarTimes:
        """Travel times for a departure `lead_ms` after now.

        `usual` is the time per metre that each sensor's road is known to take at that time
        (NaN: not known). Edges that no sensor tells of take their free-flow time times the
        city's present ratio, as do those of sensors of which nothing is known.
        """
        trust = speeds.confidence(now_ms) * max(1 - lead_ms / FADING_MS, 0.0)
        ratio = self._ratio(speeds, usual, trust)
        base, learned = self._usual(usual, ratio)
        live, weight, last_ms = self._live(speeds, trust)
        seconds = np.where(weight > 0, weight * live + (1 - weight) * base, base) * self._length
        is_live = weight >= 0.5
        basis = np.where(is_live, Basis.LIVE, np.where(learned, Basis.LEARNED, Basis.FREE_FLOW))
        age = np.where(is_live, np.maximum(now_ms - last_ms, 0) / 1000, np.nan)
        return CarTimes(
            seconds, base * self._length, basis.astype(np.uint8), age.astype(np.float32)
        )

    def _ratio(self, speeds: Speeds, usual: F64, trust: F64) -> float:
        """How much longer than free flow the measured roads take: the median, 1 to 2."""
        measured = np.where(trust > 0, speeds.pace, np.nan)
        known = np.where(np.isnan(usual), measured, usual)
        estimate = np.where(trust > 0, trust * speeds.pace + (1 - trust) * known, known)
        counts = ~np.isnan(usual) | (trust >= 0.5)
        ratios = (estimate / self._free_of_sensor)[counts]
        ratios = ratios[np.isfinite(ratios)]
        if len(ratios) < _ENOUGH_SENSORS:
            return 1.0
        return float(np.clip(np.median(ratios), 1.0, _MOST_RATIO))

    def _usual(self, usual: F64, ratio: float) -> tuple[F64, Bools]:
        """Time per metre of each edge without live readings, and where it is learned."""
        known = ~np.isnan(usual)
        mean, weight = self._spread(np.where(known, usual, 0.0), known.astype(np.float64))
        base = np.where(weight > 0, mean, np.minimum(self._free * ratio, _MOST_PACE))
        return np.clip(base, _LEAST_PACE, _MOST_PACE), weight > 0

    def _live(self, speeds: Speeds, trust: F64) -> tuple[F64, F64, I64]:
        """Of each edge the measured time per metre, its weight (0: none) and its time."""
        mean, total = self._spread(np.where(trust > 0, speeds.pace, 0.0), trust)
        weight, last_ms = np.zeros(len(self._length)), np.zeros(len(self._length), dtype=np.int64)
        np.maximum.at(weight, self._edges, trust[self._sensors])
        np.maximum.at(last_ms, self._edges, speeds.last_ms[self._sensors])
        return np.clip(mean, _LEAST_PACE, _MOST_PACE), np.where(total > 0, weight, 0.0), last_ms

    def _spread(self, values: F64, weights: F64) -> tuple[F64, F64]:
        """Weighted mean of the sensors of each edge, and the sum of their weights."""
        each, edges = weights[self._sensors], len(self._length)
        total = np.bincount(self._edges, each, edges)
        sums = np.bincount(self._edges, each * values[self._sensors], edges)
        return sums / np.where(total > 0, total, 1.0), np.asarray(total, dtype=np.float64)
