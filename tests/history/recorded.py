"""A log with readings in it, and the history that is written of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine

from citywise.backend.history import HistoryWriter
from citywise.backend.ingest import records
from citywise.backend.ingest.log import LogWriter
from citywise.backend.kinds import Observation, Value
from citywise.backend.settings import History
from citywise.backend.times import from_ms, wall_ms

Told = tuple[str, str, int, dict[str, Value]]
"""Kind, sensor, time (Unix ms) and values; none of these: it is withdrawn."""


def append(folder: Path, told: Sequence[Told], segment_bytes: int = 16_000_000) -> None:
    """Append readings to a log, a record each."""
    writer = LogWriter(folder, segment_bytes)
    for kind, sensor, at_ms, values in told:
        observation = Observation(sensor, from_ms(at_ms), values, {}, withdrawn=not values)
        writer.append([records.encode_readings(kind, wall_ms(), [observation])])
    writer.close()


def write(engine: Engine, folder: Path, settings: History | None = None) -> None:
    """Write the history of all that is in a log, as a process that has just started."""
    writer = HistoryWriter(engine, folder, settings or History())
    while writer.step():
        pass
