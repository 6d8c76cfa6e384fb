"""The web process: gunicorn with one gevent worker, for many open event streams."""

from __future__ import annotations

import os
from collections.abc import Callable

from gevent import monkey

from citywise.backend.settings import Settings

GRACE_S = 1


def main(settings: Settings, again: Callable[[], Settings] | None = None) -> None:
    """Serve until SIGTERM or SIGINT, printing nothing but errors; on SIGHUP go on with the settings
    that `again` reads.

    Call it in a process of its own, before anything there has started a thread: the standard
    library is made cooperative first, and everything else is imported after that.
    """
    # gevent's own subprocess starts no process in the threads of `backend.api.aside`.
    monkey.patch_all(subprocess=False)
    # gevent's closes descriptors later: Popen would wait for ever for the end of its pipe.
    os.close = monkey.get_original("os", "close")
    from citywise.backend.api.server import WebServer

    WebServer(settings, again).run()
