"""A receiver of webhooks in this process: it may fail as it is told to, and notes what it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import orjson


@dataclass
class Receiver:
    """What came, and what is answered: a status for each post, by its number from 0."""

    url: str = ""
    answer: Callable[[int], int] = lambda _number: 204
    posts: int = 0
    taken: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return self.url.removeprefix("http://").partition("/")[0]

    def take(self, headers: dict[str, str], body: bytes) -> int:
        with self.lock:
            status = self.answer(self.posts)
            self.posts += 1
            if 200 <= status < 300:
                if "content-encoding" not in headers:
                    self.taken.append(orjson.loads(body))
                self.headers.append(headers)
                self.bodies.append(body)
        return status


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver at a free port."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm: ClassVar[bool] = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = found.take({k.lower(): v for k, v in self.headers.items()}, body)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    yield found
    server.shutdown()
    server.server_close()
    thread.join()
