"""Whose pages are open now: noted again and again, so that who closes one is missed in seconds,
also where the browser or this process ends without a word."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from flask import current_app, request
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.api.gone import is_gone
from citywise.backend.app import state, times

LOG = logging.getLogger("citywise.meeting_mgr.pages")
EVERY_S = 2.0
_UNHEARD_MS = 10_000
"""What was sent and not acknowledged for so long ends the connection: phones that sleep say no
good-bye (Linux: `TCP_USER_TIMEOUT`)."""
_EXTENSION = "citywise-meeting-pages"


class OpenPages:
    """The pages of those who take part that this process serves."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._open: dict[object, tuple[str, socket.socket | None]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def add(self, person: str, connection: socket.socket | None) -> Callable[[], None]:
        """A page of somebody is open from now on; returns what closes it."""
        page = object()
        if connection is not None:
            with suppress(OSError, AttributeError):  # not TCP, or not Linux
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNHEARD_MS)
        with self._lock:
            self._open[page] = person, connection
            self._ended.clear()  # The thread that the last page's end roused may not yet be gone.
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="pages", daemon=True)
                self._thread.start()

        def close() -> None:
            with self._lock:
                self._open.pop(page, None)
                if not self._open:
                    self._ended.set()

        return close

    def people(self) -> set[str]:
        """Who has a page open."""
        with self._lock:
            pages = [*self._open.values()]
        return {one for one, connection in pages if connection is None or not is_gone(connection)}

    def _run(self) -> None:
        """Note who is there, until nobody is."""
        while True:
            self._note()
            self._ended.wait(EVERY_S)
            with self._lock:
                if not self._open:
                    self._thread = None
                    return

    def _note(self) -> None:
        if not (people := self.people()):
            return
        try:
            with self.engine.begin() as connection:
                store.see_pages(connection, people, times.wall_ms())
        except SQLAlchemyError as error:  # Soon again.
            LOG.warning("open pages cannot be noted: %s", type(error).__name__)


def opened(person: str) -> Callable[[], None]:
    """The page that asks now is one of somebody's; returns what says that it is closed."""
    environ = request.environ
    connection = environ.get("gunicorn.socket") or environ.get("werkzeug.socket")
    return _pages().add(person, connection)


def _pages() -> OpenPages:
    """Those of the current application's database."""
    kept, engine = current_app.extensions, state().engine
    found = kept.get(_EXTENSION)
    if not isinstance(found, OpenPages) or found.engine is not engine:
        found = kept[_EXTENSION] = OpenPages(engine)
    return found
