"""What it takes to travel the edges of a road network at one departure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from citywise.apps.travel_planner.roads.network import F32, F64, U8, Mode

KMH = {Mode.BICYCLE: 16.0, Mode.WALK: 4.8}
"""How fast people cycle and walk: assumptions (docs/live-city.md)."""
_HOUR_S = 3600.0


class Basis(IntEnum):
    """What the time of an edge by car rests on, for the greater part."""

    FREE_FLOW = 0
    LIVE = 1
    LEARNED = 2


@dataclass(frozen=True, eq=False)
class EdgeCosts:
    """All that weighs the edges for one departure. The arrays have an entry for each edge
    and must not be written to.
    """

    version: int
    """Another one whenever anything differs: a key for what is computed from the costs."""
    depart_ms: int
    """Stream time of the departure they are for."""
    car_s: F64
    """Seconds by car, with the effect of events."""
    bicycle_s: F64
    walk_s: F64
    basis: U8
    """Of `car_s`: a `Basis` each."""
    age_s: F32
    """How old the readings behind it are; NaN where it is not `Basis.LIVE`."""
    air: F64
    """Air-quality index (0 good … 500); the city's mean where none is near, and 1 everywhere
    where nothing is known (`air_known`)."""
    air_known: bool
    """Whether any reading says what the air is like."""

    def seconds(self, mode: Mode) -> F64:
        """Seconds that each edge takes."""
        match mode:
            case Mode.CAR:
                return self.car_s
            case Mode.BICYCLE:
                return self.bicycle_s
            case Mode.WALK:
                return self.walk_s

    def pollution(self, mode: Mode) -> F64:
        """Dose of each edge in index · hours: the air's index times the time spent in it."""
        if (dose := self._doses.get(mode)) is None:
            dose = self.seconds(mode) * self.air * (1 / _HOUR_S)
            dose.setflags(write=False)
            self._doses[mode] = dose
        return dose

    @cached_property
    def _doses(self) -> dict[Mode, F64]:
        """By mode, as soon as they were asked for."""
        return {}
