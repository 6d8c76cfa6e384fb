"""What each sensor said last, and what of it was corrected since the last clock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

from citywise.backend.ingest.corrections import Cause
from citywise.backend.ingest.records import Reading, Standing, Withdrawal

STALE_MS = 6 * 3_600_000
"""A latest reading that is older counts no longer."""
_MINUTE_MS = 60_000


class Latest:
    """The latest readings of some kinds. `told` hears of each, without values where nothing is
    known of a sensor any more."""

    def __init__(self, kinds: Collection[str], told: Callable[[Reading], None]) -> None:
        self._kinds, self._told = kinds, told
        self._readings: dict[tuple[str, str], tuple[int, Reading]] = {}
        """Of each kind and sensor, and where in the log it stands."""
        self.amended: dict[str, list[dict[str, Any]]] = {}
        """What was corrected or withdrawn since the last clock: by sensor, and by event (of which
        the readings are known to who keeps it)."""
        self._revisions: dict[str, int] = {}
        """How often readings of the past changed an event, where they did."""
        self._looked_for = 0
        """Readings from before this time (Unix ms) are not among them."""

    def hear(self, entry: Reading | Withdrawal) -> None:
        """A sensor says something newer than before, or otherwise, or takes it back; then nothing
        is known of it until it is heard again."""
        name = entry.kind, entry.sensor
        _at, known = self._readings.get(name, (0, None))
        if entry.kind not in self._kinds or (known and known.observed_ms > entry.observed_ms):
            return
        if known is not None and known.observed_ms == entry.observed_ms:
            self.note(entry, known if known.values else None)
        if isinstance(entry, Withdrawal):
            entry = Reading(*name, entry.observed_ms, entry.received_ms, {}, entry.position)
        self._readings[name] = entry.position, entry
        self._told(entry)

    def note(self, entry: Reading | Withdrawal, known: Reading | None) -> None:
        """An entry changes what was known: notices that it ends are taken back, and of those
        that it changes is said what they were."""
        if (cause := Cause.of(known, entry)) is not None:
            self.amended[entry.sensor] = [cause.to_json()]

    def event(self, entry: Standing) -> None:
        """An event stands otherwise; perhaps since readings of the past changed it."""
        number = (entry.body or {}).get("revision")
        if number is None:
            self._revisions.pop(entry.key, None)
        elif self._revisions.get(entry.key, 0) < number:
            self._revisions[entry.key] = number
            self.amended[entry.key] = []

    def forget_stale(self, t_ms: int) -> None:
        """Readings that are too old say nothing of the present any more."""
        oldest = t_ms // _MINUTE_MS * _MINUTE_MS - STALE_MS
        if self._readings and oldest > self._looked_for:
            self._looked_for = oldest
            stale = [r for _at, r in self._readings.values() if r.observed_ms < oldest]
            for reading in stale:
                del self._readings[reading.kind, reading.sensor]
                self._told(replace(reading, values={}))

    def needed(self) -> Iterator[int]:
        """Where in the log they stand."""
        return (at for at, _reading in self._readings.values())
