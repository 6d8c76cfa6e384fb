"""A process of our own that is asked over a socket, and can be ended whatever it does.

Sockets of the standard library: under gevent they give way to other greenlets, elsewhere to
other threads.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from citywise.backend.repeats import Repeats
from citywise.reasoning.budget import environment

_LENGTHS = struct.Struct("!II")
MOST_BYTES = 64_000_000
_END_S = 1.0
_THEIRS = 3
"""The descriptor by which a process is asked."""


class Frame(NamedTuple):
    """One message: a JSON head and a body of bytes."""

    head: Mapping[str, Any]
    body: bytes = b""


class EndedError(Exception):
    """A process ended instead of answering; `status` is its exit code, or minus the signal."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"ended with status {status}")
        self.status = status


class Spawned:
    """One process, asked by one at a time; raises `OSError` where it cannot be started.

    `module` is run as `python -m MODULE` and takes what it is asked from `asker()`.
    """

    def __init__(self, module: str) -> None:
        self._status: int | None = None
        self.channel, theirs = socket.socketpair()
        with theirs:
            try:
                self.pid = _spawned(module, theirs)
            except OSError:
                self.channel.close()
                raise

    def exchange(self, frame: Frame, seconds: float) -> Frame:
        """Its answer; raises `EndedError`, and `TimeoutError` after `seconds`. The process
        has ended whenever this raises: what it would answer is nobody's."""
        self.channel.settimeout(seconds)
        try:
            send(self.channel, frame)
            return receive(self.channel)
        except TimeoutError:
            self.end()
            raise
        except (EOFError, OSError) as error:
            self.end(_END_S)
            raise EndedError(self._status) from error
        except BaseException:
            self.end()
            raise

    def end(self, patience_s: float = 0.0) -> None:
        """End it, at once or where it has not ended by itself after so many seconds."""
        self.channel.close()
        if not self._has_ended(patience_s):
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._has_ended(_END_S)

    def _has_ended(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while self._status is None:
            self._status = _status(self.pid)
            if self._status is None:
                if time.monotonic() >= until:
                    return False
                time.sleep(0.01)
        return True


def asker() -> socket.socket:
    """In such a process: the socket over which it is asked. From now on its log tells a fault
    that repeats only now and then."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(Repeats())
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.setblocking(True)  # Under gevent the other side made it not to block.
    return channel


def send(channel: socket.socket, frame: Frame) -> None:
    """Send a message whole."""
    head = orjson.dumps(frame.head)
    channel.sendall(_LENGTHS.pack(len(head), len(frame.body)) + head + frame.body)


def receive(channel: socket.socket) -> Frame:
    """The next message; raises `EOFError` where the other side is gone."""
    head, body = _LENGTHS.unpack(_exactly(channel, _LENGTHS.size))
    if head + body > MOST_BYTES:
        raise EOFError(f"a message of {head + body} bytes")
    return Frame(orjson.loads(_exactly(channel, head)), _exactly(channel, body))


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = channel.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side is gone")
        parts += part
    return bytes(parts)


def _spawned(module: str, theirs: socket.socket) -> int:
    """The id of a new process that has a socket as its descriptor 3 and nothing to read.

    Not with `subprocess`: gevent closes descriptors later, and so it would wait in vain for the
    end of the pipe by which it learns that the program was found.
    """
    command = [sys.executable, "-m", module, str(_THEIRS)]
    return os.posix_spawn(
        sys.executable,
        command,
        environment(),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, theirs.fileno(), _THEIRS),
        ],
    )


def _status(pid: int) -> int | None:
    """How a process ended; None while it runs."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0  # somebody else was told
    return os.waitstatus_to_exitcode(status) if found else None
