"""Having a calendar read: few at once, one of each person, and not for who has gone away."""

from __future__ import annotations

import logging
import math
import signal

from citywise.apps.meeting_mgr.api import gone
from citywise.apps.meeting_mgr.model import Busy
from citywise.apps.meeting_mgr.papers import calendar_process
from citywise.backend.app import identity, limits, problems, spawned

LOG = logging.getLogger("citywise.meeting_mgr.calendars")
MOST_AT_ONCE, MOST_OF_ONE, PATIENCE_S = 2, 1, 10.0
_TURNS = limits.Turns(
    MOST_AT_ONCE,
    "calendars are read one after the other, and yours too; try again when the one before is read",
)


def busy(ics: bytes, since_ms: int, until_ms: int) -> tuple[Busy, ...]:
    """When the owner of a calendar is busy (`calendars.busy`), found out in a process of its own.

    Raises a 422 for what is no calendar or more than one, a 429 where the asker's calendars
    have taken too much work, and a 503 where it is nobody's turn or the process failed.
    """
    who = f"user {identity.own_id()}"
    limits.refuse_spent("calendar-seconds", who)
    with _TURNS.turn(who, MOST_OF_ONE, PATIENCE_S):
        cpu_s = calendar_process.CPU_S
        try:
            process = spawned.Spawned(calendar_process.MODULE)
            try:
                with gone.ending(process.end):
                    found = calendar_process.ask(process, ics, since_ms, until_ms, cpu_s)
            finally:
                process.end(patience_s=1.0)
            cpu_s = found.cpu_s
        except spawned.EndedError as error:
            if error.status == -signal.SIGXCPU:
                raise problems.invalid(
                    [problems.fault("body", f"more than {cpu_s:g} s of work")]
                ) from None
            raise _unread(str(error)) from None
        except OSError as error:  # also a time-out
            raise _unread(str(error)) from None
        finally:
            limits.note("calendar-seconds", who, math.ceil(cpu_s))
    if found.error is not None:
        raise problems.invalid([problems.fault("body", found.error)])
    return found.busy


def _unread(why: str) -> problems.ProblemError:
    LOG.warning("the process that reads a calendar did not answer: %s", why)
    detail = "the calendar could not be read now; try again, or export fewer days"
    return problems.ProblemError(503, "calendar-unread", "Calendar not read", detail)
