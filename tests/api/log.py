"""A log as the ingest writes it: what stands, and the clock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from backend.ingest.log import LogWriter
from backend.ingest.payloads import Clock
from backend.ingest.records import StandingRow, encode_clock, encode_standing, item_position


class Log:
    """Appends entries; each is readable at once."""

    def __init__(self, folder: Path) -> None:
        self._writer = LogWriter(folder)

    def stands(self, subject: str, key: str, body: Mapping[str, Any] | None) -> None:
        row = StandingRow(subject, key, None if body is None else orjson.dumps(body))
        self._append(encode_standing([row], received_ms=0, since=0))

    def clock(self, at: str) -> int:
        """Time goes on; the position of the clock as traces give it."""
        now = datetime.fromisoformat(at)
        return item_position(self._append(encode_clock(Clock(now=now, complete=now), 0)))

    def _append(self, record: bytes) -> int:
        position = self._writer.end
        self._writer.append([record])
        self._writer.sync()
        return position

    def close(self) -> None:
        self._writer.close()
