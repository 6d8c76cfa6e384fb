"""Whether something failed because there is no room: on the disk, or in what may be used of it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SQLITE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
"""The latter where the index of the write-ahead log does not fit any more."""
_POSTGRESQL = frozenset({"53000", "53100"})
"""Insufficient resources; disk full."""


def is_full(error: BaseException) -> bool:
    """Whether an error, or what it was raised from, says that there is no room."""
    return any(
        (isinstance(each, OSError) and each.errno in _NO_ROOM)
        or getattr(each, "sqlite_errorcode", None) in _SQLITE
        or getattr(each, "sqlstate", None) in _POSTGRESQL
        for each in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it was raised from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
