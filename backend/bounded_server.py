"""A small HTTP server with a thread for each connection, up to a number of them."""

from __future__ import annotations

import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6, socket
from socketserver import TCPServer
from typing import Self

LOG = logging.getLogger("citywise.http")
MOST = 64
"""Connections at the same time; a further one is closed."""
TIMEOUT_S = 10.0
"""What a connection may be silent; for handlers, as their `timeout`."""
_POLL_S = 0.05


class BoundedServer(ThreadingHTTPServer):
    """Serves at an address while it is used as a context.

    Raises `OSError` or `OverflowError` where that cannot be listened on.
    """

    daemon_threads = True

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        if ":" in host:
            self.address_family = AF_INET6
        super().__init__((host, port), handler)
        self._free = threading.BoundedSemaphore(MOST)
        self._thread = threading.Thread(target=self.serve_forever, args=(_POLL_S,), daemon=True)

    def server_bind(self) -> None:
        """Take the port, without asking who we are in the names of the network."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def process_request(
        self, request: socket | tuple[bytes, socket], client_address: object
    ) -> None:
        """One thread a connection, up to a number."""
        if not self._free.acquire(blocking=False):
            LOG.warning("more than %d connections; %s is sent away", MOST, client_address)
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(
        self, request: socket | tuple[bytes, socket], client_address: object
    ) -> None:
        """Answer, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """Who goes away amid an answer is no fault of ours."""
        LOG.debug("%s went away", client_address, exc_info=True)
