"""The last value of each sensor of a device or a room: in memory, one value, no history."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from citywise.apps.meeting_mgr.model import Sensor

LATE_MS = 10_000
"""A reading that is older than the last by less came late; by more, a clock was set."""


class Latest:
    """What was last heard of one source."""

    def __init__(self) -> None:
        self._values: dict[Sensor, tuple[float, int]] = {}
        self._at_ms: int | None = None

    @property
    def values(self) -> Mapping[Sensor, tuple[float, int]]:
        """Value of each sensor, and when the server heard it."""
        return self._values

    def hear(self, at_ms: int, values: Mapping[Sensor, float], heard_ms: int) -> bool:
        """Note values; False where they come after younger ones of the same source."""
        if self._at_ms is not None and 0 < self._at_ms - at_ms < LATE_MS:
            return False
        self._at_ms = at_ms
        self._values.update({sensor: (value, heard_ms) for sensor, value in values.items()})
        return True

    def not_after(self, now_ms: int) -> None:
        """The clock was set back to `now_ms`: nothing was heard later."""
        self._values = {
            name: (value, min(at, now_ms)) for name, (value, at) in self._values.items()
        }

    def keep(self, sensors: Collection[Sensor]) -> None:
        """Forget all other sensors."""
        self._values = {name: heard for name, heard in self._values.items() if name in sensors}
