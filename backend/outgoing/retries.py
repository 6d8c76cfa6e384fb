"""When what failed is tried again: ever later, not all at once, and not for ever."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_JITTER = 0.2
_DOUBLINGS = 20
_LONGEST_ASKED_S = 3600.0


@dataclass
class Retries:
    """The state of one subscription; times in monotonic seconds."""

    first_s: float
    longest_s: float
    dice: random.Random = field(default_factory=random.Random)
    failures: int = 0
    """In a row."""
    due: float = 0.0

    def succeeded(self) -> None:
        """What was sent was taken."""
        self.failures, self.due = 0, 0.0

    def failed(self, now: float, asked_s: float = 0) -> None:
        """It was not: wait twice as long as the time before, and no less than the receiver asks
        for, an hour at most."""
        wait = self.wait_s(self.failures)
        self.failures += 1
        self.due = now + max(wait, min(asked_s, _LONGEST_ASKED_S))

    def wait_s(self, failures: int) -> float:
        """How long what failed so often before waits."""
        wait = min(self.first_s * 2.0 ** min(failures, _DOUBLINGS), self.longest_s)
        return wait * self.dice.uniform(1 - _JITTER, 1 + _JITTER)
