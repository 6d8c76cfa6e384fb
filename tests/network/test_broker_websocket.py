"""Browsers reach the embedded broker by WebSocket, as devices and nothing more."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.api import security
from citywise.backend.broker import BrowserListener, EmbeddedBroker
from citywise.backend.network import certificates, websocket
from citywise.backend.network.addresses import Names
from citywise.backend.settings import Broker, Settings, Web
from tests.brokers import SENT, City, Client, client, secret_of

UPGRADE = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip
PHONE, ANNA = "d-0000000000000001", "u-" + "a" * 20


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    city = City(tmp_path_factory.mktemp("city"), {PHONE: {"user": ANNA, "rights": ["all"]}})
    yield city
    city.embedded.stop()


def test_a_device_sends_and_reads_by_websocket(city: City) -> None:
    own = f"town/notices/{ANNA}/{PHONE}"
    with (
        client(city, "city", name="operator") as operator,
        client(city, PHONE, transport="websockets") as phone,
    ):
        assert operator.reads(f"town/context/{ANNA}")
        assert phone.sends(f"town/context/{ANNA}", b"here")
        assert operator.heard.get(timeout=SENT)[1] == b"here"
        assert phone.reads(own)
        assert operator.sends(own, b"notice")
        assert phone.heard.get(timeout=SENT) == (own, b"notice")


@pytest.mark.parametrize(("user", "name"), [("city", "city"), ("citywise.web", "web")])
def test_our_own_processes_do_not_come_by_websocket(city: City, user: str, name: str) -> None:
    known = city.settings.of_process("web") if user != "city" else city.settings
    stranger = Client(city, user, known.password, name, transport="websockets")
    stranger.close()
    assert stranger.answer == "Not authorized"


def test_who_does_not_know_the_secret_is_not_let_in(city: City) -> None:
    stranger = Client(city, PHONE, secret_of("another"), transport="websockets")
    stranger.close()
    assert stranger.answer == "Not authorized"


@pytest.mark.parametrize("protocols", [None, "chat", "mqttv3.1"])
def test_what_is_no_mqtt_is_refused(city: City, protocols: str | None) -> None:
    offered = {"Sec-WebSocket-Protocol": protocols} if protocols else {}
    assert _status(city, UPGRADE | offered) == 401


def test_nothing_else_is_served_there(city: City) -> None:
    assert _status(city, {}) == 426


def test_a_frame_that_is_too_large_ends_the_connection(city: City) -> None:
    with client(city, PHONE, transport="websockets") as phone:
        assert not phone.sends(f"town/context/{ANNA}", b"x" * 600_000)


def test_over_tls_browsers_are_shown_the_certificate_of_the_pages(tmp_path: Path) -> None:
    made = certificates.issued(tmp_path / "tls", Names())
    browsers = BrowserListener("127.0.0.1", 0, made.certificate, made.private_key)
    embedded = EmbeddedBroker(0, "city", "password", browsers=browsers)
    embedded.start()
    assert embedded.websocket_port is not None
    trusting = ssl.create_default_context(cafile=str(tmp_path / "tls" / "ca.pem"))
    connection = http.client.HTTPSConnection(
        "127.0.0.1", embedded.websocket_port, context=trusting, timeout=SENT
    )
    try:
        connection.request("GET", "/mqtt", headers=UPGRADE | {"Sec-WebSocket-Protocol": "mqtt"})
        answer = connection.getresponse()
        assert answer.status == 101
        assert answer.headers["Sec-WebSocket-Protocol"] == "mqtt"
    finally:
        connection.close()
        embedded.stop()


def _status(city: City, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", city.port("websockets"), timeout=SENT)
    connection.request("GET", "/mqtt", headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


# --- Where it is ---------------------------------------------------------------------------------


def _settings(tmp_path: Path, web: Web, **broker: Any) -> Settings:
    return Settings(data_dir=tmp_path, web=web, broker=Broker(websocket_port=9000, **broker))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1:8080", "ws://127.0.0.1:9000"),
        ("localhost", "ws://localhost:9000"),
        ("[::1]:8080", "ws://[::1]:9000"),
        ("a;script-src *", None),
    ],
)
def test_browsers_find_it_on_the_host_of_the_pages(
    tmp_path: Path, host: str, address: str | None
) -> None:
    assert websocket.address(_settings(tmp_path, Web()), host) == address


def test_it_is_reached_over_tls_with_the_certificate_of_the_pages(tmp_path: Path) -> None:
    files = {"certificate": tmp_path / "c.pem", "private_key": tmp_path / "k.pem"}
    settings = _settings(tmp_path, Web(host="0.0.0.0", **files))
    assert websocket.address(settings, "city.example:8443") == "wss://city.example:9000"
    browsers = EmbeddedBroker.of(settings)._orders["browsers"]
    assert isinstance(browsers, dict)
    assert (browsers["host"], browsers["certificate"]) == ("0.0.0.0", str(files["certificate"]))


def test_behind_a_proxy_the_settings_say_where_it_is(tmp_path: Path) -> None:
    web = Web(public_url="https://city.example")
    silent = _settings(tmp_path, web)
    assert websocket.address(silent, "city.example") is None
    assert EmbeddedBroker.of(silent)._orders["browsers"] is None
    said = _settings(tmp_path, web, websocket_url="wss://city.example/mqtt")
    assert websocket.address(said, "city.example") == "wss://city.example/mqtt"
    assert websocket.origin("wss://city.example/mqtt") == "wss://city.example"


def test_a_page_may_connect_to_what_it_asked_for_and_others_may_not() -> None:
    asked = security.policy("n", None, [("connect-src", "ws://127.0.0.1:9000")])
    assert "connect-src 'self' ws://127.0.0.1:9000;" in asked
    assert "connect-src 'self';" in security.policy("n", None)


def test_only_an_origin_is_let_into_the_policy() -> None:
    with pytest.raises(ValueError, match="no origin"):
        security.allow("connect-src", "https://a.example; script-src *")
