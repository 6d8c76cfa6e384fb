"""When a source is asked again: regularly, not all at once, and more rarely while it fails."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

MOST_S = 3600.0
_JITTER = 0.1
_DOUBLINGS = 10


@dataclass
class Schedule:
    """The seconds until the next request of a source."""

    interval_s: float
    dice: random.Random = field(default_factory=random.Random)
    failures: int = 0
    """In a row."""

    def first_s(self) -> float:
        """Before the first request: sources do not all begin at the same moment."""
        return self.dice.uniform(0, min(self.interval_s, 5.0))

    def succeeded(self) -> float:
        """After an answer."""
        self.failures = 0
        return self._about(self.interval_s)

    def failed(self, asked_s: float | None = None) -> float:
        """After a failure: twice as long as after the one before, at most an hour.

        `asked_s` is what the server asked for (Retry-After); no less than that.
        """
        self.failures += 1
        wait = self.interval_s * 2.0 ** min(self.failures, _DOUBLINGS)
        return max(self._about(min(wait, max(MOST_S, self.interval_s))), min(asked_s or 0, 86_400))

    def _about(self, seconds: float) -> float:
        return seconds * self.dice.uniform(1 - _JITTER, 1 + _JITTER)
