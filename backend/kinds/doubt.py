"""How far each sensor of a kind can be trusted, from its readings of the last hours.

A pure function of those readings, of where the sensors are, and of the minute; docs/kinds.md has
the definition, `tests/kinds/doubted.py` has it once more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, cos, radians
from statistics import median
from typing import Literal

from citywise.backend.kinds.health import (
    FEW_OTHERS,
    KEPT,
    OTHERS_CHANGED,
    PERIODS,
    Sample,
    Values,
    can_jump,
    is_over_capacity,
    jumps,
    number,
    stays,
    too_fast_kmh,
)
from citywise.backend.kinds.kind import Field, Kind
from citywise.backend.space.sphere import distance_m
from citywise.reasoning.model.atoms import LARGEST

WITHIN_MS = 12 * 3_600_000
"""Older readings say nothing of a sensor any more."""
FEWEST_NEIGHBOURS = 2
"""With fewer, nobody can say who is wrong."""
_METRES_PER_DEGREE = 111_000

Because = Literal["silent", "stuck", "over-capacity", "jump", "apart", "too-fast", "often-wrong"]
At = tuple[float, float]
"""Latitude and longitude, WGS84."""


@dataclass(frozen=True)
class Recent:
    """What one sensor read last, in order of time, and its place."""

    samples: Sequence[Sample]
    at: At | None = None
    free_flow_kmh: float | None = None


@dataclass(frozen=True)
class Doubt:
    """What is to be said of a sensor."""

    percent: int
    """How many of a hundred of its readings are right; those that are missing are wrong."""
    because: Because | None = None
    """Why it is not to be trusted now; None: it is."""
    accuracy: Mapping[str, float] = field(default_factory=dict)
    """By field, by how much (in its unit) the last reading may be off."""

    @property
    def reliable(self) -> bool:
        """Whether it is to be trusted now."""
        return self.because is None

    def words(self, kind: Kind, place: str) -> str:
        """Why it is doubted, as a sentence of an explanation."""
        called = kind.called("en").lower()
        return (
            f"the sensor of {called} at `{place}` is doubtful: {_WORDS[self.because or 'jump']}; "
            f"{self.percent} of 100 of its readings are right"
        )


_WORDS: Mapping[Because, str] = {
    "silent": "no reading came when one was due",
    "stuck": "it repeats itself while others change",
    "over-capacity": "it counts more than fit",
    "jump": "its last reading is far from the one before",
    "apart": "its last reading is far from those of its neighbours",
    "too-fast": "it is far above the free flow of its road",
    "often-wrong": "it is often wrong",
}


def kept(samples: Sequence[Sample], minute_ms: int) -> list[Sample]:
    """The newest readings that count at a minute (Unix ms), of `samples` in order of time."""
    return [s for s in samples[-KEPT:] if s.observed_ms > minute_ms - WITHIN_MS]


def doubts(kind: Kind, sensors: Mapping[str, Recent], minute_ms: int) -> dict[str, Doubt]:
    """What is to be said of the sensors of a kind at a minute (Unix ms), by their ids.

    A sensor without a reading that counts is left out: nothing is known of it.
    """
    recent = {
        sensor: Recent(counted, known.at, known.free_flow_kmh)
        for sensor, known in sensors.items()
        if (counted := [s for s in kept(known.samples, minute_ms) if s.values])
    }
    crowd = _Crowd(recent)
    near = _neighbours(kind, recent)
    return {
        sensor: _doubt(kind, known, minute_ms, crowd, [recent[n] for n in near.get(sensor, ())])
        for sensor, known in recent.items()
    }


def _doubt(
    kind: Kind, known: Recent, minute_ms: int, crowd: _Crowd, near: Sequence[Recent]
) -> Doubt:
    samples = known.samples
    wrong = dict(_wrong(kind, samples, crowd, near))
    if too_fast_kmh(samples, kind, known.free_flow_kmh) is not None:
        wrong = {len(samples) - 1: "too-fast", **wrong}
    gaps = [(b.observed_ms - a.observed_ms) / 1000 for a, b in pairwise(samples)]
    usual = median(gaps) if len(samples) > 2 else 0.0
    limit = max(PERIODS * usual, kind.silent_s)
    period = kind.period_s or usual
    missed = sum(_missed(gap, period) for gap in gaps if gap > limit)
    percent = 100 * (len(samples) - len(wrong)) // (len(samples) + missed)
    because: Because | None = wrong.get(len(samples) - 1)
    if (minute_ms - samples[-1].observed_ms) / 1000 > limit:
        because = "silent"
    elif because is None and percent < kind.health.reliable_pct:
        because = "often-wrong"
    return Doubt(percent, because, dict(_accuracies(kind, samples[-1].values)))


def _missed(gap: float, period: float) -> int:
    """How many readings were due in a gap (seconds), as far as they would count."""
    return min(KEPT, max(1, ceil(gap / period) - 1)) if period else 1


def _wrong(
    kind: Kind, samples: Sequence[Sample], crowd: _Crowd, near: Sequence[Recent]
) -> Iterator[tuple[int, Because]]:
    """Which readings are wrong, and why; of several reasons the first counts."""
    stuck = set(_stuck(kind, samples, crowd))
    if not (stuck or can_jump(kind) or kind.apart):
        return  # Nothing else can be wrong.
    for index, sample in enumerate(samples):
        if index in stuck:
            yield index, "stuck"
        elif is_over_capacity(sample.values, kind):
            yield index, "over-capacity"
        elif index and any(jumps(samples[index - 1].values, sample.values, kind)):
            yield index, "jump"
        elif _is_apart(kind, sample, near):
            yield index, "apart"


def _stuck(kind: Kind, samples: Sequence[Sample], crowd: _Crowd) -> Iterator[int]:
    """Readings that are all the same for too long, while others changed."""
    for first, end in _runs(samples):
        begins, ends = samples[first].observed_ms, samples[end - 1].observed_ms
        values, lasted = samples[first].values, (ends - begins) / 1000
        if not stays(kind, values, end - first, lasted, are_few=crowd.others < FEW_OTHERS):
            continue
        until = None if end == len(samples) else samples[end].observed_ms
        if crowd.changed(samples, begins, until) >= OTHERS_CHANGED:
            yield from range(first, end)


def _runs(samples: Sequence[Sample]) -> Iterator[tuple[int, int]]:
    """Where readings begin that are equal, and where the next begin."""
    first = 0
    for index in range(1, len(samples) + 1):
        if index == len(samples) or samples[index].values != samples[first].values:
            yield first, index
            first = index


class _Crowd:
    """When the sensors of a kind changed what they say."""

    def __init__(self, sensors: Mapping[str, Recent]) -> None:
        self._changes = [_changes(known.samples) for known in sensors.values()]
        self.others = len(sensors) - 1
        """How many there are beside any one."""

    def changed(self, own: Sequence[Sample], begins: int, until: int | None) -> float:
        """Share of the others that changed after a time, and before another (Unix ms)."""
        if self.others < 1:
            return 1.0
        changed = sum(_within(times, begins, until) for times in self._changes)
        changed -= _within(_changes(own), begins, until)
        return changed / self.others


def _changes(samples: Sequence[Sample]) -> list[int]:
    return [b.observed_ms for a, b in pairwise(samples) if a.values != b.values]


def _within(times: Sequence[int], begins: int, until: int | None) -> bool:
    place = bisect_right(times, begins)
    return place < len(times) and (until is None or times[place] < until)


def _is_apart(kind: Kind, sample: Sample, near: Sequence[Recent]) -> bool:
    """Whether a reading is further from the middle of its neighbours' than may be."""
    for name, about in kind.apart.items():
        own = number(sample.values, name)
        told = [v for one in near if (v := _last(kind, one, sample.observed_ms, name)) is not None]
        if own is None or len(told) < FEWEST_NEIGHBOURS:
            continue
        if abs(own - median(told)) > about:
            return True
    return False


