"""Nothing is posted to the inside of our networks, however an address is written."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from citywise.backend.outgoing.posting import AddressError, Line, PostError, Target
from tests.outgoing.receiving import receiving


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://10.1.2.3/x",
        "https://192.168.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.0.1/",
        "https://0.0.0.0/",
        "https://[::1]/",
        "https://[fd00::1]/",
        "https://[fe80::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[2002:7f00:1::]/",
        "https://224.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://localhost/",
        "https://no-such-host.invalid/",
    ],
)
def test_what_is_not_public_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        Target.of(url).resolved()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "example.org",
        "https://",
        "https://user:pw@example.org/",
        "https://example.org/#x",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://exa mple.org/",
        "https://example.org/\r\nX: y",
        "https://exämple.org/",
        "https://example.org/" + "x" * 1000,
        "",
    ],
)
def test_what_is_no_address_of_https_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        Target.of(url)


def test_a_public_address_is_taken() -> None:
    assert Target.of("https://8.8.8.8/hook?a=b").resolved() == "8.8.8.8"
    assert Target.of("https://8.8.8.8/hook?a=b").path == "/hook?a=b"


def test_a_name_with_one_address_inside_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(*_: Any, **__: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, 443)) for address in ("8.8.8.8", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", two)
    with pytest.raises(AddressError, match=r"10\.0\.0\.1"):
        Target.of("https://rebound.example/").resolved()


def test_a_name_is_looked_at_again_with_each_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that led outside when it was given leads inside now: nothing is sent."""
    line = Line(Target.of("https://rebound.example/"), 1.0)
    told = [(0, 0, 0, "", ("127.0.0.1", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: told)
    with pytest.raises(PostError, match="not public"):
        line.post(b"{}", {})


def test_hosts_that_the_operator_names_may_be_anywhere_and_others_at_their_ports_not() -> None:
    assert Target.of("http://127.0.0.1:9/x", ["127.0.0.1:9"]).resolved() == "127.0.0.1"
    assert Target.of("http://localhost:9/x", ["localhost"]).resolved()
    with pytest.raises(AddressError):
        Target.of("http://127.0.0.1:8/x", ["127.0.0.1:9"])


def test_a_connection_is_used_again_and_redirections_are_not_followed() -> None:
    with receiving() as receiver:
        line = Line(Target.of(receiver.url, [receiver.address]), 5.0)
        line.post(b'{"a": 1}', {})
        line.post(b'{"a": 2}', {})
        assert receiver.taken == [{"a": 1}, {"a": 2}]
        receiver.answer = lambda _number: 302
        with pytest.raises(PostError, match="status 302"):
            line.post(b"{}", {})
        assert receiver.posts == 3
        line.close()
