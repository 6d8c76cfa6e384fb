"""The simulated city as a source: days of readings, one after the other, without end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Literal

from citywise.backend.city.simulated import town
from citywise.backend.city.simulated.day import SLOT, SLOTS, Day
from citywise.backend.city.simulated.meters import Meters
from citywise.backend.city.steps import Batch, Reading, SourceError, Step
from citywise.backend.ingest.payloads import Place
from citywise.backend.kinds import Kinds
from citywise.backend.times import iso, to_ms

START = datetime(2025, 5, 27, 4, 30, tzinfo=UTC)
"""A Tuesday, 06:30 in Denmark: the morning rush is about to begin."""
LEAD_IN = timedelta(hours=3)
GARAGES_AFTER = timedelta(minutes=2)
"""The garages report between two readings of the roads."""
WEATHER_EVERY, AIR_EVERY = 4, 3
"""In slots of five minutes."""
AIR_NAMES = (
    "ozone",
    "particulate_matter",
    "carbon_monoxide",
    "sulfur_dioxide",
    "nitrogen_dioxide",
)


class Simulation:
    """A city made up from a seed: the same seed gives the same readings, byte for byte.

    Begins `lead_in` (3 hours) before `start`; runs until `until`, or for ever. `others` are kinds
    of which it has three sensors each, beside its roads, garages and stations.
    """

    name: Literal["simulation"] = "simulation"

    def __init__(
        self,
        seed: int = 1,
        start: datetime | None = None,
        until: datetime | None = None,
        lead_in: timedelta | None = None,
        others: Kinds | None = None,
    ) -> None:
        self.seed = seed
        self._meters = Meters(seed, others or Kinds())
        self.start = (start or START).astimezone(UTC)
        self.until = until.astimezone(UTC) if until else None
        if self.until is not None and self.until < self.start:
            raise SourceError("the simulation would end before it starts: give a later --until")
        self._lead_in = LEAD_IN if lead_in is None else lead_in
        self._roads = town.roads()

    def places(self) -> list[Place]:
        return [*town.places(), *self._meters.places()]

    def steps(self, since: datetime | None = None) -> Iterator[Step]:
        first = self.start - self._lead_in
        if since is not None:
            first = max(first, since.astimezone(UTC))
        begin, until = to_ms(first), to_ms(self.until) if self.until else None
        for step in self._all_steps(first.date()):
            if until is not None and step.ms > until:
                return
            if step.ms >= begin:
                yield step

    def _all_steps(self, first: date) -> Iterator[Step]:
        for number in count():
            today = first + timedelta(days=number)
            midnight = datetime(today.year, today.month, today.day, tzinfo=UTC)
            day = Day(self.seed, today, self._roads)
            others = self._meters.day(today)
            for slot in range(SLOTS):
                ms = to_ms(midnight + slot * SLOT)
                more = (kind.batch(slot, iso(ms)) for kind in others)
                yield Step(ms, (*self._on_the_grid(day, slot, iso(ms)), *more))
                ms = to_ms(midnight + slot * SLOT + GARAGES_AFTER)
                yield Step(ms, (Batch("parking", _parking(day, slot, iso(ms))),))

    def _on_the_grid(self, day: Day, slot: int, time: str) -> Iterator[Batch]:
        yield Batch("traffic", list(self._traffic(day, slot, time)))
        if slot % WEATHER_EVERY == 0:
            yield Batch("weather", [_weather(day, slot, time)])
        if slot % AIR_EVERY == 0:
            yield Batch("air", _air(day, slot, time))

    def _traffic(self, day: Day, slot: int, time: str) -> Iterator[Reading]:
        speeds, counts = day.speed[slot].tolist(), day.count[slot].tolist()
        missing, twice = day.missing[slot].tolist(), day.twice[slot].tolist()
        for n, road in enumerate(self._roads):
            reading: Reading = {
                "sensor": road.id,
                "observed_at": time,
                "speed_kmh": speeds[n],
                "vehicle_count": counts[n],
            }
            yield from (reading,) * (0 if missing[n] else 2 if twice[n] else 1)


def _parking(day: Day, slot: int, time: str) -> list[Reading]:
    return [
        {
            "sensor": garage.id,
            "observed_at": time,
            "occupied": occupied,
            "capacity": garage.capacity,
        }
        for garage, occupied in zip(town.GARAGES, day.occupied[slot].tolist(), strict=True)
    ]


def _weather(day: Day, slot: int, time: str) -> Reading:
    return {
        "sensor": town.WEATHER.id,
        "observed_at": time,
        "temperature_c": round(float(day.temperature[slot]), 1),
        "humidity_pct": round(float(day.humidity[slot]), 0),
        "wind_kmh": round(float(day.wind[slot]), 1),
    }


def _air(day: Day, slot: int, time: str) -> list[Reading]:
    return [
        {"sensor": station.id, "observed_at": time, **dict(zip(AIR_NAMES, indices, strict=True))}
        for station, indices in zip(town.AIR, day.air[slot].tolist(), strict=True)
    ]
