"""Stretches of the log that this process has read, decoded once for all its requests."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from citywise.backend.ingest import records
from citywise.backend.ingest.records import LogEntry, item_position

Entry = LogEntry
Read = Callable[[str, int, int], Iterable[Entry]]


def _read(location: str, start: int, end: int) -> Iterable[Entry]:
    return records.read(location, start, end)


@dataclass(frozen=True)
class Stretch:
    """What of the log is to be taken next, and what was committed before it."""

    location: str
    start: int
    end: int
    resume_from: int
    state: Mapping[str, Any]


@dataclass
class _Stretch:
    """The entries of one log from `start` to `end` (log positions), read when so many users
    had been forgotten."""

    start: int
    end: int
    forgettings: int
    entries: list[Entry] = field(default_factory=list)

    def cut(self, start: int, end: int) -> list[Entry]:
        first, last = (
            bisect_left(self.entries, item_position(position), key=lambda e: e.position)
            for position in (start, end)
        )
        return self.entries[first:last]

    def forget(self, most: int) -> None:
        """Drop the oldest records when there are more than `most` entries."""
        if len(self.entries) > most:
            self.start = records.record_position(self.entries[-(most // 2)].position)
            self.entries = self.cut(self.start, self.end)


class Slices:
    """The newest stretch of each log, at most about `most` entries of it.

    A batch's requests read the same stretch, and a window that is rebuilt was mostly read
    before: both find the same objects here. When a user has been forgotten, all is read
    again: what was sealed for the user is no more.
    """

    def __init__(
        self,
        most: int = 50_000,
        read: Read = _read,
        forgettings: Callable[[str], int] = records.forgettings,
    ) -> None:
        self._most = most
        self._read = read
        self._forgettings = forgettings
        self._stretches: dict[str, _Stretch] = {}

    def read(self, location: str, start: int, end: int) -> list[Entry]:
        """The entries of a stretch of the log, in order of arrival.

        Raises `LogError` as `backend.ingest.log.read` does.
        """
        if start >= end:
            return []
        number = self._forgettings(location)
        known = self._stretches.get(location)
        if known is None or known.forgettings != number or not known.start <= start <= known.end:
            known = _Stretch(start, start, number)
        if end > known.end:
            known.entries += list(self._read(location, known.end, end))  # all or nothing
            known.end = end
            self._stretches[location] = known
        found = known.cut(start, end)
        known.forget(self._most)
        return found
