"""What `citywise reason` prints, and what it says on the way (docs/reason.md)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

import orjson

from citywise.reasoning import Operator, Recorded, write
from citywise.reasoning.budget import seldom_collected

_PROGRESS_S = 1.0


def results(run: Recorded, *, deltas: bool) -> Iterator[str]:
    """The results of a run as JSON Lines, with deltas if they are wanted."""
    for values in run.results(deltas=deltas):
        yield orjson.dumps(values).decode()


def emitted(run: Recorded, operator: Operator, stream: str) -> Iterator[str]:
    """The answers of a run as lines of a stream file."""
    for item in run.items(operator, stream):
        yield from write([item], run.request.unit, run.form)


def report(run: Recorded, lines: Iterable[str], say: Callable[[str], None]) -> bool:
    """Print lines as they come and say what was wrong; True if nothing was.

    What was wrong with an item or an evaluation does not stop the others. The process is the
    run's own: what it makes stands in windows, so that garbage is looked for seldom.
    """
    seldom_collected()
    fine = True
    progress = _Progress(sys.stderr)
    for text in lines:
        fine &= _tell(run, say)
        sys.stdout.write(text + "\n")
        progress.step()
    progress.end()
    return _tell(run, say) and fine


def _tell(run: Recorded, say: Callable[[str], None]) -> bool:
    """Say what has been noted; True if nothing was at fault."""
    fine = not run.problems
    for problem in run.problems:
        say(f"error: {problem}")
    for warning in run.warnings:
        say(f"warning: {warning}")
    run.problems.clear()
    run.warnings.clear()
    return fine


class _Progress:
    """A line on a terminal that says how far a long run is."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._shown = terminal.isatty() and not sys.stdout.isatty()
        self._next = time.monotonic() + _PROGRESS_S
        self._count = 0

    def step(self) -> None:
        """One more line has been printed."""
        self._count += 1
        if self._shown and time.monotonic() >= self._next:
            self._terminal.write(f"\r{self._count:,} lines ")
            self._terminal.flush()
            self._next = time.monotonic() + _PROGRESS_S

    def end(self) -> None:
        """Leave a clean line."""
        if self._shown:
            self._terminal.write("\r\033[K")
