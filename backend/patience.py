"""How long a start may take: as long as what it waits for gets on.

No I/O: reasons to wait, signs of progress and a monotonic clock go in; out comes who is stuck.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from citywise.backend.settings import Start

_LEAST_CPU_S = 0.2
_LEAST_CPU_SHARE = 0.02
"""Of a core: what only waits uses less (an idle JVM about a hundredth), and what works gets more
on any machine that is of use."""


@dataclass(frozen=True)
class Reason:
    """Why the system is not ready: whom it waits for, and for what.

    `kind` tells reasons apart: the words may hold an age or a number, which always change.
    """

    part: str
    kind: str
    text: str
    others: tuple[str, ...] = ()
    """Who else works on it."""


@dataclass(frozen=True)
class Mark:
    """How far a part is."""

    process: int
    """The id of its process: one that was started again begins anew."""
    cpu_s: float = 0.0
    """CPU time of the process and all it started."""
    log_bytes: int = 0
    done: Hashable = None
    """What it says of itself: stages reached, bytes and batches done."""

    def beyond(self, before: Mark, seconds: float) -> bool:
        """Whether the part got on since it was there, so many seconds ago."""
        if self.process != before.process or self.done != before.done:
            return True
        used = self.cpu_s - before.cpu_s
        worked = used >= max(_LEAST_CPU_S, _LEAST_CPU_SHARE * seconds)
        return worked or self.log_bytes != before.log_bytes


@dataclass(frozen=True)
class Stuck:
    """The part that a start waits for in vain, and since when (seconds) nothing of it moved."""

    reason: Reason
    quiet_s: float
    waited_s: float
    too_long: bool
    """Whether the whole took too long, rather than nothing moved."""


class Patience:
    """Watches a start; `now` is a monotonic clock in seconds."""

    def __init__(self, limits: Start, now: float) -> None:
        self._limits, self._began = limits, now
        self._marks: dict[str, tuple[Mark, float]] = {}
        self._kinds: set[str] = set()

    def news(self, reasons: Sequence[Reason]) -> list[Reason]:
        """Those of a kind that was not seen before."""
        fresh = {r.kind: r for r in reasons if r.kind not in self._kinds}
        self._kinds |= fresh.keys()
        return list(fresh.values())

    def note(self, marks: Mapping[str, Mark], now: float) -> None:
        """See how far each part is."""
        for part, mark in marks.items():
            before = self._marks.get(part)
            if before is None or mark.beyond(before[0], now - before[1]):
                self._marks[part] = mark, now

    def stuck(self, reasons: Sequence[Reason], now: float) -> Stuck | None:
        """Who is stuck, if nobody who is waited for gets on, or all has taken too long."""
        if not reasons:
            return None
        first, waited = reasons[0], now - self._began
        parts = {part for reason in reasons for part in (reason.part, *reason.others)}
        quiet = {part: now - self._moved(part) for part in parts}
        too_long = waited > self._limits.limit_s
        if too_long or min(quiet.values()) > self._limits.patience_s:
            return Stuck(first, quiet[first.part], waited, too_long)
        return None

    def _moved(self, part: str) -> float:
        return self._marks[part][1] if part in self._marks else self._began
