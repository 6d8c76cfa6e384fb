"""Sessions of `requests` look at an address before they connect to it."""

from __future__ import annotations

import socket

import pytest
import requests

from citywise.backend.network.sessions import guard
from tests.sources.servers import body, serving, status
from tests.sources.test_fetch import OWN_LINK


def session(*allowed: str) -> requests.Session:
    found = requests.Session()
    found.trust_env = False
    guard(found, allowed)
    return found


@pytest.mark.parametrize("url", [*OWN_LINK, "https://169.254.169.254/"])
def test_nothing_is_asked_on_the_own_link(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("connected"))
    with session() as asking, pytest.raises(requests.ConnectionError, match="own link"):
        asking.get(url, timeout=1)


def test_a_redirection_does_not_lead_there() -> None:
    with (
        serving(lambda h: status(h, 302, Location=OWN_LINK[0])) as url,
        session() as asking,
        pytest.raises(requests.ConnectionError, match="own link"),
    ):
        asking.get(url, timeout=5)


def test_all_else_is_asked_as_ever_and_what_is_allowed_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(lambda h: body(h, b"[]")) as url, session() as asking:
        assert asking.get(url, timeout=5).json() == []
    tried: list[object] = []

    def create(address: object, *_more: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", create)
    with session("169.254.7.7") as asking, pytest.raises(requests.ConnectionError):
        asking.get("http://169.254.7.7:81/", timeout=1)
    assert tried == [("169.254.7.7", 81)]
