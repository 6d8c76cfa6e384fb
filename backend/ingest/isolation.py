"""Telling a fault of one message from a fault of what is around it.

A full disk or a database that is away passes: it is waited for, and nothing is acknowledged
meanwhile. What one message makes us raise would come again with it for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from citywise.backend.ingest.frames import LogError
from citywise.backend.store.outage import is_outage

LOG = logging.getLogger("citywise.ingest")
Item = TypeVar("Item")


def is_around(error: Exception) -> bool:
    """Whether an error is of the machine, the log or the database, not of what was to be
    written."""
    return isinstance(error, LogError) or is_outage(error)


def each(
    items: Sequence[Item],
    act: Callable[[Sequence[Item]], None],
    refuse: Callable[[Item, Exception], None],
) -> None:
    """Do `act` with all items at once; if it raises, with each alone.

    Those with which it raises alone go to `refuse`. What is `around` them is raised at once, and
    so is what `refuse` raises: then it was no item's fault.
    """
    try:
        act(items)
    except Exception as error:
        if is_around(error):
            raise
        LOG.error("one of %d messages cannot be written: %s", len(items), type(error).__name__)
        for item in items:
            _alone(item, act, refuse)


def _alone(
    item: Item, act: Callable[[Sequence[Item]], None], refuse: Callable[[Item, Exception], None]
) -> None:
    try:
        act([item])
    except Exception as error:
        if is_around(error):
            raise
        refuse(item, error)
