"""One moment of a running system: its database as it was, and where the log ended then.

The two fit each other exactly. What the ingest has taken from the table `inlet` is in the log
before it leaves the table, and no cursor is beyond the log. So for an instant nobody may commit:
in that instant the position is read, the segments are held, and the database's snapshot begins.
Readings go on being taken in meanwhile, and everything goes on while the snapshot is copied.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend.backup import copies
from citywise.backend.backup.errors import BackupError
from citywise.backend.ingest import log
from citywise.backend.store import schema
from citywise.backend.times import wall_ms

_BUSY_SECONDS = 60


class Snapshot(Protocol):
    """A database as it was at the moment."""

    kind: str

    def revision(self) -> str:
        """The revision of its schema."""

    def save(self, folder: Path) -> None:
        """Write it into files of a folder."""


@dataclass(frozen=True)
class Segment:
    """A file of the log that stays though the log is trimmed, and how much of it counts."""

    name: str
    path: Path
    bytes: int


@dataclass(frozen=True)
class Moment:
    """What is to be copied; valid within `held`."""

    at_ms: int
    """Wall time, Unix ms."""
    snapshot: Snapshot
    position: int
    """Where the log ended."""
    segments: list[Segment]


@contextmanager
def held(url: str, log_dir: Path, folder: Path) -> Iterator[Moment]:
    """The moment of a system, running or not; `folder` is on the disk of the log, and takes
    links to its segments. Raises `BackupError` where there is no system."""
    opened = _sqlite if make_url(url).get_backend_name() == "sqlite" else _postgresql
    with opened(url) as (snapshot, release):
        position = _end(log_dir)
        segments = list(_segments(log_dir, position, folder))
        at_ms = wall_ms()
        release()
        yield Moment(at_ms, snapshot, position, segments)


def _end(folder: Path) -> int:
    """Where the log ends durably; by its last whole record where no mark vouches for it."""
    position, is_certain = log.mark(folder)
    bases = log.segments(folder)
    return position if is_certain or not bases else log.sound_end(folder, bases[-1])


def _segments(log_dir: Path, end: int, folder: Path) -> Iterator[Segment]:
    """The segments up to a position. A link keeps a file that retention removes meanwhile."""
    bases = [base for base in log.segments(log_dir) if base < end]
    for base, following in pairwise([*bases, end]):
        path = log.path_of(log_dir, base)
        link = folder / path.name
        try:
            os.link(path, link)
        except OSError:  # of a file system that knows no links
            shutil.copyfile(path, link)
        yield Segment(path.name, link, following - base)


class _Release(Protocol):
    def __call__(self) -> None:
        """Let others commit again."""


@contextmanager
def _sqlite(url: str) -> Iterator[tuple[Snapshot, _Release]]:
    path = Path(make_url(url).database or "")
    if not path.is_file():
        raise BackupError(f"{path}: there is no database; is this the folder of a system?")
    with closing(_connect(path)) as writer, closing(_connect(path)) as reader:
        try:
            writer.execute("BEGIN IMMEDIATE")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise BackupError(f"{path}: the database cannot be read now: {error}") from error

        def release() -> None:
            writer.execute("ROLLBACK")

        yield _SqliteSnapshot(path, reader), release


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS)


@dataclass
class _SqliteSnapshot:
    """SQLite's online backup, from a connection whose read transaction has begun."""

    path: Path
    reader: sqlite3.Connection
    kind: str = "sqlite"

    def revision(self) -> str:
        """The revision of its schema."""
        try:
            row = self.reader.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.Error as error:
            raise BackupError(f"{self.path}: no system has ever run with it: {error}") from error
        return str(row[0])

    def save(self, folder: Path) -> None:
        """One file. It is written anew, so that nothing of deleted rows is in it."""
        try:
            with closing(sqlite3.connect(folder / "citywise.db", isolation_level=None)) as copy:
                self.reader.backup(copy)
                copy.execute("PRAGMA journal_mode=DELETE")
                copy.execute("VACUUM")
        except sqlite3.Error as error:
            raise BackupError(f"{self.path}: the database cannot be copied: {error}") from error


@contextmanager
def _postgresql(url: str) -> Iterator[tuple[Snapshot, _Release]]:
    engine = create_engine(url)
    try:
        with engine.connect() as writer, engine.connect() as reader:
            # A snapshot is of the first statement that reads: until then nobody may commit.
            writer.execute(text("LOCK TABLE inlet, cursors IN SHARE MODE"))
            reader = reader.execution_options(isolation_level="REPEATABLE READ")
            reader.execute(text("SELECT count(*) FROM alembic_version"))
            yield _PostgresqlSnapshot(engine, reader), writer.rollback
    except SQLAlchemyError as error:
        shown = engine.url.render_as_string(hide_password=True)
        raise BackupError(f"{shown}: the database cannot be copied: {error}") from error
    finally:
        engine.dispose()


@dataclass
class _PostgresqlSnapshot:
    """All tables of the schema, each as COPY writes it, by one transaction."""

    engine: Engine
    reader: Connection
    kind: str = "postgresql"

    def revision(self) -> str:
        """The revision of its schema."""
        return schema.revision_of(self.reader) or ""

    def save(self, folder: Path) -> None:
        """A file for each table, and one that says how they are made."""
        copies.save(self.reader, folder)
