"""Listening to an event stream while something else goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.request import Request, urlopen

import orjson

Hear = Callable[[dict[str, Any]], None]


@contextmanager
def followed(request: Request, hear: Hear | None, seconds: float) -> Iterator[None]:
    """A stream that is open, and may say nothing for so many seconds; `hear` gets the data of each
    event on a thread of its own (None: it is read, and nothing more)."""
    answer = urlopen(request, timeout=seconds)
    thread = threading.Thread(target=_listen, args=(answer, hear), daemon=True)
    thread.start()
    try:
        yield
    finally:
        with suppress(OSError):
            answer.fp.raw._sock.shutdown(2)
        thread.join(5)
        answer.close()


def _listen(answer: Any, hear: Hear | None) -> None:
    with suppress(OSError, ValueError):
        for line in answer:
            if hear is not None and line.startswith(b"data: "):
                hear(orjson.loads(line[6:]))
