"""What of a request's past can still change: states to begin again from, and the readings as the
log has them now (docs/decisions/city-revision.md).

A reading is known by kind, sensor and time. What the log says of it last counts: values, or that
it is withdrawn. So a stretch of the log that holds the last word on each reading that a window
needs gives the same windows, wherever it begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from citywise.backend.ingest.corrections import Cause
from citywise.backend.ingest.records import ClockReading, LogEntry, Reading, Withdrawal
from citywise.reasoning import State, StateError

CHECKPOINTS = 6
"""In the longest horizon: a revision evaluates at most a sixth of it more than it must."""
_MOST_TOLD = 50
Key = tuple[str, str, int]
"""Kind, sensor and time (Unix ms) of a reading."""


def key_of(entry: Reading | Withdrawal) -> Key:
    """Which reading it is about."""
    return entry.kind, entry.sensor, entry.observed_ms


@dataclass(frozen=True)
class Horizons:
    """How far behind the present readings may be revised, in milliseconds."""

    usual: int = 0
    own: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, seconds: Mapping[str, float]) -> Horizons:
        """Those of a task: by kind, and `*` for all others."""
        found = {kind: round(value * 1000) for kind, value in seconds.items()}
        return cls(found.pop("*", 0), found)

    def longest(self, kinds: Collection[str]) -> int:
        """The longest of some kinds."""
        return max((self.of_kind(kind) for kind in kinds), default=0)

    def of_kind(self, kind: str) -> int:
        """That of a kind."""
        return self.own.get(kind, self.usual)


@dataclass(frozen=True)
class Checkpoint:
    """A state from which all later evaluations can be made again.

    `since` is the position of the first entry of the log that its windows need.
    """

    state: State
    since: int

    def is_before(self, time: int) -> bool:
        """Whether nothing at `time` (in the request's unit) has been answered in it."""
        return self.state.closed is None or self.state.closed < time


@dataclass
class Past:
    """What a request keeps of its past, with its cursor."""

    needed: int = 0
    """The position of the first entry that its windows need now."""
    checkpoints: list[Checkpoint] = field(default_factory=list)
    """In order of time; the first one is before everything that can change."""
    left_out: list[int] = field(default_factory=list)
    """Positions of entries that came beyond the horizon: for this request they never came."""

    @property
    def since(self) -> int:
        """The first entry that may be read again."""
        return min([self.needed, *(one.since for one in self.checkpoints)])

    def before(self, time: int) -> Checkpoint | None:
        """The newest state in which nothing at a time has been answered."""
        found = (one for one in reversed(self.checkpoints) if one.is_before(time))
        return next(found, None)

    def is_due(self, closed: int, spacing: int) -> bool:
        """Whether another state is to be kept."""
        last = self.checkpoints[-1].state.closed if self.checkpoints else None
        return not self.checkpoints or last is None or closed - last >= spacing

    def add(self, checkpoint: Checkpoint, settled: int) -> None:
        """Keep a state; those before are needed as far as something after `settled` can change."""
        self.checkpoints.append(checkpoint)
        over = [n for n, one in enumerate(self.checkpoints) if one.is_before(settled)]
        del self.checkpoints[: over[-1] if over else 0]
        self.left_out = [at for at in self.left_out if at >= self.since]

    def cut(self, checkpoint: Checkpoint) -> Past:
        """The past as it was at one of its states."""
        last = self.checkpoints.index(checkpoint)
        return replace(self, checkpoints=self.checkpoints[: last + 1], left_out=[*self.left_out])

    def to_json(self) -> dict[str, Any]:
        """As the cursor keeps it."""
        return {
            "needed": self.needed,
            "checkpoints": [[one.since, one.state.to_json()] for one in self.checkpoints],
            "left_out": list(self.left_out),
        }

    def outline(self) -> dict[str, Any]:
        """What tells two pasts of a request apart; parts of it keep other states than the whole."""
        kept = [[one.since, one.state.closed] for one in self.checkpoints]
        return {"needed": self.needed, "checkpoints": kept, "left_out": list(self.left_out)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Past:
        """What `to_json` gave; raises `StateError`."""
        try:
            return cls._read(values)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = f"{type(error).__name__}: {error}"
            raise StateError(f"what is kept of the past cannot be read ({what})") from error

    @classmethod
    def _read(cls, values: Mapping[str, Any]) -> Past:
        kept = [Checkpoint(State.from_json(s), since) for since, s in values["checkpoints"]]
        return cls(values["needed"], kept, list(values["left_out"]))


class Corrected:
    """The readings of some kinds as a stretch of the log has them in the end.

    `causes` are those that entries from the position `told_from` on have changed. What of the
    kinds in `private` was measured, they do not say: events are seen by everybody.
    """

    def __init__(
        self,
        entries: Iterable[LogEntry],
        kinds: Collection[str],
        left_out: Collection[int] = (),
        told_from: int | None = None,
        private: Collection[str] = (),
    ) -> None:
        self._private = frozenset(private)
        standing: dict[Key, Reading | Withdrawal] = {}
        before: dict[Key, Reading | Withdrawal | None] = {}
        gone = frozenset(left_out)
        for entry in entries:
            if not isinstance(entry, Reading | Withdrawal) or entry.kind not in kinds:
                continue
            if entry.position in gone:
                continue
            key = key_of(entry)
            known = standing.get(key)
            if told_from is not None and entry.position >= told_from:
                before.setdefault(key, known)
            standing[key] = entry
        found = [entry for entry in standing.values() if isinstance(entry, Reading)]
        self.readings = sorted(found, key=lambda entry: entry.position)
        self._changed = [(key, old, standing[key]) for key, old in before.items()]

    def causes(self, answered_ms: int | None) -> list[Cause]:
        """What changed of the time up to which all was answered (Unix ms), the newest first."""
        causes = [
            cause.unsaid() if cause.kind in self._private else cause
            for _key, old, new in sorted(self._changed, key=lambda one: one[0][2], reverse=True)
            if answered_ms is not None and new.observed_ms <= answered_ms
            if (cause := Cause.of(old, new)) is not None
        ]
        return causes[:_MOST_TOLD]


class Course:
    """What of a stretch of the log is in order, and what changes the past.

    It follows the clocks as the run does, and knows the readings that wait for theirs.

    Parameters
    ----------
    kinds, scale:
        What the request reads, and the milliseconds of its unit of time.
    lateness:
        Of the request, in its unit.
    """

    def __init__(
        self, kinds: Collection[str], scale: int, lateness: int, horizons: Horizons
    ) -> None:
        self._kinds, self._scale, self._lateness = kinds, scale, lateness
        self._horizons = horizons
        self.closed: int | None = None
        """Up to when all has been answered, in the request's unit."""
        self.floor: int | None = None
        """What is not after this time is beyond every horizon: nothing is kept from before."""
        self.waiting: set[Key] = set()
        """Readings that are later than what has been answered."""

    def begin(self, closed: int | None, readings: Iterable[Reading]) -> None:
        """Stand where a run stands."""
        self.closed = closed
        self.waiting = {key_of(r) for r in readings if not self._is_answered(r)}

    def follow(self, entries: Iterable[LogEntry]) -> tuple[int | None, list[Reading | Withdrawal]]:
        """Take entries; gives the earliest time of those that change the past, in the request's
        unit (None: all are in order), and those that come beyond their horizon."""
        first: int | None = None
        beyond: list[Reading | Withdrawal] = []
        for entry in entries:
            if isinstance(entry, ClockReading):
                self._advance(entry)
            elif isinstance(entry, Reading | Withdrawal) and entry.kind in self._kinds:
                if self._is_beyond(entry):
                    beyond.append(entry)
                elif self._changes(entry):
                    time = entry.observed_ms // self._scale
                    first = time if first is None else min(first, time)
        return first, beyond

    def _changes(self, entry: Reading | Withdrawal) -> bool:
        """Whether an entry changes what is known already; else it waits for its time."""
        if self._is_answered(entry):
            return True
        key = key_of(entry)
        known = key in self.waiting
        self.waiting.add(key)
        return known or isinstance(entry, Withdrawal)

    def _advance(self, clock: ClockReading) -> None:
        closed = (clock.complete_ms + 1) // self._scale - 1 - self._lateness
        if self.closed is None or closed > self.closed:
            self.closed = closed
            if self.waiting:
                self.waiting = {k for k in self.waiting if k[2] // self._scale > closed}

    def _is_answered(self, entry: Reading | Withdrawal) -> bool:
        return self.closed is not None and entry.observed_ms // self._scale <= self.closed

    def _is_beyond(self, entry: Reading | Withdrawal) -> bool:
        if not self._is_answered(entry):
            return False
        assert self.closed is not None
        time, horizon = entry.observed_ms // self._scale, self._horizons.of_kind(entry.kind)
        if horizon <= 0 or (self.floor is not None and time <= self.floor):
            return True
        return (self.closed + self._lateness - time) * self._scale > horizon
