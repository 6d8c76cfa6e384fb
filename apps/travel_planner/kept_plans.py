"""Plans that were answered, kept for a while so that a trip can be started from one.

In the memory of the web process, which alone knows their ids; nothing of them is stored.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import orjson
from flask import current_app

KEPT_S = 30 * 60
MOST_PLANS = 2_000
MOST_BYTES = 64_000_000
_EXTENSION = "citywise-plans"


class KeptPlans:
    """Plans by id, the oldest forgotten first."""

    def __init__(
        self,
        seconds: float = KEPT_S,
        most: int = MOST_PLANS,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._most, self._most_bytes = seconds, most, most_bytes
        self._clock = clock
        self._plans: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def keep(self, plan: str, body: bytes) -> None:
        """Keep an answer as it was sent."""
        with self._lock:
            self._plans[plan] = (self._clock() + self._seconds, body)
            self._bytes += len(body)
            while len(self._plans) > self._most or self._bytes > self._most_bytes:
                self._forget_oldest()

    def body(self, plan: str) -> bytes | None:
        """An answer as it was sent; None where it is not kept (any more)."""
        with self._lock:
            while self._plans and next(iter(self._plans.values()))[0] <= self._clock():
                self._forget_oldest()
            found = self._plans.get(plan)
            return None if found is None else found[1]

    def find(self, plan: str) -> dict[str, Any] | None:
        """An answer; None where it is not kept (any more)."""
        body = self.body(plan)
        if body is None:
            return None
        found: dict[str, Any] = orjson.loads(body)
        return found

    def _forget_oldest(self) -> None:
        _, (_, body) = self._plans.popitem(last=False)
        self._bytes -= len(body)


def kept() -> KeptPlans:
    """The plans of the current application."""
    found = current_app.extensions.setdefault(_EXTENSION, KeptPlans())
    assert isinstance(found, KeptPlans)
    return found
