"""Somebody in a meeting whose devices tell this and that, evaluated by the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from citywise.apps.meeting_mgr.capabilities import Capabilities, Concluded
from citywise.apps.meeting_mgr.model import (
    SENSORS,
    Capability,
    PersonState,
    Rules,
    Sensor,
    SensorState,
)
from tests.meeting_mgr.time_lines import JOINED_MS, joined

CAPABILITIES = Capabilities()
FINE: dict[Sensor, float] = {
    "noise": 50,
    "light": 400,
    "proximity": 5,
    "motion": 0.2,
    "speed": 0,
    "distance": 900,
    "visible": 1,
    "battery": 80,
    "network": 20,
}
"""Values of somebody at home whom nothing keeps from anything."""


class Somebody:
    """Somebody who joined at second 0."""

    def __init__(self, *, dwell_s: int = 10, silent_s: float = 15, **changes: Any) -> None:
        self.now = replace(joined("p", Rules(dwell_s=dwell_s, silent_s=silent_s)), **changes)
        self.concluded = Concluded("p", PersonState())

    def at(
        self, second: float, told: dict[Sensor, float] | None = None, **changes: Any
    ) -> Somebody:
        """Look at them at a second, when their devices tell values and what is said changes."""
        now_ms = JOINED_MS + round(second * 1000)
        news = {sensor: (value, now_ms) for sensor, value in (told or {}).items()}
        observed = {**self.now.observed, **news}
        self.now = replace(self.now, **{"observed": observed, **changes})
        self.concluded = CAPABILITIES.evaluate(now_ms, [self.now])["p"]
        self.now = replace(self.now, state=self.concluded.state)
        return self

    @property
    def state(self) -> PersonState:
        """What was last concluded."""
        return self.now.state

    def can(self) -> set[Capability]:
        """What counts as on."""
        return {name for name, able in self.state.abilities.items() if able.state == "on"}

    def why(self, capability: Capability) -> tuple[str, ...]:
        """How it is with a capability, and why."""
        able = self.state.abilities[capability]
        return able.state, *able.because

    def since(self, capability: Capability) -> float:
        """The second since when it is so."""
        return (self.state.abilities[capability].since_ms - JOINED_MS) / 1000

    def due(self) -> float | None:
        """The second at which to look again."""
        due_ms = self.state.due_ms
        return None if due_ms is None else (due_ms - JOINED_MS) / 1000

    def sensor(self, sensor: Sensor) -> SensorState:
        """How a sensor stands."""
        return self.state.sensors[sensor]


def fine(**told: float) -> dict[Sensor, float]:
    """`FINE`, but for some values."""
    return {sensor: told.get(sensor, FINE[sensor]) for sensor in SENSORS}
