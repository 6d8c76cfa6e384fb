"""Many open event streams: from the commit of a notice to its arrival at every one.

    citywise bench streams            # 1,000 streams, each of a user of its own
    citywise bench streams 200

The web process is the real one (gunicorn), the database SQLite; the clients are in a process of
their own. Each round commits, as the pipeline does, a notice to every user and an event, and
every stream has to hear of both. Between them come readings (20 a second) and the clock, as in
a city. One more client never reads, and has a notice in each round too. The baseline is the
same with ten streams, in the same run.
"""

from __future__ import annotations

import json
import os
import random
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Engine

from benchmarks.measured.processes import cpu_s, memory_mb
from citywise.backend.machine import REPOSITORY
from citywise.backend.notices import book
from citywise.backend.notices.announcing import begin
from citywise.backend.people import accounts, logins
from citywise.backend.settings import People, Settings
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.times import from_ms, wall_ms
from tests.api.browsers import quick_passwords
from tests.api.server import Server, serving
from tests.api.templates import Change, change, install, jam_ahead
from tests.api.town import Town

ROUNDS, ROUND_S, BASELINE = 15, 2.0, 10
LAST_S = 5.0
"""How long what was told last may take."""
READINGS_PER_S = 20
_COOKIE = "citywise-login"
_HEARD = re.compile(rb'event: (?:notice|event\.opened)\ndata: \{"id":"([^"]+)"')
_TAIL = 512
"""More than the beginning of a message that `_HEARD` looks at."""


def run(streams: str = "1000") -> list[dict[str, Any]]:
    """Measure a few streams, then `streams`, on one server."""
    with _city() as (engine, town, settings), serving(settings) as server:
        counts = (BASELINE, int(streams))
        cookies = _people(engine, max(counts) + 1)
        return [_measure(engine, town, server, cookies, count) for count in counts]


@contextmanager
def _city() -> Iterator[tuple[Engine, Town, Settings]]:
    base = REPOSITORY / ".citywise"
    base.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=base))
    settings = Settings(data_dir=folder, people=People(rate_limits=False))
    engine = create_engine_for(settings.database_url)
    try:
        migrate(engine)
        town = Town(engine)
        town.running()
        town.road("100", "Viborgvej")
        install(town, jam_ahead())
        yield engine, town, settings
    finally:
        engine.dispose()
        shutil.rmtree(folder, ignore_errors=True)


def _people(engine: Engine, count: int) -> list[tuple[str, str]]:
    """Accounts that are logged in: ids and cookies."""
    found = []
    with quick_passwords(), engine.begin() as connection:
        for number in range(count):
            user = accounts.create(connection, f"person {number}", "four words are enough").id
            _login, secret = logins.open_login(connection, user, hours=1)
            found.append((user, f"{_COOKIE}={secret}"))
    return found


def _measure(
    engine: Engine, town: Town, server: Server, people: Sequence[tuple[str, str]], count: int
) -> dict[str, Any]:
    address = urlsplit(server.url).netloc
    server_id = server.process.pid
    with _stalled(address, people[count][1]), _listening(address, people[:count]) as listening:
        stop = threading.Event()
        busy = threading.Thread(target=_readings, args=(town, stop))
        busy.start()
        cpu, began = cpu_s(server_id), time.monotonic()
        committed = _rounds(engine, town, [user for user, _ in people[: count + 1]])
        used = (cpu_s(server_id) - cpu) / (time.monotonic() - began)
        stop.set()
        busy.join()
        time.sleep(LAST_S)
        heard = listening()
    figures = _figures(committed, heard, count)
    memory = round(memory_mb(server_id))
    return {"streams": count, **figures, "cores": round(used, 2), "memory_mb": memory}


def _rounds(engine: Engine, town: Town, users: Sequence[str]) -> dict[str, float]:
    """What was told, and when it was committed (Unix seconds), by the ids on the wire."""
    committed: dict[str, float] = {}
    for number in range(ROUNDS):
        begun, stamp = time.monotonic(), f"jam-{len(users)}-{number}"
        changes = [_change(user, stamp) for user in users]
        with engine.begin() as connection:
            begin(connection)
            book.apply(connection, changes)
        at = time.time()
        committed |= {f"{user}.jam_ahead~jam_ahead~{stamp}": at for user in users}
        town.event(stamp, "100", "2014-08-05T11:30:00Z", announce="event.opened")
        committed[stamp] = time.time()
        time.sleep(max(0.0, ROUND_S - (time.monotonic() - begun)))
    return committed


