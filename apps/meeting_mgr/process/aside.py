"""Meetings with which something failed: each is looked at again, after ever longer."""

from __future__ import annotations

from typing import NamedTuple

FIRST_S, LONGEST_S = 1.0, 60.0
FORGOTTEN_S = 10 * LONGEST_S
"""Who has been well for so long begins anew."""


class _Put(NamedTuple):
    again_at: float
    rest_s: float


class Aside:
    """Which meetings are put aside, and until when (seconds by a monotonic clock)."""

    def __init__(self) -> None:
        self._put: dict[str, _Put] = {}
        self._waiting: set[str] = set()

    def put(self, meeting: str, now_s: float) -> None:
        """Something failed with a meeting."""
        before = self._put.get(meeting)
        is_new = before is None or now_s > before.again_at + FORGOTTEN_S
        rest_s = FIRST_S if before is None or is_new else min(2 * before.rest_s, LONGEST_S)
        self._put[meeting] = _Put(now_s + rest_s, rest_s)
        self._waiting.add(meeting)

    def due(self, now_s: float) -> set[str]:
        """Those to be looked at again now, each once."""
        found = {one for one in self._waiting if now_s >= self._put[one].again_at}
        self._waiting -= found
        waited = {one: put for one, put in self._put.items() if now_s <= put.again_at + FORGOTTEN_S}
        self._put = waited
        return found
