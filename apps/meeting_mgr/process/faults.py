"""Saying in the log what failed, without a word of what people said."""

from __future__ import annotations

import logging
import traceback

LOG = logging.getLogger("citywise.meeting_mgr")


def tell(what: str, error: BaseException) -> None:
    """Log where something failed and with which kind of error; an error's text may hold names."""
    where = "".join(traceback.format_tb(error.__traceback__))
    LOG.error("%s failed with %s:\n%s", what, type(error).__name__, where)
