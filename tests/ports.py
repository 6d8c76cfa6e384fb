"""Ports of this machine at which nobody answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nobody_at() -> Iterator[int]:
    """A loopback port that refuses connections until the end of the block: it is held, so that
    nothing else comes to listen there."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
