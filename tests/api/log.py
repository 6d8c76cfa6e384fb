"""A log as the ingest writes it: what stands, and the clock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.payloads import Clock
from citywise.backend.ingest.records import encode_clock, item_position
from citywise.backend.ingest.standing import Entry

_SEGMENT_BYTES = 1_000_000


class Log:
    """Appends entries, what is personal sealed; each is readable at once."""

    def __init__(self, folder: Path) -> None:
        self._journal = Journal(folder, _SEGMENT_BYTES)

    def stands(self, subject: str, key: str, body: Mapping[str, Any] | None) -> None:
        self._journal.stand([Entry(subject, key, body)], received_ms=0)
        self._journal.write()

    def clock(self, at: str) -> int:
        """Time goes on; the position of the clock as traces give it."""
        now, position = datetime.fromisoformat(at), self._journal.end
        self._journal.add(encode_clock(Clock(now=now, complete=now), 0))
        self._journal.write()
        return item_position(position)

    def close(self) -> None:
        self._journal.close()
