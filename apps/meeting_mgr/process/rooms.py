"""What the fixed sensors of rooms measure, for those who are there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from citywise.apps.meeting_mgr import readings
from citywise.apps.meeting_mgr.model import Sensor
from citywise.apps.meeting_mgr.process.latest import Latest

_NOTHING = Latest()


class Rooms:
    """The rooms in which meetings are."""

    def __init__(self) -> None:
        self._latest: dict[str, Latest] = {}

    def keep(self, sensors: Collection[str]) -> None:
        """Listen to the room sensors of these names, and forget all others."""
        self._latest = {name: self._latest.get(name, Latest()) for name in sensors}

    def hear(self, sensors: str, payload: bytes, heard_ms: int) -> bool:
        """Note a message; False where no meeting is in that room, or it came late.

        Raises `BadReadingError`.
        """
        latest = self._latest.get(sensors)
        if latest is None:
            return False
        told = readings.room_reading(payload)
        return latest.hear(told.at, readings.observed_in_room(told), heard_ms)

    def set_back(self, now_ms: int) -> None:
        """The clock was set back to `now_ms`."""
        for latest in self._latest.values():
            latest.not_after(now_ms)

    def values(self, sensors: str | None) -> Mapping[Sensor, tuple[float, int]]:
        """What was last heard of room sensors, and when."""
        return self._latest.get(sensors or "", _NOTHING).values
