"""Messages between a guard and its worker: JSON, or text, behind eight bytes of length."""

from __future__ import annotations

import os
import select
import time
from typing import Any

import orjson

_HEADER = 8
_CHUNK = 1 << 20
_LONGEST_S = 3600.0
"""One wait: `poll` counts milliseconds in 32 bits, which is less than no limit at all."""


class EndedError(Exception):
    """The other side closed its end."""


class OverdueError(Exception):
    """No whole message came in time."""


def send(descriptor: int, message: Any) -> None:
    """Write one message as JSON; raises `EndedError` if nobody reads."""
    send_text(descriptor, orjson.dumps(message))


def send_text(descriptor: int, body: bytes) -> None:
    """Write one message; raises `EndedError` if nobody reads."""
    header = len(body).to_bytes(_HEADER, "big")
    try:
        for part in (header + body[:_CHUNK], memoryview(body)[_CHUNK:]):
            data = memoryview(part)
            while data:
                data = data[os.write(descriptor, data) :]
    except OSError as error:
        raise EndedError from error


def receive(descriptor: int, seconds: float | None = None) -> Any:
    """Read one message in JSON, waiting at most `seconds`; raises `EndedError` or
    `OverdueError`."""
    return orjson.loads(receive_text(descriptor, seconds))


def receive_text(descriptor: int, seconds: float | None = None) -> bytearray:
    """Read one message, waiting at most `seconds`; raises `EndedError` or `OverdueError`."""
    deadline = None if seconds is None else time.monotonic() + seconds
    length = int.from_bytes(_read(descriptor, _HEADER, deadline), "big")
    return _read(descriptor, length, deadline)


def _read(descriptor: int, length: int, deadline: float | None) -> bytearray:
    data = bytearray(length)
    left_over = memoryview(data)
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    while left_over:
        if deadline is not None:
            left = max(0.0, deadline - time.monotonic())
            if not ready.poll(min(left, _LONGEST_S) * 1000):
                if left > _LONGEST_S:
                    continue
                raise OverdueError
        count = os.readv(descriptor, (left_over[:_CHUNK],))
        if not count:
            raise EndedError
        left_over = left_over[count:]
    return data
