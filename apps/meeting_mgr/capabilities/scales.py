"""The rules of a meeting as places on scales.

Values and ages are only ever compared with bounds: where they stand among these gives the same
answer, and does not make new terms with each reading, all of which clingo would keep.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping

from citywise.apps.meeting_mgr.model import Rules, Sensor, Threshold

_Bounds = dict[str, int]
"""Bounds in hundredths, by the predicate that names them."""


class Scale:
    """The order of some numbers: each has an odd place, and what is between them an even one."""

    def __init__(self, *points: int) -> None:
        self._points = sorted(set(points))

    def place(self, value: int) -> int:
        """Where a value stands."""
        below = bisect_left(self._points, value)
        return 2 * below + (below < len(self._points) and self._points[below] == value)


class Scales:
    """Scales of what rules bound, and the facts that say so, with `@` for their number."""

    def __init__(self, rules: Rules) -> None:
        self.silence_ms = round(rules.silent_s * 1000)
        self.dwell_ms = round(rules.dwell_s * 1000)
        self.silence, self.dwell = Scale(self.silence_ms), Scale(self.dwell_ms)
        bounds = {sensor: _bounds(one) for sensor, one in sorted(rules.thresholds.items())}
        self._of = {sensor: Scale(*named.values()) for sensor, named in bounds.items()}
        self.text = "".join(self._facts(bounds))

    def place(self, sensor: Sensor, value: float) -> int:
        """Where a sensor's value stands among its bounds; values count to the hundredth."""
        scale = self._of.get(sensor)
        return 0 if scale is None else scale.place(_hundredths(value))

    def _facts(self, bounds: Mapping[Sensor, _Bounds]) -> Iterator[str]:
        yield f"silence(@,{self.silence.place(self.silence_ms)}).\n"
        yield f"dwell(@,{self.dwell.place(self.dwell_ms)}).\n"
        for sensor, named in bounds.items():
            for predicate, bound in named.items():
                yield f"{predicate}(@,{sensor},{self._of[sensor].place(bound)}).\n"


def _bounds(threshold: Threshold) -> _Bounds:
    found: _Bounds = {}
    inset = _hundredths(threshold.hysteresis)
    if threshold.lower is not None:
        found["lower"] = _hundredths(threshold.lower)
        found["lower_again"] = found["lower"] + inset
    if threshold.upper is not None:
        found["upper"] = _hundredths(threshold.upper)
        found["upper_again"] = found["upper"] - inset
    return found


def _hundredths(value: float) -> int:
    return round(value * 100)