def _change(user: str, event: str) -> Change:
    return change("opened", user=user, instance=f"{user}.jam_ahead", about=event)


def _readings(town: Town, stop: threading.Event) -> None:
    """What else a city says."""
    while not stop.wait(1.0 / READINGS_PER_S):
        place = str(random.randrange(449))
        now = from_ms(wall_ms()).isoformat()
        town.reading("traffic", place, now, speed_kmh=50.0, vehicle_count=3)
        town.alter("ingest", now_ms=wall_ms())


def _figures(
    committed: dict[str, float], heard: Sequence[tuple[int, str, float]], count: int
) -> dict[str, Any]:
    """Delays of the notices and of the events, and whether each came once."""
    notices: list[float] = []
    events: list[float] = []
    for _stream, identity, at in heard:
        key = identity.rpartition("~")[0] if "~" in identity else identity
        (notices if "~" in identity else events).append((at - committed[key]) * 1000)
    once = len({(stream, identity) for stream, identity, _ in heard}) == len(heard)
    expected = ROUNDS * count
    return {
        "notices": len(notices),
        "lost_or_doubled": 0 if once and len(notices) == len(events) == expected else "some",
        "notice_p50_ms": _quantile(notices, 0.5),
        "notice_p99_ms": _quantile(notices, 0.99),
        "event_p50_ms": _quantile(events, 0.5),
        "event_p99_ms": _quantile(events, 0.99),
    }


def _quantile(delays: list[float], share: float) -> int:
    return round(sorted(delays)[int(len(delays) * share)]) if delays else -1


def report(results: Sequence[dict[str, Any]]) -> str:
    """A line for each number of streams."""
    lines = ["streams  notice p50  p99 ms   event p50  p99 ms   lost/doubled  cores  MB"]
    lines += [
        f"{r['streams']:7}  {r['notice_p50_ms']:10}  {r['notice_p99_ms']:6}"
        f"   {r['event_p50_ms']:9}  {r['event_p99_ms']:6}   {r['lost_or_doubled']:>12}"
        f"  {r['cores']:5}  {r['memory_mb']}"
        for r in results
    ]
    return "\n".join(lines)


# --- Clients --------------------------------------------------------------------------------


@contextmanager
def _stalled(address: str, cookie: str) -> Iterator[None]:
    """A client that asks for its stream and never reads."""
    with _open(address, cookie, buffer=4096):
        yield


@contextmanager
def _listening(address: str, people: Sequence[tuple[str, str]]) -> Iterator[Any]:
    """Streams of some people in a process of their own; what is yielded ends them and says
    what was heard: stream, id, and when (Unix seconds)."""
    orders = json.dumps([address, [cookie for _, cookie in people]])
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(orders + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ready\n", "the clients did not get their streams"

    def end() -> list[tuple[int, str, float]]:
        output, _ = process.communicate("\n", timeout=60)
        return [(stream, identity, at) for stream, identity, at in json.loads(output)]

    try:
        yield end
    finally:
        process.kill()
        process.communicate()


def _open(address: str, cookie: str, buffer: int | None = None) -> socket.socket:
    host, _, port = address.partition(":")
    connection = socket.socket()
    if buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.settimeout(30)
    connection.connect((host, int(port)))
    head = f"GET /api/v1/events/stream HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def _listen() -> None:
    """Hold streams open and note what comes, until a line comes on standard input."""
    address, cookies = json.loads(sys.stdin.readline())
    heard: list[tuple[int, str, float]] = []
    with selectors.EpollSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        for number, cookie in enumerate(cookies):
            connection = _open(address, cookie)
            assert connection.recv(12) == b"HTTP/1.1 200", "no stream"
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ, [number, b""])
        print("ready", flush=True)
        while _heard(selector, heard):
            pass
    json.dump(heard, sys.stdout)


def _heard(selector: selectors.EpollSelector, heard: list[tuple[int, str, float]]) -> bool:
    """Note what has come; False when it is to end."""
    for key, _mask in selector.select():
        if key.data is None:
            return False
        number, tail = key.data
        assert isinstance(key.fileobj, socket.socket)
        text, done = tail + key.fileobj.recv(1 << 18), 0
        at = time.time()
        for found in _HEARD.finditer(text):
            heard.append((number, found[1].decode(), at))
            done = found.end()
        key.data[1] = text[max(done, len(text) - _TAIL) :]
    return True


if __name__ == "__main__":
    _listen()
