"""The demo, in a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from citywise.backend.errors import CitywiseError

_READY = re.compile(r"Citywise is ready at (\S+)")
_STOPS_S = 60


@contextmanager
def running(*options: str) -> Iterator[tuple[str, int]]:
    """Address and process id of a demo that is ready, and ends with the block."""
    command = [sys.executable, "-m", "citywise.backend.cli", "demo", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        told = []
        for line in process.stdout:
            told.append(line)
            if match := _READY.search(line):
                yield match[1], process.pid
                return
        raise CitywiseError(f"the demo did not become ready:\n{''.join(told)}")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=_STOPS_S)


@contextmanager
def demo(*options: str) -> Iterator[str]:
    """The address of a demo that is ready, and ends with the block."""
    with running(*options) as (address, _process):
        yield address
