"""Which sensors are silent or tell what cannot be: a pure function over their last readings.

The thresholds are in docs/operations.md with what decided them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from types import MappingProxyType
from typing import Any, Literal

from citywise.backend.ingest.payloads import POLLUTANTS, Kind

Value = str | float | int | None
Values = Mapping[str, Value]
State = Literal["silent", "implausible", "ok"]
Check = Literal["silent", "never-heard", "stuck", "over-capacity", "too-fast", "jump"]

KEPT = 24
"""Readings of each sensor that are looked at."""
PERIODS = 3
"""After so many usual periods without a reading a sensor is silent."""
FULLER_THAN_FULL = 1.05
"""Occupied by capacity; a little above one are cars that wait or look for a place."""
FASTER_THAN_FREE = 2.0
FASTER_BY_KMH = 30.0
FAST_READINGS = 6
"""Readings with vehicles whose median speed is compared with the free flow."""
OTHERS_CHANGED = 0.5
"""Of the other sensors of a kind, before one that does not change is called stuck."""
FEW_OTHERS = 3
"""With fewer others, a sensor has to stay the same twice as long."""


@dataclass(frozen=True)
class Bounds:
    """What is still plausible of a kind of sensor.

    `silent_s`: seconds without a reading that are never silence; `stuck_readings` and
    `stuck_s`: from how many equal readings over how long on they are too many; `steps`: by
    field, the most it changes from one reading to the next.
    """

    silent_s: float
    stuck_readings: int
    stuck_s: float
    steps: Mapping[str, float] = field(default_factory=dict)


_INDEX_STEP = 100.0
BOUNDS: Mapping[Kind, Bounds] = {
    "traffic": Bounds(15 * 60, 8, 30 * 60),
    "parking": Bounds(45 * 60, 8, 9 * 3600),
    "weather": Bounds(90 * 60, 12, 4 * 3600, {"temperature_c": 10.0}),
    "air": Bounds(
        30 * 60,
        12,
        3600,
        dict.fromkeys(
            POLLUTANTS,
            _INDEX_STEP,
        ),
    ),
}
PARKING_STEP = 0.5
"""Of the capacity, from one reading of a garage to the next."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading: when (Unix ms, stream time) and what, and what its message had besides."""

    observed_ms: int
    values: Values
    extra: Mapping[str, Any] = field(default_factory=dict)