def _last(kind: Kind, known: Recent, ms: int, name: str) -> float | None:
    """What a sensor said last at a time, unless it was silent then."""
    place = bisect_right(known.samples, ms, key=lambda sample: sample.observed_ms) - 1
    if place < 0 or ms - known.samples[place].observed_ms > kind.silent_s * 1000:
        return None
    return number(known.samples[place].values, name)


def _neighbours(kind: Kind, sensors: Mapping[str, Recent]) -> Mapping[str, Collection[str]]:
    """Which sensors are near which; looked for only where the kind compares them."""
    found: dict[str, list[str]] = defaultdict(list)
    if not kind.apart:
        return found
    reach = kind.health.near_m
    placed = sorted((known.at, name) for name, known in sensors.items() if known.at is not None)
    for index, (at, name) in enumerate(placed):
        for other, another in placed[index + 1 :]:
            if (other[0] - at[0]) * _METRES_PER_DEGREE > reach:
                break
            east = abs(other[1] - at[1]) * _METRES_PER_DEGREE * cos(radians(other[0]))
            if east <= 1.1 * reach + 1 and distance_m(*at, *other) <= reach:
                found[name].append(another)
                found[another].append(name)
    return found


def _accuracies(kind: Kind, values: Values) -> Iterator[tuple[str, float]]:
    """By how much the numbers of a reading may be off, where that is known."""
    for name, about in kind.fields.items():
        told = number(values, about.accuracy_from) if about.accuracy_from else None
        known = about.accuracy if told is None or told < 0 else told
        if known is not None and number(values, name) is not None:
            yield name, known


def scaled(accuracy: float, about: Field) -> int:
    """An accuracy as rules see it: times 1/step as the values are, never less than it is, but as
    much as rules can hold at most."""
    return min(LARGEST, ceil(round(accuracy * about.scale, 6)))
