"""What fails: what passes by itself, and saying it without a word of what people said."""

from __future__ import annotations

import logging
import sqlite3
import traceback

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from citywise.backend.app import boxes

LOG = logging.getLogger("citywise.meeting_mgr")
PASSING = (OperationalError, InterfaceError, NoConnectionError, sqlite3.Error, boxes.KeysAwayError)
"""The database or the keys (`sqlite3.Error` is theirs) are locked or away: no meeting's fault,
and soon over. Any other error may be that of one meeting."""


def tell(what: str, error: BaseException) -> None:
    """Log where something failed and with which kind of error; an error's text may hold names."""
    where = "".join(traceback.format_tb(error.__traceback__))
    LOG.error("%s failed with %s:\n%s", what, type(error).__name__, where)
