"""Who asked may go away before the answer: what is worked out for them is ended then."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flask import request
from gevent import monkey

_LOOK_S = 0.2
_poll = monkey.get_original("select", "poll")
"""gevent's knows no POLLRDHUP; asked without waiting, this one holds up nobody."""


@contextmanager
def ending(end: Callable[[], object]) -> Iterator[None]:
    """In this block, `end` is called once the client of the current request is gone.

    Who only sends no more (a half-closed connection) is taken to be gone, as proxies do.
    """
    connection = request.environ.get("gunicorn.socket")
    if connection is None:
        yield
        return
    is_over = threading.Event()
    threading.Thread(target=_watch, args=(connection, is_over, end), daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def is_gone(connection: socket.socket) -> bool:
    """Whether the other side has closed a connection, read or not what it sent before."""
    number = connection.fileno()
    if number < 0:
        return True
    poll = _poll()
    poll.register(number, select.POLLRDHUP)
    return bool(poll.poll(0))


def _watch(connection: socket.socket, is_over: threading.Event, end: Callable[[], object]) -> None:
    while not is_over.wait(_LOOK_S):
        if is_gone(connection):
            end()
            return
