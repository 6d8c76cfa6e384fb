"""Who was forgotten, for backups: whoever was stays so when an older backup is brought back.

A backup holds people who are forgotten after it was made, and it cannot be changed. So their
tombstones are kept: a digest of the opaque id, which says nothing of anybody, and the time. They
stand in the data folder, in each backup, and in the file `citywise-forgotten` of every folder
that a backup was written to; restoring reads all of them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from citywise.backend import own_files
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest.keyring import digest_of
from citywise.backend.network.secret_files import replace
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.privacy")
FOLDER = "forgotten"
BESIDE = "citywise-forgotten"
_PEOPLE, _BACKUPS = "people", "backups"


class TombstonesError(CitywiseError):
    """A file that should name who was forgotten does not."""


def bury(data_dir: Path, user: str) -> None:
    """Note for good that a user is forgotten; durable when this returns."""
    folder = data_dir / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    own_files.create(folder / _PEOPLE)
    with (folder / _PEOPLE).open("a", encoding="ascii") as file:
        file.write(f"{digest_of(user)} {wall_ms()}\n")
        file.flush()
        os.fsync(file.fileno())


def buried(data_dir: Path) -> dict[str, int]:
    """Digests of who was forgotten, and when last (Unix ms)."""
    file = data_dir / FOLDER / _PEOPLE
    return read(file) if file.exists() else {}


def read(file: Path) -> dict[str, int]:
    """What a file of tombstones says; raises `TombstonesError`. A last line without an end, as a
    crash leaves it, does not count."""
    found: dict[str, int] = {}
    for number, line in enumerate(file.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        try:
            digest, at_ms = line.decode("ascii").split()
            bytes.fromhex(digest)
            found[digest] = max(found.get(digest, 0), int(at_ms))
        except ValueError as error:
            raise TombstonesError(
                f"{file}: line {number} is no digest and time; expected a file "
                f"`{BESIDE}`, as it lies beside backups"
            ) from error
    return found


def text(found: Mapping[str, int]) -> bytes:
    """Tombstones as a file has them."""
    return "".join(f"{digest} {at}\n" for digest, at in sorted(found.items())).encode()


def keep_beside(data_dir: Path, backups: Path) -> None:
    """Have all tombstones, from now on too, in a folder with backups."""
    folder = data_dir / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = _backups(data_dir)
    if str(backups) not in known:
        replace(folder / _BACKUPS, "".join(f"{p}\n" for p in [*known, backups]).encode())
    _merge_into(buried(data_dir), backups)


def spread(data_dir: Path) -> None:
    """Bring the folders with backups up to date, as far as they are there."""
    found = buried(data_dir)
    for path in _backups(data_dir) if found else ():
        try:
            _merge_into(found, Path(path))
        except (OSError, TombstonesError) as error:
            LOG.warning("backups are not told of who was forgotten: %s", error)


def _merge_into(found: Mapping[str, int], folder: Path) -> None:
    file = folder / BESIDE
    there = read(file) if file.exists() else None
    both = merged([there or {}, found])
    if both != there:  # an empty file says that nobody was
        replace(file, text(both))


def merged(several: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """All tombstones of several lists, each with its latest time."""
    both: dict[str, int] = {}
    for found in several:
        for digest, at_ms in found.items():
            both[digest] = max(both.get(digest, 0), at_ms)
    return both


def _backups(data_dir: Path) -> list[str]:
    file = data_dir / FOLDER / _BACKUPS
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
