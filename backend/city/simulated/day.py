"""One simulated day: traffic, garages, weather and air, every five minutes.

A day depends on nothing but its date and the seed: traffic is thin when the UTC day
begins, so that days can be made one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from citywise.backend.city.simulated import town
from citywise.backend.times import ZONE

SLOT = timedelta(minutes=5)
SLOTS = 288
LOCAL = ZoneInfo(ZONE)

Series = np.ndarray[Any, np.dtype[np.float64]]
"""Values by slot, or by slot and sensor."""

WORKDAY = {
    "in": ((6.1, 0.7, 0.35), (7.75, 0.85, 1.0), (12.5, 3.2, 0.5), (16.2, 1.1, 0.4)),
    "out": ((7.8, 0.9, 0.4), (12.5, 3.2, 0.5), (15.9, 1.2, 1.0), (21.0, 1.5, 0.15)),
    "round": ((7.8, 0.9, 0.85), (12.5, 3.2, 0.5), (15.9, 1.2, 0.8), (20.5, 1.5, 0.15)),
}
DAY_OFF = {
    "in": ((11.5, 2.4, 0.6), (16.0, 2.4, 0.3)),
    "out": ((11.0, 2.4, 0.3), (16.0, 2.4, 0.6)),
    "round": ((13.5, 3.4, 0.55),),
}
"""Traffic as humps (local hour, width in hours, height) over a thin base."""


@dataclass(frozen=True)
class Incident:
    """Something blocks a road: index of the road, first slot and number of slots."""

    road: int
    slot: int
    length: int


class Day:
    """The readings of one UTC day as arrays; `None`-like gaps are masks."""

    def __init__(self, seed: int, date: date, roads: list[town.Road]) -> None:
        self._roads = roads
        self._random = np.random.Generator(np.random.PCG64([seed, date.toordinal()]))
        begin = datetime.combine(date, time(), UTC)
        local = [(begin + n * SLOT).astimezone(LOCAL) for n in range(SLOTS)]
        self.hours = np.array([t.hour + t.minute / 60 for t in local])
        self.workday = np.array([t.weekday() < 5 for t in local])
        self._season = np.cos(2 * np.pi * (date.timetuple().tm_yday - 200) / 365)
        self._make_weather()
        self._make_traffic()
        self._make_garages()
        self._make_air()

    def _make_weather(self) -> None:
        hours, random = self.hours, self._random
        self.rain = np.zeros(SLOTS)
        for _ in range(int(random.poisson(1.2))):
            middle, width = random.uniform(0, 24), random.uniform(0.5, 2.0)
            self.rain = np.maximum(self.rain, _hump(hours, middle, width) * random.uniform(0.4, 1))
        sun = np.cos(2 * np.pi * (hours - 15.5) / 24)
        mood = random.normal(0, 2)
        self.temperature = 9 + 8 * self._season + mood + 4 * sun - 2 * self.rain
        self.humidity = np.clip(70 - 14 * sun + 22 * self.rain + random.normal(0, 4), 25, 99)
        gusts = _wander(random, (SLOTS, 1), 0.97)[:, 0]
        self.wind = np.clip(13 + 5 * gusts + 8 * self.rain, 0, 80)

    def _make_traffic(self) -> None:
        roads, random = self._roads, self._random
        peak = np.array([road.peak for road in roads])
        load = np.array([road.load for road in roads])
        free_flow = np.array([road.free_flow_kmh for road in roads])
        share = np.stack([self._share(road.flow, road.shift_h) for road in roads], axis=1)
        demand = share * np.exp(0.2 * _wander(random, share.shape, 0.8))
        pressure = demand * load * (1 + 0.25 * self.rain[:, None])
        slowing = 1 / (1 + 0.45 * pressure**4) * (1 - 0.12 * self.rain[:, None])
        slowing *= self._blocking(len(roads))
        noise = 1 + 0.04 * random.standard_normal(share.shape)
        self.speed = np.clip(np.round(free_flow * slowing * noise, 1), 3, 130)
        self.count = random.poisson(np.minimum(demand, 1.15) * peak)
        self._make_faults()

    def _share(self, flow: str, shift_h: float = 0.0) -> Series:
        """How much of its peak a road carries; `shift_h` makes its rush earlier or later."""
        workday, day_off = (
            sum(
                height * _hump(self.hours, hour + shift_h, width)
                for hour, width, height in humps[flow]
            )
            for humps in (WORKDAY, DAY_OFF)
        )
        return np.asarray(0.03 + np.where(self.workday, workday, day_off))

    def _blocking(self, roads: int) -> Series:
        """What incidents leave of the speed, on their roads and on those that lead there."""
        left = np.ones((SLOTS, roads))
        for incident in self._incidents:
            first, last = incident.slot, incident.slot + incident.length
            left[first:last, incident.road] *= 0.22
            for road in self._leading_to(incident.road):
                left[first + 1 : last, road] *= 0.5
        return left

    @cached_property
    def _incidents(self) -> list[Incident]:
        random = self._random
        busy = [n for n, road in enumerate(self._roads) if road.peak >= 14]
        weight = self._share("round") / self._share("round").sum()
        return [
            Incident(
                road=int(busy[int(random.integers(len(busy)))]),
                slot=int(random.choice(SLOTS, p=weight)),
                length=int(random.integers(4, 14)),
            )
            for _ in range(int(random.poisson(9)))
        ]

    def _leading_to(self, road: int) -> list[int]:
        begin, end = self._roads[road].ends
        return [n for n, other in enumerate(self._roads) if other.ends[1] == begin != end]

    def _make_faults(self) -> None:
        """Real sensors fail: gaps, repeats, one that sticks, and stale speeds."""
        random, shape = self._random, self.speed.shape
        self.missing = random.random(shape) < 0.015
        self.twice = random.random(shape) < 0.002
        sensor, slot = int(random.integers(shape[1])), int(random.integers(60, 200))
        stuck = slice(slot, slot + int(random.integers(20, 60)))
        self.speed[stuck, sensor] = self.speed[slot, sensor]
        self.count[stuck, sensor] = self.count[slot, sensor]
        for n in range(1, SLOTS):
            self.speed[n] = np.where(self.count[n] == 0, self.speed[n - 1], self.speed[n])

    def _make_garages(self) -> None:
        random = self._random
        self.occupied = np.zeros((SLOTS, len(town.GARAGES)), dtype=np.int64)
        for n, garage in enumerate(town.GARAGES):
            shares = [
                np.interp(self.hours, [p[0] for p in points], [p[1] for p in points], period=24)
                for points in (garage.workday, garage.day_off)
            ]
            share = np.where(self.workday, *shares)
            share = share * random.normal(1, 0.015) + 0.008 * _wander(random, (SLOTS, 1), 0.9)[:, 0]
            # A few cars more than places: the count drifts, as in real garages.
            self.occupied[:, n] = np.clip(np.round(share * garage.capacity), 0, garage.capacity + 6)

    def _make_air(self) -> None:
        """Five pollutants by slot and station: traffic raises, wind and rain lower them."""
        nearness = np.stack([_nearness(station, self._roads) for station in town.AIR], axis=1)
        traffic = self.count @ nearness / (self.count.mean() + 1e-9)
        calm = (20 / (8 + self.wind))[:, None] * (1 - 0.4 * self.rain[:, None])
        sun = np.clip(np.cos(2 * np.pi * (self.hours - 14) / 24), 0, 1)[:, None]
        noise = self._random.normal(0, 2, (SLOTS, len(town.AIR), 5))
        raw = np.stack(
            [
                30 + 35 * sun + 0 * traffic,
                18 + 16 * traffic * calm,
                12 + 10 * traffic * calm,
                8 + 3 * traffic * calm,
                20 + 22 * traffic * calm,
            ],
            axis=2,
        )
        self.air = np.clip(np.round(raw + noise), 0, 400).astype(np.int64)


def _hump(hours: Series, middle: float, width: float) -> Series:
    apart = np.abs(hours - middle)
    return np.asarray(np.exp(-((np.minimum(apart, 24 - apart) / width) ** 2)))


def _wander(random: np.random.Generator, shape: tuple[int, ...], memory: float) -> Series:
    """Noise of unit variance that changes slowly along the first axis."""
    shocks = random.standard_normal(shape)
    values = np.empty(shape)
    values[0] = shocks[0]
    for n in range(1, shape[0]):
        values[n] = memory * values[n - 1] + np.sqrt(1 - memory**2) * shocks[n]
    return values


def _nearness(station: town.Station, roads: list[town.Road]) -> Series:
    """Weights of the roads round a station, summing to one."""
    middles = np.array([np.mean(road.line, axis=0) for road in roads])
    away = np.hypot(*(middles - np.array(station.at)).T)
    weights = np.exp(-((away / 900) ** 2))
    return np.asarray(weights / weights.sum())
