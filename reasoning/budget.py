"""What a process may spend on text that others wrote: CPU time and memory, from one sign of
progress to the next.

Everything on the way from the first byte to the last answer is stopped by it: loops of Python,
regular expressions, readers of RDF, and clingo in this process. A library does not limit its
host: without `metered`, which a command calls for its own process, nothing is counted.

A timer of CPU time interrupts the main thread a few times a second. What calls C that lets no
signal through is ended, with the process, by a thread that watches it.

Of other processes that reason it says in which environment they start, and of each how seldom it
looks for garbage.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import citywise
from citywise.reasoning.limits import LimitError, Limits, too_large, too_long

_TICK_S = 0.05
"""CPU time between two looks."""
_SLACK_S = 0.3
"""CPU time beyond the limit: engines have the same, and can say what grew."""
_RULE = "<rule "
"""How the files begin whose names the code of rules has (`engines.incremental.generated`)."""
_IMPORT = "<frozen importlib._bootstrap>"
"""The file of what loads a module, as its code says."""
_GRACE_S = 1.0
"""CPU time to clear up in, once an error has been raised; then it is raised again."""
_WATCH_S = 0.25
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
_STATM = Path("/proc/self/statm")


@contextmanager
def metered(limits: Limits, say: Callable[[str], None], what: str) -> Iterator[None]:
    """Limit what the main thread does within, from one `progressed` to the next, to the
    seconds and megabytes of `limits`: `LimitError` is raised in it, which names the `step`.

    Where it is deaf in C, `say` is told instead, and the process ends with 1. Within another,
    in other threads and where there are no such signals nothing is limited.
    """
    global _meter
    is_main = threading.current_thread() is threading.main_thread()
    if _meter is not None or not is_main or not hasattr(signal, "setitimer"):
        yield
        return
    _meter = meter = _Meter(limits, say, what)
    before = signal.signal(signal.SIGPROF, meter.look)
    signal.setitimer(signal.ITIMER_PROF, _TICK_S, _TICK_S)
    threading.Thread(target=meter.watch, daemon=True).start()
    try:
        yield
    finally:
        meter.done.set()  # First: from here on nothing is raised that would keep the rest undone.
        _meter = None
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Something with a time of its own: `reading FILE`."""
    meter = _meter if threading.current_thread() is threading.main_thread() else None
    if meter is None:
        yield
        return
    meter.steps.append(what)
    meter.count += 1
    try:
        yield
    finally:
        meter.steps.pop()
        meter.count += 1


def progressed() -> None:
    """Something is finished: time and memory are counted anew."""
    if _meter is not None:
        _meter.count += 1


def limits() -> Limits:
    """What one step may use: as the command says, else the usual."""
    return Limits() if _meter is None else _meter.limits


class _Spent:
    """What has been spent since the last sign of progress, as one thread knows it."""

    def __init__(self) -> None:
        self._seen = -1
        self.since_s = self.had_mb = 0.0

    def of(self, count: int) -> tuple[float, float]:
        """CPU seconds and megabytes since `count`, the number of signs, last changed."""
        now_s, has_mb = time.process_time(), _resident_mb()
        if count != self._seen:
            self._seen, self.since_s, self.had_mb = count, now_s, has_mb
        return now_s - self.since_s, has_mb - self.had_mb


class _Meter:
    """Looks at what is spent, and ends it."""

    def __init__(self, limits: Limits, say: Callable[[str], None], what: str) -> None:
        self.steps = [what]
        self.count = 0
        """Of signs of progress."""
        self.done = threading.Event()
        self.limits = limits
        self._say = say
        self._spent = _Spent()
        self._raised = 0
        """How often the main thread was told: then it listens, and may clear up."""

    def look(self, _signal: int, frame: FrameType | None) -> None:
        """The timer's: raises `LimitError` where a limit is reached."""
        if self.done.is_set():
            return
        if _importing(frame):
            self.count += 1
        elif limit := self._reached(*self._spent.of(self.count), _SLACK_S):
            self._raised += 1
            self._spent.since_s += _GRACE_S
            self._spent.had_mb = _resident_mb()
            raise self._error(limit + _rule(frame))

    def watch(self) -> None:
        """The thread's: end the process where the main thread no longer looks."""
        spent, raised = _Spent(), self._raised
        while not self.done.wait(_WATCH_S):
            if self._raised != raised:
                raised, spent = self._raised, _Spent()
            elif limit := self._reached(*spent.of(self.count), _SLACK_S + _GRACE_S, 1.2):
                self._say(str(self._error(limit)))
                _flushed()
                os._exit(1)

    def _reached(
        self, used_s: float, used_mb: float, more_s: float, times: float = 1
    ) -> str | None:
        limits = self.limits
        if used_s > limits.seconds + more_s:
            return f"{too_long(limits.seconds)} (--time-limit)"
        if used_mb > limits.megabytes * times:
            return f"{too_large(limits.megabytes)} (--memory-limit)"
        return None

    def _error(self, limit: str) -> LimitError:
        error = LimitError(f"{self.steps[-1]} was stopped: {limit}")
        error.limit = limit
        return error


_meter: _Meter | None = None


def _resident_mb() -> float:
    """Resident memory of this process; 0 where the system does not tell."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE / 1e6
    except OSError:
        return 0.0


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being loaded: that is our own time, which a slow machine makes long,
    and none that a text takes. An error in the midst of it would leave the module half made."""
    return _IMPORT in _files(frame)


def _rule(frame: FrameType | None) -> str:
    """Which rule's code is running, in words."""
    return next((f", in {name[1:-1]}" for name in _files(frame) if name.startswith(_RULE)), "")


def _files(frame: FrameType | None) -> Iterator[str]:
    """The files of the functions that are running, the innermost first."""
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back


def _flushed() -> None:
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        return


_ROOT = Path(citywise.__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    """The environment of such a process: it finds the modules that this one finds.

    `python -m` would look in the working directory first, where a folder `apps` or a file
    `json.py` may lie that has nothing to do with us.
    """
    paths = dict.fromkeys([*filter(None, sys.path), str(_ROOT)])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


_NEW_OBJECTS = 200_000
"""So many more are made than have gone before they are looked through. As many rows come as go
where windows overlap: none are looked through that only a step or two needed."""


def seldom_collected() -> None:
    """Have this process look for garbage seldom, unless it does already.

    A window is many objects that stay until they leave it, and hardly any circles, which are
    all that Python's collector is for: looking through them took a third of a worker's time.
    """
    if gc.get_threshold()[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS, 20, 100)
