"""Which way of evaluating pays, by what was measured for windows of that size.

Windows are classed by their number of facts, in powers of two. A way that has not been
tried is tried once the one that has takes long enough to be beaten; the ways that lost are
tried again, ever more rarely. A trial may take little longer than the way it is measured
against, so that all trials together cost a few per cent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isinf
from statistics import median
from typing import NamedTuple

WORTH_S = 0.01
"""Evaluations that take less are left whole."""
LARGE = 4_000
"""Facts from which on the first window is split before anything was measured."""
_REMEMBERED = 5
_FIRST_WAIT, _LONGEST_WAIT = 32, 1024
"""Evaluations between trials of what lost."""
_UNTRIED_WAIT = 8
"""Evaluations between trials of what was not tried, but for the first."""


class Way(NamedTuple):
    """How a window is evaluated."""

    buckets: int
    """Into how many facts with a key are split; 0: nothing is cut."""
    variant: int = 0
    """Which of several keys is used."""
    incremental: bool = False
    """Whether the incremental engine evaluates all parts that it can."""


WHOLE, KEPT = Way(0), Way(0, incremental=True)
"""Everything at once by the solver, and by the incremental engine."""


class Choice(NamedTuple):
    """A way, and the seconds it may take if it is a trial; None: as long as limits allow."""

    way: Way
    seconds: float | None = None


@dataclass
class _Class:
    """What was measured for windows of one size."""

    seconds: dict[Way, deque[float]] = field(default_factory=dict)
    """Of the last evaluations, by way; those that lost in the order of their trials."""
    since: int = 0
    """Evaluations since the last trial."""
    wait: int = _FIRST_WAIT

    def took(self, way: Way, seconds: float) -> None:
        self.seconds.setdefault(way, deque(maxlen=_REMEMBERED)).append(seconds)

    @property
    def best(self) -> tuple[float, Way]:
        """The fastest way, after the seconds it takes."""
        return min((median(took), way) for way, took in self.seconds.items())


class Adaptive:
    """Chooses among ways: a whole one, and then what is most likely to be faster first.

    Parameters
    ----------
    first:
        Facts from which on the second way is tried first; default: `LARGE`.
    """

    def __init__(self, ways: Sequence[Way], first: int | None = None) -> None:
        self._ways = ways
        self._first = LARGE if first is None else first
        self._classes: dict[int, _Class] = {}

    def choose(self, facts: int) -> Choice:
        """How to evaluate a window of so many facts."""
        known = self._classes.setdefault(facts.bit_length(), _Class())
        if not known.seconds:
            return Choice(self._expected(facts))
        seconds, best = known.best
        known.since += 1
        others = [way for way in self._ways if way != best]
        if not others or (not best.buckets and seconds < WORTH_S):
            return Choice(best)
        untried = [way for way in others if way not in known.seconds]
        patience = min(_FIRST_WAIT, _UNTRIED_WAIT * (len(known.seconds) - 1))
        if known.since <= (patience if untried else known.wait):
            return Choice(best)
        way = untried[0] if untried else next(way for way in known.seconds if way != best)
        return Choice(way, None if isinf(seconds) else 1.25 * seconds + WORTH_S)

    def took(self, facts: int, way: Way, seconds: float) -> None:
        """Note how long an evaluation took; infinitely long if it reached a limit."""
        known = self._classes[facts.bit_length()]
        before = known.best[1] if known.seconds else way
        if way != before:
            known.seconds.pop(way, None)  # what was measured long ago
            known.since = 0
        known.took(way, seconds)
        if way != before:
            lost = known.best[1] == before
            known.wait = min(2 * known.wait, _LONGEST_WAIT) if lost else _FIRST_WAIT

    def _expected(self, facts: int) -> Way:
        """The best for the nearest size that was measured, else by the number of facts."""
        size = facts.bit_length()
        measured = [
            (abs(other - size), other)
            for other, known in self._classes.items()
            if len(known.seconds) > 1
        ]
        if measured:
            return self._classes[min(measured)[1]].best[1]
        return self._ways[1 if facts >= self._first and len(self._ways) > 1 else 0]
