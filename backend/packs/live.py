"""Templates as they stood at a moment of the log, for questions about one user or few.

The log is the truth, so nothing has to be kept for questions that are asked later: what a
user was told, and why not more, follows from the log for as long as it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import log, records
from citywise.backend.ingest.records import ClockReading, LogEntry, Standing
from citywise.backend.packs.notices import OpenNotices
from citywise.backend.packs.run import EVERYBODY, TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.reasoning import Limits

_LAST_CLOCKS = 1 << 16
"""Bytes at the end of the log in which a clock is looked for first."""


class NoClockError(CitywiseError):
    """The log has no time yet: nothing has been evaluated."""


def at(
    folder: Path,
    template: TemplateVersion,
    position: int | None = None,
    users: Callable[[str], bool] = EVERYBODY,
    limits: Limits | None = None,
) -> TemplateRun:
    """A template's run as it stood when the clock at an entry's position had been answered;
    default: at the last clock. Only the instances of `users` are evaluated, within `limits`
    in a process of its own.

    Raises `NoClockError`, and `LogError` for a position that is no longer in the log.
    """
    end = log.durable_end(folder)
    stop = end if position is None else records.record_position(position)
    since = records.standing_since(folder, stop)
    clock = last_clock(folder, stop if position is None else stop + 1, since)
    run = TemplateRun(template, limits, users=users)
    last = records.record_position(clock.position)
    if run.reads_readings or run.remembers:
        # The latest of a slow sensor may stand far back.
        begin = min([since, *log.segments(folder)])
        entries: list[LogEntry] = list(records.read(folder, begin, last))
    else:
        entries = list(records.read_standing(folder, since, last))
    run.skip([*entries, clock])
    return run


def last_clock(folder: Path, stop: int, since: int = 0) -> ClockReading:
    """The last clock before a log position; raises `NoClockError`."""
    first = max(since, stop - _LAST_CLOCKS)
    for begin in dict.fromkeys((_record_at(folder, first, since), since)):
        found = None
        for record in log.read(folder, begin, max(stop, begin)):
            for entry in records.decode(record):
                found = entry if isinstance(entry, ClockReading) else found
        if found is not None:
            return found
    raise NoClockError("nothing has been evaluated yet: the source has not sent a time")


def _record_at(folder: Path, position: int, since: int) -> int:
    """A log position at or before `position` at which a record begins."""
    bases = [base for base in log.segments(folder) if since <= base <= position]
    return max(bases, default=since)


def preview(
    run: TemplateRun, instance: str, body: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], str | None]:
    """What an instance would notify now, and what would be wrong: changes as rows carry
    them, and an error. `run` is one that `at` gave, and is of no use afterwards."""
    assert run.clock is not None
    t_ms, position = run.clock
    list(run.take(Standing("instance", instance, body, position + 1)))
    opened = OpenNotices()
    found, error = [], None
    for step in run.take(ClockReading(t_ms, t_ms, position + 2)):
        found += [opened.take(c) for c in step.changes if c["instance"] == instance]
        error = step.error or error
    return found, error
