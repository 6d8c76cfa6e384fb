"""Where connections come in: counted, given so much time, and closed when they are refused.

gunicorn reads and answers requests; what it reads from and writes to is a `Line`.
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import gevent
import orjson
from flask import Flask, Response, request
from gevent.pool import Pool
from gevent.server import StreamServer
from werkzeug.exceptions import RequestTimeout

from citywise.backend.api.connections import Connection, Connections
from citywise.backend.settings import Web

_PIECE = 65_536
_RETRY_S = 5
_REFUSED = frozenset({408, 413, 429, 503, 507})
"""Who is answered so is sent away: what they keep open is others' room."""


class Patience(NamedTuple):
    """How long a client is waited for, in seconds."""

    head: float
    """From the first byte of a request, or the connection's begin, to the end of its head."""
    body: float
    """For a whole body."""
    idle: float
    """For the next request."""
    send: float
    """For any part of an answer to be taken."""

    @classmethod
    def of(cls, web: Web) -> Patience:
        """As the settings say."""
        return cls(web.head_seconds, web.body_seconds, web.idle_seconds, web.send_seconds)


class Line:
    """A connection's socket that waits no longer for its client than it may."""

    def __init__(
        self, sock: socket.socket, connection: Connection, of: Connections, patience: Patience
    ) -> None:
        self._sock, self._connection, self._of = sock, connection, of
        self._patience = patience
        self._is_answering = False
        self._until = time.monotonic() + patience.head
        """When the head or the body that is coming must be there."""
        self._is_idle = False
        self._request: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def begin(self, request: Any) -> None:
        """The head of a request is there."""
        self._request = request
        self._is_answering = True
        self._until = time.monotonic() + self._patience.body
        self._of.work(self._connection)
        self._sock.settimeout(self._patience.send)

    def rest(self) -> None:
        """The request is answered, and another may come."""
        self._is_answering, self._is_idle = False, True
        self._until = time.monotonic() + self._patience.idle
        self._of.wait(self._connection)

    def last(self) -> None:
        """Close the connection after the answer, which says so."""
        if self._request is not None:
            self._request.force_close()

    def hang_up(self) -> None:
        """Let whoever reads here find that the client is gone."""
        # Below gevent and TLS: theirs would raise in the reader, and not end what it reads.
        below = getattr(self._sock, "_sock", self._sock)
        with suppress(OSError):
            below.shutdown(socket.SHUT_RDWR)

    def recv(self, size: int) -> bytes:
        """What has come; raises what ends the request or the connection where nothing does."""
        if self._is_answering:
            self._of.wait(self._connection)
        try:
            found = self._received(size)
        except TimeoutError:
            raise self._overdue() from None
        finally:
            if self._is_answering:
                self._of.work(self._connection)
        if self._is_idle:
            self._is_idle = False
            self._until = time.monotonic() + self._patience.head
        return found

    def _received(self, size: int) -> bytes:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        try:
            return self._sock.recv(size)
        finally:
            self._sock.settimeout(self._patience.send)

    def _overdue(self) -> Exception:
        """What to raise for what did not come in time; says so to who began to send."""
        if self._is_answering:
            self.last()
            seconds = self._patience.body
            return RequestTimeout(f"the body did not come within {seconds:g} s; send it at once")
        if not self._is_idle:
            seconds = self._patience.head
            detail = f"the request did not come within {seconds:g} s; send it at once"
            with suppress(OSError):
                self._sock.sendall(refusal(408, "Request Timeout", "request-timeout", detail))
        return ConnectionResetError(errno.ECONNRESET, "nothing came in time")

    def sendall(self, data: bytes, flags: int = 0) -> None:
        """Send all, however long it takes, as long as the client takes any of it."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._sock.send(rest[:_PIECE], flags) :]
            except TimeoutError:
                raise ConnectionResetError(errno.ECONNRESET, "nothing was taken") from None

    def setblocking(self, _flag: bool) -> None:
        """Nothing: how long is waited is said here."""


def install(app: Flask) -> None:
    """Close the connections of those who are refused, after the answer."""

    @app.after_request
    def _send_away(answer: Response) -> Response:
        line = request.environ.get("gunicorn.socket")
        if answer.status_code in _REFUSED and isinstance(line, Line):
            line.last()
        return answer


def refusal(status: int, title: str, slug: str, detail: str) -> bytes:
    """A whole answer that is a problem document and the connection's last."""
    kind = f"urn:citywise:problem:{slug}"
    body = orjson.dumps({"type": kind, "title": title, "status": status, "detail": detail})
    return (
        f"HTTP/1.1 {status} {title}\r\nContent-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\nRetry-After: {_RETRY_S}\r\nConnection: close\r\n\r\n"
    ).encode() + body


TOO_MANY = refusal(
    503, "Service Unavailable", "too-many-connections", "too many connections are open; close some"
)


class Handshakes(Protocol):
    """What makes a connection one of TLS, or raises what ends its greenlet."""

    def wrap_socket(self, connection: socket.socket, **how: Any) -> socket.socket:
        """The connection once hands are shaken."""


class Door(StreamServer):
    """Accepts connections, each in a greenlet of its own, up to those that may be open.

    `serve` is given a connection's line and the address it comes from, and closes it.
    """

    def __init__(
        self,
        listener: socket.socket,
        serve: Callable[[Line, Any], None],
        connections: Connections,
        patience: Patience,
        spawn: Pool,
        ssl_context: Handshakes | None = None,
    ) -> None:
        self._serve, self._connections, self._patience = serve, connections, patience
        self._pool = spawn
        self._shake_hands = None if ssl_context is None else ssl_context.wrap_socket
        super().__init__(listener, handle=lambda *_: None, spawn=spawn)

    def do_handle(self, client: socket.socket, address: Any) -> None:
        """Take a connection in, or send it away."""
        visit = _Visit(client)
        connection = self._connections.open(address[0], visit.end)
        if connection is None:
            _send_away(client)
        else:
            visit.greenlet = self._pool.spawn(self._run, visit, address, connection)

    def _run(self, visit: _Visit, address: Any, connection: Connection) -> None:
        client, visit.client = visit.client, None
        assert client is not None
        try:
            if self._shake_hands is not None:
                client = self._shake_hands(client, server_side=True)
            visit.line = Line(client, connection, self._connections, self._patience)
            self._serve(visit.line, address)
        finally:
            self._connections.leave(connection)
            client.close()


class _Visit:
    """A connection from when it is accepted to its end."""

    def __init__(self, client: socket.socket) -> None:
        self.client: socket.socket | None = client
        """Until its greenlet runs: that closes it afterwards."""
        self.line: Line | None = None
        """Once hands are shaken."""
        self.greenlet: gevent.Greenlet[..., None] | None = None

    def end(self) -> None:
        """End it while it waits for the client, as if that were gone."""
        if self.line is not None:
            self.line.hang_up()
            return
        if self.greenlet is not None:
            self.greenlet.kill(block=False)
        if self.client is not None:
            self.client.close()


def _send_away(client: socket.socket) -> None:
    """Say why and close, waiting for nothing."""
    with suppress(OSError):
        client.setblocking(False)
        client.send(TOO_MANY)
        client.shutdown(socket.SHUT_WR)
    client.close()
