"""The last readings of every sensor, followed along the log."""

from __future__ import annotations

from pathlib import Path

from citywise.backend.ingest import log, records
from citywise.backend.ingest.records import ClockReading, Reading, Withdrawal
from citywise.backend.kinds.health import Series

MOST_BYTES = 16_000_000
"""Of the log's end that is read at first: half a day of a city with 900 sensors."""


class History:
    """The readings of each sensor, read once and then followed; bounded by their number.

    Not for several threads at once: `backend.operations.roster` sees to that.
    """

    def __init__(self, location: Path) -> None:
        self._location = location
        self._position: int | None = None
        self._series: dict[tuple[str, str], Series] = {}
        self._complete_ms: int | None = None
        self.since_ms: int | None = None
        """Time of the oldest reading that was read (stream time, Unix ms)."""

    def follow(self) -> None:
        """Read on to the log's end; raises `LogError` or `OSError` where that cannot be."""
        end = log.durable_end(self._location)
        start = self._position
        if start is None or not self._has(start, end):
            start = self._begin(end)
        for entry in records.read_open(self._location, start, end):
            if isinstance(entry, ClockReading):
                self._complete_ms = entry.complete_ms
            elif isinstance(entry, Reading | Withdrawal):
                self._take(entry)
        self._position = end

    def series(self, kind: str, sensor: str) -> Series:
        """The last readings of one sensor; without any where it was not heard."""
        return self._series.get((kind, sensor)) or Series(kind, sensor)

    def _has(self, start: int, end: int) -> bool:
        """Whether the log goes on at `start`: retention may have gone beyond, or it is new."""
        bases = log.segments(self._location)
        return start <= end and (start == end or (bool(bases) and bases[0] <= start))

    def _begin(self, end: int) -> int:
        """Forget all; where to begin: a segment's begin, not too far from the end."""
        self._series.clear()
        self.since_ms = None
        bases = [base for base in log.segments(self._location) if base < end]
        near = [base for base in bases if end - base <= MOST_BYTES]
        return near[0] if near else bases[-1] if bases else end

    def _take(self, reading: Reading | Withdrawal) -> None:
        if self.since_ms is None or reading.observed_ms < self.since_ms:
            self.since_ms = reading.observed_ms
        key = reading.kind, reading.sensor
        found = self._series.get(key)
        if found is None:
            found = self._series[key] = Series(*key)
        is_late = self._complete_ms is not None and reading.observed_ms <= self._complete_ms
        if isinstance(reading, Withdrawal):
            found.withdraw(reading.observed_ms)
        elif not found.correct(reading.observed_ms, reading.values):
            found.late += is_late
            found.take(reading.observed_ms, reading.values, reading.extra)
