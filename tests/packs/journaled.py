"""A log folder in which happens what `tests.packs.test_run` tells, as the ingest writes it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import orjson

from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.payloads import Clock
from citywise.backend.ingest.records import Reading, Withdrawal, encode_clock, item_position
from citywise.backend.ingest.standing import Entry
from tests.packs.test_run import START, Happening


class Journaled:
    """Writes happenings; each is durable at once."""

    def __init__(self, folder: Path, happenings: Iterable[Happening] = ()) -> None:
        self.folder = folder
        self.now = START
        self.ends = [0]
        """Log positions after each clock, at which a batch may end."""
        self.clocks: list[int] = []
        """Positions of the clocks, as entries have them."""
        self._journal = Journal(folder, segment_bytes=400)
        self.write(*happenings)

    @property
    def end(self) -> int:
        """Where the log ends."""
        return self._journal.end

    def write(self, *happenings: Happening) -> None:
        """Append what happens."""
        for happening in happenings:
            if isinstance(happening, int):
                self._journal.write()
                self._clock(happening)
                self._journal.write()
                self.ends.append(self._journal.end)
            elif isinstance(happening, Reading | Withdrawal):
                values = happening.values if isinstance(happening, Reading) else None
                row = [happening.sensor, self.now - happening.observed_ms, values]
                self._journal.add(orjson.dumps({"k": happening.kind, "r": self.now, "v": [row]}))
            else:
                self._journal.stand([Entry(*happening)], self.now)
        self._journal.write()

    def _clock(self, minutes: int) -> None:
        self.now += minutes * 60_000
        now = datetime.fromtimestamp(self.now / 1000, UTC)
        self.clocks.append(item_position(self._journal.end))
        self._journal.add(encode_clock(Clock(now=now, complete=now), self.now))

    def refresh(self) -> None:
        """Write again what stands far behind."""
        while self._journal.needed_from < self.end - 8 * 400:
            before = self.end
            self._journal.refresh(3600, self.now)
            self._journal.write()
            assert self.end > before

    def close(self) -> None:
        """Close the log."""
        self._journal.close()
