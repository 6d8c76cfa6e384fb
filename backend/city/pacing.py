"""How stream time follows the wall's clock: speed, pause, skipping ahead."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

PATIENCE_S = 1.0
"""A step this late is not caught up with."""


class Command(BaseModel):
    """An order to a running source: a new speed (null: as fast as it goes, 0: pause),
    or how many stream seconds to go ahead as fast as it goes, or both."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    speed: float | None = Field(default=None, ge=0, le=100_000)
    skip_s: float | None = Field(default=None, gt=0, le=366 * 86_400)

    @model_validator(mode="after")
    def _says_something(self) -> Command:
        if not self.model_fields_set:
            raise ValueError("give speed or skip_s")
        return self


class Pace:
    """Maps the wall's seconds (of a monotonic clock) to stream time (Unix milliseconds).

    `speed` is stream seconds per wall second, None as fast as it goes. Everything up to
    and including `rush_until` is passed as fast as it goes: the lead-in, or a skip.
    """

    def __init__(self, speed: float | None, position: int, rush_until: int) -> None:
        self.speed = speed
        self.rush_until = rush_until
        self._position = position
        self._wall = 0.0

    def rushes(self, step: int) -> bool:
        """Whether a step is passed as fast as it goes."""
        return self.speed is None or step <= self.rush_until

    def wait(self, step: int, wall: float) -> float | None:
        """Seconds until a step is due: 0 is now, None is not before the next command."""
        if self.rushes(step):
            return 0.0
        if self._position < self.rush_until:
            self._position, self._wall = self.rush_until, wall
        if not self.speed:
            return None
        return max(0.0, (step - self.now(wall)) / 1000 / self.speed)

    def now(self, wall: float) -> int:
        """Stream time at a wall second, as if no step stood in its way."""
        if self.speed is None or self._position < self.rush_until:
            return self._position
        return self._position + int((wall - self._wall) * 1000 * self.speed)

    def arrive(self, step: int, wall: float) -> None:
        """The stream has come to a step.

        Lost time is not made up for: after a stall the speed is what was asked for.
        """
        if self.speed and not self.rushes(step):
            due = self._wall + (step - self._position) / 1000 / self.speed
            self._wall = wall if wall - due > PATIENCE_S else due
        else:
            self._wall = wall
        self._position = step

    def order(self, command: Command, wall: float, limit: int) -> None:
        """Carry out a command; `limit` is the last instant before the next step."""
        self._position, self._wall = min(self.now(wall), limit), wall
        if "speed" in command.model_fields_set:
            self.speed = command.speed
        if command.skip_s is not None:
            self.rush_until = self._position + int(command.skip_s * 1000)
