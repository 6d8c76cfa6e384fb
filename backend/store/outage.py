"""Whether something failed because the machine or the database lacks something: that passes, and
what was to be written is not at fault."""

from __future__ import annotations

import sqlite3

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


def is_outage(error: Exception) -> bool:
    """Whether an error is of the disk, the memory or the database."""
    is_cut_off = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    return is_cut_off or isinstance(error, _OUTAGES)
