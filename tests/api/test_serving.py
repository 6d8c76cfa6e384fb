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

from citywise.backend.api.hub import BACKLOG
from citywise.backend.settings import Settings
from tests.api.log import Log
from tests.api.server import Listener, Server
from tests.api.templates import install, jam_ahead
from tests.api.town import Town, soon

pytestmark = pytest.mark.slow
START = "2014-08-05T06:00:00Z"


def test_no_event_is_lost_or_doubled_across_reconnections(server: Server, town: Town) -> None:
    """Announcements go on being written while the client disconnects five times."""
    times, at_once = 5, 30
    wanted = threading.Semaphore(0)

    def write() -> None:
        for number in range(times * at_once):
            wanted.acquire()
            town.event(f"e{number}", "100", START, announce="event.opened")

    with Listener(server.url) as listener:
        soon(lambda: listener.named("hello"))
    received, last_id = [], listener.last_id
    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    for _ in range(times):
        with Listener(server.url, last_id) as listener:
            wanted.release(at_once)
            soon(lambda: len(listener.named("event.")) > at_once // 3)
        received += listener.named("event.")
        last_id = listener.last_id
    writer.join(120)
    assert not writer.is_alive(), "not all announcements were written"
    last = town.event("last", "100", START, announce="event.cleared") or 0
    with Listener(server.url, last_id) as listener:
        soon(lambda: listener.named("event.cleared"))
        received += listener.named("event.")
    assert [number for _, number, _ in received] == list(range(1, last + 1))
    assert [data["id"] for _, _, data in received[:-1]] == [f"e{n}" for n in range(last - 1)]


def test_a_stalled_client_holds_no_one_back_and_is_disconnected(server: Server, town: Town) -> None:
    with socket.socket() as stalled, Listener(server.url) as listener:
        _open_without_reading(stalled, server)
        soon(lambda: listener.named("hello"))
        soon(lambda: b"event: hello" in stalled.recv(2000, socket.MSG_PEEK))
        # 24 kB each: more than the sockets can buffer. Then more than the server keeps.
        town.announce_many([f"e{number}" for number in range(400)], place_id="x" * 12_000)
        soon(lambda: len(listener.named("event.")) == 400)
        # In two parts, that whoever reads is never as far behind as who does not.
        names = [f"f{number}" for number in range(BACKLOG + 200)]
        town.announce_many(names[: BACKLOG // 2])
        soon(lambda: len(listener.named("event.")) == 400 + BACKLOG // 2)
        town.announce_many(names[BACKLOG // 2 :])
        soon(lambda: len(listener.named("event.")) == BACKLOG + 600)
        town.event("last", "100", START, announce="event.cleared")
        soon(lambda: listener.named("event.cleared"))
        # Through a window of a few kB what the sockets hold would take minutes.
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        unread, ends = 0, time.monotonic() + 120
        while unread < 400 * 24_000 and (chunk := _read(stalled)):
            unread += len(chunk)
            assert time.monotonic() < ends, f"it is still connected after {unread} bytes"
        assert unread < 400 * 24_000, "the server should have given up before it sent everything"


def _open_without_reading(connection: socket.socket, server: Server) -> None:
    address = urlsplit(server.url)
    connection.settimeout(60)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((address.hostname, address.port))
    connection.sendall(b"GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n")


def _read(connection: socket.socket) -> bytes:
    """Bytes, or nothing once the other side has ended the connection."""
    try:
        return connection.recv(1 << 16)
    except ConnectionError:
        return b""


def test_on_sigterm_it_brings_the_open_streams_to_their_end_and_prints_nothing(
    server: Server,
) -> None:
    """After its time of grace the connections would be cut off."""
    with socket.socket() as plain, Listener(server.url) as listener:
        _open_without_reading(plain, server)
        soon(lambda: listener.named("hello"))
        told = b""
        while b"event: hello" not in told:
            chunk = _read(plain)
            assert chunk, "the stream ended before it began"
            told += chunk
        server.process.send_signal(signal.SIGTERM)
        while chunk := _read(plain):
            told += chunk
        assert told.endswith(b"\r\n0\r\n\r\n")
        assert server.process.wait(60) == 0
        soon(lambda: listener.ended)
    assert server.process.stdout is not None
    assert server.process.stdout.read() == b""


def test_it_ends_when_whoever_started_it_is_gone(server: Server) -> None:
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.process.wait(60) == 0


def test_many_streams_get_an_announcement_and_others_are_served_meanwhile(
    server: Server, town: Town
) -> None:
    listeners = [Listener(server.url).__enter__() for _ in range(60)]
    try:
        soon(lambda: all(listener.named("hello") for listener in listeners))
        town.event("a", "100", START, announce="event.opened")
        soon(lambda: all(listener.named("event.opened") for listener in listeners))
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
        with urlopen(asked, timeout=60) as answer:
            found.append(json.load(answer))
    assert [(each["notices"], each["reason"]) for each in found] == [([], None)] * 3
    below = psutil.Process(server.process.pid).children(recursive=True)
    solvers = [each for each in below if "citywise.reasoning.engines.worker" in each.cmdline()]
    assert len(solvers) == 1
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(60)
    assert psutil.wait_procs(solvers, timeout=60)[1] == []
