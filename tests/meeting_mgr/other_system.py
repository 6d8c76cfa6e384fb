"""Another conference system on this machine, which keeps what it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message as Heads
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import NamedTuple


class Taken(NamedTuple):
    """Something that another system was sent."""

    path: str
    heads: Heads
    body: bytes


@dataclass
class Other:
    """Another system: the address of its folder, what it was sent, and whether it was."""

    folder: str
    taken: list[Taken] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)

    def take(self, path: str, heads: Heads, body: bytes) -> None:
        self.taken.append(Taken(path, heads, body))
        self.arrived.set()


@contextmanager
def receiving(status: int = 204, **heads: str) -> Iterator[Other]:
    """Another system that gives one answer to all."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            other.take(
                self.path, self.headers, self.rfile.read(int(self.headers["Content-Length"]))
            )
            self.send_response(status)
            for name, value in heads.items():
                self.send_header(name, value)
            self.end_headers()

        def do_GET(self) -> None:
            other.take(self.path, self.headers, b"")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    other = Other(f"http://127.0.0.1:{server.server_port}/hooks/")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield other
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
