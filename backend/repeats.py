"""What fails again and again is logged once in a while, with how often: a loop that tries again
must not fill the disk with what it cannot do."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

_SOONEST_S, _LATEST_S = 60.0, 3600.0
"""A fault that lasts is told again after a minute, then ever more seldom, at last hourly."""
_MOST = 1_000
"""Faults that are known apart."""


@dataclass
class _Fault:
    """When it was told, after how long it is told again, and how often it came since."""

    told: float
    pause: float = _SOONEST_S
    since: int = 0


class Repeats(logging.Filter):
    """Lets an exception through when it is new; the same one, from the same line, only now and
    then, without its traceback and with the number of times it came."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._faults: OrderedDict[Hashable, _Fault] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is to be written; one that repeats is shortened."""
        fault = record.exc_info and record.exc_info[1]
        if not fault:
            return True
        now, key = self._clock(), _key(record, fault)
        known = self._faults.pop(key, None)
        if known is None or now - known.told > 2 * _LATEST_S:
            known = _Fault(now)
        elif now - known.told < known.pause:
            known.since += 1
            self._faults[key] = known
            return False
        else:
            _shorten(record, fault, known.since)
            known = _Fault(now, min(2 * known.pause, _LATEST_S))
        self._faults[key] = known
        while len(self._faults) > _MOST:
            self._faults.popitem(last=False)
        return True


def _key(record: logging.LogRecord, fault: BaseException) -> Hashable:
    """What makes it the same fault: who tells it, of which kind it is, and where it was raised."""
    where = fault.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    raised = where and (where.tb_frame.f_code.co_filename, where.tb_lineno)
    return record.name, record.lineno, type(fault), raised


def _shorten(record: logging.LogRecord, fault: BaseException, since: int) -> None:
    more = f"; {since} times since it was last told" if since else ""
    record.msg = f"{record.getMessage()} ({type(fault).__name__}: {fault}{more})"
    record.args = record.exc_info = record.exc_text = None
