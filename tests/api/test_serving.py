"""The web process under gunicorn, with real connections."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import psutil
import pytest

from backend.api.hub import BACKLOG
from backend.settings import Settings
from tests.api.log import Log
from tests.api.server import Listener, Server
from tests.api.templates import install, jam_ahead
from tests.api.town import Town, soon

pytestmark = pytest.mark.slow
START = "2014-08-05T06:00:00Z"


def test_no_event_is_lost_or_doubled_across_reconnections(server: Server, town: Town) -> None:
    """Announcements go on being written while the client disconnects five times."""
    total = 150

    def write() -> None:
        for number in range(total):
            town.event(f"e{number}", "100", START, announce="event.opened")
            time.sleep(0.004)

    with Listener(server.url) as listener:
        soon(lambda: bool(listener.named("hello")))
    received, last_id = [], listener.last_id
    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(5):
        with Listener(server.url, last_id) as listener:
            time.sleep(0.15)
        received += listener.named("event.")
        last_id = listener.last_id
    writer.join()
    with Listener(server.url, last_id) as listener:
        soon(lambda: len(received) + len(listener.named("event.")) >= total)
        time.sleep(0.2)
        received += listener.named("event.")
    assert [number for _, number, _ in received] == list(range(1, total + 1))
    assert [data["id"] for _, _, data in received] == [f"e{n}" for n in range(total)]


def test_a_stalled_client_delays_no_one_and_is_disconnected(server: Server, town: Town) -> None:
    with socket.socket() as stalled, Listener(server.url) as listener:
        _open_without_reading(stalled, server)
        soon(lambda: bool(listener.named("hello")))
        # 24 kB each: more than the sockets can buffer. Then more than the server keeps.
        town.announce_many([f"e{number}" for number in range(400)], place_id="x" * 12_000)
        town.announce_many([f"f{number}" for number in range(BACKLOG + 200)])
        soon(lambda: len(listener.named("event.")) == BACKLOG + 600, seconds=20)
        begun = time.monotonic()
        town.event("last", "100", START, announce="event.cleared")
        soon(lambda: bool(listener.named("event.cleared")))
        assert time.monotonic() - begun < 1.5
        unread = 0
        while chunk := _read(stalled):
            unread += len(chunk)
        assert unread < 400 * 24_000, "the server gave up before it had sent everything"


def _open_without_reading(connection: socket.socket, server: Server) -> None:
    address = urlsplit(server.url)
    connection.settimeout(10)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((address.hostname, address.port))
    connection.sendall(b"GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n")


def _read(connection: socket.socket) -> bytes:
    """Bytes, or nothing once the other side has ended the connection."""
    try:
        return connection.recv(1 << 16)
    except ConnectionError:
        return b""


def test_it_ends_quickly_on_sigterm_with_streams_open_and_prints_nothing(
    server: Server,
) -> None:
    with Listener(server.url) as one, Listener(server.url) as two:
        soon(lambda: bool(one.named("hello") and two.named("hello")))
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0
        assert time.monotonic() - begun < 5
        soon(lambda: one.ended and two.ended)
    assert server.process.stdout is not None
    assert server.process.stdout.read() == b""


def test_it_ends_when_whoever_started_it_is_gone(server: Server) -> None:
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.process.wait(10) == 0


def test_many_streams_get_an_announcement_at_once(server: Server, town: Town) -> None:
    listeners = [Listener(server.url).__enter__() for _ in range(60)]
    try:
        soon(lambda: all(listener.named("hello") for listener in listeners))
        begun = time.monotonic()
        town.event("a", "100", START, announce="event.opened")
        soon(lambda: all(listener.named("event.opened") for listener in listeners))
        assert time.monotonic() - begun < 1.5
        assert server.get("/healthz") == {"status": "alive"}
    finally:
        for listener in listeners:
            listener.__exit__()


def test_questions_are_answered_by_a_solver_process_that_is_kept(
    server: Server, settings: Settings, town: Town
) -> None:
    """gevent, which has taken over the library, starts no processes in the threads we use."""
    install(town, jam_ahead())
    log = Log(settings.log_dir)
    log.stands("position", "alice", {"lat": 56.15, "lon": 10.2, "heading": None, "along_m": None})
    log.clock(START)
    log.close()
    found = []
    for _ in range(3):
        body = json.dumps({"app": "jam_watch", "template": "jam_ahead", "user": "alice"})
        asked = Request(
            f"{server.url}/api/v1/instances/check",
            body.encode(),
            headers={"Content-Type": "application/json"},
        )
        with urlopen(asked, timeout=10) as answer:
            found.append(json.load(answer))
    assert [(each["notices"], each["reason"]) for each in found] == [([], None)] * 3
    below = psutil.Process(server.process.pid).children(recursive=True)
    solvers = [each for each in below if "reasoning.engines.worker" in each.cmdline()]
    assert len(solvers) == 1
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(5)
    assert psutil.wait_procs(solvers, timeout=5)[1] == []
