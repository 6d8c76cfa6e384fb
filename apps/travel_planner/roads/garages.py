"""Garages: places left now and expected on arrival, opening hours and price.

How the number of places is expected to change was measured on three months of the garages of
Aarhus (docs/live-city.md): where it is known how full they usually are, as much fuller or emptier
than usual as they are now, ever less; else as in the last two hours, ever less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import erf, exp, sqrt

import numpy as np

from citywise.apps.travel_planner.roads.learned import usual
from citywise.apps.travel_planner.roads.network import F64
from citywise.apps.travel_planner.roads.tariffs import Tariff
from citywise.backend.app import times
from citywise.backend.ingest.payloads import Place, Price
from citywise.backend.ingest.places import readable
from citywise.backend.opening import is_open

STALE_S = 90 * 60
"""Seconds after which a count is called old."""
TREND_MS = 2 * 3_600_000
"""Counts that are older tell nothing of the trend."""
_FEWEST_COUNTS = 3
_DAMPING_H = 1.0
_LASTING_H = 14 * 24.0
"""What differs from usual is worth 1/e after so long: it is a season rather than a day."""
_ERROR_PER_H = 0.05
"""Of the capacity: with 80 % certainty the number is within it after an hour."""
_USUAL_ERROR, _USUAL_GROWTH = 0.95, 0.8
"""The same where the week is known: so much of what the garage usually moves in an hour, and how it
grows with the hours (`citywise bench forecast`)."""
_MOST_ERROR, _USUAL_MOST_ERROR = 0.5, 0.35
_FEWEST_PLACES = 2.0
_EIGHTY_PERCENT = 1.2816
"""Standard deviations on either side of the mean of a normal distribution."""
_HOUR_MS = 3_600_000
_LOOKED_AHEAD_MS, _STEP_MS = 7 * 24 * _HOUR_MS, 15 * 60_000


@dataclass(frozen=True)
class Expected:
    """How many places are likely to be free at a time."""

    free: int
    low: int
    """With 80 % certainty no fewer than `low` and no more than `high`."""
    high: int
    chance_full: float
    """Probability (0 … 1) that none is free."""


@dataclass(frozen=True)
class Garage:
    """A garage as it is known at `at_ms`."""

    id: str
    name: str
    lat: float
    lon: float
    at_ms: int
    """Stream time for which this holds."""
    capacity: int | None
    occupied: int | None
    observed_ms: int | None
    """When the cars were counted; None: never."""
    hours: str | None
    """When it is open, in OpenStreetMap's syntax; None: nobody says."""
    tariff: Tariff
    per_hour: float = 0.0
    """By how many cars an hour it filled in the last two hours."""
    week: tuple[float, ...] = ()
    """The share of its places that is usually taken in each hour of the week, NaN where it is
    not known; empty: not known at all."""
    moves: float = 0.0
    """By what share of its places that usually changes from one hour to the next."""

    @property
    def free(self) -> int | None:
        """Places left by the last count, never below 0; None: not known."""
        if self.occupied is None or self.capacity is None:
            return None
        return max(self.capacity - self.occupied, 0)

    @property
    def overfull(self) -> bool:
        """Whether more cars were counted than there are places: the capacity is outdated."""
        counted = self.occupied is not None and self.capacity is not None
        return counted and (self.occupied or 0) > (self.capacity or 0)

    @property
    def age_s(self) -> float | None:
        """Seconds since the last count."""
        return None if self.observed_ms is None else max(self.at_ms - self.observed_ms, 0) / 1000

    @property
    def stale(self) -> bool:
        """Whether there is no count, or only one that is older than `STALE_S`."""
        return self.age_s is None or self.age_s > STALE_S

    @property
    def open(self) -> bool | None:
        """Whether it is open now; None: not known."""
        return self.open_at(self.at_ms)

    def open_at(self, t_ms: int) -> bool | None:
        """Whether it is open at a stream time; None: not known."""
        if self.hours is None:
            return None
        return is_open(self.hours, t_ms, times.zone_name())

    def opens_after(self, t_ms: int) -> int | None:
        """Stream time from which it is open next, `t_ms` if it is; None: not known, or not
        within a week."""
        if self.open_at(t_ms) is not False:
            return None if self.hours is None else t_ms
        begin = t_ms - t_ms % _STEP_MS
        steps = range(begin + _STEP_MS, begin + _LOOKED_AHEAD_MS, _STEP_MS)
        found = next((step for step in steps if self.open_at(step)), None)
        if found is None:
            return None
        minutes = range(max(found - _STEP_MS, t_ms), found, 60_000)
        return next((m - m % 60_000 for m in minutes if self.open_at(m)), found)

    def expected(self, t_ms: int) -> Expected | None:
        """Places likely to be free at a stream time; None where there is no count.

        More cars than the capacity are taken to stay as many too many: the count is of cars
        that are really there.
        """
        if self.occupied is None or self.capacity is None or self.observed_ms is None:
            return None
        ahead_h = max(t_ms - self.observed_ms, 0) / _HOUR_MS
        taken, error = self._forecast(self.occupied, self.capacity, t_ms, ahead_h)
        free = self.capacity - taken
        deviation = error / _EIGHTY_PERCENT
        return Expected(
            free=_places(free, self.capacity),
            low=_places(free - error, self.capacity),
            high=_places(free + error, self.capacity),
            chance_full=round(_normal((0.5 - free) / deviation), 3),
        )

    def _forecast(
        self, occupied: int, capacity: int, t_ms: int, ahead_h: float
    ) -> tuple[float, float]:
        """Cars expected after some hours, and how far off that is with 80 % certainty."""
        usually = self._usually(t_ms)
        if usually is None:
            taken = occupied + self.per_hour * _DAMPING_H * (1 - exp(-ahead_h / _DAMPING_H))
            share = min(_ERROR_PER_H * ahead_h, _MOST_ERROR)
        else:
            then, now = usually
            taken = then * capacity + (occupied - now * capacity) * exp(-ahead_h / _LASTING_H)
            error = _USUAL_ERROR * self.moves * ahead_h**_USUAL_GROWTH
            share = min(error, _USUAL_MOST_ERROR)
        return max(taken, 0.0), max(share * capacity, _FEWEST_PLACES)

    def _usually(self, t_ms: int) -> tuple[float, float] | None:
        """What share of its places is usually taken at a time, and when it was counted."""
        if not self.week or self.observed_ms is None:
            return None
        week = np.array(self.week)
        then, now = float(usual(week, t_ms)), float(usual(week, self.observed_ms))
        return None if np.isnan(then) or np.isnan(now) else (then, now)


