"""The ingest log: an append-only sequence of records in segment files.

A position is the number of bytes written before a record since the log began; a segment is
named by the position of its first record. A record is durable when the file `durable`
(eight bytes, little-endian, and their checksum) says so: it is written after `fdatasync` of the
segment, and readers look no further. A record torn by a crash is cut off when the log is opened
again; what was durable never is.

Readers give the log's *location*: its folder, or the address at which an ingest process on
another machine serves it (`backend.ingest.server`).
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from citywise.backend.ingest import damage, frames, remote
from citywise.backend.ingest.frames import LogError as LogError
from citywise.backend.ingest.frames import Record as Record

_MARK = struct.Struct("<Q")
_SUM = struct.Struct("<I")
_LOOKS = 5
_SUFFIX = ".log"
_DURABLE = "durable"


class LogWriter:
    """Appends records; opening it repairs what a crash left behind."""

    def __init__(self, folder: Path, segment_bytes: int = 16_000_000) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._segment_bytes = segment_bytes
        bases = segments(folder)
        self._base = bases[-1] if bases else durable_end(folder)
        self._is_torn = False
        """Whether the file may hold more than is appended: it is cut before more is."""
        opened = [os.open(folder / _DURABLE, os.O_RDWR | os.O_CREAT, 0o600)]
        try:
            (self._mark,) = opened
            self._lock()
            self._file = self._opened(self._base)
            opened.append(self._file)
            self.end = self._durable = self._repair()
            self.sync()
            # A damaged mark may have been longer.
            os.ftruncate(self._mark, _MARK.size + _SUM.size)
            sync_folder(folder)
        except (LogError, OSError):
            for each in opened:
                os.close(each)
            raise

    def _lock(self) -> None:
        """Two writers would spoil each other's records."""
        try:
            fcntl.flock(self._mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise LogError(f"{self._folder}: another process writes this log") from error

    def _repair(self) -> int:
        """Cut a torn record off the last segment; returns the end of the log."""
        end = sound_end(self._folder, self._base)
        os.ftruncate(self._file, end - self._base)
        return end

    def append(self, payloads: Sequence[bytes]) -> int:
        """Write records and return the end of the log; they are durable after `sync`. If it fails,
        nothing is written."""
        if self._is_torn:
            self._cut()
        if self.end - self._base >= self._segment_bytes:
            self._roll()
        data = frames.pack(payloads)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            self._take_back(self.end)
            raise
        self.end += len(data)
        return self.end

    def sync(self) -> None:
        """Make everything appended so far durable and visible to readers.

        If that fails, what was appended since the last time is taken back, so that the
        caller can append it again.
        """
        try:
            os.fdatasync(self._file)
            os.pwrite(self._mark, packed_mark(self.end), 0)
        except OSError:
            self._take_back(max(self._base, self._durable))
            raise
        self._durable = self.end

    def _take_back(self, end: int) -> None:
        """What was written from a position on was not; where the file cannot be cut now, it is
        before more is written."""
        self.end, self._is_torn = end, True
        with suppress(OSError):
            self._cut()

    def _cut(self) -> None:
        os.ftruncate(self._file, self.end - self._base)
        self._is_torn = False

    def _roll(self) -> None:
        """Go on in another segment; if it cannot be made, this one is still there."""
        os.fdatasync(self._file)
        following = self._opened(self.end)
        try:
            sync_folder(self._folder)
        except OSError:
            os.close(following)
            raise
        os.close(self._file)
        self._base, self._file = self.end, following

    def _opened(self, base: int) -> int:
        return os.open(path_of(self._folder, base), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def close(self) -> None:
        """Sync and close."""
        self.sync()
        os.close(self._file)
        os.close(self._mark)


def sync_folder(folder: Path) -> None:
    """Make the names of new files durable."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def path_of(folder: Path, base: int) -> Path:
    """The file of the segment that begins at a position."""
    return folder / f"{base:020d}{_SUFFIX}"


def segments(folder: Path) -> list[int]:
    """Positions at which the segments of a log begin, ascending."""
    return sorted(int(p.stem) for p in folder.glob(f"*{_SUFFIX}") if p.stem.isdigit())


def next_base(folder: Path, position: int, end: int) -> int:
    """Where a segment begins after a position whose own is damaged; `end` if none does."""
    return next((base for base in segments(folder) if base > position), end)


def durable_end(location: Path | str) -> int:
    """The position up to which records may be read."""
    if remote.is_remote(location):
        return remote.bounds(str(location))[1]
    return mark(Path(location))[0]


def mark(folder: Path) -> tuple[int, bool]:
    """What a log's folder says to be durable, and whether a checksum vouches for it; 0 where
    nothing is said."""
    for _ in range(_LOOKS):
        try:
            data = (folder / _DURABLE).read_bytes()
        except FileNotFoundError:
            return 0, False
        if len(data) == _MARK.size:  # of an older version
            return int(_MARK.unpack(data)[0]), False
        position = data[: _MARK.size]
        if len(data) == _MARK.size + _SUM.size and data[_MARK.size :] == _checksum(position):
            return int(_MARK.unpack(position)[0]), True
    return 0, False  # damaged: it is not being written just now


def packed_mark(position: int) -> bytes:
    """The content of the file that says what is durable."""
    packed = _MARK.pack(position)
    return packed + _checksum(packed)


def _checksum(position: bytes) -> bytes:
    return _SUM.pack(zlib.crc32(position))


def sound_end(folder: Path, base: int) -> int:
    """Where the last segment, which begins at `base`, ends once what a crash tore is cut off.

    Below the durable mark nothing is torn by a crash: raises `DamagedLogError` where a record
    there cannot be read, or where the log ends before a mark that its checksum vouches for. A
    mark without one may be wrong; then whole records behind the damage show that it is no tear.
    """
    good = base
    for record in _scan(folder, base, base, None):
        good = record.end
    durable, is_certain = mark(folder)
    path = path_of(folder, base)
    size = base + path.stat().st_size
    if good < size:
        rest = path.read_bytes()[good - base :]
        if good < durable or (not is_certain and damage.is_readable(rest)):
            raise damage.at(path, good, size - good)
    elif good < durable and is_certain:
        raise damage.ended(path, good, durable)
    return good


def check(folder: Path, start: int = 0) -> None:
    """Raise `DamagedLogError` where something durable from position `start` on cannot be read."""
    bases = segments(folder)
    if not bases:
        return
    for _record in read(folder, max(start, bases[0]), sound_end(folder, bases[-1])):
        pass


def read(location: Path | str, start: int, end: int) -> Iterator[Record]:
    """Records from position `start` up to `end`.

    Raises `LogError` if the log begins after `start` (retention has removed it), a record
    is damaged, or the ingest that serves the log does not answer.
    """
    if start >= end:
        return
    if remote.is_remote(location):
        yield from remote.read(str(location), start, end)
        return
    for base, begin, stop in _pieces(Path(location), start, end):
        reached = begin
        for record in _scan(Path(location), base, begin, stop):
            reached = record.end
            yield record
        if reached < stop:
            raise damage.at(path_of(Path(location), base), reached, stop - reached)


def stretch(folder: Path, start: int, end: int) -> bytes:
    """The bytes between two positions, unchecked; raises `LogError` as `read` does."""
    parts = []
    for base, begin, stop in _pieces(folder, start, end):
        with _open(folder, base) as file:
            file.seek(begin - base)
            parts.append(file.read(stop - begin))
    return b"".join(parts)


def _pieces(folder: Path, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The segments that a stretch lies in, each with where it begins and ends in them."""
    bases = segments(folder)
    if not bases or start < bases[0]:
        raise _gone(folder, start, bases[0] if bases else end)
    first = bisect_right(bases, start) - 1
    for base, following in pairwise([*bases[first:], end]):
        if base >= end:
            return
        yield base, max(start, base), min(following, end)


def _gone(folder: Path, position: int, begin: int) -> LogError:
    return LogError(f"{folder}: position {position} is no longer in the log, it begins at {begin}")


def limit(location: Path | str, start: int, end: int, most: int) -> int:
    """The end of the last whole record that begins within `most` bytes after `start`."""
    if end - start <= most:
        return end
    for record in read(location, start, end):
        if record.end - start >= most:
            return record.end
    return end


def _scan(folder: Path, base: int, start: int, end: int | None) -> Iterator[Record]:
    """Whole, undamaged records of one segment; stops at the first that is not."""
    with _open(folder, base) as file:
        file.seek(start - base)
        yield from frames.scan(file, start, end)


def _open(folder: Path, base: int) -> BinaryIO:
    """A segment; retention may have removed it since it was listed."""
    try:
        return path_of(folder, base).open("rb")
    except FileNotFoundError:
        bases = segments(folder)
        raise _gone(folder, base, bases[0] if bases else base) from None


def trim(folder: Path, needed_from: int, keep_seconds: float) -> int:
    """Remove segments that nobody needs and that are older than `keep_seconds`.

    Returns how many were removed; the last segment always stays.
    """
    old = min(needed_from, older_than(folder, keep_seconds))
    removed = 0
    for base, following in pairwise(segments(folder)):
        if following > old:
            break
        path_of(folder, base).unlink()
        removed += 1
    return removed


def older_than(folder: Path, seconds: float) -> int:
    """The position before which everything was written more than `seconds` ago.

    It is where a segment begins; the last segment counts as new.
    """
    bases = segments(folder)
    position = bases[0] if bases else 0
    for base, following in pairwise(bases):
        if time.time() - path_of(folder, base).stat().st_mtime < seconds:
            break
        position = following
    return position
