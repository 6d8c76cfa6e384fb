"""An address is asked once, within a time and a size, and only for what is new."""

from __future__ import annotations

import gzip
import random
import socket
import time
from http.server import BaseHTTPRequestHandler

import pytest

from citywise.backend.sources.fetch import Answer, FetchError, Tag, fetch, send
from citywise.backend.sources.schedule import MOST_S, Schedule
from tests.sources.servers import Answering, body, serving, status


def asked(answer: Answering, tag: Tag | None = None, **more: float) -> Answer:
    with serving(answer) as url:
        limits = {"timeout_s": 5.0, "max_bytes": 10_000, **more}
        return fetch(
            url,
            headers={"X-Key": "k"},
            tag=tag or Tag(),
            timeout_s=limits["timeout_s"],
            max_bytes=int(limits["max_bytes"]),
        )


def test_an_answer_comes_with_what_the_server_calls_it() -> None:
    found = asked(lambda h: body(h, h.headers["X-Key"].encode(), ETag='"1"', Last_Modified="x"))
    assert found == Answer(b"k", Tag('"1"', "x"))


def test_a_server_is_told_what_is_known_and_then_says_nothing() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        known = handler.headers["If-None-Match"] == '"1"' and handler.headers["If-Modified-Since"]
        status(handler, 304 if known == "x" else 500)

    assert asked(answer, Tag('"1"', "x")) == Answer(None, Tag('"1"', "x"))


def test_what_is_packed_is_unpacked() -> None:
    assert asked(lambda h: body(h, gzip.compress(b"[]"), Content_Encoding="gzip")).body == b"[]"


def _endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x" * 1000)


def _dripping(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


def _cut(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"[]")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (_endless, "larger than 10000 bytes"),
        (_dripping, r"longer than 0\.5 s"),
        (_cut, "ended before it was whole|no answer"),
        (lambda h: status(h, 503), "status 503"),
        (lambda h: status(h, 302, Location="file:///etc/hostname"), "no answer|status 302"),
        (lambda h: status(h, 302, Location="/feed.json"), "status 302|no answer"),
        (lambda h: body(h, gzip.compress(b"0" * 10**6), Content_Encoding="gzip"), "larger than"),
        (lambda h: body(h, b"x", Content_Encoding="gzip"), "no gzip"),
    ],
    ids=["endless", "dripping", "cut", "status", "file", "loop", "bomb", "broken"],
)
def test_a_server_that_does_otherwise_is_left(answer: Answering, says: str) -> None:
    with pytest.raises(FetchError, match=says):
        asked(answer, timeout_s=0.5)


def test_an_address_at_which_nobody_listens_is_a_failure() -> None:
    with serving(lambda h: status(h, 200)) as url:
        pass
    with pytest.raises(FetchError, match="no answer"):
        fetch(url, headers={}, tag=Tag(), timeout_s=1, max_bytes=10)


OWN_LINK = (
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/",
    "https://169.254.7.7/", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/", "http://100.100.100.200/", "http://[fd00:ec2::254]/",
    "http://224.0.0.1/",
)  # fmt: skip


@pytest.fixture
def no_connection(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Where a connection was tried; none comes about."""
    tried: list[tuple[str, int]] = []

    def create(address: tuple[str, int], *_more: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(socket, "create_connection", create)
    return tried


@pytest.mark.parametrize("url", OWN_LINK)
def test_nothing_is_asked_on_the_own_link(url: str, no_connection: list[object]) -> None:
    with pytest.raises(FetchError, match=r"own link .*fetching\.allow"):
        fetch(url, headers={}, tag=Tag(), timeout_s=1, max_bytes=10)
    with pytest.raises(FetchError, match="own link"):
        send(url, "POST", b"{}", {}, 1)
    assert no_connection == []


def test_a_redirection_to_the_own_link_is_not_followed() -> None:
    with pytest.raises(FetchError, match="own link"):
        asked(lambda h: status(h, 302, Location=OWN_LINK[0]))


def test_a_key_does_not_follow_a_redirection_to_another_server() -> None:
    def told(handler: BaseHTTPRequestHandler) -> None:
        body(handler, f"{handler.headers['X-Key']} {handler.headers['User-Agent']}".encode())

    def at_home(handler: BaseHTTPRequestHandler) -> None:
        told(handler) if handler.path == "/b" else status(handler, 302, Location="/b")

    with serving(told) as elsewhere:
        assert asked(lambda h: status(h, 302, Location=elsewhere)).body == b"None citywise"
    assert asked(at_home).body == b"k citywise"


def test_a_name_with_one_address_on_the_own_link_is_refused_whole(
    monkeypatch: pytest.MonkeyPatch, no_connection: list[object]
) -> None:
    told = [(0, 0, 0, "", (text, 80)) for text in ("192.0.2.1", "169.254.169.254")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_given, **_more: told)
    with pytest.raises(FetchError, match="own link"):
        fetch("http://feed.example/", headers={}, tag=Tag(), timeout_s=1, max_bytes=10)
    assert no_connection == []


def test_the_settings_allow_a_host_on_the_own_link(no_connection: list[object]) -> None:
    for allowed in ("169.254.7.7", "169.254.7.7:80"):
        with pytest.raises(FetchError, match="refused"):
            fetch(
                "http://169.254.7.7/", headers={}, tag=Tag(), timeout_s=1, max_bytes=10,
                allowed=(allowed,),
            )  # fmt: skip
    assert no_connection == [("169.254.7.7", 80)] * 2


def test_a_server_may_say_when_to_come_again() -> None:
    with pytest.raises(FetchError) as fault:
        asked(lambda h: status(h, 429, Retry_After="120"))
    assert fault.value.wait_s == 120


def test_a_source_that_fails_is_asked_more_rarely_until_it_answers() -> None:
    schedule = Schedule(60, random.Random(1))
    waits = [schedule.failed() for _time in range(12)]
    assert 108 <= waits[0] <= 132
    assert waits[1] > waits[0] * 1.5
    assert max(waits) <= MOST_S * 1.1
    assert schedule.failed(asked_s=7200) == 7200
    assert 54 <= schedule.succeeded() <= 66
    assert 108 <= schedule.failed() <= 132
