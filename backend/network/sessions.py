"""What a session of `requests` connects with: to nowhere on the machine's own link (`reach`)."""

from __future__ import annotations

import socket
from collections.abc import Collection
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from citywise.backend.network.reach import connected


def guard(session: requests.Session, allowed: Collection[str]) -> None:
    """Have a session refuse addresses of the own link, but for hosts (or HOST:PORT) that are
    `allowed`; a request there fails as one to a host that is not there does."""
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter(frozenset(allowed)))


class _Adapter(HTTPAdapter):
    def __init__(self, allowed: frozenset[str]) -> None:
        self._allowed = allowed
        super().__init__()

    def init_poolmanager(self, *given: Any, **more: Any) -> None:
        super().init_poolmanager(*given, **more)
        self.poolmanager.pool_classes_by_scheme = _pools(self._allowed)


def _pools(allowed: frozenset[str]) -> dict[str, type[HTTPConnectionPool]]:
    """Pools whose connections look at the address before they connect; TLS comes after it."""

    def new(connection: HTTPConnection) -> socket.socket:
        seconds = connection.timeout if isinstance(connection.timeout, int | float) else None
        try:
            return connected(connection.host, connection.port, seconds, allowed)
        except OSError as error:
            raise NewConnectionError(connection, str(error)) from error

    class Plain(HTTPConnection):
        _new_conn = new

    class Tls(HTTPSConnection):
        _new_conn = new

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class TlsPool(HTTPSConnectionPool):
        ConnectionCls = Tls

    return {"http": PlainPool, "https": TlsPool}
