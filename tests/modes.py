"""Who may read the files of a folder."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from citywise.backend.own_files import OTHERS


def open_to_others(folder: Path) -> list[Path]:
    """What in a folder its group or everybody may read, write or enter, sorted."""
    return sorted(path for path, mode in _modes(folder) if mode & OTHERS)


def _modes(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.rglob("*"):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:  # a process has removed it meanwhile
            continue
        if not stat.S_ISLNK(mode):
            yield path, mode
