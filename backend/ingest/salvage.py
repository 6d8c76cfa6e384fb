"""A new log of all that can be read of a damaged one, in which every position stays what it was.

Cursors, and records of what stands, name positions. So what cannot be read is replaced by records
of the same length that say nothing; they end wherever a position is named.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from citywise.backend import own_files
from citywise.backend.ingest import belonging, damage, frames, log, records
from citywise.backend.ingest.damage import Stretch
from citywise.backend.ingest.frames import LogError, Record

_MOST = 4_000_000
"""Bytes of one record that says nothing."""
_ASIDE = "damaged"
_LAST = 1_000_000_000
"""A durable mark, or a cursor, so far behind the last record is not believed."""


class Lost(NamedTuple):
    """A stretch of a segment that cannot be read; `there` bytes of it are still in its file."""

    path: Path
    start: int
    end: int
    there: int


class Found(NamedTuple):
    """What is in a log: its bounds, its readable records, and what cannot be read."""

    begin: int
    end: int
    records: int
    lost: list[Lost]


def examine(folder: Path, furthest: int = 0) -> Found:
    """Look at every record up to the durable mark, or to the cursor that is `furthest`."""
    lost: list[Lost] = []
    count, end = 0, 0
    for base, stop, pieces in _segments(folder, furthest):
        end = stop
        for piece in pieces:
            if isinstance(piece, Record):
                count += 1
            else:
                lost.append(_lost(folder, base, piece))
    bases = log.segments(folder)
    return Found(bases[0] if bases else end, end, count, lost)


def salvage(folder: Path, into: Path, positions: Collection[int]) -> Found:
    """Write what can be read of a log into a new folder; the log itself is not touched.

    Cursors stand at `positions`. Damaged bytes are set aside in the new folder. Raises `LogError`
    where the new folder exists.
    """
    if into.exists():
        raise LogError(f"{into} exists; name a folder that does not")
    furthest = max(positions, default=0)
    named = sorted({*positions, *_named(folder, furthest)})
    (into / _ASIDE).mkdir(parents=True)
    end = 0
    for base, stop, pieces in _segments(folder, furthest):
        end = stop
        _write(folder, into, base, stop, list(pieces), named)
    own_files.create(into / "durable")
    (into / "durable").write_bytes(log.packed_mark(end))
    if (folder / belonging.MARK).exists():
        own_files.create(into / belonging.MARK)
        shutil.copyfile(folder / belonging.MARK, into / belonging.MARK)
    log.check(into)
    return examine(folder, furthest)


def _segments(folder: Path, furthest: int) -> Iterator[tuple[int, int, Iterator[Record | Stretch]]]:
    """Each segment: where it begins and where it is to end, and what is in it."""
    bases = log.segments(folder)
    for base, following in pairwise([*bases, None]):
        assert base is not None
        data = log.path_of(folder, base).read_bytes()
        stop = _end(folder, base, data, furthest) if following is None else following
        yield base, stop, _whole(damage.walk(data, base, stop))


def _end(folder: Path, base: int, data: bytes, furthest: int) -> int:
    """Where the last segment is to end: with its last record, its durable mark, or the cursor
    that is furthest, whichever is last."""
    read = [p.end for p in damage.walk(data, base, base + len(data)) if isinstance(p, Record)]
    last = max(read, default=base)
    claims = (log.durable_end(folder), furthest)
    return max([last, *(claim for claim in claims if claim - last < _LAST)])


def _whole(pieces: Iterator[Record | Stretch]) -> Iterator[Record | Stretch]:
    """The pieces, with stretches so long that a record can stand for each: one that is shorter
    takes the next piece with it."""
    gap: Stretch | None = None
    for piece in pieces:
        if isinstance(piece, Record) and gap is None:
            yield piece
        elif isinstance(piece, Record) and gap is not None and gap.end - gap.start >= _LEAST:
            yield gap
            yield piece
            gap = None
        else:
            start = gap.start if gap is not None else _start(piece)
            gap = Stretch(start, piece.end)
    if gap is not None:
        yield Stretch(gap.start, max(gap.end, gap.start + _LEAST))


def _start(piece: Record | Stretch) -> int:
    return piece.position if isinstance(piece, Record) else piece.start


def _named(folder: Path, furthest: int) -> Iterator[int]:
    """Positions that records of what stands name: from there on readers look for all of it."""
    for _base, _stop, pieces in _segments(folder, furthest):
        for piece in pieces:
            if isinstance(piece, Record) and (found := records.decode_standing(piece)):
                yield found.since


def _lost(folder: Path, base: int, stretch: Stretch) -> Lost:
    path = log.path_of(folder, base)
    there = max(0, min(stretch.end, base + path.stat().st_size) - stretch.start)
    return Lost(path, stretch.start, stretch.end, there)


def _write(
    folder: Path,
    into: Path,
    base: int,
    stop: int,
    pieces: Sequence[Record | Stretch],
    named: Sequence[int],
) -> None:
    """A segment of the new log, and what is damaged of the old one beside it."""
    old, new = log.path_of(folder, base), log.path_of(into, base)
    data = old.read_bytes()
    own_files.create(new)
    with new.open("wb") as file:
        for piece in pieces:
            if isinstance(piece, Record):
                file.write(frames.pack([piece.payload]))
                continue
            for length in _lengths(piece, named):
                file.write(frames.pack([records.encode_lost(length - frames.OVERHEAD)]))
            aside = into / _ASIDE / f"{piece.start:020d}"
            own_files.create(aside)
            aside.write_bytes(data[piece.start - base : piece.end - base])
        file.flush()
        os.fsync(file.fileno())
    age = old.stat()  # by which `log.trim` goes
    os.utime(new, ns=(age.st_atime_ns, age.st_mtime_ns))
    assert stop <= base + new.stat().st_size


def _lengths(stretch: Stretch, named: Sequence[int]) -> Iterator[int]:
    """How long the records are that stand for a stretch, so that one ends wherever a position
    in it is named."""
    start = stretch.start
    ends = [p for p in named if stretch.start < p < stretch.end]
    ends += range(stretch.start + _MOST, stretch.end, _MOST)
    for end in [*sorted(ends), stretch.end]:
        if end == stretch.end or min(end - start, stretch.end - end) >= _LEAST:
            yield end - start
            start = end


_LEAST = frames.OVERHEAD + len(records.encode_lost(0))
"""Bytes of the shortest record that says nothing."""
