"""gunicorn, configured in code; imported only after gevent has patched the library."""

from __future__ import annotations

import errno
import logging
import math
import os
import signal
import stat
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from socket import socket
from ssl import SSLContext, SSLSocket
from typing import Any

import gevent
from flask import Flask
from gevent.os import tp_read
from gevent.pool import Pool
from gunicorn.app.base import BaseApplication
from gunicorn.workers.ggevent import GeventWorker

from citywise.backend import telemetry
from citywise.backend.api.connections import Connections, is_loopback
from citywise.backend.api.door import TOO_MANY, Door, Line, Patience
from citywise.backend.api.serve import GRACE_S
from citywise.backend.network import certificates
from citywise.backend.packs.broken import contained
from citywise.backend.packs.parts import of_settings
from citywise.backend.settings import Settings
from citywise.reasoning.engines.clingo.guard import WARM

LOG = logging.getLogger(__name__)
HANDSHAKE_S = 10.0
RENEW_S = 3600.0
SPARE = 200
KEPT_SOLVERS = 4
"""Solver processes that wait for the next question; each takes about 25 MB."""


class StreamWorker(GeventWorker):  # type: ignore[misc]
    """A worker that ends its event streams when told to stop: they would end no other way.

    If standard input is a pipe, its end means that whoever started us is gone.
    """

    def patch(self) -> None:
        """Nothing: `backend.api.serve` has patched all that may be, before the sockets."""

    def run(self) -> None:
        if self.cfg.is_ssl:
            gevent.spawn(self._renew)
        if stat.S_ISFIFO(os.fstat(0).st_mode):
            gevent.spawn(self._end_with_parent)
        super().run()

    def server_class(
        self, listener: socket, spawn: Pool, ssl_context: Handshakes | None = None, **_: Any
    ) -> Door:
        """What accepts connections; called with what gunicorn gives its servers."""
        web = self.app.settings.web

        def serve(line: Line, address: Any) -> None:
            self.handle(listener, line, address)

        open_ones = Connections(
            web.connections,
            web.connections_per_address,
            lambda address: bool(web.trusted_proxies) or is_loopback(address),
        )
        self.connections = open_ones
        return Door(listener, serve, open_ones, Patience.of(web), spawn, ssl_context)

    def handle_request(self, listener_name: Any, req: Any, sock: Line, addr: Any) -> None:
        """Answer one request, if a client behind a proxy may have one more under way."""
        asker = _forwarded(req.headers, self.app.settings.web.trusted_proxies)
        if asker is not None and not self.connections.begin(asker):
            sock.sendall(TOO_MANY)
            raise StopIteration
        sock.begin(req)
        try:
            super().handle_request(listener_name, req, sock, addr)
        except TimeoutError:  # while a file was sent
            raise ConnectionResetError(errno.ECONNRESET, "nothing was taken") from None
        finally:
            sock.rest()
            if asker is not None:
                self.connections.end(asker)

    def _end_with_parent(self) -> None:
        while tp_read(0, 4096):
            pass
        os.kill(os.getppid(), signal.SIGTERM)

    def _renew(self) -> None:
        while True:
            gevent.sleep(RENEW_S)
            try:
                self.app.handshakes.renew()
            except (OSError, ValueError):  # a full disk, or a file that is being replaced
                LOG.exception("cannot renew the certificate; trying again in %.0f s", RENEW_S)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.app.close_streams()
        super().handle_exit(sig, frame)


def _forwarded(headers: Any, proxies: int) -> str | None:
    """Who asks by the word of so many proxies before us; None where they say nothing."""
    if not proxies:
        return None
    told = [
        text for name, value in headers if name == "X-FORWARDED-FOR" for text in value.split(",")
    ]
    return told[-proxies].strip() if len(told) >= proxies else None


