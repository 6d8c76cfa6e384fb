"""A drill: a backup of a system is made, restored elsewhere, and compared; then removed.

What is compared is read again, by other means than the backup's own: every row of the database
and every record of the log.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import MetaData, create_engine, func, select

from citywise.backend.backup.errors import BackupError
from citywise.backend.backup.restoring import restore
from citywise.backend.backup.taking import back_up
from citywise.backend.ingest import log, records
from citywise.backend.ingest.keyring import Keyring, beside
from citywise.backend.ingest.seals import Keys, Sealed
from citywise.backend.settings import Settings


@dataclass(frozen=True)
class Drilled:
    """What a drill found to be right."""

    bytes: int
    rows: int
    records: int
    sealed: int
    """Entries of the log about people, all of which their keys open."""
    backup_s: float


def drill(settings: Settings, passphrase: str | None, database: str | None = None) -> Drilled:
    """Back up, restore and compare; raises `BackupError` where something is not as it was.

    `database` is an empty database of PostgreSQL for a system that has one.
    """
    base = settings.data_dir.resolve() / "tmp"
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="drill-", dir=base) as name:
        folder = Path(name)
        taken = back_up(settings, folder / "backup", passphrase=passphrase)
        state = folder / "state"
        restore(folder / "backup", state, passphrase=passphrase, database=database)
        rows = _rows(database or f"sqlite:///{state / 'citywise.db'}")
        found = _compare(settings.log_dir, state / "log", taken.head.position)
        sealed = sum(_sealed(state / "log"))
    return Drilled(taken.bytes, rows, found, sealed, taken.seconds)


def _rows(url: str) -> int:
    """How many rows there are in all tables; each can be read."""
    engine, tables = create_engine(url), MetaData()
    try:
        tables.reflect(engine)
        with engine.connect() as connection:
            counts = [select(func.count()).select_from(table) for table in tables.sorted_tables]
            return sum(connection.scalar(count) or 0 for count in counts)
    finally:
        engine.dispose()


def _compare(before: Path, after: Path, position: int) -> int:
    """Compare two logs as far as both go, record by record; returns how many there are."""
    bases = [log.segments(before), log.segments(after)]
    if not all(bases):
        return 0
    start = max(found[0] for found in bases)
    kept, restored = (_digest(folder, start, position) for folder in (before, after))
    if kept != restored or log.durable_end(after) != position:
        raise BackupError(
            f"the restored log is not the one of {before}: {restored[0]} records and {kept[0]}"
        )
    return kept[0]


def _digest(folder: Path, start: int, end: int) -> tuple[int, str]:
    number, digest = 0, hashlib.sha256()
    for record in log.read(folder, start, end):
        number += 1
        digest.update(b"%d %d " % (record.position, len(record.payload)))
        digest.update(record.payload)
    return number, digest.hexdigest()


def _sealed(folder: Path) -> Iterator[int]:
    """How many sealed entries each record has whose key there is; raises where one does not
    open."""
    keys, end = Keys(Keyring(beside(folder))), log.durable_end(folder)
    for record in log.read(folder, (log.segments(folder) or [end])[0], end):
        standing = records.decode_standing(record)
        boxes = [box for row in standing.rows if (box := Sealed.of(row))] if standing else []
        secrets = keys.get({box.id for box in boxes})
        known = [box for box in boxes if secrets[box.id] is not None]
        if any(text is None for text in keys.open(known)):
            raise BackupError(f"an entry at position {record.position} does not open")
        yield len(known)
