"""The process that reads one calendar and ends: nothing that is in it holds up anybody else.

A process of its own also because time zones that a calendar describes are kept by their names
for as long as a process lives: the next calendar may mean another by the same.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import time
from typing import Any, NamedTuple, NoReturn

from citywise.apps.meeting_mgr.model import Busy
from citywise.apps.meeting_mgr.papers.calendar_bounds import CalendarError
from citywise.apps.meeting_mgr.papers.calendars import busy
from citywise.backend.app import spawned
from citywise.reasoning.limits import patience_s

MODULE = "citywise.apps.meeting_mgr.papers.calendar_process"
CPU_S = 8.0
"""CPU time that reading a calendar may take: 1 MB of years of somebody's life takes about 1 s."""
_GRACE_S = 2
"""What does not hear of that is ended so much later."""
_MOST_MEMORY = 1_500_000_000
_NICENESS = 10


class Read(NamedTuple):
    """What came of a calendar, and which CPU time (seconds) the process took for it."""

    busy: tuple[Busy, ...]
    error: str | None
    cpu_s: float


def ask(
    process: spawned.Spawned,
    ics: bytes,
    since_ms: int,
    until_ms: int,
    cpu_s: float = CPU_S,
) -> Read:
    """Let a process read a calendar; raises what `Spawned.exchange` does."""
    question = {"since_ms": since_ms, "until_ms": until_ms, "cpu_s": cpu_s}
    told = process.exchange(spawned.Frame(question, ics), patience_s(cpu_s)).head
    found = tuple(Busy(from_ms=one, until_ms=other) for one, other in told["busy"])
    return Read(found, told["error"], told["cpu_s"])


def answer(question: spawned.Frame) -> dict[str, Any]:
    """What is in a calendar, or what is wrong with it."""
    head = question.head
    _limit(head["cpu_s"])
    found: tuple[Busy, ...] = ()
    error = None
    try:
        found = busy(question.body, head["since_ms"], head["until_ms"])
    except CalendarError as raised:
        error = str(raised)
    except MemoryError:
        error = "it takes more memory than a calendar may; export fewer days"
    signal.setitimer(signal.ITIMER_PROF, 0)
    spans = [(one.from_ms, one.until_ms) for one in found]
    return {"busy": spans, "error": error, "cpu_s": time.process_time()}


def _limit(cpu_s: float) -> None:
    """Stop this process, with words, after so much CPU time; and without, if that is not heard."""
    most = math.ceil(time.process_time() + cpu_s) + _GRACE_S
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    os.nice(_NICENESS)

    def stop(_number: int, _frame: object) -> NoReturn:
        raise CalendarError(
            f"more than {cpu_s:g} s of work; leave out what repeats oddly, or export fewer days"
        )

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, cpu_s, 1.0)


def main() -> None:
    """Read what is asked about, answer, and end."""
    channel = spawned.asker()
    spawned.send(channel, spawned.Frame(answer(spawned.receive(channel))))


if __name__ == "__main__":
    main()
