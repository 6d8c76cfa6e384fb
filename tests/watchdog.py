"""Ends what hangs: a test that is over its time limit and whatever comes after it.

pytest-timeout fails a test where its time is up, and then all goes on. It watches the first try
only, up to its first failure: not the teardown of a test that failed, not its second try, and not
the end of the session. A browser, a thread or a child may hang there for ever. So here each try
and its teardown, and the end of the session, have a last limit. Beyond it all stacks are written,
all children are killed, and the process ends: xdist names the test and goes on in a new process.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import TextIO

import psutil
import pytest

GRACE_S = float(os.environ.get("CITYWISE_TESTS_GRACE_S", 60))
"""How long pytest-timeout may take to end a test, with its fixtures."""

END_S = 2 * GRACE_S
"""How long all that a session keeps may take to end."""

EXIT_CODE = 70


class Watchdog:
    """Ends this process unless it is told `later` or `calm` in time."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._timer: threading.Timer | None = None

    def later(self, seconds: float, what: str) -> None:
        """Give `what` so many seconds from now on."""
        self.calm()
        self._timer = threading.Timer(seconds, self._end, (seconds, what))
        self._timer.daemon = True
        self._timer.start()
        # A thread of Python waits for ever for C code that keeps the interpreter's lock.
        faulthandler.dump_traceback_later(seconds + GRACE_S, exit=True, file=self._out)

    def calm(self) -> None:
        """Nothing is watched any more."""
        if self._timer is not None:
            self._timer.cancel()
        faulthandler.cancel_dump_traceback_later()

    def _end(self, seconds: float, what: str) -> None:
        print(f"\nhangs for {seconds:.0f} s, so pid {os.getpid()} ends: {what}", file=self._out)
        faulthandler.dump_traceback(file=self._out)
        self._out.flush()
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
        os._exit(EXIT_CODE)


class Watching:
    """Tells the watchdog of each try of each test and of the end."""

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if seconds := limit_s(item):
            self._watchdog.later(seconds + GRACE_S, item.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        try:
            return (yield)
        finally:
            self._watchdog.calm()

    def pytest_enter_pdb(self) -> None:
        self._watchdog.calm()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not _only_deals_out(session.config):
            self._watchdog.later(END_S, "the end of the session")


def limit_s(item: pytest.Item) -> float:
    """Time limit of a test, as pytest-timeout has it; 0: none."""
    marker = item.get_closest_marker("timeout")
    chosen = marker.args[0] if marker else item.config.getoption("timeout")
    return float(chosen if chosen is not None else item.config.getini("timeout") or 0)


def _only_deals_out(config: pytest.Config) -> bool:
    """Whether tests run in other processes, whose end this one awaits."""
    return bool(config.getoption("numprocesses", None))


def pytest_configure(config: pytest.Config) -> None:
    # What pytest captures is lost with the process.
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        out = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)
    else:
        with capture.global_and_fixture_disabled():
            out = os.dup(2)
    watchdog = Watchdog(os.fdopen(out, "w", encoding="utf-8"))
    config.pluginmanager.register(Watching(watchdog), "watchdog")
