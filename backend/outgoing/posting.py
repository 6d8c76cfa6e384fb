"""Posting to an address that a stranger has named: nowhere inside our own networks.

Names are resolved here, each address is looked at, and the connection goes to the very address that
was looked at, so that a name cannot lead elsewhere in between. Redirections are not followed.
"""

from __future__ import annotations

import email.utils
import http.client
import socket
import ssl
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from urllib.parse import SplitResult, urlsplit

from citywise.backend.network.reach import is_public, named

_ANSWER_BYTES = 65_536
_PORTS = {"http": 80, "https": 443}
_LONGEST = 1000


class AddressError(Exception):
    """An address that nothing is sent to; says why."""


class PostError(Exception):
    """A receiver did not take what was sent; says why, and how long it wants to wait."""

    def __init__(self, said: str, wait_s: float = 0, *, status: int | None = None) -> None:
        super().__init__(said)
        self.wait_s = wait_s
        self.status = status
        """What was answered; None: nothing."""

    @property
    def is_gone(self) -> bool:
        """Whether nobody will take anything there again."""
        return self.status == http.client.GONE


@dataclass(frozen=True)
class Target:
    """Where to post: the address as given, and what it is made of."""

    url: str
    scheme: str
    host: str
    port: int
    path: str
    is_trusted: bool
    """Whether the operator has named it: then it may be anywhere, and without TLS."""

    @classmethod
    def of(cls, url: str, allowed: Collection[str] = ()) -> Target:
        """The target at an address; `allowed` are hosts, or HOST:PORT, that the operator trusts.

        Raises `AddressError`.
        """
        parts = _split(url)
        host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
        trusted = named(host, port, allowed)
        if parts.scheme != "https" and not trusted:
            raise AddressError("only https:// is sent to; the operator can allow others")
        path = parts.path or "/"
        path += f"?{parts.query}" if parts.query else ""
        return cls(url, parts.scheme, host, port, path, trusted)

    def resolved(self) -> str:
        """An IP address of the host, if all that it has are public; raises `AddressError`."""
        try:
            told = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise AddressError(f"{self.host} has no address: {error}") from None
        found = [str(one[4][0]) for one in told]
        for text in found:
            if not self.is_trusted and not is_public(text):
                raise AddressError(
                    f"{self.host} is at {text}, which is not public; the operator can allow it "
                    "(webhooks.allow)"
                )
        return found[0]


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressError(f"`{url[:100]}` is no address: {error}") from None
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= _LONGEST
    if not plain or parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise AddressError(f"`{url[:100]}` is no address like https://example.org/hook")
    if parts.username is not None or parts.fragment:
        raise AddressError("an address has neither a user nor a fragment")
    return parts


class Line:
    """A connection to a target, kept open between posts; not for several threads at once."""

    def __init__(self, target: Target, timeout_s: float) -> None:
        self._target, self._timeout_s = target, timeout_s
        self._open: http.client.HTTPConnection | None = None
        self.since: float | None = None
        """Since when (monotonic seconds) a post is under way."""

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a body; raises `PostError` unless the answer is a success."""
        is_fresh = self._open is None
        self.since = time.monotonic()
        try:
            self._post(body, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            if is_fresh:
                raise PostError(f"no answer: {str(error) or type(error).__name__}") from None
            # A server ends a connection that has idled; whether it took this is not known, and
            # its id says that it is the same.
            self.post(body, headers)
        except (OSError, http.client.HTTPException, AddressError) as error:
            self.close()
            raise PostError(f"no answer: {str(error) or type(error).__name__}") from None
        finally:
            self.since = None

    def break_off(self) -> None:
        """End a post that another thread waits in: a server may answer a byte a minute."""
        connection = self._open
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _post(self, body: bytes, headers: Mapping[str, str]) -> None:
        connection = self._open or self._connected()
        self._open = connection
        connection.request("POST", self._target.path, body, dict(headers))
        answer = connection.getresponse()
        whole = answer.read(_ANSWER_BYTES + 1)
        if len(whole) > _ANSWER_BYTES or answer.will_close:
            self.close()
        if not 200 <= answer.status < 300:
            wait_s = _wait(answer.headers.get("Retry-After"))
            raise PostError(f"status {answer.status}", wait_s, status=answer.status)

    def _connected(self) -> http.client.HTTPConnection:
        target = self._target
        address = target.resolved()
        plain = socket.create_connection((address, target.port), self._timeout_s)
        # Head and body are two packets; else the second waits for a late acknowledgement.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection: http.client.HTTPConnection
        if target.scheme == "http":
            connection = http.client.HTTPConnection(target.host, target.port)
            connection.sock = plain
        else:
            connection = http.client.HTTPSConnection(target.host, target.port)
            try:
                connection.sock = _trusting().wrap_socket(plain, server_hostname=target.host)
            except (OSError, ValueError):
                plain.close()
                raise
        connection.auto_open = 0  # it would go to wherever the name leads by then
        return connection


@cache
def _trusting() -> ssl.SSLContext:
    """What this machine trusts; read once, as it takes a megabyte and 30 ms."""
    return ssl.create_default_context()


def _wait(told: str | None) -> float:
    """The seconds of a Retry-After."""
    text = (told or "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0
