"""The ingest log: an append-only sequence of records in segment files.

A position is the number of bytes written before a record since the log began; a segment is
named by the position of its first record. A record is durable when the file `durable`
(eight bytes, little-endian) says so: it is written after `fdatasync` of the segment, and
readers look no further. A record torn by a crash is cut off when the log is opened again.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_HEADER = struct.Struct("<II")
_MARK = struct.Struct("<Q")
_SUFFIX = ".log"


class LogError(Exception):
    """The log cannot be read or written; the message names the file and position."""


class Record(NamedTuple):
    """A record: its position, the position after it, and its bytes."""

    position: int
    end: int
    payload: bytes


class LogWriter:
    """Appends records; opening it repairs what a crash left behind."""

    def __init__(self, folder: Path, segment_bytes: int = 16_000_000) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._segment_bytes = segment_bytes
        bases = segments(folder)
        self._base = bases[-1] if bases else durable_end(folder)
        self._mark = os.open(folder / "durable", os.O_RDWR | os.O_CREAT, 0o600)
        self._lock()
        self._file = os.open(_path(folder, self._base), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.end = self._repair()
        self.sync()
        _sync_folder(folder)

    def _lock(self) -> None:
        """Two writers would spoil each other's records."""
        try:
            fcntl.flock(self._mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._mark)
            raise LogError(f"{self._folder}: another process writes this log") from error

    def _repair(self) -> int:
        """Cut a torn record off the last segment; returns the end of the log."""
        good = self._base
        for record in _scan(self._folder, self._base, self._base, None):
            good = record.end
        os.ftruncate(self._file, good - self._base)
        return good

    def append(self, payloads: Sequence[bytes]) -> int:
        """Write records and return the end of the log; they are durable after `sync`."""
        if self.end - self._base >= self._segment_bytes:
            self._roll()
        frames = b"".join(_HEADER.pack(len(p), zlib.crc32(p)) + p for p in payloads)
        view = memoryview(frames)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            os.ftruncate(self._file, self.end - self._base)
            raise
        self.end += len(frames)
        return self.end

    def sync(self) -> None:
        """Make everything appended so far durable and visible to readers.

        If that fails, what was appended since the last time is taken back, so that the
        caller can append it again.
        """
        try:
            os.fdatasync(self._file)
            os.pwrite(self._mark, _MARK.pack(self.end), 0)
        except OSError:
            self.end = max(self._base, durable_end(self._folder))
            os.ftruncate(self._file, self.end - self._base)
            raise

    def _roll(self) -> None:
        os.fdatasync(self._file)
        os.close(self._file)
        self._base = self.end
        self._file = os.open(
            _path(self._folder, self._base), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600
        )
        _sync_folder(self._folder)

    def close(self) -> None:
        """Sync and close."""
        self.sync()
        os.close(self._file)
        os.close(self._mark)


def _sync_folder(folder: Path) -> None:
    """Make the names of new files durable."""
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def _path(folder: Path, base: int) -> Path:
    return folder / f"{base:020d}{_SUFFIX}"


def segments(folder: Path) -> list[int]:
    """Positions at which the segments of a log begin, ascending."""
    return sorted(int(p.stem) for p in folder.glob(f"*{_SUFFIX}") if p.stem.isdigit())


def durable_end(folder: Path) -> int:
    """The position up to which records may be read."""
    try:
        data = (folder / "durable").read_bytes()
    except FileNotFoundError:
        return 0
    return int(_MARK.unpack(data)[0]) if len(data) == _MARK.size else 0


def read(folder: Path, start: int, end: int) -> Iterator[Record]:
    """Records from position `start` up to `end`.

    Raises `LogError` if the log begins after `start` (retention has removed it) or a
    record is damaged.
    """
    bases = segments(folder)
    if start >= end:
        return
    if not bases or start < bases[0]:
        raise LogError(
            f"{folder}: position {start} is no longer in the log, it begins at "
            f"{bases[0] if bases else end}"
        )
    first = bisect_right(bases, start) - 1
    for index in range(first, len(bases)):
        stop = bases[index + 1] if index + 1 < len(bases) else end
        if bases[index] >= end:
            return
        begin = max(start, bases[index])
        reached = begin
        for record in _scan(folder, bases[index], begin, min(stop, end)):
            reached = record.end
            yield record
        if reached < min(stop, end):
            raise LogError(f"{_path(folder, bases[index])}: damaged record at position {reached}")


def limit(folder: Path, start: int, end: int, most: int) -> int:
    """The end of the last whole record that begins within `most` bytes after `start`."""
    if end - start <= most:
        return end
    for record in read(folder, start, end):
        if record.end - start >= most:
            return record.end
    return end


def _scan(folder: Path, base: int, start: int, end: int | None) -> Iterator[Record]:
    """Whole, undamaged records of one segment; stops at the first that is not."""
    with _path(folder, base).open("rb") as file:
        file.seek(start - base)
        position = start
        while end is None or position < end:
            header = file.read(_HEADER.size)
            if len(header) < _HEADER.size:
                return
            length, checksum = _HEADER.unpack(header)
            payload = file.read(length)
            if len(payload) < length or zlib.crc32(payload) != checksum:
                return
            after = position + _HEADER.size + length
            yield Record(position, after, payload)
            position = after


def trim(folder: Path, needed_from: int, keep_seconds: float) -> int:
    """Remove segments that nobody needs and that are older than `keep_seconds`.

    Returns how many were removed; the last segment always stays.
    """
    bases = segments(folder)
    removed = 0
    for base, following in pairwise(bases):
        path = _path(folder, base)
        if following > needed_from or time.time() - path.stat().st_mtime < keep_seconds:
            break
        path.unlink()
        removed += 1
    return removed
