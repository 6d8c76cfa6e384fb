"""Devices on the network reach the embedded broker over TLS, and only devices do."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from citywise.backend import mqtt
from citywise.backend.broker import EmbeddedBroker, SecureListener
from citywise.backend.network import certificates
from citywise.backend.network.addresses import Names
from citywise.backend.people.secret import broker_hash
from citywise.backend.settings import Broker, Settings, Web

DEVICE, SECRET = "d-0123456789abcdef", "a secret"


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """An embedded broker, as a device on the network has to be set up for it."""
    folder = tmp_path_factory.mktemp("city")
    made = certificates.issued(folder / "tls", Names())
    rights = folder / "rights.json"
    entry = {"user": "demo", "rights": ["context"], "hash": broker_hash(SECRET), "expires_ms": None}
    rights.write_text(json.dumps({DEVICE: entry}))
    secure = SecureListener("127.0.0.1", 0, made.certificate, made.private_key)
    embedded = EmbeddedBroker(0, "city", "password", rights=rights, secure=secure)
    embedded.start()
    assert embedded.secure_port is not None
    yield Broker(
        embedded=False, port=embedded.secure_port, tls=True, ca=folder / "tls" / "ca.pem",
        username=DEVICE, password=SECRET,
    )  # fmt: skip
    embedded.stop()


def test_a_device_tells_its_context_over_tls(city: Broker) -> None:
    client = mqtt.connect(city, DEVICE)
    try:
        sent = client.publish("citywise/context/demo", b"{}", 1)
        sent.wait_for_publish(30)
        assert sent.is_published()
    finally:
        client.disconnect()
        client.loop_stop()


@pytest.mark.parametrize(("user", "password"), [("city", "password"), ("citywise.ingest", None)])
def test_our_own_processes_do_not_come_from_the_network(
    city: Broker, user: str, password: str | None
) -> None:
    known = Broker(username="city", password="password").of_process("ingest").password
    stranger = city.model_copy(update={"username": user, "password": password or known})
    with pytest.raises(mqtt.BrokerRefusedError, match="Not authorized"):
        mqtt.connect(stranger, "ingest")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_broker_whose_certificate_nobody_trusts_is_not_talked_to(city: Broker) -> None:
    """The library leaves the socket to the garbage collector."""
    with pytest.raises(mqtt.BrokerRefusedError, match=r"certificate verify failed.*broker\.ca"):
        mqtt.connect(city.model_copy(update={"ca": None}), DEVICE)
    gc.collect()


def test_who_speaks_without_tls_is_not_heard(city: Broker) -> None:
    with pytest.raises((mqtt.BrokerRefusedError, ConnectionError)):
        mqtt.connect(city.model_copy(update={"tls": False}), DEVICE)


def test_the_settings_say_whether_devices_come_from_the_network(tmp_path: Path) -> None:
    web = Web(host="127.0.0.1", certificate=tmp_path / "c.pem", private_key=tmp_path / "k.pem")
    open_to_devices = Settings(data_dir=tmp_path, broker=Broker(devices_port=8883), web=web)
    closed = Settings(data_dir=tmp_path, web=web)
    assert EmbeddedBroker.of(open_to_devices)._orders["secure"] == {
        "host": "127.0.0.1", "port": 8883,
        "certificate": str(tmp_path / "c.pem"), "privateKey": str(tmp_path / "k.pem"),
    }  # fmt: skip
    assert EmbeddedBroker.of(closed)._orders["secure"] is None
