"""gunicorn, configured in code; imported only after gevent has patched the library."""

from __future__ import annotations

import os
import signal
import stat
from typing import Any

import gevent
from flask import Flask
from gevent.os import tp_read
from gunicorn.app.base import BaseApplication
from gunicorn.workers.ggevent import GeventWorker

from backend.api.serve import CONNECTIONS, GRACE_S
from backend.settings import Settings
from reasoning.engines.guard import WARM

KEPT_SOLVERS = 4
"""Solver processes that wait for the next question; each takes about 25 MB."""


class StreamWorker(GeventWorker):  # type: ignore[misc]
    """A worker that ends its event streams when told to stop: they would end no other way.

    If standard input is a pipe, its end means that whoever started us is gone.
    """

    def patch(self) -> None:
        """Nothing: `backend.api.serve` has patched all that may be, before the sockets."""

    def run(self) -> None:
        if stat.S_ISFIFO(os.fstat(0).st_mode):
            gevent.spawn(self._end_with_parent)
        super().run()

    def _end_with_parent(self) -> None:
        while tp_read(0, 4096):
            pass
        os.kill(os.getppid(), signal.SIGTERM)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.app.close_streams()
        super().handle_exit(sig, frame)


class WebServer(BaseApplication):  # type: ignore[misc]
    """One gunicorn master with one worker that serves the application."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.flask: Flask | None = None
        super().__init__()

    def load_config(self) -> None:
        web = self.settings.web
        for name, value in {
            "bind": f"{web.host}:{web.port}",
            "workers": 1,
            "worker_class": f"{StreamWorker.__module__}.{StreamWorker.__name__}",
            "worker_connections": CONNECTIONS,
            "graceful_timeout": GRACE_S,
            "timeout": 60,
            "keepalive": 75,
            "loglevel": "error",
            "control_socket_disable": True,
            "proc_name": "citywise-web",
        }.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        from backend.api import sessions
        from backend.api.app import create_app

        WARM.most = KEPT_SOLVERS
        self.flask = create_app(self.settings)
        sessions.sweep(self.flask.extensions["citywise"].engine)
        return self.flask

    def close_streams(self) -> None:
        """End every event stream."""
        if self.flask is not None:
            self.flask.extensions["citywise"].hub.close()
