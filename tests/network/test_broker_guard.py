"""What one client sends, or makes fail, never ends the embedded broker."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from citywise.backend import machine
from citywise.backend.broker import EmbeddedBroker, SecureListener
from citywise.backend.network import certificates
from citywise.backend.network.addresses import Names
from citywise.backend.people.secret import broker_hash
from tests.brokers import SENT

DEVICE, SECRET = "d-0123456789abcdef", "a secret"
OWN = f"citywise/notices/demo/{DEVICE}"
CONNACK, SUBACK = 0x20, 0x90
GRANTED, REFUSED = 1, 128


class Talker:
    """A TLS client whose packets travel together, each in a record of its own: the broker reads
    them one by one without doing anything else in between."""

    def __init__(self, port: int, ca: Path) -> None:
        context = ssl.create_default_context(cafile=ca)
        context.check_hostname = False
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out)
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SENT)
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                self._in.write(self._socket.recv(65536))
        self._flush()

    def send(self, *packets: bytes) -> None:
        for packet in packets:
            self._tls.write(packet)
        self._flush()

    def answers(self, size: int) -> bytes:
        """What comes back: so many bytes, or fewer if the broker ends the connection."""
        found = b""
        while len(found) < size:
            try:
                found += self._tls.read(size - len(found))
            except ssl.SSLWantReadError:
                if not (more := self._received()):
                    return found
                self._in.write(more)
            except ssl.SSLError:
                return found
        return found

    def close(self) -> None:
        self._socket.close()

    def _received(self) -> bytes:
        try:
            return self._socket.recv(65536)
        except ConnectionError:
            return b""

    def _flush(self) -> None:
        self._socket.sendall(self._out.read())


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A broker that one device may come to."""
    folder = tmp_path_factory.mktemp("city")
    made = certificates.issued(folder / "tls", Names())
    rights = folder / "rights.json"
    entry = {"user": "demo", "rights": ["notices"], "hash": broker_hash(SECRET), "expires_ms": None}
    rights.write_text(json.dumps({DEVICE: entry}))
    secure = SecureListener("127.0.0.1", 0, made.certificate, made.private_key)
    found = EmbeddedBroker(0, "city", "password", rights=rights, secure=secure)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def talker(embedded: EmbeddedBroker) -> Iterator[Talker]:
    """Somebody who has not said yet who they are."""
    assert embedded.secure_port is not None
    made = embedded._orders["secure"]
    assert isinstance(made, dict)
    found = Talker(embedded.secure_port, Path(str(made["certificate"])).with_name("ca.pem"))
    yield found
    found.close()


def text(value: str) -> bytes:
    return len(value).to_bytes(2, "big") + value.encode()


def packet(kind: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    assert len(body) < 128
    return bytes([kind, len(body)]) + body


def connect(secret: str) -> bytes:
    head = text("MQTT") + bytes([4, 0b1100_0010, 0, 60])
    return packet(0x10, head, text(DEVICE), text(DEVICE), text(secret))


NUMBER = b"\0\1"
EARLY = {
    "subscribe": packet(0x82, NUMBER, text(OWN), b"\1"),
    "unsubscribe": packet(0xA2, NUMBER, text(OWN)),
    "publish": packet(0x32, text(f"{OWN}/seen"), NUMBER, b"{}"),
    "publish exactly once": packet(0x34, text(f"{OWN}/seen"), NUMBER, b"{}"),
    "puback": packet(0x40, NUMBER),
    "pubrec": packet(0x50, NUMBER),
    "pubrel": packet(0x62, NUMBER),
    "pubcomp": packet(0x70, NUMBER),
    "pingreq": packet(0xC0),
    "disconnect": packet(0xE0),
    "connect": connect(SECRET),
}
"""Packets that may come before the broker knows whose they are."""


def test_who_subscribes_before_the_answer_is_answered_in_turn(talker: Talker) -> None:
    talker.send(connect(SECRET), EARLY["subscribe"])
    expected = bytes([CONNACK, 2, 0, 0]) + bytes([SUBACK, 3, 0, 1, GRANTED])
    assert talker.answers(len(expected)) == expected


def test_a_stranger_who_subscribes_before_the_answer_is_refused_only(
    embedded: EmbeddedBroker, talker: Talker
) -> None:
    """MQTT 3.1.1, 3.1.4: nothing of a client that is not let in is dealt with."""
    talker.send(connect("wrong"), EARLY["subscribe"])
    assert talker.answers(9) == bytes([CONNACK, 2, 0, 5])
    assert embedded.process is not None
    assert embedded.process.poll() is None


@pytest.mark.parametrize("secret", [SECRET, "wrong"])
@pytest.mark.parametrize("early", EARLY.values(), ids=EARLY.keys())
def test_no_packet_before_the_answer_ends_the_broker(
    embedded: EmbeddedBroker, talker: Talker, early: bytes, secret: str
) -> None:
    talker.send(connect(secret), early)
    assert talker.answers(2) == bytes([CONNACK, 2])
    talker.send(EARLY["disconnect"])
    talker.answers(100)  # until it is over
    assert embedded.process is not None
    assert embedded.process.poll() is None


class Subscriber:
    """A client of the broker that fails."""

    def __init__(self, port: int, name: str) -> None:
        self.gone, self.granted = threading.Event(), threading.Event()
        self.paho = paho.Client(CallbackAPIVersion.VERSION2, name, reconnect_on_failure=False)
        connected = threading.Event()
        self.paho.on_connect = lambda *_: connected.set()
        self.paho.on_disconnect = lambda *_: self.gone.set()
        self.paho.on_subscribe = lambda *_: self.granted.set()
        self.paho.connect("127.0.0.1", port)
        self.paho.loop_start()
        assert connected.wait(SENT)

    def close(self) -> None:
        self.paho.disconnect()
        self.paho.loop_stop()
        self.paho._reset_sockets()


def test_a_fault_in_what_is_done_for_a_client_ends_its_connection_alone() -> None:
    script = Path(__file__).with_name("faulty_broker.mjs")
    with subprocess.Popen(
        [str(machine.node()), str(script)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline())
        other = Subscriber(port, "other")
        ways = ("at once", "in a tick", "immediately", "in a timer", "in a promise",
                "after waiting")  # fmt: skip
        for way in ways:
            client = Subscriber(port, way)
            client.paho.subscribe(way)
            assert client.gone.wait(SENT), way
            client.close()
        other.paho.subscribe("anything else")
        assert other.granted.wait(SENT)
        other.close()
        process.stdin.close()
        said = process.stderr.read()
    assert said.count("a connection is closed: Error: a fault of the test") == len(ways)
