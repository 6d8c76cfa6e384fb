"""Serving the log to readers on other machines: `GET /log` on the ingest process.

Without a query the answer is `{"begin": …, "end": …}`, the positions between which the log
can be read; with `?start=…&end=…` it is the bytes of that stretch, or its first part where
it is large: the reader asks again from there, and checks every record itself. `POST /keys`
with `{"ids": […]}` answers with the keys to what is sealed that have these ids. A request
without the shared secret gets nothing.
"""

from __future__ import annotations

import binascii
import hmac
import logging
import sqlite3
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import orjson

from citywise.backend.bounded_server import TIMEOUT_S, BoundedServer
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import log
from citywise.backend.ingest.frames import LogError
from citywise.backend.ingest.keyring import Keyring, beside

LOG = logging.getLogger("citywise.ingest")
MOST_BYTES = 4_000_000
"""Of one answer."""
_MOST_ASKED_BYTES = 8_000_000


class ServeError(CitywiseError):
    """The log cannot be served at the configured address."""


class LogServer(BoundedServer):
    """Serves the log in a folder while it is used as a context.

    Raises `ServeError` if the address cannot be listened on.
    """

    def __init__(self, folder: Path, host: str, port: int, token: str) -> None:
        try:
            super().__init__(host, port, _Handler)
        except OSError as error:
            raise ServeError(
                f"the log cannot be served at {host}:{port}: {error.strerror or error}; "
                "choose another address (ingest.serve_host, ingest.serve_port)"
            ) from error
        self.folder = folder
        self.keyring = Keyring(beside(folder))
        self.token = token.encode()


class _Handler(BaseHTTPRequestHandler):
    server: LogServer
    timeout = TIMEOUT_S
    server_version = "citywise"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer, or say what is wrong with the question."""
        address = urlsplit(self.path)
        if not self._is_known():
            self._refuse_stranger()
        elif address.path != "/log":
            self._refuse(HTTPStatus.NOT_FOUND, f"nothing is served at {address.path}, see /log")
        elif not address.query:
            self._answer(orjson.dumps(self._bounds()), "application/json")
        else:
            self._slice({key: values[-1] for key, values in parse_qs(address.query).items()})

    def do_POST(self) -> None:
        """Keys, by their ids."""
        size = self.headers.get("Content-Length") or ""
        if not self._is_known():
            self._refuse_stranger()
        elif self.path != "/keys":
            self._refuse(HTTPStatus.NOT_FOUND, f"nothing is served at {self.path}, see /keys")
        elif not (size.isdecimal() and int(size) <= _MOST_ASKED_BYTES):
            self._refuse(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"expected a Content-Length of at most {_MOST_ASKED_BYTES} bytes",
            )
        else:
            self._keys(self.rfile.read(int(size)))

    def _keys(self, question: bytes) -> None:
        try:
            ids = orjson.loads(question)["ids"]
            if not (isinstance(ids, list) and all(isinstance(name, str) for name in ids)):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            self._refuse(HTTPStatus.BAD_REQUEST, 'expected {"ids": [ID, …]}')
            return
        try:
            number, found = self.server.keyring.load(ids)
        except (sqlite3.Error, OSError) as error:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"the keys cannot be read: {error}")
            return
        texts = {n: binascii.b2a_base64(k, newline=False).decode() for n, k in found.items()}
        answer = {"forgettings": number, "keys": texts}
        self._answer(orjson.dumps(answer), "application/json")

    def _refuse_stranger(self) -> None:
        self._refuse(
            HTTPStatus.UNAUTHORIZED,
            "the log's secret is missing or wrong; the reader needs the same "
            "ingest.serve_token as the ingest",
        )

    def _is_known(self) -> bool:
        given = (self.headers.get("Authorization") or "").encode("latin-1", "replace")
        return hmac.compare_digest(given, b"Bearer " + self.server.token)

    def _bounds(self) -> dict[str, int]:
        end = log.durable_end(self.server.folder)
        bases = log.segments(self.server.folder)
        return {"begin": bases[0] if bases else end, "end": end}

    def _slice(self, query: dict[str, str]) -> None:
        try:
            start, end = int(query["start"]), int(query["end"])
        except (KeyError, ValueError):
            self._refuse(HTTPStatus.BAD_REQUEST, "expected /log?start=POSITION&end=POSITION")
            return
        durable = log.durable_end(self.server.folder)
        if not 0 <= start < end <= durable:
            self._refuse(
                HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
                f"positions {start} to {end} are not in the log, which ends at {durable}",
            )
            return
        try:
            data = log.stretch(self.server.folder, start, min(end, start + MOST_BYTES))
        except LogError as error:
            self._refuse(HTTPStatus.GONE, str(error))
            return
        self._answer(data, "application/octet-stream")

    def _answer(self, data: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._answer(why.encode(), "text/plain; charset=utf-8", status)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        LOG.debug("%s " + format, self.address_string(), *args)
