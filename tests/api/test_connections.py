"""Who may have how many connections, decided without any; then with real ones."""

from __future__ import annotations

import json
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import gevent.socket
import gevent.ssl
import pytest
from sqlalchemy import Engine

from citywise.backend.api.connections import Connection, Connections, home
from citywise.backend.api.event_stream import MOST_OF_ADDRESS
from citywise.backend.api.server import Handshakes
from citywise.backend.machine import free_port
from citywise.backend.network import certificates
from citywise.backend.network.addresses import Names
from citywise.backend.settings import Settings, Web
from tests.api.server import Server, serving
from tests.api.town import soon

HALF = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-"
LONG = (
    b"POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100000\r\n\r\n"
)
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


class Crowd:
    """Connections that are opened one after the other; `closed` are those that made room."""

    def __init__(self, most: int, of_address: int) -> None:
        self.all = Connections(most, of_address)
        self.closed: list[str] = []

    def come(self, address: str, name: str = "") -> Connection | None:
        return self.all.open(address, lambda: self.closed.append(name or address))


def test_an_address_has_so_many_connections_and_the_oldest_that_waits_makes_room() -> None:
    crowd = Crowd(100, 3)
    ones = [crowd.come("10.0.0.1", name) for name in "abc"]
    assert ones[0] is not None
    crowd.all.work(ones[0])
    assert crowd.come("10.0.0.1", "d") is not None
    assert crowd.come("10.0.0.2", "other") is not None
    assert crowd.closed == ["b"]
    assert len(crowd.all) == 4


def test_who_is_answered_keeps_the_place_and_a_further_connection_is_refused() -> None:
    crowd = Crowd(100, 2)
    for _ in range(2):
        last = crowd.come("10.0.0.1")
        assert last is not None
        crowd.all.work(last)
    assert crowd.come("10.0.0.1") is None
    assert crowd.closed == []
    assert last is not None
    crowd.all.leave(last)
    assert crowd.come("10.0.0.1") is not None


def test_where_all_places_are_taken_the_address_with_most_makes_room() -> None:
    crowd = Crowd(6, 5)
    for address in ("10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.2", "10.0.0.3", "10.0.0.3"):
        crowd.come(address)
    assert crowd.come("10.0.0.4") is not None
    assert crowd.closed == ["10.0.0.2"]


def test_this_machine_has_no_limit_of_its_own() -> None:
    crowd = Crowd(10, 2)
    assert all(crowd.come("127.0.0.1") for _ in range(10))
    assert crowd.closed == []
    assert crowd.come("10.0.0.1") is not None
    assert crowd.closed == ["127.0.0.1"]


def test_a_connection_that_rests_is_as_young_as_its_last_request() -> None:
    crowd = Crowd(100, 2)
    first, _ = crowd.come("10.0.0.1", "a"), crowd.come("10.0.0.1", "b")
    assert first is not None
    crowd.all.work(first)
    crowd.all.wait(first)
    crowd.come("10.0.0.1", "c")
    assert crowd.closed == ["b"]


def test_what_is_closed_takes_no_place_however_it_ends() -> None:
    crowd = Crowd(100, 1)
    first, second = crowd.come("10.0.0.1"), crowd.come("10.0.0.1")
    assert first is not None
    assert second is not None
    crowd.all.wait(first)  # its reader has not heard of it yet
    crowd.all.leave(first)
    assert len(crowd.all) == 1
    crowd.all.leave(second)
    assert len(crowd.all) == 0


def test_clients_behind_a_proxy_have_so_many_requests_under_way() -> None:
    crowd = Crowd(100, 2)
    assert [crowd.all.begin("10.0.0.1") for _ in range(3)] == [True, True, False]
    assert crowd.all.begin("10.0.0.2")
    crowd.all.end("10.0.0.1")
    assert crowd.all.begin("10.0.0.1")


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2ff:aaaa::1", "2001:db8:1:200::/56"),
        ("", ""),
    ],
)
def test_a_home_is_one_address(address: str, counted: str) -> None:
    assert home(address) == counted


# --- With real connections ------------------------------------------------------------------------

FEW = Web(
    connections=40,
    connections_per_address=20,
    head_seconds=1,
    body_seconds=1,
    idle_seconds=1,
    send_seconds=1,
)
PATIENT = {"head_seconds": 600, "body_seconds": 600, "idle_seconds": 600, "send_seconds": 600}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@contextmanager
def served(settings: Settings, **web: object) -> Iterator[Server]:
    values = {**FEW.model_dump(), **web, "port": free_port()}
    with serving(
        settings.model_copy(update={"web": Web.model_validate(values)}), keep_port=True
    ) as found:
        yield found


def called(server: Server, stack: ExitStack, sent: bytes) -> socket.socket:
    """A connection that has sent something."""
    address = urlsplit(server.url)
    found = stack.enter_context(socket.create_connection((address.hostname, address.port), 30))
    with suppress(OSError):
        found.sendall(sent)
    return found