class Handshakes:
    """The server's side of TLS, as gevent's server takes it (in place of an `SSLContext`)."""

    def __init__(self, settings: Settings, context: SSLContext) -> None:
        self._settings, self._context = settings, context
        self._loaded = self._version()

    def wrap_socket(self, connection: socket, **how: Any) -> SSLSocket:
        """Shake hands; who does not in time, or does not trust us, is sent away silently."""
        try:
            found = self._context.wrap_socket(connection, do_handshake_on_connect=False, **how)
            with ExitStack() as unshaken:
                # What `connection` was is its own now, and closed by nobody else in time.
                unshaken.callback(found.close)
                with gevent.Timeout(HANDSHAKE_S):
                    found.do_handshake()
                unshaken.pop_all()
        except (OSError, gevent.Timeout):
            raise gevent.GreenletExit from None
        return found

    def renew(self) -> None:
        """Use a certificate that has been renewed, and renew our own if it is time."""
        web = self._settings.web
        assert web.certificate is not None
        if certificates.is_ours(web.certificate, self._settings.data_dir):
            certificates.renew(web.certificate.parent)
        if self._version() != self._loaded:
            self._context.load_cert_chain(web.certificate, web.private_key)
            self._loaded = self._version()

    def _version(self) -> int:
        assert self._settings.web.certificate is not None
        return self._settings.web.certificate.stat().st_mtime_ns


class WebServer(BaseApplication):  # type: ignore[misc]
    """One gunicorn master with one worker that serves the application."""

    def __init__(self, settings: Settings, again: Callable[[], Settings] | None = None) -> None:
        self.settings = settings
        self._again = again
        self.flask: Flask | None = None
        self.handshakes: Handshakes | None = None
        super().__init__()

    def reload(self) -> None:
        """On SIGHUP: a new worker has the settings and the certificate of now; who is connected
        comes back to it. Whoever comes meanwhile waits in the socket."""
        if self._again is not None:
            self.settings = self._again()
        super().reload()

    def load_config(self) -> None:
        web = self.settings.web
        host = f"[{web.host}]" if ":" in web.host else web.host
        if web.certificate is not None:
            self._serve_securely(web.certificate, web.private_key)
        for name, value in {
            "bind": f"{host}:{web.port}",
            "workers": 1,
            "worker_class": f"{StreamWorker.__module__}.{StreamWorker.__name__}",
            # More than are let in: who comes when all are there is heard, and takes a place
            # or is sent away.
            "worker_connections": web.connections + SPARE,
            "graceful_timeout": GRACE_S,
            "timeout": 300,  # also of loading the pages: minutes on a slow machine
            # Ours are shorter: `Line` says how long who waits.
            "keepalive": math.ceil(web.head_seconds + web.idle_seconds) + 60,
            "loglevel": "error",
            "control_socket_disable": True,
            "forwarded_allow_ips": "",  # `web.trusted_proxies` says who is believed
            "proc_name": "citywise-web",
        }.items():
            self.cfg.set(name, value)

    def _serve_securely(self, certificate: Path, private_key: Path | None) -> None:
        def shaking(_config: Any, usual: Callable[[], SSLContext]) -> Handshakes:
            self.handshakes = Handshakes(self.settings, usual())
            return self.handshakes

        self.cfg.set("certfile", str(certificate))
        self.cfg.set("keyfile", str(private_key))
        self.cfg.set("ssl_context", shaking)

    def load(self) -> Flask:
        from citywise.backend.api import measures, sessions
        from citywise.backend.api.app import create_app

        telemetry.begin("web")
        WARM.most = KEPT_SOLVERS
        self.flask = create_app(self.settings)
        measures.begin(self.flask)
        sessions.sweep(self.flask.extensions["citywise"].engine)
        for app, parts in of_settings(self.settings).items():
            if parts.ready is not None:
                contained(app, "ready", partial(parts.ready, self.settings), None)
        return self.flask

    def close_streams(self) -> None:
        """End every event stream."""
        if self.flask is not None:
            self.flask.extensions["citywise"].hub.close()
