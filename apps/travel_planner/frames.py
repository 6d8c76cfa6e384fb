"""Messages between the web process and its planners: a JSON head and a body of bytes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

_LENGTHS = struct.Struct("!II")
MOST_BYTES = 64_000_000


class Frame(NamedTuple):
    """One message."""

    head: Mapping[str, Any]
    body: bytes = b""


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
