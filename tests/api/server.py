"""The web process as it runs in earnest, and a client of its event stream."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citywise.backend.machine import free_port
from citywise.backend.settings import Settings

REPOSITORY = Path(__file__).resolve().parents[2]
_MAIN = """
import sys
from citywise.backend.settings import Settings
from citywise.backend.api.serve import main
exec(sys.argv[2])
main(Settings.model_validate_json(sys.argv[1]))
"""


@dataclass
class Server:
    """A running web process."""

    process: subprocess.Popen[bytes]
    url: str

    def get(self, path: str) -> Any:
        trusting = ssl._create_unverified_context() if self.url.startswith("https:") else None
        with urllib.request.urlopen(self.url + path, timeout=120, context=trusting) as answer:
            return json.load(answer)


@contextmanager
def serving(settings: Settings, *, keep_port: bool = False, before: str = "") -> Iterator[Server]:
    """Run the web process until the end of the block, on a free port or that of `settings`.

    `before` is what it does first, in Python.
    """
    if not keep_port:
        web = settings.web.model_copy(update={"port": free_port()})
        settings = settings.model_copy(update={"web": web})
    process = subprocess.Popen(
        [sys.executable, "-c", _MAIN, settings.model_dump_json(), before],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={k: v for k, v in os.environ.items() if k != "PROMETHEUS_MULTIPROC_DIR"},
    )
    scheme = "https" if settings.web.certificate else "http"
    server = Server(process, f"{scheme}://127.0.0.1:{settings.web.port}")
    try:
        _wait(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()


def _wait(server: Server) -> None:
    deadline = time.monotonic() + 240
    while True:
        try:
            server.get("/healthz")
            return
        except OSError:  # refused, or slow on a busy machine
            assert server.process.poll() is None, "the web process ended"
            assert time.monotonic() < deadline, "the web process does not answer"
            time.sleep(0.05)


@dataclass
class Listener:
    """Reads an event stream in a thread; `messages` are (event, id, data)."""

    url: str
    last_id: int | None = None
    messages: list[tuple[str, int | None, Any]] = field(default_factory=list)
    ended: bool = False

    def __enter__(self) -> Listener:
        request = urllib.request.Request(self.url + "/api/v1/events/stream")
        if self.last_id is not None:
            request.add_header("Last-Event-ID", str(self.last_id))
        self._answer = urllib.request.urlopen(request, timeout=120)
        self._socket = self._answer.fp.raw._sock
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(120)
        # Closing would wait for who still reads.
        assert not self._thread.is_alive(), "the reader of the event stream does not end"
        self._answer.close()

    def named(self, prefix: str) -> list[tuple[str, int | None, Any]]:
        return [message for message in self.messages if message[0].startswith(prefix)]

    def _read(self) -> None:
        event, number, data = "", None, ""
        try:
            for line in self._answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    event = value
                elif name == "id":
                    number = int(value)
                elif name == "data":
                    data = value
                elif not name and event:
                    self.last_id = number if number is not None else self.last_id
                    self.messages.append((event, number, json.loads(data)))
                    event, number, data = "", None, ""
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.ended = True
