"""HTTP servers that behave as sources do, well or badly."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answering = Callable[[BaseHTTPRequestHandler], None]


@contextlib.contextmanager
def serving(answer: Answering) -> Iterator[str]:
    """The address of a server that answers every request so."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with contextlib.suppress(OSError):  # who asked may have gone
                answer(self)
            self.close_connection = True

        def log_message(self, *_told: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/feed.json"
    finally:
        server.shutdown()
        server.server_close()


def body(handler: BaseHTTPRequestHandler, sent: bytes, **headers: str) -> None:
    """Answer with a body."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(sent)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(sent)


def status(handler: BaseHTTPRequestHandler, code: int, **headers: str) -> None:
    """Answer with a status alone."""
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", "0")
    handler.end_headers()