def _places(number: float, capacity: int) -> int:
    return round(min(max(number, 0), capacity))


def _normal(deviations: float) -> float:
    """Probability that a normal value is so many standard deviations above its mean or less."""
    return 0.5 * (1 + erf(deviations / sqrt(2)))


Counts = Sequence[tuple[int, int]]
"""Counts of one garage in the order of time: stream time and cars."""


def trend(counts: Counts) -> float:
    """By how many cars an hour a garage fills: the median slope between any two of its counts
    of the two hours before the last (Theil and Sen); 0 where there are fewer than three."""
    if not counts:
        return 0.0
    recent = [count for count in counts if count[0] >= counts[-1][0] - TREND_MS]
    if len(recent) < _FEWEST_COUNTS:
        return 0.0
    t_ms, cars = np.array(recent, dtype=np.float64).T
    later, earlier = np.tril_indices(len(recent), -1)
    ahead = t_ms[later] - t_ms[earlier]
    slopes = (cars[later] - cars[earlier])[ahead > 0] / (ahead[ahead > 0] / _HOUR_MS)
    return float(np.median(slopes)) if len(slopes) else 0.0


def garage_of(place: Place, assumed: Tariff) -> Garage:
    """A garage of which nothing was counted yet; without a price it has the assumed one."""
    lon, lat = place.middle
    return Garage(
        id=place.id,
        name=place.name,
        lat=lat,
        lon=lon,
        at_ms=0,
        capacity=place.capacity,
        occupied=None,
        observed_ms=None,
        hours=readable(place)[0].opening_hours,
        tariff=assumed if place.price is None else _tariff(place.price),
    )


def _tariff(price: Price) -> Tariff:
    return Tariff(price.per_hour, price.day_most, price.free_minutes, price.currency)


def counted(garage: Garage, counts: Counts, capacity: int) -> Garage:
    """The garage after some counts; `capacity` is what came with the last of them."""
    observed_ms, occupied = counts[-1]
    return replace(
        garage,
        capacity=capacity,
        occupied=occupied,
        observed_ms=observed_ms,
        per_hour=trend(counts),
    )


def usually(garage: Garage, week: F64) -> Garage:
    """The garage with what share of its places is usually taken, by the hour of the week."""
    changes = np.abs(np.diff(week, append=week[:1]))
    if np.isnan(week).all():
        return garage
    moves = _ERROR_PER_H if np.isnan(changes).all() else float(np.nanmean(changes))
    return replace(garage, week=tuple(week.tolist()), moves=moves)
