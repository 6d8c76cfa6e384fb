"""The files of a system's data folder: nobody but their owner may read them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""What the group and everybody else could do with a file."""
_OURS = (
    "broker-rights.*", "checkpoint", "city", "citywise.db*", "forgotten", "keys", "lock", "log",
    "logs", "metrics", "orders.json", "spark", "tls", "tmp",
)  # fmt: skip
"""What a system has at the top of its data folder, which may hold files of others, too."""


def keep_from_others() -> None:
    """Let all that this process and its children write from now on be their owner's alone."""
    os.umask(OTHERS)


def tighten(folder: Path) -> list[Path]:
    """Take from others what they may do with the files of a data folder, which earlier versions
    or another umask allowed; returns the files of other users, who would have to do it."""
    left = []
    for path in _files(folder):
        mode = path.lstat().st_mode
        if not mode & OTHERS or stat.S_ISLNK(mode):
            continue
        try:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
        except PermissionError:
            left.append(path)
    return left


def create(file: Path) -> None:
    """Have a file that others may not read before a library opens it; it may be there already."""
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


def rotate(file: Path, most_bytes: int, kept: int) -> bool:
    """Begin a log anew that has become large: `FILE.1` is the one before, up to `FILE.{kept}`;
    whether it was.

    Who writes it has it open to append to, and goes on at its beginning. What is written while
    it is copied may be lost: a few lines in twenty megabytes.
    """
    try:
        if file.stat().st_size <= most_bytes:
            return False
    except FileNotFoundError:
        return False
    older = [file.with_name(f"{file.name}.{number}") for number in range(1, kept + 1)]
    for before, after in reversed(list(pairwise(older))):
        if before.exists():
            before.replace(after)
    create(older[0])
    shutil.copyfile(file, older[0])
    os.truncate(file, 0)
    return True


def _files(folder: Path) -> Iterator[Path]:
    for pattern in _OURS:
        for path in folder.glob(pattern):
            yield path
            if path.is_dir() and not path.is_symlink():
                yield from path.rglob("*")
