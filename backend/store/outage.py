"""Whether something failed because the machine or the database lacks something.

Such a fault passes, and what was to be written is not to blame.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

from sqlalchemy import exc

_OUTAGES = (
    OSError,
    MemoryError,
    sqlite3.OperationalError,
    exc.OperationalError,
    exc.InterfaceError,
    exc.DisconnectionError,
    exc.TimeoutError,
)
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SQLITE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
"""The latter where the index of the write-ahead log does not fit any more."""
_POSTGRESQL = frozenset({"53000", "53100"})
"""Insufficient resources; disk full."""


def is_outage(error: Exception) -> bool:
    """Whether an error is of the disk, the memory or the database."""
    is_cut_off = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    return is_cut_off or isinstance(error, _OUTAGES)


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