def heard(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    parts = []
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def is_closed(connection: socket.socket) -> bool:
    ready, _, _ = select.select([connection], [], [], 0)
    with suppress(ConnectionResetError):
        return bool(ready) and not connection.recv(1, socket.MSG_PEEK)
    return True


@pytest.mark.thorough
def test_half_requests_take_nobodys_place(settings: Settings, engine: Engine) -> None:
    """Of this machine, which has no limit of its own: as many as there are places, and more."""
    with served(settings, **PATIENT) as server, ExitStack() as stack:
        crowd = [called(server, stack, HALF) for _ in range(60)]
        assert server.get("/healthz") == {"status": "alive"}
        soon(lambda: sum(map(is_closed, crowd)) >= 20)
        assert not is_closed(crowd[-1]), "the youngest keep their places"


@pytest.mark.thorough
def test_streams_beyond_the_most_are_refused_and_closed(settings: Settings, engine: Engine) -> None:
    open_stream = b"GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n"
    most = MOST_OF_ADDRESS
    with served(settings, connections=most * 2, **PATIENT) as server, ExitStack() as stack:
        crowd = [called(server, stack, open_stream) for _ in range(most + 60)]
        refused = [one for one in crowd if one.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 429"]
        assert len(refused) == 60, [one.recv(2000) for one in crowd[-1:]]
        for one in refused:
            assert b"Connection: close" in heard(one), "and it is: this has ended"
        assert server.get("/healthz") == {"status": "alive"}


@pytest.mark.thorough
def test_who_is_slow_is_told_and_sent_away(settings: Settings, engine: Engine) -> None:
    with served(settings) as server, ExitStack() as stack:
        quiet = called(server, stack, b"")
        half = called(server, stack, HALF)
        rests = called(server, stack, WHOLE)
        body = called(server, stack, LONG + b"{")
        assert heard(half).startswith(b"HTTP/1.1 408")
        assert heard(quiet).startswith(b"HTTP/1.1 408")
        answer = heard(rests)
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b'{"status":"alive"}'), "an idle connection is closed silently"
        late = heard(body)
        assert late.startswith(b"HTTP/1.1 408")
        assert b"Connection: close" in late
        problem = json.loads(late.partition(b"\r\n\r\n")[2])
        assert problem["type"] == "urn:citywise:problem:request-timeout"
        dripping = called(server, stack, LONG)
        while not select.select([dripping], [], [], 0.05)[0]:
            dripping.send(b" ")
        assert heard(dripping).startswith(b"HTTP/1.1 408"), "each byte does not gain it time"


@pytest.mark.thorough
def test_clients_of_a_proxy_are_told_apart(settings: Settings, engine: Engine) -> None:
    def stream(asker: str) -> bytes:
        return (
            "GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\n"
            f"X-Forwarded-For: 1.1.1.1, {asker}\r\n\r\n"
        ).encode()

    with (
        served(settings, trusted_proxies=1, connections_per_address=5, **PATIENT) as server,
        ExitStack() as stack,
    ):
        crowd = [called(server, stack, stream("10.0.0.1")) for _ in range(8)]
        heads = [one.recv(12, socket.MSG_WAITALL) for one in crowd]
        assert sorted(heads) == [b"HTTP/1.1 200"] * 5 + [b"HTTP/1.1 503"] * 3
        other = called(server, stack, stream("10.0.0.2"))
        assert other.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 200"


def test_who_does_not_shake_hands_is_closed_when_that_is_ended(settings: Settings) -> None:
    """At once: not when what the greenlet leaves behind is collected, which may be never."""
    made = certificates.issued(
        certificates.folder_of(settings.data_dir), Names(frozenset({"city.local"}))
    )
    web = Web(certificate=made.certificate, private_key=made.private_key)
    context = gevent.ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    handshakes = Handshakes(settings.model_copy(update={"web": web}), context)
    ours, theirs = gevent.socket.socketpair()
    shaking = gevent.spawn(handshakes.wrap_socket, ours, server_side=True)
    gevent.sleep(0.1)
    shaking.kill()
    theirs.settimeout(5)
    assert theirs.recv(1) == b""
    theirs.close()


@pytest.mark.thorough
def test_who_does_not_shake_hands_takes_nobodys_place(settings: Settings, engine: Engine) -> None:
    """Nobody sends any of it, or all send the begin: shaking hands waits in a place of its own."""
    made = certificates.issued(
        certificates.folder_of(settings.data_dir), Names(frozenset({"city.local"}))
    )
    secure = {"certificate": made.certificate, "private_key": made.private_key}
    with served(settings, **secure, **PATIENT) as server, ExitStack() as stack:
        crowd = [called(server, stack, b"\x16\x03" if n % 2 else b"") for n in range(60)]
        assert server.get("/healthz") == {"status": "alive"}
        soon(lambda: sum(map(is_closed, crowd)) >= 20)