class Series:
    """The last readings of one sensor, and since when they have all been the same."""

    __slots__ = ("_same", "kind", "samples", "sensor", "since_ms")

    def __init__(self, kind: Kind, sensor: str) -> None:
        self.kind, self.sensor = kind, sensor
        self.samples: deque[Sample] = deque(maxlen=KEPT)
        self.since_ms = 0
        self._same = 0

    def take(
        self, observed_ms: int, values: Values, extra: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """The next reading; one that is older than the last is passed over."""
        if self.samples and observed_ms <= self.samples[-1].observed_ms:
            return
        if self.samples and self.samples[-1].values == values:
            self._same += 1
        else:
            self._same, self.since_ms = 1, observed_ms
        self.samples.append(Sample(observed_ms, values, extra))

    @property
    def last(self) -> Sample | None:
        """The newest reading."""
        return self.samples[-1] if self.samples else None

    @property
    def same(self) -> int:
        """How many readings up to the last have been equal; more than are kept."""
        return self._same

    @property
    def period_ms(self) -> int | None:
        """The usual time between two readings: the median of the last gaps."""
        times = [sample.observed_ms for sample in self.samples]
        return round(median(b - a for a, b in pairwise(times))) if len(times) > 2 else None


@dataclass(frozen=True)
class Finding:
    """Something wrong with a sensor: which check, in words, and the numbers in them."""

    check: Check
    text: str
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Verdict:
    """What is said of a sensor; `ok` where there is nothing."""

    state: State
    findings: tuple[Finding, ...] = ()


class Peers:
    """The sensors of one kind: how many of them have changed since a time."""

    def __init__(self, series: Iterable[Series]) -> None:
        self._since = sorted(one.since_ms for one in series if one.samples)

    def changed_after(self, ms: int) -> float:
        """Share of the others whose values have changed after `ms`."""
        others = len(self._since) - 1
        later = len(self._since) - bisect_right(self._since, ms)
        return later / others if others > 0 else 1.0

    @property
    def are_few(self) -> bool:
        """Whether there are too few to go by them."""
        return len(self._since) - 1 < FEW_OTHERS


def judge(
    series: Series,
    peers: Peers,
    now_ms: int,
    heard_since_ms: int,
    free_flow_kmh: float | None = None,
) -> Verdict:
    """What is wrong with a sensor at `now_ms` (stream time, Unix ms).

    `heard_since_ms`: from when on readings are known at all; `free_flow_kmh`: of its road.
    """
    quiet = _quiet(series, now_ms, heard_since_ms)
    if quiet is not None:
        return Verdict("silent", (quiet,))
    if not series.samples:
        return Verdict("ok")
    found = tuple(_implausible(series, peers, free_flow_kmh))
    return Verdict("implausible" if found else "ok", found)


def _quiet(series: Series, now_ms: int, heard_since_ms: int) -> Finding | None:
    least = BOUNDS[series.kind].silent_s
    if series.last is None:
        waited = (now_ms - heard_since_ms) / 1000
        if waited <= least:
            return None
        text = f"never heard, in {_span(waited)}"
        return Finding("never-heard", text, {"age_s": waited, "limit_s": least})
    age = (now_ms - series.last.observed_ms) / 1000
    period = (series.period_ms or 0) / 1000
    limit = max(PERIODS * period, least)
    if age <= limit:
        return None
    usual = f"; usually every {_span(period)}" if period else ""
    numbers = {"age_s": age, "limit_s": limit, "period_s": period}
    return Finding("silent", f"no reading for {_span(age)}{usual}", numbers)


def _implausible(series: Series, peers: Peers, free_flow_kmh: float | None) -> Iterator[Finding]:
    for found in (
        _stuck(series, peers),
        _over_capacity(series),
        _too_fast(series, free_flow_kmh),
        _jump(series),
    ):
        if found is not None:
            yield found


def _stuck(series: Series, peers: Peers) -> Finding | None:
    last, bounds = series.samples[-1], BOUNDS[series.kind]
    if _says_nothing(series.kind, last.values):
        return None
    times = 2 if peers.are_few else 1
    lasted = (last.observed_ms - series.since_ms) / 1000
    if series.same < times * bounds.stuck_readings or lasted < times * bounds.stuck_s:
        return None
    if peers.changed_after(series.since_ms) < OTHERS_CHANGED:
        return None
    text = f"the same values for {_span(lasted)}, {series.same} readings, while others changed"
    return Finding("stuck", text, {"lasted_s": lasted, "readings": series.same})


def _says_nothing(kind: Kind, values: Values) -> bool:
    """Whether it is usual that values stay: nobody drives, nobody parks."""
    if kind == "traffic":
        return not values.get("vehicle_count")
    return kind == "parking" and not values.get("occupied")


def _over_capacity(series: Series) -> Finding | None:
    values = series.samples[-1].values
    occupied, capacity = _number(values, "occupied"), _number(values, "capacity")
    if occupied is None or not capacity or occupied <= FULLER_THAN_FULL * capacity:
        return None
    text = f"{occupied:g} cars where {capacity:g} fit"
    return Finding("over-capacity", text, {"occupied": occupied, "capacity": capacity})


def _too_fast(series: Series, free_flow_kmh: float | None) -> Finding | None:
    """A speed without vehicles is the last one measured and says nothing."""
    moving = [s.values for s in series.samples if s.values.get("vehicle_count")][-FAST_READINGS:]
    speeds = [v for values in moving if (v := _number(values, "speed_kmh")) is not None]
    if free_flow_kmh is None or len(speeds) < FAST_READINGS:
        return None
    speed = median(speeds)
    if speed <= max(FASTER_THAN_FREE * free_flow_kmh, free_flow_kmh + FASTER_BY_KMH):
        return None
    text = f"{speed:g} km/h (median of {len(speeds)}) where {free_flow_kmh:g} km/h is free flow"
    return Finding("too-fast", text, {"speed_kmh": speed, "free_flow_kmh": free_flow_kmh})


def _jump(series: Series) -> Finding | None:
    """The newest jump among the readings that are kept."""
    for before, after in reversed(list(pairwise(series.samples))):
        for name, most in _steps(series.kind, after.values):
            old, new = _number(before.values, name), _number(after.values, name)
            if old is not None and new is not None and abs(new - old) > most:
                text = f"{name} from {old:g} to {new:g} between two readings"
                return Finding("jump", text, {"before": old, "after": new, "limit": most})
    return None


def _steps(kind: Kind, values: Values) -> Iterator[tuple[str, float]]:
    yield from BOUNDS[kind].steps.items()
    if kind == "parking" and (capacity := _number(values, "capacity")):
        yield "occupied", PARKING_STEP * capacity


def _number(values: Values, name: str) -> float | None:
    value = values.get(name)
    return value if isinstance(value, int | float) else None


def _span(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
