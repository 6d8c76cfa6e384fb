"""Which sensors are silent or tell what cannot be: a pure function over their last readings.

The thresholds are in docs/operations.md with what decided them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Reversible
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from statistics import median
from types import MappingProxyType
from typing import Any, Literal

from citywise.backend.kinds import Kind, Value

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


FILLING_STEP = 0.5
"""Of the capacity, from one reading of what fills to the next."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading: when (Unix ms, stream time) and what, and what its message had besides."""

    observed_ms: int
    values: Values
    extra: Mapping[str, Any] = field(default_factory=dict)


class Series:
    """The last readings of one sensor, and since when they have all been the same."""

    __slots__ = (
        "_same", "corrected", "kind", "late", "samples", "sensor", "since_ms", "withdrawn",
    )  # fmt: skip

    def __init__(self, kind: str, sensor: str) -> None:
        self.kind, self.sensor = kind, sensor
        self.samples: deque[Sample] = deque(maxlen=KEPT)
        self.since_ms = 0
        self._same = 0
        self.late = self.corrected = self.withdrawn = 0
        """How many readings came late, were corrected, and were withdrawn."""

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

    def correct(self, observed_ms: int, values: Values) -> bool:
        """A reading says something else now; False if it is none of the last ones."""
        for index, sample in enumerate(self.samples):
            if sample.observed_ms == observed_ms:
                self.samples[index] = replace(sample, values=values)
                self.corrected += 1
                return True
        return False

    def withdraw(self, observed_ms: int) -> None:
        """A reading was none."""
        kept = [sample for sample in self.samples if sample.observed_ms != observed_ms]
        self.samples = deque(kept, maxlen=KEPT)
        self.withdrawn += 1

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
    kind: Kind,
    peers: Peers,
    now_ms: int,
    heard_since_ms: int,
    free_flow_kmh: float | None = None,
) -> Verdict:
    """What is wrong with a sensor at `now_ms` (stream time, Unix ms).

    `heard_since_ms`: from when on readings are known at all; `free_flow_kmh`: of its road.
    """
    quiet = _quiet(series, kind, now_ms, heard_since_ms)
    if quiet is not None:
        return Verdict("silent", (quiet,))
    if not series.samples:
        return Verdict("ok")
    found = tuple(_implausible(series, kind, peers, free_flow_kmh))
    return Verdict("implausible" if found else "ok", found)


def _quiet(series: Series, kind: Kind, now_ms: int, heard_since_ms: int) -> Finding | None:
    least = kind.silent_s
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


def _implausible(
    series: Series, kind: Kind, peers: Peers, free_flow_kmh: float | None
) -> Iterator[Finding]:
    for found in (
        _stuck(series, kind, peers),
        _over_capacity(series, kind),
        _too_fast(series, kind, free_flow_kmh),
        _jump(series, kind),
    ):
        if found is not None:
            yield found


def stays(kind: Kind, values: Values, readings: int, lasted_s: float, *, are_few: bool) -> bool:
    """Whether `values` have been the same for longer than a kind allows, in so many readings and
    seconds: twice as long with `are_few` others, which say less of it."""
    bounds, times = kind.health, 2 if are_few else 1
    if bounds.idle is not None and not values.get(bounds.idle):
        return False  # Nobody drives, nobody parks: then it is usual that values stay.
    return readings >= times * bounds.stuck_readings and lasted_s >= times * bounds.stuck_s


def _stuck(series: Series, kind: Kind, peers: Peers) -> Finding | None:
    last = series.samples[-1]
    lasted = (last.observed_ms - series.since_ms) / 1000
    if not stays(kind, last.values, series.same, lasted, are_few=peers.are_few):
        return None
    if peers.changed_after(series.since_ms) < OTHERS_CHANGED:
        return None
    text = f"the same values for {_span(lasted)}, {series.same} readings, while others changed"
    return Finding("stuck", text, {"lasted_s": lasted, "readings": series.same})


def is_over_capacity(values: Values, kind: Kind) -> bool:
    """Whether more is said to be there than fits."""
    occupied = _of_role(values, kind, "occupied_places")
    capacity = _of_role(values, kind, "total_places")
    if occupied is None or not capacity:
        return False
    return occupied > FULLER_THAN_FULL * capacity


def _over_capacity(series: Series, kind: Kind) -> Finding | None:
    values = series.samples[-1].values
    if not is_over_capacity(values, kind):
        return None
    occupied = _of_role(values, kind, "occupied_places") or 0
    capacity = _of_role(values, kind, "total_places") or 0
    text = f"{occupied:g} cars where {capacity:g} fit"
    return Finding("over-capacity", text, {"occupied": occupied, "capacity": capacity})


def _too_fast(series: Series, kind: Kind, free_flow_kmh: float | None) -> Finding | None:
    speed = too_fast_kmh(series.samples, kind, free_flow_kmh)
    if speed is None or free_flow_kmh is None:
        return None
    text = f"{speed:g} km/h (median of {FAST_READINGS}) where {free_flow_kmh:g} km/h is free flow"
    return Finding("too-fast", text, {"speed_kmh": speed, "free_flow_kmh": free_flow_kmh})


def too_fast_kmh(
    samples: Reversible[Sample], kind: Kind, free_flow_kmh: float | None
) -> float | None:
    """The usual speed of the last readings if it is far above the free flow, else None.

    A speed without vehicles is the last one measured and says nothing.
    """
    if free_flow_kmh is None:
        return None
    moving = (s.values for s in reversed(samples) if _of_role(s.values, kind, "road_vehicles"))
    last = islice(moving, FAST_READINGS)
    speeds = [v for one in last if (v := _of_role(one, kind, "road_speed")) is not None]
    if len(speeds) < FAST_READINGS:
        return None
    speed = median(speeds)
    most = max(FASTER_THAN_FREE * free_flow_kmh, free_flow_kmh + FASTER_BY_KMH)
    return speed if speed > most else None


def _jump(series: Series, kind: Kind) -> Finding | None:
    """The newest jump among the readings that are kept."""
    for before, after in reversed(list(pairwise(series.samples))):
        for name, old, new, most in jumps(before.values, after.values, kind):
            text = f"{name} from {old:g} to {new:g} between two readings"
            return Finding("jump", text, {"before": old, "after": new, "limit": most})
    return None


def can_jump(kind: Kind) -> bool:
    """Whether any field of a kind is bounded from one reading to the next, or by what fits."""
    return any(kind.having("total_places")) or any(f.jump for f in kind.fields.values())


def jumps(before: Values, after: Values, kind: Kind) -> Iterator[tuple[str, float, float, float]]:
    """Fields that change by more than they can from one reading to the next: before, after, and
    the most they change."""
    for name, most in _steps(kind, after):
        old, new = number(before, name), number(after, name)
        if old is not None and new is not None and abs(new - old) > most:
            yield name, old, new, most


def _steps(kind: Kind, values: Values) -> Iterator[tuple[str, float]]:
    """The most that fields change from one reading to the next."""
    yield from ((name, field.jump) for name, field in kind.fields.items() if field.jump is not None)
    if capacity := _of_role(values, kind, "total_places"):
        yield from ((name, FILLING_STEP * capacity) for name in kind.having("occupied_places"))


def _of_role(values: Values, kind: Kind, role: str) -> float | None:
    """The number that a field of a role has; None where it is unknown or there is none."""
    return next((number(values, name) for name in kind.having(role)), None)


def number(values: Values, name: str) -> float | None:
    """The number that a field has; None where it is unknown or something else."""
    value = values.get(name)
    return value if isinstance(value, int | float) else None


def _span(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
